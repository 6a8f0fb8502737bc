#include "lib/evaluation/predictions_file.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "lib/profile/scope.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_writer.h"
#include "nlohmann/json.hpp"

namespace rutile {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Rows of a tensor, NaN where a structure has none; written only if one has.
class Column {
 public:
  explicit Column(std::vector<int64_t> row_shape) : row_shape_(std::move(row_shape)) {
    for (const int64_t n : row_shape_) row_size_ *= n;
  }
  // `rows` of them; values empty: there are none.
  void Add(int64_t rows, absl::Span<const double> values) {
    rows_ += rows;
    any_ = any_ || !values.empty();
    if (values.empty()) {
      values_.insert(values_.end(), rows * row_size_, kNaN);
    } else {
      values_.insert(values_.end(), values.begin(), values.end());
    }
  }
  void WriteTo(absl::string_view name, NamedTensors* tensors) const {
    if (!any_) return;
    std::vector<int64_t> shape = {rows_};
    shape.insert(shape.end(), row_shape_.begin(), row_shape_.end());
    tensors->Set(name, Tensor::Of<double>(values_, shape));
  }

 private:
  const std::vector<int64_t> row_shape_;
  int64_t row_size_ = 1, rows_ = 0;
  bool any_ = false;
  std::vector<double> values_;
};

template <typename T>
absl::Span<const T> ValueOf(const std::optional<T>& value) {
  return value.has_value() ? absl::MakeConstSpan(&*value, 1) : absl::Span<const T>();
}

absl::Span<const double> ValuesOf(const std::optional<std::array<double, 9>>& value) {
  return value.has_value() ? absl::MakeConstSpan(*value) : absl::Span<const double>();
}

// Names come from files: bytes that are not UTF-8 are replaced, since JSON cannot hold them.
std::string Dump(const std::vector<std::string>& strings) {
  return nlohmann::json(strings).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

const Schema& PredictionsSchema() {
  static const Schema& schema = *new Schema{
      "predictions/1",
      "What a model, or the mean of a committee, predicts; made by `evaluate --output_dir`. S structures, A atoms, "
      "which are concatenated. What a structure lacks is NaN; what all lack is left out.",
      {
          {"predicted_energy", {DType::kF64}, {"S"}, true, "eV, total"},
          {"reference_energy", {DType::kF64}, {"S"}, true, "eV, total, as in the data; NaN where it has none"},
          {"energy_spread",
           {DType::kF64},
           {"S"},
           false,
           "eV, total: standard deviation over the members of a committee"},
          {"predicted_atom_energy", {DType::kF64}, {"A"}, true, "eV, atomic energy included"},
          {"predicted_force", {DType::kF64}, {"A", "3"}, false, "eV/Å"},
          {"reference_force", {DType::kF64}, {"A", "3"}, false, "eV/Å, as in the data"},
          {"force_spread", {DType::kF64}, {"A"}, false, "eV/Å: root mean square length of F_member − F_mean"},
          {"predicted_stress", {DType::kF64}, {"S", "3", "3"}, false, "eV/Å³, positive in tension"},
          {"reference_stress", {DType::kF64}, {"S", "3", "3"}, false, "eV/Å³, as in the data"},
          {"num_atoms", {DType::kI64}, {"S"}, true, ""},
          {"atom_offset",
           {DType::kI64},
           {"S+1"},
           true,
           "atoms of structure s are [atom_offset[s], atom_offset[s + 1])"},
          {"atoms_outside", {DType::kI64}, {"S"}, false, "atoms with a feature outside what training has seen"},
          {"element", {DType::kU8}, {"A"}, true, "atomic number"},
      },
      {
          {"names", true, "JSON list of the structures' names"},
          {"config_types", true, "JSON list, one for each structure"},
          {"compositions", true, "JSON list, one for each structure, as Ti2O4"},
          {"units", true, "eV, eV/Å, eV/Å³"},
      }};
  return schema;
}

absl::Status WritePredictions(absl::string_view path, absl::Span<const StructurePrediction> predictions,
                              const Metadata& provenance) {
  const ProfileScope scope(Stage::kWrite);
  Column predicted({}), reference({}), spread({}), atom_energy({});
  Column predicted_force({3}), reference_force({3}), force_spread({});
  Column predicted_stress({3, 3}), reference_stress({3, 3});
  std::vector<int64_t> num_atoms, offset = {0}, outside;
  std::vector<uint8_t> element;
  std::vector<std::string> names, config_types, compositions;
  for (const StructurePrediction& p : predictions) {
    predicted.Add(1, absl::MakeConstSpan(&p.predicted_energy, 1));
    reference.Add(1, absl::MakeConstSpan(&p.reference_energy, 1));
    spread.Add(1, ValueOf(p.energy_spread));
    atom_energy.Add(p.num_atoms, p.atom_energy);
    predicted_force.Add(p.num_atoms, p.predicted_force);
    reference_force.Add(p.num_atoms, p.reference_force);
    force_spread.Add(p.num_atoms, p.force_spread);
    predicted_stress.Add(1, ValuesOf(p.predicted_stress));
    reference_stress.Add(1, ValuesOf(p.reference_stress));
    num_atoms.push_back(p.num_atoms);
    offset.push_back(offset.back() + p.num_atoms);
    if (p.atoms_outside.has_value()) outside.push_back(*p.atoms_outside);
    element.insert(element.end(), p.element.begin(), p.element.end());
    names.push_back(p.name);
    config_types.push_back(p.config_type);
    compositions.push_back(p.composition);
  }
  NamedTensors tensors;
  predicted.WriteTo("predicted_energy", &tensors);
  reference.WriteTo("reference_energy", &tensors);
  spread.WriteTo("energy_spread", &tensors);
  atom_energy.WriteTo("predicted_atom_energy", &tensors);
  predicted_force.WriteTo("predicted_force", &tensors);
  reference_force.WriteTo("reference_force", &tensors);
  force_spread.WriteTo("force_spread", &tensors);
  predicted_stress.WriteTo("predicted_stress", &tensors);
  reference_stress.WriteTo("reference_stress", &tensors);
  tensors.Set("num_atoms", Tensor::Of(num_atoms));
  tensors.Set("atom_offset", Tensor::Of(offset));
  if (!outside.empty()) tensors.Set("atoms_outside", Tensor::Of(outside));
  tensors.Set("element", Tensor::Of(element));
  Metadata metadata = provenance;
  metadata["kind"] = PredictionsSchema().kind;
  metadata["names"] = Dump(names);
  metadata["config_types"] = Dump(config_types);
  metadata["compositions"] = Dump(compositions);
  metadata["units"] = "energy eV, force eV/Å, stress eV/Å³";
  return WriteTensorFile(path, metadata, tensors);
}

}  // namespace rutile
