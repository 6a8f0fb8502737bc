// Compares the reference and the fast implementations of the Chebyshev descriptor's features and their two products,
// with neighbors given as index and shift. Items are atoms. Structures are rutile TiO2 with random displacements, at
// 0.0835 atoms per cubic Angstrom.
//
// "gflops" counts the operations that the moment form needs (the functions below), an FMA as two, a square root and a
// division as one each; "share" is its part of the rate of a loop of FMAs in this process.

#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "benchmark/benchmark.h"
#include "lib/base/logging.h"
#include "lib/base/random.h"
#include "lib/descriptor/chebyshev_options.h"
#include "lib/descriptor/descriptor_derivatives.h"
#include "lib/descriptor/descriptor_factory.h"
#include "lib/descriptor/reference_derivatives.h"
#include "lib/neighbor/neighbor_list.h"
#include "lib/neighbor/pair_view.h"
#include "lib/neighbor/triplets.h"
#include "lib/profile/fma_peak.h"
#include "lib/structure/structure.h"

namespace rutile {
namespace {

struct Setup {
  double rad_cutoff;
  int rad_order;
  double ang_cutoff;
  int ang_order;
};

constexpr Setup kSetups[] = {
    {4.0, 5, 3.0, 3}, {6.0, 10, 4.0, 3}, {6.0, 15, 3.5, 4}, {6.5, 20, 5.0, 5}, {8.0, 16, 6.5, 4}};
constexpr int kStructures = 4;
constexpr int kAtoms = 24;

struct Sample {
  Structure structure;
  std::vector<uint8_t> species;
  NeighborList neighbors;
  TripletList triplets;  // empty without a list

  StructureGeometry Geometry() const {
    StructureGeometry geometry;
    geometry.species = species;
    geometry.position = structure.position;
    geometry.cell = structure.cell;
    geometry.pairs.offset = neighbors.offset;
    geometry.pairs.j = neighbors.j.data();
    geometry.pairs.shift = neighbors.shift.data();
    geometry.triplets = {triplets.offset, triplets.a.data(), triplets.b.data()};
    return geometry;
  }
};

// Returns two by two cells of rutile, 24 atoms, grouped by element.
Structure Rutile(int seed) {
  constexpr double kA = 4.594 * 1.047, kC = 2.959 * 1.047, kU = 0.305;  // expanded by 4.7 %
  constexpr double kSites[6][3] = {{0, 0, 0},           {0.5, 0.5, 0.5},           {kU, kU, 0},
                                   {1 - kU, 1 - kU, 0}, {0.5 + kU, 0.5 - kU, 0.5}, {0.5 - kU, 0.5 + kU, 0.5}};
  RandomStream random(seed, "derivative_benchmark");
  Structure structure;
  structure.pbc = {true, true, true};
  structure.cell = {2 * kA, 0, 0, 0, 2 * kA, 0, 0, 0, kC};
  for (int atom = 0; atom < kAtoms; ++atom) {
    const int site = atom < 8 ? atom % 2 : 2 + atom % 4, cell = atom < 8 ? atom / 2 : (atom - 8) / 4;
    structure.element.push_back(atom < 8 ? 22 : 8);
    structure.position.push_back(kA * (kSites[site][0] + cell % 2) + random.Uniform(-0.2, 0.2));
    structure.position.push_back(kA * (kSites[site][1] + cell / 2) + random.Uniform(-0.2, 0.2));
    structure.position.push_back(kC * kSites[site][2] + random.Uniform(-0.2, 0.2));
  }
  return structure;
}

std::vector<Sample> MakeSamples(const Setup& setup, bool listed) {
  std::vector<Sample> samples(kStructures);
  for (int k = 0; k < kStructures; ++k) {
    samples[k].structure = Rutile(k);
    const double cutoff = std::max(setup.rad_cutoff, setup.ang_cutoff);
    CHECK(BruteForceNeighborList(samples[k].structure, cutoff, &samples[k].neighbors).ok());
    if (listed) CHECK(FindTriplets(samples[k].neighbors, setup.ang_cutoff, &samples[k].triplets).ok());
    for (const uint8_t element : samples[k].structure.element) samples[k].species.push_back(element == 8);
  }
  return samples;
}

// Returns the neighbors per atom within the cutoff.
double CountNeighbors(const std::vector<Sample>& samples, double cutoff) {
  double pairs = 0;
  for (const Sample& sample : samples) {
    for (int64_t p = 0; p < sample.neighbors.num_pairs(); ++p) {
      pairs += std::hypot(sample.neighbors.dx[p], sample.neighbors.dy[p], sample.neighbors.dz[p]) <= cutoff;
    }
  }
  return pairs / (kStructures * kAtoms);
}

ChebyshevOptions Options(const Setup& setup) {
  ChebyshevOptions options;
  options.species = {22, 8};
  options.rad_cutoff = setup.rad_cutoff;
  options.rad_order = setup.rad_order;
  options.ang_cutoff = setup.ang_cutoff;
  options.ang_order = setup.ang_order;
  return options;
}

// The operations for one atom.

struct Flops {
  double features = 0, vjp = 0, jvp = 0;
};

// Counts the operations for two species. radial, angular: numbers of neighbors.
template <typename T>
Flops CountFlops(const Setup& setup, double radial, double angular) {
  const int rows = setup.rad_order + 1, order = setup.ang_order, harmonics = (order + 1) * (order + 1);
  const double fit = sizeof(T) == 8 ? 7 : 4;  // FMAs of the polynomial in f_c
  const double cutoff = 2 + 2 + 2 * fit + 2;  // s, (1 - s) above 0, polynomial, square
  const double cutoff_slope = cutoff + 2 * (fit - 1) + 2 + 4;
  // The recurrence of q_lm, the powers of x + iy, and harmonics with l > m, whose slopes in z do not vanish.
  double degrees = 0, tilted = 0;
  for (int m = 0; m <= order; ++m) {
    degrees += (order - m >= 2 ? 2 : 0) + 3 * std::max(0, order - m - 2);
    tilted += (m == 0 ? 1 : 2) * (order - m);
  }
  const double powers = order > 0 ? 2 + 6 * (order - 1) : 0;
  Flops flops;
  flops.features += radial * (5 + 1 + 1 + 3 + 9 + cutoff + 2 + 3 * rows);  // r_ij, its length and unit vector
  flops.features += angular * (cutoff + 2 + 1 + powers + degrees + 2 * harmonics);
  flops.vjp += radial * (cutoff_slope + 2 + 6 * rows + 4 + 6 + 6);  // P, dP/dr, to j and to i
  flops.vjp += angular * (cutoff_slope + 1 + powers + degrees + 2 * (harmonics + tilted) + 14 * order + 20);
  flops.jvp += radial * (cutoff_slope + 3 + 2 + 6 * rows + 3 + 5);
  flops.jvp += angular * (cutoff_slope + 10 + 3 * powers + degrees + tilted / 2 + 2 * (harmonics + tilted) + 2);
  // These are the contractions for each atom.
  flops.features += 2 * (harmonics * 3 + rows) + 2 * 2 * (rows + harmonics);
  flops.vjp += 2 * harmonics * 2 + 2 * (harmonics * 3 + rows * 4);
  flops.jvp += 2 * (harmonics * 3 + rows) + 2 * (4 * rows + 2 * harmonics);
  return flops;
}

enum Part { kFeatures = 1, kVjp = 2, kJvp = 4 };

template <typename T>
void Run(benchmark::State& state, const DescriptorDerivatives<T>& derivatives, int parts, double sampled_fraction,
         bool count_flops, bool listed = false) {
  const Setup& setup = kSetups[state.range(0)];
  const std::vector<Sample> samples = MakeSamples(setup, listed);
  const size_t size = kAtoms * derivatives.num_features();
  std::vector<T> features(size), slopes(size), tangents(size), force(3 * kAtoms), direction(3 * kAtoms);
  RandomStream random(1, "slopes");
  for (T& x : slopes) x = random.Uniform(-1, 1);
  for (T& x : direction) x = random.Uniform(-1, 1);
  std::vector<std::vector<uint8_t>> sampled(kStructures);
  std::vector<std::unique_ptr<typename DescriptorDerivatives<T>::State>> states;
  for (int k = 0; k < kStructures; ++k) {
    states.push_back(derivatives.MakeState());
    derivatives.Features(samples[k].Geometry(), states[k].get(), absl::MakeSpan(features));
    for (int i = 0; sampled_fraction < 1 && i < kAtoms; ++i) {
      sampled[k].push_back(random.Uniform() < sampled_fraction);
    }
  }
  for (auto _ : state) {
    for (int k = 0; k < kStructures; ++k) {
      auto* const own = states[k].get();
      if (parts & kFeatures) derivatives.Features(samples[k].Geometry(), own, absl::MakeSpan(features));
      if (parts & kVjp) derivatives.Vjp(own, slopes, sampled[k], absl::MakeSpan(force), nullptr);
      if (parts & kJvp) derivatives.Jvp(own, direction, sampled[k], nullptr, absl::MakeSpan(tangents));
      benchmark::DoNotOptimize(features.data());
      benchmark::DoNotOptimize(force.data());
      benchmark::DoNotOptimize(tangents.data());
      benchmark::ClobberMemory();
    }
  }
  const double atoms = static_cast<double>(state.iterations()) * kStructures * kAtoms;
  state.SetItemsProcessed(static_cast<int64_t>(atoms));
  state.counters["us_per_atom"] =
      benchmark::Counter(atoms / 1e6, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  if (!count_flops) return;
  static const double peak = sizeof(T) == 8 ? FmaPeakDouble() : FmaPeakFloat();
  const Flops each =
      CountFlops<T>(setup, CountNeighbors(samples, setup.rad_cutoff), CountNeighbors(samples, setup.ang_cutoff));
  const double flops =
      atoms * ((parts & kFeatures ? each.features : 0) + (parts & kVjp ? each.vjp : 0) + (parts & kJvp ? each.jvp : 0));
  state.counters["flops_per_atom"] = flops / atoms;
  state.counters["gflops"] = benchmark::Counter(flops / 1e9, benchmark::Counter::kIsRate);
  state.counters["share"] = benchmark::Counter(flops / peak, benchmark::Counter::kIsRate);
}

template <typename T>
void BM_Moments(benchmark::State& state) {
  Run<T>(state, *MakeDescriptorDerivatives<T>(Options(kSetups[state.range(0)]), AngularMethod::kMoments),
         static_cast<int>(state.range(1)), 1, true);
}

template <typename T>
void BM_MomentsSampled(benchmark::State& state) {
  Run<T>(state, *MakeDescriptorDerivatives<T>(Options(kSetups[state.range(0)]), AngularMethod::kMoments), kVjp | kJvp,
         state.range(1) / 100.0, false);
}

template <typename T>
void BM_Triplets(benchmark::State& state) {
  Run<T>(state, *MakeDescriptorDerivatives<T>(Options(kSetups[state.range(0)]), AngularMethod::kTriplets),
         static_cast<int>(state.range(1)), 1, false);
}

template <typename T>
void BM_ListedTriplets(benchmark::State& state) {
  Run<T>(state, *MakeDescriptorDerivatives<T>(Options(kSetups[state.range(0)]), AngularMethod::kTriplets),
         static_cast<int>(state.range(1)), state.range(2) / 100.0, false, true);
}

template <typename T>
void BM_TripletsSampled(benchmark::State& state) {
  Run<T>(state, *MakeDescriptorDerivatives<T>(Options(kSetups[state.range(0)]), AngularMethod::kTriplets), kVjp | kJvp,
         state.range(1) / 100.0, false);
}

void BM_Reference(benchmark::State& state) {
  Run<double>(state, *MakeReferenceDerivatives<double>(Options(kSetups[state.range(0)])),
              static_cast<int>(state.range(1)), 1, false);
}

// The first argument is the index of a setup: radial cutoff/order, angular cutoff/order =
// 0: 4.0/5, 3.0/3;  1: 6.0/10, 4.0/3;  2: 6.0/15, 3.5/4;  3: 6.5/20, 5.0/5;  4: 8.0/16, 6.5/4.
// The second is 1 for features, 2 for the vector-Jacobian product, 4 for the Jacobian-vector product, or their sum. For
// BM_MomentsSampled and BM_TripletsSampled, which compute both products, it is the percentage of sampled atoms.
// BM_ListedTriplets, where triplets are given as with --cache_triplets, has it last.
BENCHMARK_TEMPLATE(BM_Moments, float)->ArgsProduct({{0, 1, 2, 3, 4}, {1, 2, 4, 7}});
BENCHMARK_TEMPLATE(BM_Moments, double)->ArgsProduct({{0, 1, 2, 3, 4}, {1, 2, 4, 7}});
BENCHMARK_TEMPLATE(BM_MomentsSampled, float)->ArgsProduct({{0, 4}, {100, 30, 10}});
BENCHMARK_TEMPLATE(BM_Triplets, float)->ArgsProduct({{0, 4}, {1, 2, 4}});
BENCHMARK_TEMPLATE(BM_Triplets, double)->ArgsProduct({{0, 4}, {1, 2, 4}});
BENCHMARK_TEMPLATE(BM_TripletsSampled, float)->ArgsProduct({{0, 4}, {30, 10}});
BENCHMARK_TEMPLATE(BM_ListedTriplets, float)->ArgsProduct({{0, 4}, {1, 2, 4}, {100}});
BENCHMARK_TEMPLATE(BM_ListedTriplets, double)->ArgsProduct({{0, 4}, {1, 2, 4}, {100}});
BENCHMARK_TEMPLATE(BM_ListedTriplets, float)->ArgsProduct({{0, 4}, {kVjp | kJvp}, {30, 10}});
BENCHMARK(BM_Reference)->ArgsProduct({{0, 4}, {1, 2, 4}});

}  // namespace
}  // namespace rutile
