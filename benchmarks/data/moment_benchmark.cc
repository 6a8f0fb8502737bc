// Compares the three passes of moments with those of the Chebyshev descriptor over the same pairs, and with the
// reference of moments. Items are pairs within the cutoff. Structures have 64 atoms of two species at random on a
// disturbed lattice, at about 0.0859 atoms per cubic Angstrom: 45 neighbors within 5 Angstrom.

#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "benchmark/benchmark.h"
#include "lib/base/logging.h"
#include "lib/base/random.h"
#include "lib/descriptor/chebyshev_options.h"
#include "lib/descriptor/descriptor_derivatives.h"
#include "lib/descriptor/descriptor_factory.h"
#include "lib/descriptor/moment_derivatives.h"
#include "lib/descriptor/moment_options.h"
#include "lib/descriptor/moment_reference.h"
#include "lib/neighbor/neighbor_list.h"
#include "lib/neighbor/pair_view.h"
#include "lib/structure/structure.h"

namespace rutile {
namespace {

constexpr int kSide = 4, kAtoms = kSide * kSide * kSide;

struct Sample {
  Structure structure;
  std::vector<uint8_t> species;
  NeighborList neighbors;

  explicit Sample(double cutoff) {
    const double edge = std::cbrt(kAtoms / 0.0859), step = edge / kSide;
    RandomStream random(1, "moment_benchmark");
    structure.pbc = {true, true, true};
    structure.cell = {edge, 0, 0, 0, edge, 0, 0, 0, edge};
    for (int k = 0; k < kAtoms; ++k) {
      structure.element.push_back(1);
      species.push_back(random.Uniform() < 0.6);
      for (const int site : {k % kSide, k / kSide % kSide, k / kSide / kSide}) {
        structure.position.push_back((site + random.Uniform(-0.2, 0.2)) * step);
      }
    }
    CHECK(BruteForceNeighborList(structure, cutoff, &neighbors).ok());
  }

  StructureGeometry Geometry() const {
    StructureGeometry geometry;
    geometry.species = species;
    geometry.position = structure.position;
    geometry.cell = structure.cell;
    geometry.pairs.offset = neighbors.offset;
    geometry.pairs.j = neighbors.j.data();
    geometry.pairs.shift = neighbors.shift.data();
    return geometry;
  }
};

enum Part { kFeatures = 1, kVjp = 2, kJvp = 4 };

template <typename T>
void Run(benchmark::State& state, const DescriptorDerivatives<T>& derivatives, int parts) {
  const Sample sample(derivatives.cutoff());
  const StructureGeometry geometry = sample.Geometry();
  const size_t size = kAtoms * derivatives.num_features();
  std::vector<T> features(size), slopes(size), tangents(size), force(3 * kAtoms), direction(3 * kAtoms);
  RandomStream random(1, "slopes");
  for (T& x : slopes) x = random.Uniform(-1, 1);
  for (T& x : direction) x = random.Uniform(-1, 1);
  const auto own = derivatives.MakeState();
  derivatives.Features(geometry, own.get(), absl::MakeSpan(features));
  for (auto _ : state) {
    if (parts & kFeatures) derivatives.Features(geometry, own.get(), absl::MakeSpan(features));
    if (parts & kVjp) derivatives.Vjp(own.get(), slopes, {}, absl::MakeSpan(force), nullptr);
    if (parts & kJvp) derivatives.Jvp(own.get(), direction, {}, nullptr, absl::MakeSpan(tangents));
    benchmark::DoNotOptimize(features.data());
    benchmark::DoNotOptimize(force.data());
    benchmark::DoNotOptimize(tangents.data());
    benchmark::ClobberMemory();
  }
  const double atoms = static_cast<double>(state.iterations()) * kAtoms;
  const double pairs = static_cast<double>(state.iterations()) * sample.neighbors.num_pairs();
  state.SetItemsProcessed(static_cast<int64_t>(pairs));
  state.counters["neighbors"] = pairs / atoms;
  state.counters["ns_per_pair"] =
      benchmark::Counter(pairs / 1e9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["us_per_atom"] =
      benchmark::Counter(atoms / 1e6, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

MomentOptions Moments(int64_t num_radial, int64_t max_l) {
  MomentOptions options;
  options.species = {22, 8};
  options.num_radial = static_cast<int>(num_radial);
  options.max_l = static_cast<int>(max_l);
  return options;
}

template <typename T>
void BM_Moments(benchmark::State& state) {
  Run<T>(state, *MakeMomentDerivatives<T>(Moments(state.range(0), state.range(1))), static_cast<int>(state.range(2)));
}

void BM_Reference(benchmark::State& state) {
  Run<double>(state, *MakeMomentReference<double>(Moments(state.range(0), state.range(1))),
              static_cast<int>(state.range(2)));
}

// Both cutoffs are those of the moments; the arguments are the orders.
template <typename T>
void BM_Chebyshev(benchmark::State& state) {
  ChebyshevOptions options;
  options.species = {22, 8};
  options.rad_cutoff = options.ang_cutoff = 5;
  options.rad_order = static_cast<int>(state.range(0));
  options.ang_order = static_cast<int>(state.range(1));
  Run<T>(state, *MakeDescriptorDerivatives<T>(options, AngularMethod::kMoments), static_cast<int>(state.range(2)));
}

// Arguments: radial functions, highest degree, and 1 for features, 2 for the vector-Jacobian product, 4 for the
// Jacobian-vector product, or their sum.
BENCHMARK_TEMPLATE(BM_Moments, float)->ArgsProduct({{8}, {3}, {1, 2, 3, 4, 7}})->ArgsProduct({{8}, {2, 4}, {1, 2, 4}});
BENCHMARK_TEMPLATE(BM_Moments, double)->ArgsProduct({{8}, {3}, {1, 2, 3, 4, 7}});
BENCHMARK_TEMPLATE(BM_Chebyshev, float)->ArgsProduct({{10}, {3}, {1, 2, 3, 4, 7}});
BENCHMARK(BM_Reference)->ArgsProduct({{8}, {3}, {1, 2, 4}});

}  // namespace
}  // namespace rutile
