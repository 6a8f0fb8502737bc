// Compares neighbor searches at the density of TiO2 (0.086 atoms per cubic Angstrom): the reference, the image search
// and the cell list. Items are pairs.
//
// The reference is left out if one list would take minutes, the image search if it makes no sense.
//
//   neighbor_benchmark [--benchmark_...] FILE...
//
// measures files of structures instead, in any format that featurize reads: reading them, and each search over all of
// their structures, for cutoffs of 4, 6 and 8 Angstrom. Items of reading are atoms.

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "benchmark/benchmark.h"
#include "lib/base/logging.h"
#include "lib/base/random.h"
#include "lib/neighbor/neighbor_list.h"
#include "lib/structure/structure.h"
#include "lib/structure/structure_reader.h"

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

// ---- files of a user

absl::StatusOr<std::vector<Structure>> ReadAll(const std::vector<std::string>& files) {
  std::vector<Structure> structures;
  for (const std::string& file : files) {
    auto reader = StructureReader::Open(file);
    if (!reader.ok()) return reader.status();
    while (true) {
      Structure structure;
      const absl::StatusOr<bool> more = (*reader)->Next(&structure);
      if (!more.ok()) return more.status();
      if (!*more) break;
      structures.push_back(std::move(structure));
    }
  }
  return structures;
}

void ReadFiles(benchmark::State& state, const std::vector<std::string>& files) {
  int64_t atoms = 0;
  for (auto _ : state) {
    const auto structures = ReadAll(files);
    CHECK(structures.ok()) << structures.status();
    atoms = 0;
    for (const Structure& structure : *structures) atoms += structure.size();
  }
  state.SetItemsProcessed(state.iterations() * atoms);
}

// Where the search refuses a structure (atoms on top of each other), the benchmark says so.
void SearchFiles(benchmark::State& state, const std::vector<Structure>& structures, NeighborAlgorithm algorithm,
                 double cutoff) {
  NeighborOptions options;
  options.algorithm = algorithm;
  NeighborSearch search(cutoff, options);
  NeighborList list;
  int64_t pairs = 0;
  for (auto _ : state) {
    pairs = 0;
    for (const Structure& structure : structures) {
      if (const absl::Status status = search.Compute(structure, &list); !status.ok()) {
        state.SkipWithError(absl::StrCat(structure.name, ": ", status.message()).c_str());
        return;
      }
      pairs += list.num_pairs();
    }
  }
  state.SetItemsProcessed(state.iterations() * pairs);
}

int Run(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const std::vector<std::string> files(argv + 1, argv + argc);
  std::vector<Structure> structures;
  if (!files.empty()) {
    auto read = ReadAll(files);
    if (!read.ok()) {
      std::fprintf(stderr, "neighbor_benchmark: %s\n", std::string(read.status().message()).c_str());
      return 1;
    }
    structures = *std::move(read);
    benchmark::ClearRegisteredBenchmarks();
    benchmark::RegisterBenchmark("Read", ReadFiles, files);
    for (const double cutoff : {4.0, 6.0, 8.0}) {
      const auto add = [&](const char* name, NeighborAlgorithm algorithm) {
        benchmark::RegisterBenchmark(absl::StrCat(name, "/", cutoff).c_str(),
                                     [&structures, algorithm, cutoff](benchmark::State& state) {
                                       SearchFiles(state, structures, algorithm, cutoff);
                                     });
      };
      add("Images", NeighborAlgorithm::kImages);
      add("Cells", NeighborAlgorithm::kCells);
      add("Fastest", NeighborAlgorithm::kFastest);
    }
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace
}  // namespace rutile

int main(int argc, char** argv) { return rutile::Run(argc, argv); }
