#include "lib/potential/model/aenet_file.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/file.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/structure/element.h"

namespace rutile {
namespace {

// Numbers per line of a list, in columns: some of aenet's readers count columns.
constexpr int kPerLine = 4;
constexpr int kNumSetupParameters = 4;
constexpr int kMaxEnvironment = 2;  // species that a symmetry function of aenet can name

template <typename T, class Append>
void AppendList(const std::vector<T>& values, const Append& append, std::string* out) {
  for (size_t i = 0; i < values.size(); ++i) {
    append(values[i]);
    if (i % kPerLine + 1 == kPerLine || i + 1 == values.size()) out->push_back('\n');
  }
}

void AppendIntegers(const std::vector<int64_t>& values, std::string* out) {
  AppendList(
      values, [out](int64_t value) { absl::StrAppendFormat(out, " %17d", value); }, out);
}

// Prints 17 digits after the point, so that every double is read back exactly, except that numbers whose exponent needs
// three digits become 0.
void AppendNumbers(const std::vector<double>& values, std::string* out) {
  const auto append = [out](double value) {
    absl::StrAppendFormat(out, " %24.17E", std::abs(value) < 1e-99 ? 0.0 : value);
  };
  AppendList(values, append, out);
}

absl::StatusOr<int64_t> ActivationCode(Activation activation) {
  switch (activation) {
    case Activation::kLinear:
      return 0;
    case Activation::kTanh:
      return 1;
    case Activation::kSigmoid:
      return 2;
    case Activation::kMtanh:
      return 3;
    case Activation::kTwist:
      return 4;
    case Activation::kSilu:
      break;
  }
  return absl::InvalidArgumentError(absl::StrCat("aenet has no activation \"", kActivationNames.Name(activation),
                                                 "\", but linear, tanh, sigmoid, mtanh and twist: train with one of "
                                                 "these"));
}

// One layer.
struct Layer {
  int inputs, outputs;
  std::vector<double> weight;  // [outputs, inputs]
  std::vector<double> bias;    // [outputs]
};

std::vector<Layer> LayersOf(const Potential& potential, int species) {
  const NetworkShape& shape = potential.shape;
  const std::vector<double> parameters = potential.parameters.ToDoubles();
  std::vector<Layer> layers;
  for (int l = 0; l < shape.num_layers(); ++l) {
    const auto weight = parameters.begin() + shape.weight_offset(species, l);
    const auto bias = parameters.begin() + shape.bias_offset(species, l);
    layers.push_back(
        {shape.layer_inputs(l), shape.layer_outputs(l), {weight, bias}, {bias, bias + shape.layer_outputs(l)}});
  }
  return layers;
}

// The statistics of features that aenet's stp_eval stores: means of features and of their squares.
struct Statistics {
  std::vector<double> mean, square, min, max;  // [F]
};

// Returns the statistics in aenet's form, and moves into the first layer what that form cannot express.
Statistics Standardize(const Potential& potential, int species, Layer* first) {
  // Down to a variance of this share of the squared mean, aenet's difference keeps nine digits.
  constexpr double kSmallVariance = 1e-7;
  const int n = potential.shape.num_features;
  const FeatureScaling& scaling = potential.feature_scaling;
  Statistics statistics;
  for (int f = 0; f < n; ++f) {
    const int at = species * n + f;
    const double mean = scaling.mean[at], scale = scaling.scale[at];
    const bool has_range = !potential.feature_range.min.empty();
    const double min = has_range ? potential.feature_range.min[at] : mean;
    const double max = has_range ? potential.feature_range.max[at] : mean;
    statistics.min.push_back(std::isfinite(min) ? min : mean);  // infinite for a species without training atoms
    statistics.max.push_back(std::isfinite(max) ? max : mean);
    const double variance = scale > 0 ? 1 / (scale * scale) : 0;
    if (variance > kSmallVariance * mean * mean && variance > 1e-18) {
      statistics.mean.push_back(mean);
      statistics.square.push_back(variance + mean * mean);
      continue;
    }
    statistics.mean.push_back(0);
    statistics.square.push_back(1);
    for (int o = 0; o < first->outputs; ++o) {
      double& weight = first->weight[o * n + f];
      weight *= scale;
      first->bias[o] -= weight * mean;
    }
  }
  return statistics;
}

void AppendNetwork(const std::vector<Layer>& layers, int64_t activation, std::string* out) {
  std::vector<int64_t> nodes = {layers[0].inputs}, functions, first_weight = {0}, first_value = {0};
  std::vector<double> weights;
  for (const Layer& layer : layers) {
    for (int i = 0; i < layer.inputs; ++i) {
      for (int o = 0; o < layer.outputs; ++o) weights.push_back(layer.weight[o * layer.inputs + i]);
    }
    weights.insert(weights.end(), layer.bias.begin(), layer.bias.end());
    nodes.push_back(layer.outputs);
    functions.push_back(&layer == &layers.back() ? 0 : activation);
    first_weight.push_back(static_cast<int64_t>(weights.size()));
    first_value.push_back(first_value.back() + layer.inputs + 1);
  }
  absl::StrAppend(out, nodes.size(), "\n", *std::max_element(nodes.begin(), nodes.end()), "\n", weights.size(), "\n",
                  first_value.back() + nodes.back(), "\n");
  for (const std::vector<int64_t>* list : {&nodes, &functions, &first_weight, &first_value}) AppendIntegers(*list, out);
  AppendNumbers(weights, out);
}

void AppendSetup(const ChebyshevOptions& descriptor, int species, const Statistics& statistics, std::string* out) {
  const int n = descriptor.num_features();
  absl::StrAppend(out, "Chebyshev descriptor of ", ElementSymbol(descriptor.species[species]), ", written by rutile\n",
                  ElementSymbol(descriptor.species[species]), "\n", descriptor.species.size(), "\n");
  for (const uint8_t element : descriptor.species) absl::StrAppend(out, ElementSymbol(element), "\n");
  absl::StrAppendFormat(out, "%.17g\n%.17g\nChebyshev\n%d\n%d\n", descriptor.min_cutoff, descriptor.cutoff(), n,
                        kNumSetupParameters);
  AppendIntegers(std::vector<int64_t>(n, 0), out);  // kinds of symmetry functions, not used by Chebyshev
  std::vector<double> parameters(n * kNumSetupParameters, 0.0);
  parameters[0] = descriptor.rad_cutoff;
  parameters[1] = descriptor.rad_order;
  parameters[2] = descriptor.ang_cutoff;
  parameters[3] = descriptor.ang_order;
  AppendNumbers(parameters, out);
  AppendIntegers(std::vector<int64_t>(n * kMaxEnvironment, 0), out);
  absl::StrAppend(out, "1\n");  // number of evaluations behind the statistics, which is not known
  for (const std::vector<double>* list : {&statistics.min, &statistics.max, &statistics.mean, &statistics.square}) {
    AppendNumbers(*list, out);
  }
}

void AppendTrainingSet(const Potential& potential, std::string* out) {
  const EnergyScaling& scaling = potential.energy_scaling;
  absl::StrAppendFormat(out, "rutile\nT\n%.17g\n%.17g\n%d\n", scaling.scale, scaling.shift,
                        static_cast<int>(potential.descriptor.species().size()));
  for (const uint8_t element : potential.descriptor.species()) absl::StrAppend(out, ElementSymbol(element), "\n");
  AppendNumbers(potential.atomic_energies, out);
  absl::StrAppend(out, "0\n0\n");  // numbers of atoms and structures, which are not known
  // The least and largest energy per atom, which scale and shift map to -1 and 1, and the mean.
  absl::StrAppendFormat(out, "%.17g %.17g %.17g\n", scaling.shift - 1 / scaling.scale,
                        scaling.shift + 1 / scaling.scale, scaling.shift);
}

}  // namespace

absl::StatusOr<std::string> AenetText(const Potential& potential, int species) {
  if (!potential.descriptor.is_chebyshev()) {
    return absl::InvalidArgumentError("aenet has no many-body potentials: train with --potential=chebyshev");
  }
  if (!potential.repulsion.empty()) {
    return absl::InvalidArgumentError(
        "aenet's networks have no repulsion of pairs beside them, and this model has one: train without --zbl");
  }
  const ChebyshevOptions& descriptor = potential.descriptor.chebyshev();
  CHECK(species >= 0 && species < static_cast<int>(descriptor.species.size())) << species;
  ASSIGN_OR_RETURN(const int64_t activation, ActivationCode(potential.shape.activation));
  if (!descriptor.nearer.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("aenet has one angular cutoff, not ", descriptor.AngularCutoffs(), " (Angstrom): train with one"));
  }
  if (descriptor.ang_cutoff > descriptor.rad_cutoff) {
    return absl::InvalidArgumentError(absl::StrCat("aenet cannot have an angular cutoff (", descriptor.ang_cutoff,
                                                   " Angstrom) above the radial one (", descriptor.rad_cutoff,
                                                   "): train with another descriptor"));
  }
  std::vector<Layer> layers = LayersOf(potential, species);
  const Statistics statistics = Standardize(potential, species, &layers[0]);
  std::string text;
  AppendNetwork(layers, activation, &text);
  AppendSetup(descriptor, species, statistics, &text);
  AppendTrainingSet(potential, &text);
  return text;
}

absl::Status WriteAenetPotentials(absl::string_view directory, const Potential& potential) {
  std::vector<std::pair<std::string, std::string>> files;
  for (size_t s = 0; s < potential.descriptor.species().size(); ++s) {
    ASSIGN_OR_RETURN(std::string text, AenetText(potential, static_cast<int>(s)));
    files.emplace_back(absl::StrCat(directory, "/", ElementSymbol(potential.descriptor.species()[s]), ".nn.ascii"),
                       std::move(text));
  }
  RETURN_IF_ERROR(MakeDirectories(std::string(directory)));
  for (const auto& [path, text] : files) RETURN_IF_ERROR(WriteFileAtomically(path, text));
  return absl::OkStatus();
}

}  // namespace rutile
