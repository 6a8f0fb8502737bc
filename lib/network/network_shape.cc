#include "lib/network/network_shape.h"

#include <cmath>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace rutile {
namespace {

constexpr int kMostLayers = 16;
constexpr int kMostNodes = 4096;
constexpr int kMostChannels = 512, kMostRadial = 64, kMostL = 4, kMostMessages = 128;

absl::Status OutOfRange(absl::string_view flag, int value, int least, int most) {
  return absl::InvalidArgumentError(absl::StrCat(flag, "=", value, ": expected ", least, " to ", most));
}

absl::Status ValidateMoments(const NetworkShape& shape) {
  const MomentShape& m = shape.moments;
  if (m.channels == 0) return absl::OkStatus();
  if (m.channels < 0 || m.channels > kMostChannels) return OutOfRange("--channels", m.channels, 1, kMostChannels);
  if (m.num_radial < 1 || m.num_radial > kMostRadial) {
    return OutOfRange("--radial_functions", m.num_radial, 1, kMostRadial);
  }
  if (m.max_l < 0 || m.max_l > kMostL) return OutOfRange("--max_l", m.max_l, 0, kMostL);
  if (m.messages < 0 || m.messages > kMostMessages) return OutOfRange("--messages", m.messages, 0, kMostMessages);
  if (m.vector_messages < 0 || m.vector_messages > m.messages) {
    return absl::InvalidArgumentError(
        absl::StrCat("--vector_messages=", m.vector_messages, ": expected 0 to ", m.messages,
                     ", as each vector adds to one of the numbers of --messages=", m.messages));
  }
  if (m.vector_messages > 0 && m.max_l == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--vector_messages=", m.vector_messages,
                     ": vectors are made of moments of l = 1, which --max_l=0 has not; expected --max_l of 1 or more"));
  }
  if (shape.num_features != shape.MomentFeatures()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a network with --channels=", m.channels, " has ", shape.num_features, " features, expected ",
                     shape.num_sources(), m.num_sources > 0 ? " messages * " : " species * ", m.num_radial,
                     " radial functions * ", m.num_components(), " components = ", shape.MomentFeatures()));
  }
  return absl::OkStatus();
}

}  // namespace

int MomentShape::num_products() const {
  int count = 1 + (max_l + 1);  // of degrees 1 and 2
  for (int l1 = 0; l1 <= max_l; ++l1) {
    for (int l2 = l1; l2 <= max_l; ++l2) {
      for (int l3 = l2; l3 <= max_l && l3 <= l1 + l2; ++l3) count += (l1 + l2 + l3) % 2 == 0;
    }
  }
  return count;
}

absl::Status NetworkShape::Validate() const {
  if (static_cast<int>(hidden.size()) > kMostLayers) {
    return absl::InvalidArgumentError(absl::StrCat("--hidden has ", hidden.size(), " layers, at most ", kMostLayers));
  }
  for (const int nodes : hidden) {
    if (nodes < 1 || nodes > kMostNodes) {
      return absl::InvalidArgumentError(
          absl::StrCat("--hidden: a layer of ", nodes, " nodes; expected 1 to ", kMostNodes));
    }
  }
  return ValidateMoments(*this);
}

int64_t NetworkShape::parameters_per_species() const {
  int64_t count = num_moment_parameters();
  for (int layer = 0; layer < num_layers(); ++layer) count += int64_t{layer_inputs(layer) + 1} * layer_outputs(layer);
  if (has_messages()) {
    count += int64_t{moments.messages + moments.vector_messages} * moments.channels;
    count += SecondLayer().parameters_per_species();
  }
  return count;
}

NetworkShape NetworkShape::FirstLayer() const {
  NetworkShape first = *this;
  first.moments.messages = first.moments.vector_messages = 0;
  return first;
}

NetworkShape NetworkShape::SecondLayer() const {
  NetworkShape second = FirstLayer();
  second.moments.num_sources = moments.messages;
  second.num_features = second.MomentFeatures();
  return second;
}

int64_t NetworkShape::weight_offset(int species, int layer) const {
  int64_t offset = species * parameters_per_species() + num_moment_parameters();
  for (int l = 0; l < layer; ++l) offset += int64_t{layer_inputs(l) + 1} * layer_outputs(l);
  return offset;
}

}  // namespace rutile
