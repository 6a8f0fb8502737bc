#include "lib/potential/model/model_frame.h"

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/all_finite.h"
#include "lib/base/status_macros.h"
#include "lib/descriptor/descriptor_options.h"
#include "lib/network/network_shape.h"
#include "lib/potential/model/potential_file.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kInnerName[] = "repulsion_inner", kOuterName[] = "repulsion_outer";

absl::Status NotThere(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("the scales of its model have no proper \"", what, "\""));
}

absl::StatusOr<std::vector<double>> Values(const NamedTensors& tensors, absl::string_view name, int64_t size) {
  const Tensor* const tensor = tensors.Find(name);
  if (tensor == nullptr || tensor->dtype() != DType::kF64 || tensor->num_elements() != size) return NotThere(name);
  std::vector<double> values = tensor->ToDoubles();
  if (!AllFinite(values)) return NotThere(name);
  return values;
}

}  // namespace

ModelFrame FrameOf(const Potential& potential) {
  const std::vector<int64_t> by_feature = {potential.shape.num_species, potential.shape.num_features};
  Json json;
  json["descriptor"] = potential.descriptor.ToJson();
  if (potential.shape.has_moments()) json["channels"] = potential.shape.moments.channels;
  if (potential.shape.has_messages()) json["messages"] = potential.shape.moments.messages;
  if (potential.shape.has_vector_messages()) json["vector_messages"] = potential.shape.moments.vector_messages;
  json["hidden"] = potential.shape.hidden;
  json["activation"] = std::string(kActivationNames.Name(potential.shape.activation));
  ModelFrame frame;
  frame.text = json.dump();
  frame.tensors.Set("feature_mean", Tensor::Of<double>(potential.feature_scaling.mean, by_feature));
  frame.tensors.Set("feature_scale", Tensor::Of<double>(potential.feature_scaling.scale, by_feature));
  frame.tensors.Set("atomic_energy", Tensor::Of(potential.atomic_energies));
  frame.tensors.Set("energy_scale", Tensor::Scalar(potential.energy_scaling.scale));
  if (!potential.repulsion.empty()) {
    frame.tensors.Set(kInnerName, Tensor::Of(potential.repulsion.inner));
    frame.tensors.Set(kOuterName, Tensor::Of(potential.repulsion.outer));
  }
  frame.tensors.Set("energy_shift", Tensor::Scalar(potential.energy_scaling.shift));
  return frame;
}

absl::StatusOr<Potential> PotentialOfFrame(const ModelFrame& frame) {
  const Json json = Json::parse(frame.text, nullptr, /*allow_exceptions=*/false);
  for (const char* name : {"descriptor", "hidden", "activation"}) {
    if (!json.is_object() || !json.contains(name)) return NotThere(name);
  }
  if (!json["descriptor"].is_string()) return NotThere("descriptor");
  if (!json["activation"].is_string()) return NotThere("activation");
  Potential potential;
  ASSIGN_OR_RETURN(potential.descriptor, DescriptorOptions::FromJson(json["descriptor"].get<std::string>()));
  NetworkShape& shape = potential.shape;
  int channels = 0, messages = 0, vectors = 0;
  if (!potential.descriptor.is_chebyshev()) {
    if (!json.contains("channels") || !json["channels"].is_number_integer()) return NotThere("channels");
    channels = json["channels"].get<int>();
    if (channels < 1) return NotThere("channels");
    if (json.contains("messages")) {
      if (!json["messages"].is_number_integer()) return NotThere("messages");
      messages = json["messages"].get<int>();
    }
    if (json.contains("vector_messages")) {
      if (!json["vector_messages"].is_number_integer()) return NotThere("vector_messages");
      vectors = json["vector_messages"].get<int>();
    }
  }
  SetInputs(potential.descriptor, channels, messages, vectors, &shape);
  shape.hidden.clear();
  for (const Json& nodes : json["hidden"]) {
    if (!nodes.is_number_integer()) return NotThere("hidden");
    shape.hidden.push_back(nodes.get<int>());
  }
  RETURN_IF_ERROR(shape.Validate());
  ASSIGN_OR_RETURN(shape.activation, kActivationNames.Parse(json["activation"].get<std::string>()));
  const int64_t size = int64_t{shape.num_species} * shape.num_features;
  potential.feature_scaling.num_species = shape.num_species;
  potential.feature_scaling.num_features = shape.num_features;
  ASSIGN_OR_RETURN(potential.feature_scaling.mean, Values(frame.tensors, "feature_mean", size));
  ASSIGN_OR_RETURN(potential.feature_scaling.scale, Values(frame.tensors, "feature_scale", size));
  ASSIGN_OR_RETURN(potential.atomic_energies, Values(frame.tensors, "atomic_energy", shape.num_species));
  ASSIGN_OR_RETURN(const std::vector<double> scale, Values(frame.tensors, "energy_scale", 1));
  ASSIGN_OR_RETURN(const std::vector<double> shift, Values(frame.tensors, "energy_shift", 1));
  if (scale[0] == 0) return NotThere("energy_scale");
  potential.energy_scaling = {scale[0], shift[0]};
  if (frame.tensors.Find(kInnerName) == nullptr && frame.tensors.Find(kOuterName) == nullptr) return potential;
  const int64_t pairs = int64_t{shape.num_species} * shape.num_species;
  ASSIGN_OR_RETURN(potential.repulsion.inner, Values(frame.tensors, kInnerName, pairs));
  ASSIGN_OR_RETURN(potential.repulsion.outer, Values(frame.tensors, kOuterName, pairs));
  if (!CheckRepulsion(potential.repulsion, potential.descriptor).ok()) return NotThere(kOuterName);
  return potential;
}

}  // namespace rutile
