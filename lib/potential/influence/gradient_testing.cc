#include "lib/potential/influence/gradient_testing.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/logging.h"
#include "lib/base/random.h"
#include "lib/descriptor/files/featurizer.h"
#include "lib/file/file.h"
#include "lib/network/network_init.h"

namespace rutile {
namespace {

std::string TempPath(absl::string_view name) {
  const char* directory = std::getenv("TEST_TMPDIR");
  return absl::StrCat(directory == nullptr ? "/tmp" : directory, "/", name);
}

struct Frame {
  std::string elements;  // T (for Ti), O or H for each atom
  double length;         // edge of the cubic cell, Angstrom; 0: no cell
  bool energy = true, forces = true, stress = false;
  double weight = 1;
};

// Returns a frame with atoms on the points of a grid, displaced by some tenths of an Angstrom.
std::string Text(const Frame& frame, uint64_t seed) {
  const int n = static_cast<int>(frame.elements.size());
  RandomStream random(seed, "awkward structures");
  std::string text = absl::StrCat(n, "\n");
  if (frame.length > 0) {
    absl::StrAppendFormat(&text, "Lattice=\"%g 0.3 0 0 %g 0.2 0.1 0 %g\" pbc=\"T T T\" ", frame.length, frame.length,
                          frame.length);
  } else {
    absl::StrAppend(&text, "pbc=\"F F F\" ");
  }
  absl::StrAppend(&text, "Properties=species:S:1:pos:R:3", frame.forces ? ":forces:R:3" : "", " w=", frame.weight);
  if (frame.energy) absl::StrAppendFormat(&text, " energy=%.12g", -2.6 * n + random.Uniform(-0.5, 0.5));
  if (frame.stress) {
    absl::StrAppend(&text, " stress=\"");
    double value[6];  // xx, yy, zz, yz, xz, xy
    for (double& each : value) each = random.Uniform(-0.1, 0.1);
    for (const int i : {0, 5, 4, 5, 1, 3, 4, 3, 2}) absl::StrAppendFormat(&text, "%.6f ", value[i]);
    absl::StrAppend(&text, "\"");
  }
  text += '\n';
  const int side = static_cast<int>(std::ceil(std::cbrt(n) - 1e-9));
  const double spacing = frame.length > 0 ? frame.length / side : 2;
  for (int i = 0; i < n; ++i) {
    const int at[3] = {i % side, i / side % side, i / side / side};
    absl::StrAppend(&text, frame.elements[i] == 'T' ? "Ti" : frame.elements.substr(i, 1));
    for (const int x : at) absl::StrAppendFormat(&text, " %.8f", spacing * x + random.Uniform(-0.3, 0.3));
    for (int c = 0; frame.forces && c < 3; ++c) absl::StrAppendFormat(&text, " %.8f", random.Uniform(-1, 1));
    text += '\n';
  }
  return text;
}

AtomicData Read(const std::string& path, const DescriptorOptions& descriptor) {
  AtomicDataOptions options;
  options.descriptor = descriptor;
  options.weight_key = "w";
  const absl::StatusOr<AtomicData> data = AtomicData::Read({path}, options);
  CHECK(data.ok()) << data.status();
  CHECK_EQ(data->num_structures(), kNumAwkward);
  return *data;
}

// Gives a potential whose shape is known scalings and atomic energies.
void Fill(Potential* potential) {
  const int species = 3, features = potential->shape.num_features;
  RandomStream random(5, "awkward potential");
  potential->feature_scaling.num_species = species;
  potential->feature_scaling.num_features = features;
  for (int i = 0; i < species * features; ++i) {
    potential->feature_scaling.mean.push_back(random.Uniform(-1, 1));
    potential->feature_scaling.scale.push_back(random.Uniform(0.1, 0.4));
  }
  potential->energy_scaling = {0.4, 0.3};
  potential->atomic_energies = {-3, -2, -1};
}

}  // namespace

ChebyshevOptions AwkwardDescriptor() {
  ChebyshevOptions descriptor;
  descriptor.species = {22, 8, 1};
  descriptor.rad_order = 4;
  descriptor.rad_cutoff = 3.5;
  descriptor.ang_order = 2;
  descriptor.ang_cutoff = 3;
  descriptor.nearer = {{1, 2.4}};
  return descriptor;
}

std::vector<int64_t> AllAwkward() {
  std::vector<int64_t> all(kNumAwkward);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::string WriteAwkwardStructures() {
  const Frame frames[kNumAwkward] = {{"O", 0},
                                     {"T", 2.5, true, true, true},
                                     {"TOOTO", 4.5, true, true, true},
                                     {"TOH", 4, false, true, false},
                                     {"TOOTOO", 4.6, true, false, false},
                                     {"HO", 3, false, false, false},
                                     {"TOOTOOTOOTOOTOOTOOTOOTOOTOOTOOHHH", 7},
                                     {"HTO", 3.4, true, true, true, 0.25},
                                     {"OO", 3, true, true, false, 0},
                                     {"TOOTO", 4.5, true, true, true}};
  std::string text;
  for (int64_t s = 0; s < kNumAwkward; ++s) text += Text(frames[s], s == kNumAwkward - 1 ? 2 : s);
  const std::string path = TempPath("awkward.extxyz");
  CHECK(WriteFileAtomically(path, text).ok());
  return path;
}

AtomicData AwkwardStructures(const DescriptorOptions& descriptor) { return Read(WriteAwkwardStructures(), descriptor); }

AtomicData AwkwardFeatures(DType dtype) {
  FeaturizeOptions options;
  options.descriptor = AwkwardDescriptor();
  options.precision = dtype;
  options.weight_key = "w";
  const std::string path = TempPath(absl::StrCat("awkward_", DTypeName(dtype), ".safetensors"));
  const absl::Status status = Featurize({WriteAwkwardStructures()}, path, options, {}).status();
  CHECK(status.ok()) << status;
  return Read(path, AwkwardDescriptor());
}

MomentOptions AwkwardMoments() {
  MomentOptions moments;
  moments.species = {22, 8, 1};
  moments.cutoff = 3.5;
  moments.num_radial = 3;
  moments.max_l = 2;
  return moments;
}

Potential AwkwardPotential(const std::vector<int>& hidden, Activation activation) {
  Potential potential;
  potential.descriptor = AwkwardDescriptor();
  potential.shape = {3, potential.descriptor.num_features(), hidden, activation};
  Fill(&potential);
  potential.parameters = Tensor::Of(InitialNetworkParameters(potential.shape, 3));
  return potential;
}

Potential AwkwardManyBody(int messages, int vectors) {
  Potential potential;
  potential.descriptor = AwkwardMoments();
  SetInputs(potential.descriptor, /*channels=*/3, messages, vectors, &potential.shape);
  potential.shape.hidden = {4};
  potential.shape.activation = Activation::kSilu;
  Fill(&potential);
  // Means of features are 0: features of neighbors that are not there, which a mean would give a value, are not.
  std::fill(potential.feature_scaling.mean.begin(), potential.feature_scaling.mean.end(), 0.0);
  RandomStream random(7, "awkward many-body potential");
  std::vector<double> parameters(potential.shape.num_parameters());
  for (double& each : parameters) each = random.Uniform(-1, 1);
  potential.parameters = Tensor::Of(parameters);
  return potential;
}

double RelativeDifference(absl::Span<const double> a, absl::Span<const double> b) {
  CHECK_EQ(a.size(), b.size());
  double difference = 0, size = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    CHECK(std::isfinite(a[i]) && std::isfinite(b[i])) << a[i] << " " << b[i];
    difference = std::max(difference, std::abs(a[i] - b[i]));
    size = std::max(size, std::abs(b[i]));
  }
  return size > 0 ? difference / size : difference;
}

}  // namespace rutile
