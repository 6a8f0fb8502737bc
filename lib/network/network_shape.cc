#include "lib/network/network_shape.h"

#include <cmath>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace rutile {
namespace {

constexpr int kMostLayers = 16;
constexpr int kMostNodes = 4096;

}  // namespace

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
  return absl::OkStatus();
}

int64_t NetworkShape::parameters_per_species() const {
  int64_t count = 0;
  for (int layer = 0; layer < num_layers(); ++layer) count += int64_t{layer_inputs(layer) + 1} * layer_outputs(layer);
  return count;
}

int64_t NetworkShape::weight_offset(int species, int layer) const {
  int64_t offset = species * parameters_per_species();
  for (int l = 0; l < layer; ++l) offset += int64_t{layer_inputs(l) + 1} * layer_outputs(l);
  return offset;
}

}  // namespace rutile
