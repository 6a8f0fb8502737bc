#include "lib/potential/model/transfer.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/descriptor/descriptor_options.h"
#include "lib/network/network_shape.h"
#include "lib/potential/model/structure_messages.h"
#include "lib/structure/element.h"
#include "lib/tensorfile/tensor_of_doubles.h"

namespace rutile {
namespace {

// What coefficients that were never trained, and are random still, begin with: a share of what a new run has.
constexpr double kShareOfUntrained = 0.1;

// Networks learned what the repulsion left, so both need the same one between the species that they share.
absl::Status CheckSameRepulsion(const Potential& from, const Potential& to) {
  const std::vector<uint8_t>&known = from.descriptor.species(), &species = to.descriptor.species();
  bool same = from.repulsion.empty() == to.repulsion.empty();
  for (size_t i = 0; i < known.size() && same && !from.repulsion.empty(); ++i) {
    for (size_t j = 0; j < known.size(); ++j) {
      const auto a = std::find(species.begin(), species.end(), known[i]);
      const auto b = std::find(species.begin(), species.end(), known[j]);
      if (a == species.end() || b == species.end()) continue;
      const size_t here = (a - species.begin()) * species.size() + (b - species.begin()), then = i * known.size() + j;
      same = same && from.repulsion.inner[then] == to.repulsion.inner[here] &&
             from.repulsion.outer[then] == to.repulsion.outer[here];
    }
  }
  if (same) return absl::OkStatus();
  const auto describe = [](const Potential& potential) {
    const std::string radii = DescribeRepulsion(potential.repulsion, potential.descriptor);
    return radii.empty() ? std::string("none") : radii + " Angstrom";
  };
  return absl::InvalidArgumentError(absl::StrCat("its repulsion (--zbl) is ", describe(from), ", asked for is ",
                                                 describe(to), ": networks learned what it left"));
}

absl::Status CheckFits(const Potential& from, const Potential& to) {
  DescriptorOptions same_species = from.descriptor;
  same_species.set_species(to.descriptor.species());
  if (same_species != to.descriptor) {
    return absl::InvalidArgumentError(absl::StrCat("its descriptor is ", from.descriptor.ToJson(),
                                                   ", that of the data ", to.descriptor.ToJson(),
                                                   "; all but the species must be the same"));
  }
  // Moments are of each neighboring species apart, so that the networks are the same for any number of species.
  if (!from.shape.has_moments() && from.shape.num_features != to.shape.num_features) {
    return absl::InvalidArgumentError(absl::StrCat("it has ", from.shape.num_features, " features, the data ",
                                                   to.shape.num_features,
                                                   ": networks of one species do not fit those of several"));
  }
  if (from.shape.moments.channels != to.shape.moments.channels) {
    return absl::InvalidArgumentError(
        absl::StrCat("it has ", from.shape.moments.channels, " channels, asked for are ", to.shape.moments.channels));
  }
  if (from.shape.moments.messages != to.shape.moments.messages) {
    return absl::InvalidArgumentError(
        absl::StrCat("it has ", from.shape.moments.messages, " messages, asked for are ", to.shape.moments.messages));
  }
  if (from.shape.moments.vector_messages != to.shape.moments.vector_messages) {
    return absl::InvalidArgumentError(absl::StrCat("it has ", from.shape.moments.vector_messages,
                                                   " vector messages, asked for are ",
                                                   to.shape.moments.vector_messages));
  }
  if (from.shape.hidden != to.shape.hidden || from.shape.activation != to.shape.activation) {
    return absl::InvalidArgumentError(absl::StrCat(
        "its networks are ", absl::StrJoin(from.shape.hidden, ","), " ", kActivationNames.Name(from.shape.activation),
        ", asked for are ", absl::StrJoin(to.shape.hidden, ","), " ", kActivationNames.Name(to.shape.activation)));
  }
  return CheckSameRepulsion(from, to);
}

// Converts one species' network, in fp64, from the scaling of `from` to that of `to`.
class Network {
 public:
  Network(const Potential& from, int from_species, const Potential& to, int to_species)
      : from_(from), to_(to), from_species_(from_species), to_species_(to_species), shape_(to.shape) {
    const std::vector<double> all = from.parameters.ToDoubles();
    const int64_t size = from.shape.parameters_per_species();
    const auto begin = all.begin() + from_species * size;
    // Radial coefficients come first, and are as many as species; the rest is the same.
    const auto rest = begin + from.shape.num_radial_coefficients();
    old_coefficients_.assign(begin, rest);
    values_.assign(shape_.num_radial_coefficients(), 0.0);
    values_.insert(values_.end(), rest, begin + size);
    CHECK_EQ(static_cast<int64_t>(values_.size()), shape_.parameters_per_species());
  }

  // Adapts the first layer. Returns how many features that the network used are constant in the new set.
  int RescaleFeatures() {
    if (shape_.has_messages()) RescaleMessages();
    return shape_.has_moments() ? RescaleMoments() : RescaleFirstLayer();
  }

  // Degrees of moments that vanished for the model and not in the new set, once the features are rescaled.
  const std::set<int>& untrained_degrees() const { return untrained_degrees_; }

  void RescaleEnergy() {
    const int last = shape_.num_layers() - 1;
    const double scale = from_.energy_scaling.scale, new_scale = to_.energy_scaling.scale;
    const double constant = from_.energy_scaling.shift + from_.atomic_energies[from_species_] -
                            to_.energy_scaling.shift - to_.atomic_energies[to_species_];
    const int64_t begin = Offset(shape_.weight_offset(to_species_, last));
    double& bias = values_[Offset(shape_.bias_offset(to_species_, last))];
    for (int64_t i = 0; i < shape_.layer_inputs(last); ++i) values_[begin + i] *= new_scale / scale;
    bias = (bias / scale + constant) * new_scale;
    if (!shape_.has_moments()) return;
    const int64_t linear = Offset(shape_.linear_offset(to_species_));
    for (int64_t k = 0; k < shape_.moments.channels; ++k) values_[linear + k] *= new_scale / scale;
    if (!shape_.has_messages()) return;
    // The second layer's energies have no constant of their own.
    const NetworkShape second = shape_.SecondLayer();
    double* const layer = &values_[Offset(shape_.second_layer_offset(to_species_))];
    for (int64_t k = 0; k < shape_.moments.channels; ++k) layer[second.linear_offset(0) + k] *= new_scale / scale;
    for (int64_t i = second.weight_offset(0, last); i < second.parameters_per_species(); ++i) {
      layer[i] *= new_scale / scale;
    }
  }

  void Write(Tensor* parameters) const {
    const int64_t begin = to_species_ * shape_.parameters_per_species();
    if (parameters->dtype() == DType::kF64) {
      std::copy(values_.begin(), values_.end(), parameters->mutable_values<double>().begin() + begin);
    } else {
      std::transform(values_.begin(), values_.end(), parameters->mutable_values<float>().begin() + begin,
                     [](double value) { return static_cast<float>(value); });
    }
  }

 private:
  int64_t Offset(int64_t of_all) const { return of_all - to_species_ * shape_.parameters_per_species(); }

  // Returns the index in `from` of a species of `to`, or -1.
  int SpeciesInFrom(int64_t species) const {
    const std::vector<uint8_t>& known = from_.descriptor.species();
    const auto found = std::find(known.begin(), known.end(), to_.descriptor.species()[species]);
    return found == known.end() ? -1 : static_cast<int>(found - known.begin());
  }

  // Moments have no means, and scales that depend on the neighbor's species, n and l alone. Coefficients follow their
  // element; those of neighbors that the model never saw, whose values are random, become 0, so that predictions stay.
  // Returns how many moments that the coefficients used have no scale in the new set.
  int RescaleMoments() {
    const MomentShape& m = shape_.moments;
    const int64_t f = shape_.num_features, from_f = from_.shape.num_features, components = m.num_components();
    const auto coefficient = [&](int64_t k, int l, int64_t s, const NetworkShape& shape) {
      return ((k * (m.max_l + 1) + l) * shape.num_species + s) * m.num_radial;
    };
    // Sums over neighbors are divided by the root of the number of species (docs/methods.md, A_klm).
    const double sums = std::sqrt(static_cast<double>(shape_.num_species) / from_.shape.num_species);
    const auto density = [&](int64_t neighbor, int n) {
      return from_.feature_scaling.scale[from_species_ * from_f + (neighbor * m.num_radial + n) * components];
    };
    int lost = 0;
    for (int l = 0; l <= m.max_l; ++l) {
      for (int64_t s = 0; s < shape_.num_species; ++s) {
        const int64_t then = SpeciesInFrom(s), block = m.num_radial * components;
        for (int n = 0; n < m.num_radial; ++n) {
          const int64_t at = n * components + l * l;
          const double scale = then < 0 ? 0 : from_.feature_scaling.scale[from_species_ * from_f + then * block + at];
          const double new_scale = to_.feature_scaling.scale[to_species_ * f + s * block + at];
          lost += scale != 0 && new_scale == 0 ? 2 * l + 1 : 0;
          // A degree that vanished was not trained: its values are still random, and at 0 they would stay there, as
          // products of moments have no slope at 0.
          const bool vanished = scale == 0 && l > 0 && then >= 0 && density(then, n) != 0;
          const double factor = vanished ? kShareOfUntrained : scale == 0 ? 0 : new_scale == 0 ? 1 : scale / new_scale;
          if (vanished && new_scale != 0) untrained_degrees_.insert(l);
          for (int64_t k = 0; k < m.channels; ++k) {
            values_[coefficient(k, l, s, shape_) + n] =
                factor == 0 ? 0 : sums * factor * old_coefficients_[coefficient(k, l, then, from_.shape) + n];
          }
        }
      }
    }
    return lost;
  }

  // Coefficients of moments of messages, whose scales depend on n and l alone.
  void RescaleMessages() {
    const NetworkShape second = shape_.SecondLayer();
    const std::vector<double> scale = MessageScale(from_.descriptor.moments(), from_.shape, from_.feature_scaling);
    const std::vector<double> new_scale = MessageScale(to_.descriptor.moments(), to_.shape, to_.feature_scaling);
    double* c = &values_[Offset(shape_.second_layer_offset(to_species_))];
    const MomentShape& m = second.moments;
    for (int64_t k = 0; k < m.channels; ++k) {
      for (int64_t l = 0; l <= m.max_l; ++l) {
        for (int64_t source = 0; source < m.num_sources; ++source) {
          for (int64_t at = l * l; at < m.num_radial * m.num_components(); at += m.num_components()) {
            // Moments without a scale, in the old set or the new one, count nothing there.
            *c++ *= new_scale[at] == 0 ? 1 : scale[at] == 0 ? kShareOfUntrained : scale[at] / new_scale[at];
          }
        }
      }
    }
  }

  int RescaleFirstLayer() {
    const int64_t f = shape_.num_features, out = shape_.layer_outputs(0);
    double* const bias = &values_[Offset(shape_.bias_offset(to_species_, 0))];
    int lost = 0;
    for (int64_t k = 0; k < f; ++k) {
      const double mean = from_.feature_scaling.mean[from_species_ * f + k];
      const double scale = from_.feature_scaling.scale[from_species_ * f + k];
      const double new_mean = to_.feature_scaling.mean[to_species_ * f + k];
      const double new_scale = to_.feature_scaling.scale[to_species_ * f + k];
      lost += scale != 0 && new_scale == 0;
      for (int64_t o = 0; o < out; ++o) {
        double& weight = values_[o * f + k];
        bias[o] += weight * (new_mean - mean) * scale;
        weight = new_scale == 0 ? 0 : weight * (scale / new_scale);
      }
    }
    return lost;
  }

  const Potential& from_;
  const Potential& to_;
  const int from_species_, to_species_;
  const NetworkShape& shape_;
  std::vector<double> values_;  // one species' parameters in the layout of `to`
  std::set<int> untrained_degrees_;
  std::vector<double> old_coefficients_;  // radial coefficients in the layout of `from`; empty without moments
};

std::string Symbols(const std::vector<uint8_t>& species) {
  return absl::StrJoin(species, ",",
                       [](std::string* out, uint8_t element) { absl::StrAppend(out, ElementSymbol(element)); });
}

// Sets the message weights of a species to 0, from where they are learned.
void SilenceSpecies(const NetworkShape& shape, int species, Tensor* parameters) {
  const int64_t begin = shape.message_offset(species), end = shape.second_layer_offset(species);
  std::vector<double> values = parameters->ToDoubles();
  std::fill(values.begin() + begin, values.begin() + end, 0.0);
  *parameters = TensorOfDoubles(parameters->dtype(), values);
}

Tensor Copy(const Tensor& parameters) { return TensorOfDoubles(parameters.dtype(), parameters.ToDoubles()); }

}  // namespace

absl::StatusOr<Transfer> TransferParameters(const Potential& from, const Potential& to) {
  RETURN_IF_ERROR(CheckFits(from, to));
  const std::vector<uint8_t>& old_species = from.descriptor.species();
  const std::vector<uint8_t>& species = to.descriptor.species();
  Transfer transfer;
  transfer.parameters = Copy(to.parameters);
  for (size_t s = 0; s < species.size(); ++s) {
    const std::string symbol(ElementSymbol(species[s]));
    const auto found = std::find(old_species.begin(), old_species.end(), species[s]);
    if (found == old_species.end()) {
      transfer.begun.push_back(symbol);
      // What atoms of a new element send would disturb the others, which know nothing of it.
      if (to.shape.has_messages()) SilenceSpecies(to.shape, static_cast<int>(s), &transfer.parameters);
      continue;
    }
    Network network(from, static_cast<int>(found - old_species.begin()), to, static_cast<int>(s));
    if (const int lost = network.RescaleFeatures(); lost > 0) {
      transfer.messages.push_back(absl::StrCat(lost, " features of ", symbol,
                                               " do not vary in the training set, where ",
                                               "they varied for the model: it forgets how they count"));
    }
    if (!network.untrained_degrees().empty()) {
      transfer.messages.push_back(absl::StrCat(
          "moments of degree ", absl::StrJoin(network.untrained_degrees(), ", "), " around ", symbol,
          " vanished in the structures that the model learned from: their coefficients begin with random numbers"));
    }
    network.RescaleEnergy();
    network.Write(&transfer.parameters);
    transfer.taken.push_back(symbol);
  }
  if (transfer.taken.empty()) return absl::InvalidArgumentError("it has none of the species of the data");
  if (old_species != species && !from.shape.has_moments()) {
    transfer.messages.push_back(
        "the species are not the model's: features that weigh neighbors by species mean other elements now, so the "
        "networks start near what they were, not at it");
  }
  return transfer;
}

absl::StatusOr<Tensor> CarryParametersOver(const Potential& from, const Potential& to) {
  if (const absl::Status fits = CheckFits(from, to); !fits.ok()) return absl::FailedPreconditionError(fits.message());
  if (from.descriptor.species() != to.descriptor.species()) {
    return absl::InvalidArgumentError(absl::StrCat("its species are ", Symbols(from.descriptor.species()),
                                                   ", those here ", Symbols(to.descriptor.species()),
                                                   ": features that weigh neighbors by species would mean other ones"));
  }
  Potential target = to;
  target.parameters = from.parameters;
  ASSIGN_OR_RETURN(Transfer transfer, TransferParameters(from, target));
  if (!transfer.messages.empty()) return absl::InvalidArgumentError(transfer.messages.front());
  return std::move(transfer.parameters);
}

}  // namespace rutile
