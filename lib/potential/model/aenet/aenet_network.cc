#include "lib/potential/model/aenet/aenet_network.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/logging.h"
#include "lib/base/printable_text.h"
#include "lib/base/status_macros.h"
#include "lib/structure/element.h"

namespace rutile {
namespace {

// In the order of aenet's codes.
constexpr Activation kFunctions[] = {Activation::kLinear, Activation::kTanh, Activation::kSigmoid, Activation::kMtanh,
                                     Activation::kTwist};

absl::StatusOr<int64_t> FunctionCode(Activation activation) {
  const auto* const found = std::find(std::begin(kFunctions), std::end(kFunctions), activation);
  if (found != std::end(kFunctions)) return found - std::begin(kFunctions);
  return absl::InvalidArgumentError(absl::StrCat("aenet has no activation \"", kActivationNames.Name(activation),
                                                 "\", but linear, tanh, sigmoid, mtanh and twist: train with one of "
                                                 "these"));
}

std::string Symbols(absl::Span<const uint8_t> elements) {
  return absl::StrJoin(elements, ",", [](std::string* out, uint8_t z) { absl::StrAppend(out, ElementSymbol(z)); });
}

// Sets the statistics of features, and moves into the first layer of weights what aenet's form cannot express.
void SetStatistics(const Potential& potential, int species, AenetNetwork* network) {
  // Down to a variance of this share of the squared mean, aenet's difference keeps nine digits.
  constexpr double kSmallVariance = 1e-7;
  const int n = potential.shape.num_features;
  const FeatureScaling& scaling = potential.feature_scaling;
  const int64_t outputs = network->nodes[1];
  double* const bias = &network->weights[n * outputs];
  for (int f = 0; f < n; ++f) {
    const int at = species * n + f;
    const double mean = scaling.mean[at], scale = scaling.scale[at];
    const bool has_range = !potential.feature_range.min.empty();
    const double min = has_range ? potential.feature_range.min[at] : mean;
    const double max = has_range ? potential.feature_range.max[at] : mean;
    network->min.push_back(std::isfinite(min) ? min : mean);  // infinite for a species without training atoms
    network->max.push_back(std::isfinite(max) ? max : mean);
    const double variance = scale > 0 ? 1 / (scale * scale) : 0;
    if (variance > kSmallVariance * mean * mean && variance > 1e-18) {
      network->mean.push_back(mean);
      network->square.push_back(variance + mean * mean);
      continue;
    }
    network->mean.push_back(0);
    network->square.push_back(1);
    for (int64_t o = 0; o < outputs; ++o) {
      double& weight = network->weights[f * outputs + o];
      weight *= scale;
      bias[o] -= weight * mean;
    }
  }
}

void SetLayers(const Potential& potential, int species, int64_t function, AenetNetwork* network) {
  const NetworkShape& shape = potential.shape;
  const std::vector<double> parameters = potential.parameters.ToDoubles();
  network->nodes = {shape.num_features};
  for (int l = 0; l < shape.num_layers(); ++l) {
    const int in = shape.layer_inputs(l), out = shape.layer_outputs(l);
    const double* const weight = &parameters[shape.weight_offset(species, l)];
    const double* const bias = &parameters[shape.bias_offset(species, l)];
    for (int i = 0; i < in; ++i) {
      for (int o = 0; o < out; ++o) network->weights.push_back(weight[o * in + i]);
    }
    network->weights.insert(network->weights.end(), bias, bias + out);
    network->nodes.push_back(out);
    network->functions.push_back(l + 1 == shape.num_layers() ? 0 : function);
  }
}

// The checks and conversions of FromAenet.
class Assembly {
 public:
  Assembly(absl::Span<const AenetNetwork> networks, absl::Span<const std::string> names)
      : networks_(networks), names_(names), first_(networks[0]) {}

  absl::StatusOr<Potential> Make() {
    RETURN_IF_ERROR(ChooseDescriptor());
    for (size_t k = 1; k < networks_.size(); ++k) RETURN_IF_ERROR(CompareWithFirst(k));
    RETURN_IF_ERROR(OrderBySpecies());
    RETURN_IF_ERROR(ChooseShape());
    potential_.energy_scaling = {first_.scale, first_.shift};
    if (!(std::abs(first_.scale) > 0)) return Error(0, "the scale of energies is 0");
    potential_.feature_scaling.num_species = potential_.shape.num_species;
    potential_.feature_scaling.num_features = potential_.shape.num_features;
    for (const size_t k : order_) RETURN_IF_ERROR(AddScaling(k));
    SetRange();
    SetParameters();
    return std::move(potential_);
  }

 private:
  absl::Status Error(size_t k, absl::string_view message) const {
    return absl::InvalidArgumentError(absl::StrCat(names_[k], ": ", message));
  }
  absl::Status Differs(size_t k, absl::string_view what, absl::string_view here, absl::string_view first) const {
    return Error(k, absl::StrCat(what, " is ", here, ", but ", first, " in ", names_[0],
                                 "; a model of rutile has it once for all species"));
  }

  absl::Status ChooseDescriptor() {
    if (!absl::EqualsIgnoreCase(first_.basis, "Chebyshev")) {
      return Error(0, absl::StrCat("has the basis \"", PrintableText(first_.basis),
                                   "\", expected Chebyshev; rutile has no symmetry functions: train a model on the "
                                   "structures, with train"));
    }
    for (const double order : {first_.parameters[1], first_.parameters[3]}) {
      if (!(order >= 0 && order <= 1000) || order != std::floor(order)) {
        return Error(0, absl::StrCat("the order of a Chebyshev polynomial is ", order, ", expected a whole number"));
      }
    }
    ChebyshevOptions& options = potential_.descriptor.chebyshev();
    options.species = first_.environment;
    options.rad_cutoff = first_.parameters[0];
    options.rad_order = static_cast<int>(first_.parameters[1]);
    options.ang_cutoff = first_.parameters[2];
    options.ang_order = static_cast<int>(first_.parameters[3]);
    options.min_cutoff = first_.min_distance;
    for (const AenetNetwork& network : networks_) {
      options.min_cutoff = std::min(options.min_cutoff, network.min_distance);
    }
    const absl::Status valid = options.Validate();
    if (!valid.ok()) return Error(0, valid.message());
    if (options.ang_cutoff > options.rad_cutoff) {
      return Error(0, absl::StrCat("the angular cutoff, ", options.ang_cutoff, " Angstrom, is above the radial one, ",
                                   options.rad_cutoff, ", for which aenet's result is not defined"));
    }
    return absl::OkStatus();
  }

  absl::Status CompareWithFirst(size_t k) const {
    const AenetNetwork& network = networks_[k];
    if (!absl::EqualsIgnoreCase(network.basis, first_.basis)) {
      return Differs(k, "the basis", PrintableText(network.basis), first_.basis);
    }
    if (network.environment != first_.environment) {
      return Differs(k, "the environment (whose order fixes the typespins)", Symbols(network.environment),
                     Symbols(first_.environment));
    }
    constexpr absl::string_view kWhat[] = {"the radial cutoff", "the radial order", "the angular cutoff",
                                           "the angular order"};
    for (size_t p = 0; p < first_.parameters.size(); ++p) {
      if (network.parameters[p] != first_.parameters[p]) {
        return Differs(k, kWhat[p], absl::StrCat(network.parameters[p]), absl::StrCat(first_.parameters[p]));
      }
    }
    if (network.scale != first_.scale || network.shift != first_.shift) {
      constexpr absl::string_view kEnergies = "scale and shift of the energies (which a training set fixes)";
      const auto both = [](const AenetNetwork& n) { return absl::StrCat(n.scale, " and ", n.shift); };
      return Differs(k, kEnergies, both(network), both(first_));
    }
    return absl::OkStatus();
  }

  // Finds the network of each species.
  absl::Status OrderBySpecies() {
    for (const uint8_t element : first_.environment) {
      const size_t none = networks_.size();
      size_t found = none;
      for (size_t k = 0; k < networks_.size(); ++k) {
        if (networks_[k].atom != element) continue;
        if (found != none) {
          return Error(k, absl::StrCat("is a second network of ", ElementSymbol(element), ", beside ", names_[found]));
        }
        found = k;
      }
      if (found == none) {
        return Error(0, absl::StrCat("needs a network of each of its species, ", Symbols(first_.environment),
                                     ", and that of ", ElementSymbol(element), " is missing"));
      }
      order_.push_back(found);
    }
    for (size_t k = 0; k < networks_.size(); ++k) {
      if (std::find(order_.begin(), order_.end(), k) != order_.end()) continue;
      return Error(k, absl::StrCat("is the network of ", ElementSymbol(networks_[k].atom), ", which is not among ",
                                   Symbols(first_.environment), ", the species of its environment"));
    }
    return absl::OkStatus();
  }

  absl::Status ChooseShape() {
    SetInputs(potential_.descriptor, /*channels=*/0, /*messages=*/0, /*vector_messages=*/0, &potential_.shape);
    NetworkShape& shape = potential_.shape;
    shape.hidden.assign(first_.nodes.begin() + 1, first_.nodes.end() - 1);
    const absl::Status valid = shape.Validate();
    if (!valid.ok()) return Error(0, valid.message());
    if (!shape.hidden.empty()) shape.activation = kFunctions[first_.functions[0]];
    for (size_t k = 0; k < networks_.size(); ++k) {
      const AenetNetwork& network = networks_[k];
      if (network.nodes[0] != shape.num_features) {
        return Error(k, absl::StrCat("has ", network.nodes[0], " features, expected ", shape.num_features,
                                     " for its Chebyshev descriptor"));
      }
      if (network.nodes != first_.nodes) {
        return Differs(k, "the layers' numbers of nodes", absl::StrJoin(network.nodes, "-"),
                       absl::StrJoin(first_.nodes, "-"));
      }
      const std::vector<int64_t> hidden(network.functions.begin(), network.functions.end() - 1);
      for (const int64_t function : hidden) {
        if (kFunctions[function] == shape.activation) continue;
        return Error(k, absl::StrCat("has the activation ", kActivationNames.Name(kFunctions[function]), " beside ",
                                     kActivationNames.Name(shape.activation), " of the first hidden layer of ",
                                     names_[0], "; a model of rutile has one activation for all layers and species"));
      }
      if (network.functions.back() != 0) {
        return Error(k, absl::StrCat("has the output ", kActivationNames.Name(kFunctions[network.functions.back()]),
                                     ", expected linear; rutile has no other"));
      }
    }
    return absl::OkStatus();
  }

  absl::Status AddScaling(size_t k) {
    const AenetNetwork& network = networks_[k];
    FeatureScaling& scaling = potential_.feature_scaling;
    for (size_t f = 0; f < network.mean.size(); ++f) {
      const double mean = network.mean[f], variance = network.square[f] - mean * mean;
      if (!(variance >= 0) || !std::isfinite(variance)) {
        return Error(
            k, absl::StrCat("feature ", f + 1, " has a mean of ", mean, " and a mean square of ", network.square[f],
                            ", which is less than the square of the mean: aenet makes NaN of it"));
      }
      const double deviation = std::sqrt(variance);
      scaling.mean.push_back(mean);
      scaling.scale.push_back(deviation > 1e-10 ? 1 / deviation : 0);  // aenet's limit
    }
    const size_t own = std::find(network.types.begin(), network.types.end(), network.atom) - network.types.begin();
    if (own == network.types.size()) {
      return Error(k, absl::StrCat("its training set has ", Symbols(network.types), ", expected ",
                                   ElementSymbol(network.atom), " among them"));
    }
    potential_.atomic_energies.push_back(network.atomic_energies[own]);
    return absl::OkStatus();
  }

  void SetRange() {
    FeatureRange range;
    for (const size_t k : order_) {
      const AenetNetwork& network = networks_[k];
      bool has_range = false;
      for (size_t f = 0; f < network.min.size(); ++f) {
        if (network.min[f] > network.max[f]) return;
        has_range = has_range || network.min[f] < network.max[f];
      }
      if (!has_range) return;
      range.min.insert(range.min.end(), network.min.begin(), network.min.end());
      range.max.insert(range.max.end(), network.max.begin(), network.max.end());
    }
    potential_.feature_range = std::move(range);
  }

  void SetParameters() {
    const NetworkShape& shape = potential_.shape;
    std::vector<double> parameters(shape.num_parameters());
    for (int species = 0; species < shape.num_species; ++species) {
      const double* from = networks_[order_[species]].weights.data();
      for (int l = 0; l < shape.num_layers(); ++l) {
        const int in = shape.layer_inputs(l), out = shape.layer_outputs(l);
        double* const weight = &parameters[shape.weight_offset(species, l)];
        for (int i = 0; i < in; ++i) {
          for (int o = 0; o < out; ++o) weight[o * in + i] = *from++;
        }
        std::copy(from, from + out, &parameters[shape.bias_offset(species, l)]);
        from += out;
      }
    }
    potential_.parameters = Tensor::Of(parameters);
  }

  const absl::Span<const AenetNetwork> networks_;
  const absl::Span<const std::string> names_;
  const AenetNetwork& first_;
  std::vector<size_t> order_;  // [species] index of the network
  Potential potential_;
};

}  // namespace

absl::StatusOr<AenetNetwork> ToAenet(const Potential& potential, int species) {
  if (!potential.descriptor.is_chebyshev()) {
    return absl::InvalidArgumentError("aenet has no many-body potentials: train with --preset=aenet");
  }
  if (!potential.repulsion.empty()) {
    return absl::InvalidArgumentError(
        "aenet's networks have no repulsion of pairs beside them, and this model has one: train without --zbl");
  }
  const ChebyshevOptions& descriptor = potential.descriptor.chebyshev();
  CHECK(species >= 0 && species < static_cast<int>(descriptor.species.size())) << species;
  ASSIGN_OR_RETURN(const int64_t function, FunctionCode(potential.shape.activation));
  if (!descriptor.nearer.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("aenet has one angular cutoff, not ", descriptor.AngularCutoffs(), " (Angstrom): train with one"));
  }
  if (descriptor.ang_cutoff > descriptor.rad_cutoff) {
    return absl::InvalidArgumentError(absl::StrCat("aenet cannot have an angular cutoff (", descriptor.ang_cutoff,
                                                   " Angstrom) above the radial one (", descriptor.rad_cutoff,
                                                   "): train with another descriptor"));
  }
  AenetNetwork network;
  SetLayers(potential, species, function, &network);
  network.atom = descriptor.species[species];
  network.description = absl::StrCat("Chebyshev descriptor of ", ElementSymbol(network.atom), ", written by rutile");
  network.environment = descriptor.species;
  network.min_distance = descriptor.min_cutoff;
  network.max_cutoff = descriptor.cutoff();
  network.basis = "Chebyshev";
  network.parameters = {descriptor.rad_cutoff, static_cast<double>(descriptor.rad_order), descriptor.ang_cutoff,
                        static_cast<double>(descriptor.ang_order)};
  network.evaluations = 1;  // not known
  SetStatistics(potential, species, &network);
  network.training_set = "rutile";
  network.scale = potential.energy_scaling.scale;
  network.shift = potential.energy_scaling.shift;
  network.types = descriptor.species;
  network.atomic_energies = potential.atomic_energies;
  // The least and largest energy per atom, which scale and shift map to -1 and 1, and the mean.
  network.energy_min = network.shift - 1 / network.scale;
  network.energy_max = network.shift + 1 / network.scale;
  network.energy_mean = network.shift;
  return network;
}

absl::StatusOr<Potential> FromAenet(absl::Span<const AenetNetwork> networks, absl::Span<const std::string> names) {
  CHECK(!networks.empty());
  CHECK_EQ(networks.size(), names.size());
  return Assembly(networks, names).Make();
}

}  // namespace rutile
