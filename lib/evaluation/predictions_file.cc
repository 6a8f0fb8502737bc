#include "lib/evaluation/predictions_file.h"

#include <string>
#include <vector>

#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_writer.h"
#include "nlohmann/json.hpp"

namespace rutile {

const Schema& PredictionsSchema() {
  static const Schema& schema = *new Schema{
      "predictions/1",
      "What a model predicts, made by `evaluate --output_dir`. S structures.",
      {
          {"predicted_energy", {DType::kF64}, {"S"}, true, "eV, total"},
          {"reference_energy", {DType::kF64}, {"S"}, true, "eV, total, as in the data; NaN where it has none"},
          {"num_atoms", {DType::kI64}, {"S"}, true, ""},
      },
      {
          {"names", true, "JSON list of the structures' names"},
          {"config_types", true, "JSON list, one for each structure"},
          {"compositions", true, "JSON list, one for each structure, as Ti2O4"},
          {"units", true, "eV"},
      }};
  return schema;
}

absl::Status WritePredictions(absl::string_view path, absl::Span<const EnergyPrediction> predictions,
                              const Metadata& provenance) {
  std::vector<double> predicted, reference;
  std::vector<int64_t> num_atoms;
  std::vector<std::string> names, config_types, compositions;
  for (const EnergyPrediction& p : predictions) {
    predicted.push_back(p.predicted);
    reference.push_back(p.reference);
    num_atoms.push_back(p.num_atoms);
    names.push_back(p.name);
    config_types.push_back(p.config_type);
    compositions.push_back(p.composition);
  }
  NamedTensors tensors;
  tensors.Set("predicted_energy", Tensor::Of(predicted));
  tensors.Set("reference_energy", Tensor::Of(reference));
  tensors.Set("num_atoms", Tensor::Of(num_atoms));
  // Names come from files: bytes that are not UTF-8 are replaced, since JSON cannot hold them.
  auto dump = [](const std::vector<std::string>& strings) {
    return nlohmann::json(strings).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  Metadata metadata = provenance;
  metadata["kind"] = PredictionsSchema().kind;
  metadata["names"] = dump(names);
  metadata["config_types"] = dump(config_types);
  metadata["compositions"] = dump(compositions);
  metadata["units"] = "eV";
  return WriteTensorFile(path, metadata, tensors);
}

}  // namespace rutile
