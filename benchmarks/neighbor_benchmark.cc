// Compares neighbor searches at the density of TiO2 (0.086 atoms per cubic Angstrom): the reference, the image search
// and the cell list. Items are pairs.
//
// The reference is left out if one list would take minutes, the image search if it makes no sense.

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "benchmark/benchmark.h"
#include "lib/base/logging.h"
#include "lib/base/random.h"
#include "lib/neighbor/neighbor_list.h"
#include "lib/structure/structure.h"

namespace rutile {
namespace {

constexpr double kDensity = 0.086;

// Returns atoms on a simple lattice, as near to a cube as the number allows, with displacements of up to 0.3 Angstrom,
// in random order.
Structure TitaniaLike(int64_t num_atoms) {
  const double edge = std::cbrt(num_atoms / kDensity);
  std::array<int64_t, 3> points = {0, 0, 0};  // those nearest to a cube
  double best = 1e300;
  for (int64_t a = 1; a <= num_atoms; ++a) {
    for (int64_t b = a; a * b <= num_atoms && num_atoms % a == 0; ++b) {
      if (num_atoms % (a * b) != 0 || num_atoms / (a * b) < b) continue;
      const double sum = a + b + num_atoms / (a * b);
      if (sum < best) {
        best = sum;
        points = {a, b, num_atoms / (a * b)};
      }
    }
  }
  Structure structure;
  structure.pbc = {true, true, true};
  for (int k = 0; k < 3; ++k) structure.cell[4 * k] = points[k] * std::cbrt(1 / kDensity);
  structure.cell[3] = 0.1 * edge;
  structure.cell[6] = -0.05 * edge;
  structure.element.assign(num_atoms, 22);
  RandomStream random(1, "neighbor_benchmark");
  for (const int64_t site : RandomPermutation(num_atoms, random)) {
    const int64_t s[3] = {site / points[2] / points[1], site / points[2] % points[1], site % points[2]};
    for (int c = 0; c < 3; ++c) {
      double x = random.Uniform(-0.3, 0.3);
      for (int k = 0; k < 3; ++k) x += structure.cell[3 * k + c] * (s[k] + 0.5) / points[k];
      structure.position.push_back(x);
    }
  }
  return structure;
}

void BM_Reference(benchmark::State& state) {
  const Structure structure = TitaniaLike(state.range(0));
  NeighborList list;
  for (auto _ : state) {
    CHECK(BruteForceNeighborList(structure, state.range(1), &list).ok());
    benchmark::DoNotOptimize(list.dx.data());
  }
  state.SetItemsProcessed(state.iterations() * list.num_pairs());
}

void Search(benchmark::State& state, NeighborAlgorithm algorithm, bool shifts) {
  const Structure structure = TitaniaLike(state.range(0));
  NeighborOptions options;
  options.algorithm = algorithm;
  options.shifts = shifts;
  NeighborSearch search(state.range(1), options);
  NeighborList list;
  for (auto _ : state) {
    CHECK(search.Compute(structure, &list).ok());
    benchmark::DoNotOptimize(list.dx.data());
  }
  state.SetItemsProcessed(state.iterations() * list.num_pairs());
  state.counters["per_atom"] = benchmark::Counter(state.iterations() * structure.size(),
                                                  benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void BM_Images(benchmark::State& state) { Search(state, NeighborAlgorithm::kImages, true); }
void BM_ImagesWithoutShifts(benchmark::State& state) { Search(state, NeighborAlgorithm::kImages, false); }
void BM_Cells(benchmark::State& state) { Search(state, NeighborAlgorithm::kCells, true); }
void BM_CellsWithoutShifts(benchmark::State& state) { Search(state, NeighborAlgorithm::kCells, false); }

// Arguments: atoms, cutoff in Angstrom.
BENCHMARK(BM_Reference)->ArgsProduct({{24, 96}, {4, 6, 8}})->Args({5184, 6});
BENCHMARK(BM_Images)->ArgsProduct({{24, 96, 192, 384}, {4, 6, 8}});
BENCHMARK(BM_ImagesWithoutShifts)->ArgsProduct({{24, 96}, {4, 6, 8}});
BENCHMARK(BM_Cells)->ArgsProduct({{24, 96, 192, 384, 5184, 24000}, {4, 6, 8}});
BENCHMARK(BM_CellsWithoutShifts)->ArgsProduct({{5184, 24000}, {4, 6, 8}});

}  // namespace
}  // namespace rutile
