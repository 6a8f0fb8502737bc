// Compares the reference of the Chebyshev descriptor with the kernel by moments and by triplets, with given neighbors.
// Items are atoms. Structures are rutile TiO2 with random displacements, at 0.0835 atoms per cubic Angstrom.
//
// "gflops" counts the operations that the moment kernel needs (FlopsPerAtom below), an FMA as two, a square root and a
// division as one each; "share" is its part of the rate of a loop of FMAs in this process.

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "benchmark/benchmark.h"
#include "lib/base/logging.h"
#include "lib/base/random.h"
#include "lib/descriptor/chebyshev.h"
#include "lib/descriptor/chebyshev_descriptor.h"
#include "lib/neighbor/neighbor_list.h"
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
constexpr int kStructures = 4;  // their lists stay in the second-level cache, as right after a search

struct Sample {
  std::vector<uint8_t> species;
  NeighborList neighbors;
};

// Returns two by two cells of rutile, 24 atoms, grouped by element, as in most files, or mixed.
Structure Rutile(int seed, bool grouped) {
  constexpr double kA = 4.594 * 1.047, kC = 2.959 * 1.047, kU = 0.305;  // expanded by 4.7 %
  constexpr double kSites[6][3] = {{0, 0, 0},           {0.5, 0.5, 0.5},           {kU, kU, 0},
                                   {1 - kU, 1 - kU, 0}, {0.5 + kU, 0.5 - kU, 0.5}, {0.5 - kU, 0.5 + kU, 0.5}};
  RandomStream random(seed, "descriptor_benchmark");
  Structure structure;
  structure.pbc = {true, true, true};
  structure.cell = {2 * kA, 0, 0, 0, 2 * kA, 0, 0, 0, kC};
  std::vector<int64_t> order = RandomPermutation(24, random);
  for (int k = 0; k < 24; ++k) {
    const int atom = grouped ? k : order[k];
    const int site = atom < 8 ? atom % 2 : 2 + atom % 4, cell = atom < 8 ? atom / 2 : (atom - 8) / 4;
    structure.element.push_back(atom < 8 ? 22 : 8);
    structure.position.push_back(kA * (kSites[site][0] + cell % 2) + random.Uniform(-0.2, 0.2));
    structure.position.push_back(kA * (kSites[site][1] + cell / 2) + random.Uniform(-0.2, 0.2));
    structure.position.push_back(kC * kSites[site][2] + random.Uniform(-0.2, 0.2));
  }
  return structure;
}

std::vector<Sample> MakeSamples(double cutoff, int num_species, bool grouped) {
  std::vector<Sample> samples(kStructures);
  for (int k = 0; k < kStructures; ++k) {
    const Structure structure = Rutile(k, grouped);
    CHECK(BruteForceNeighborList(structure, cutoff, &samples[k].neighbors).ok());
    for (int i = 0; i < structure.size(); ++i) {
      samples[k].species.push_back(num_species == 2 ? structure.element[i] == 8 : i % num_species);
    }
  }
  return samples;
}

// Returns the neighbors per atom within the cutoff.
double CountNeighbors(const std::vector<Sample>& samples, double cutoff) {
  double pairs = 0, atoms = 0;
  for (const Sample& sample : samples) {
    for (int64_t p = 0; p < sample.neighbors.num_pairs(); ++p) {
      pairs += std::hypot(sample.neighbors.dx[p], sample.neighbors.dy[p], sample.neighbors.dz[p]) <= cutoff;
    }
    atoms += sample.species.size();
  }
  return pairs / atoms;
}

double FlopsPerAtom(const Setup& setup, double radial, double angular, int num_weights) {
  const int rows = setup.rad_order + 1, order = setup.ang_order, harmonics = (order + 1) * (order + 1);
  // The terms are r^2 5, its square root, 2x, s, f_c with 7 FMAs and 3, x f_c; then an FMA and an addition for each
  // order.
  const double radial_pair = 5 + 1 + 2 + 1 + 17 + 2 + 3 * rows;
  // The terms are r^2, root, division, unit vector, 2z, f_c and its square; the powers of x + iy; q_lm and the sums.
  double angular_pair = 5 + 1 + 1 + 3 + 1 + 18 + 2 + (order > 0 ? 2 : 0) + 6 * std::max(0, order - 1);
  for (int m = 0; m < order; ++m) angular_pair += (order - m >= 2 ? 2 : 0) + 3 * std::max(0, order - m - 2);
  angular_pair += 2 * harmonics - (2 * order + 1);
  const double finish = num_weights * harmonics * (1 + 2 * (order + 1));
  return radial * radial_pair + angular * angular_pair + finish;
}

template <typename T>
void Run(benchmark::State& state, const Descriptor& descriptor, const Setup& setup, int num_species, bool grouped,
         bool count_flops) {
  const std::vector<Sample> samples = MakeSamples(setup.rad_cutoff, num_species, grouped);
  const auto workspace = descriptor.MakeWorkspace();
  std::vector<T> features(samples[0].species.size() * descriptor.num_features());
  for (auto _ : state) {
    for (const Sample& sample : samples) {
      descriptor.Compute(sample.species, sample.neighbors, workspace.get(), absl::MakeSpan(features));
      benchmark::DoNotOptimize(features.data());
      benchmark::ClobberMemory();
    }
  }
  const double atoms = static_cast<double>(state.iterations()) * kStructures * samples[0].species.size();
  state.SetItemsProcessed(static_cast<int64_t>(atoms));
  const double radial = CountNeighbors(samples, setup.rad_cutoff), angular = CountNeighbors(samples, setup.ang_cutoff);
  state.counters["radial"] = radial;
  state.counters["angular"] = angular;
  if (!count_flops) return;
  static const double peak = sizeof(T) == 8 ? FmaPeakDouble() : FmaPeakFloat();
  const double flops = atoms * FlopsPerAtom(setup, radial, angular, num_species > 1 ? 2 : 1);
  state.counters["gflops"] = benchmark::Counter(flops / 1e9, benchmark::Counter::kIsRate);
  state.counters["share"] = benchmark::Counter(flops / peak, benchmark::Counter::kIsRate);
}

ChebyshevOptions Options(const Setup& setup, int num_species) {
  ChebyshevOptions options;
  options.species = {22, 8};
  while (options.species.size() < num_species) options.species.push_back(30 + options.species.size());
  options.species.resize(num_species);
  options.rad_cutoff = setup.rad_cutoff;
  options.rad_order = setup.rad_order;
  options.ang_cutoff = setup.ang_cutoff;
  options.ang_order = setup.ang_order;
  return options;
}

void BM_Reference(benchmark::State& state) {
  const Setup& setup = kSetups[state.range(0)];
  Run<double>(state, ChebyshevReference(Options(setup, 2)), setup, 2, true, false);
}

template <typename T>
void BM_Triplets(benchmark::State& state) {
  const Setup& setup = kSetups[state.range(0)];
  Run<T>(state, ChebyshevDescriptor(Options(setup, 2), AngularMethod::kTriplets), setup, 2, true, false);
}

template <typename T>
void BM_Moments(benchmark::State& state) {
  const Setup& setup = kSetups[state.range(0)];
  Run<T>(state, ChebyshevDescriptor(Options(setup, 2), AngularMethod::kMoments), setup, 2, true, true);
}

// Measures atoms of two elements in random order, and more elements: there are more and shorter sums.
void BM_MomentsMixed(benchmark::State& state) {
  const Setup& setup = kSetups[state.range(0)];
  const int num_species = state.range(1);
  const ChebyshevDescriptor descriptor(Options(setup, num_species), AngularMethod::kMoments);
  Run<double>(state, descriptor, setup, num_species, false, true);
}

// The argument is the index of a setup: radial cutoff/order, angular cutoff/order =
// 0: 4.0/5, 3.0/3;  1: 6.0/10, 4.0/3;  2: 6.0/15, 3.5/4;  3: 6.5/20, 5.0/5;  4: 8.0/16, 6.5/4.
BENCHMARK(BM_Reference)->DenseRange(0, 4);
BENCHMARK_TEMPLATE(BM_Triplets, double)->DenseRange(0, 4);
BENCHMARK_TEMPLATE(BM_Triplets, float)->DenseRange(0, 4);
BENCHMARK_TEMPLATE(BM_Moments, double)->DenseRange(0, 4);
BENCHMARK_TEMPLATE(BM_Moments, float)->DenseRange(0, 4);
BENCHMARK(BM_MomentsMixed)->ArgsProduct({{0, 4}, {1, 2, 3, 5, 10}});

}  // namespace
}  // namespace rutile
