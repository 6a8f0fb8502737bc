#include "benchmarks/counted_kernels.h"

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/base/logging.h"
#include "lib/base/random.h"
#include "lib/descriptor/chebyshev_options.h"
#include "lib/descriptor/descriptor.h"
#include "lib/descriptor/descriptor_derivatives.h"
#include "lib/descriptor/descriptor_factory.h"
#include "lib/file/line_reader.h"
#include "lib/machine/parallel_for.h"
#include "lib/neighbor/neighbor_list.h"
#include "lib/neighbor/pair_view.h"
#include "lib/network/network_init.h"
#include "lib/network/network_kernel.h"
#include "lib/network/network_shape.h"
#include "lib/ranking/rank_counts.h"
#include "lib/ranking/scores/score_sweep.h"
#include "lib/structure/structure.h"
#include "lib/structure/structure_reader.h"

// The function that callgrind collects. It has a C name, so that --toggle-collect finds it.
extern "C" __attribute__((noinline)) void MeasuredCalls(const std::function<void()>& kernel) {
  kernel();
  asm volatile("" ::: "memory");  // no tail call: collection would never end
}

namespace rutile {
namespace {

// Returns points^3 atoms of a cubic lattice at the density of TiO2, every third atom Ti, all displaced.
Structure Lattice(int points) {
  const double spacing = std::cbrt(1 / 0.086);
  Structure structure;
  structure.pbc = {true, true, true};
  for (int k = 0; k < 3; ++k) structure.cell[4 * k] = points * spacing;
  RandomStream random(1, "instructions");
  for (int site = 0; site < points * points * points; ++site) {
    structure.element.push_back(site % 3 == 0 ? 22 : 8);
    for (const int s : {site / points / points, site / points % points, site % points}) {
      structure.position.push_back((s + 0.5) * spacing + random.Uniform(-0.3, 0.3));
    }
  }
  return structure;
}

std::vector<uint8_t> SpeciesOf(const Structure& structure) {
  std::vector<uint8_t> species;
  for (const uint8_t element : structure.element) species.push_back(element == 8);
  return species;
}

NeighborList Neighbors(const Structure& structure, double cutoff) {
  NeighborList list;
  CHECK(BruteForceNeighborList(structure, cutoff, &list).ok());
  return list;
}

ChebyshevOptions MeasuredDescriptor() {
  ChebyshevOptions options;
  options.species = {22, 8};
  options.rad_cutoff = 6;
  options.rad_order = 10;
  options.ang_cutoff = 4;
  options.ang_order = 3;
  return options;
}

template <typename T>
std::vector<T> Normal(int64_t n, absl::string_view purpose) {
  RandomStream random(1, purpose);
  std::vector<T> values(n);
  for (T& x : values) x = static_cast<T>(random.Normal());
  return values;
}

// Runs the kernel once to warm memory, and then counts.
void Measure(const std::function<void()>& kernel) {
  kernel();
  MeasuredCalls(kernel);
}

// Searches small cells by images, and a large one by the cell list.
void MeasureNeighbors() {
  const Structure small = Lattice(3), large = Lattice(10);
  NeighborSearch search(6);
  NeighborList list;
  Measure([&] {
    for (int repeat = 0; repeat < 20; ++repeat) CHECK(search.Compute(small, &list).ok());
    CHECK(search.Compute(large, &list).ok());
  });
}

void MeasureDescriptor() {
  const Structure structure = Lattice(5);
  const NeighborList list = Neighbors(structure, 6);
  const std::vector<uint8_t> species = SpeciesOf(structure);
  const auto descriptor = MakeDescriptor(MeasuredDescriptor(), AngularMethod::kMoments);
  const auto workspace = descriptor->MakeWorkspace();
  std::vector<double> features(species.size() * descriptor->num_features());
  Measure([&] {
    for (int repeat = 0; repeat < 10; ++repeat) {
      descriptor->Compute(species, list, workspace.get(), absl::MakeSpan(features));
    }
  });
}

// Computes features with what derivatives need, then both products.
void MeasureDerivatives() {
  const Structure structure = Lattice(5);
  const NeighborList list = Neighbors(structure, 6);
  const std::vector<uint8_t> species = SpeciesOf(structure);
  StructureGeometry geometry;
  geometry.species = species;
  geometry.position = structure.position;
  geometry.cell = structure.cell;
  geometry.pairs.offset = list.offset;
  geometry.pairs.j = list.j.data();
  geometry.pairs.shift = list.shift.data();
  const auto derivatives = MakeDescriptorDerivatives<float>(MeasuredDescriptor(), AngularMethod::kMoments);
  const auto state = derivatives->MakeState();
  const int64_t size = structure.size() * derivatives->num_features();
  const std::vector<float> slopes = Normal<float>(size, "slopes");
  const std::vector<float> direction = Normal<float>(3 * structure.size(), "direction");
  std::vector<float> features(size), tangents(size), force(3 * structure.size());
  Measure([&] {
    for (int repeat = 0; repeat < 5; ++repeat) {
      derivatives->Features(geometry, state.get(), absl::MakeSpan(features));
      derivatives->Vjp(state.get(), slopes, {}, absl::MakeSpan(force), nullptr);
      derivatives->Jvp(state.get(), direction, {}, nullptr, absl::MakeSpan(tangents));
    }
  });
}

// Computes the networks' part of a step with energies, and of one with forces.
void MeasureEnergy() {
  constexpr int kStructures = 32;
  const NetworkShape shape = {2, 44, {16, 16}, Activation::kTanh};
  std::vector<float> parameters;
  for (const double p : InitialNetworkParameters(shape, 1)) parameters.push_back(static_cast<float>(p));
  std::vector<int64_t> species_offset = {0};
  std::vector<int32_t> structure;
  for (const int per_structure : {7, 14}) {
    for (int s = 0; s < kStructures; ++s) structure.insert(structure.end(), per_structure, s);
    species_offset.push_back(structure.size());
  }
  const int64_t size = structure.size() * shape.num_features;
  const std::vector<float> x = Normal<float>(size, "x"), tangents = Normal<float>(size, "tangents");
  const AtomRows<float> rows = {x, species_offset, structure};
  const std::vector<double> slopes(kStructures, 0.01);
  std::vector<double> sums(kStructures);
  std::vector<float> gradients(parameters.size()), x_gradients(size);
  NetworkKernel<float> kernel(shape);
  Measure([&] {
    for (int repeat = 0; repeat < 10; ++repeat) {
      kernel.Forward(parameters, rows, absl::MakeSpan(sums));
      kernel.Backward(parameters, rows, slopes, absl::MakeSpan(gradients));
      kernel.ForwardWithInputGradients(parameters, rows, absl::MakeSpan(sums), absl::MakeSpan(x_gradients));
      kernel.AddEnergyAndTangentGradients(parameters, rows, slopes, tangents, absl::MakeSpan(gradients));
    }
  });
}

void MeasureRanking() {
  constexpr int64_t kQueries = 256, kEntities = 2000, kDim = 64;
  const std::vector<float> hidden = Normal<float>(kQueries * kDim, "hidden");
  const std::vector<float> entities = Normal<float>(kEntities * kDim, "entities");
  const std::vector<float> bias = Normal<float>(kEntities, "bias");
  RandomStream random(1, "known");
  std::vector<std::vector<int32_t>> known(kQueries);
  std::vector<RankingQuery> queries;
  for (std::vector<int32_t>& some : known) {
    for (int32_t e = static_cast<int32_t>(random.Below(200)); e < kEntities; e += 1 + random.Below(400)) {
      some.push_back(e);
    }
    queries.push_back({absl::MakeConstSpan(some).subspan(0, 1), some});
  }
  const ScoreTable<float> table = {entities, bias, kEntities, kDim};
  ThreadPool pool(1);
  Measure([&] { CHECK_EQ(CountRanks<float>(table, hidden, queries, &pool).size(), kQueries); });
}

void MeasureExtxyz() {
  constexpr int kFrames = 200, kAtoms = 24;
  RandomStream random(1, "extxyz");
  std::string text;
  for (int frame = 0; frame < kFrames; ++frame) {
    absl::StrAppendFormat(&text,
                          "%d\nLattice=\"9.5 0 0 0.5 9.5 0 0 0 9.25\" Properties=species:S:1:pos:R:3:forces:R:3 "
                          "energy=%.8f pbc=\"T T T\" config_type=bulk\n",
                          kAtoms, random.Uniform(-200, 0));
    for (int atom = 0; atom < kAtoms; ++atom) {
      text += atom % 3 == 0 ? "Ti" : "O";
      // Half of the frames have the digits of most writers, the others all digits of a double.
      for (int k = 0; k < 6; ++k) {
        absl::StrAppendFormat(&text, frame % 2 == 0 ? " %.8f" : " %.17g", random.Uniform(-20, 20));
      }
      text += "\n";
    }
  }
  Measure([&] {
    auto reader = OpenStructureReader(LineReader::FromBytes("generated", text));
    CHECK(reader.ok()) << reader.status();
    Structure structure;
    int frames = 0;
    while (true) {
      const auto more = (*reader)->Next(&structure);
      CHECK(more.ok()) << more.status();
      if (!*more) break;
      ++frames;
    }
    CHECK_EQ(frames, kFrames);
  });
}

constexpr CountedKernel kKernels[] = {{"neighbors", MeasureNeighbors},     {"descriptor", MeasureDescriptor},
                                      {"derivatives", MeasureDerivatives}, {"energy", MeasureEnergy},
                                      {"ranking", MeasureRanking},         {"extxyz", MeasureExtxyz}};

}  // namespace

absl::Span<const CountedKernel> CountedKernels() { return kKernels; }

}  // namespace rutile
