#include "lib/evaluation/predictions_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_writer.h"
#include "lib/trace/scope.h"
#include "nlohmann/json.hpp"

namespace rutile {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr uint8_t kHeaviestElement = 118;

// Collects the rows of a tensor, NaN for structures without values; it is written only if any structure has values.
class Column {
 public:
  explicit Column(std::vector<int64_t> row_shape) : row_shape_(std::move(row_shape)) {
    for (const int64_t n : row_shape_) row_size_ *= n;
  }
  // Adds `rows` rows; empty values mean that there are none.
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

absl::StatusOr<std::vector<std::string>> Strings(const TensorFile& file, const char* key, int64_t size) {
  const auto json = nlohmann::json::parse(file.metadata.at(key), nullptr, /*allow_exceptions=*/false);
  std::vector<std::string> strings;
  if (json.is_array()) {
    for (const auto& item : json) {
      if (item.is_string()) strings.push_back(item.get<std::string>());
    }
  }
  if (json.is_array() && strings.size() == json.size() && static_cast<int64_t>(strings.size()) == size) return strings;
  return absl::InvalidArgumentError(
      absl::StrCat(file.path, ": metadata \"", key, "\" is not a JSON list of ", size, " strings"));
}

// Returns rows [begin, end) of a tensor with `width` numbers each; empty if the tensor is missing or the rows are all
// NaN.
std::vector<double> Rows(const TensorFile& file, const char* name, int64_t begin, int64_t end, int64_t width) {
  const Tensor* tensor = file.tensors.Find(name);
  if (tensor == nullptr) return {};
  const auto rows = tensor->values<double>().subspan(begin * width, (end - begin) * width);
  if (std::all_of(rows.begin(), rows.end(), [](double value) { return std::isnan(value); })) return {};
  return {rows.begin(), rows.end()};
}

std::optional<std::array<double, 9>> Matrix(const TensorFile& file, const char* name, int64_t s) {
  const std::vector<double> values = Rows(file, name, s, s + 1, 9);
  if (values.empty()) return std::nullopt;
  std::array<double, 9> matrix;
  std::copy(values.begin(), values.end(), matrix.begin());
  return matrix;
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
          {"energy_std",
           {DType::kF64},
           {"S"},
           false,
           "eV, total: standard deviation by the curvature of the training loss"},
          {"predicted_atom_energy", {DType::kF64}, {"A"}, true, "eV, atomic energy included"},
          {"atom_energy_std", {DType::kF64}, {"A"}, false, "eV: standard deviation of the atom's energy"},
          {"predicted_force", {DType::kF64}, {"A", "3"}, false, "eV/Å"},
          {"reference_force", {DType::kF64}, {"A", "3"}, false, "eV/Å, as in the data"},
          {"force_spread", {DType::kF64}, {"A"}, false, "eV/Å: root mean square length of F_member − F_mean"},
          {"force_std", {DType::kF64}, {"A", "3"}, false, "eV/Å: standard deviation of each component"},
          {"predicted_stress", {DType::kF64}, {"S", "3", "3"}, false, "eV/Å³, positive in tension"},
          {"reference_stress", {DType::kF64}, {"S", "3", "3"}, false, "eV/Å³, as in the data"},
          {"num_atoms", {DType::kI64}, {"S"}, true, ""},
          {"atom_offset",
           {DType::kI64},
           {"S+1"},
           true,
           "atoms of structure s are [atom_offset[s], atom_offset[s + 1])"},
          {"atoms_outside",
           {DType::kI64},
           {"S"},
           false,
           "atoms with a feature outside what training has seen, or a neighbor too near for the descriptor"},
          {"element", {DType::kU8}, {"A"}, true, "atomic number"},
          {"isolated", {DType::kU8}, {"S"}, false, "1 for an isolated atom, whose errors are apart; absent if none is"},
      },
      {
          {"names", true, "JSON list of the structures' names"},
          {"config_types", true, "JSON list, one for each structure"},
          {"compositions", true, "JSON list, one for each structure, as Ti2O4"},
          {"units", true, "eV, eV/Å, eV/Å³"},
          {"members", false, "models of the committee, 1 for a model alone"},
          {"shard", false, "\"i/n\": of n parts the i-th, which has every n-th structure from number i on"},
          {"selection", false, "of a part: the flags and frames that chose structures and what is predicted of them"},
      }};
  return schema;
}

absl::Status WritePredictions(absl::string_view path, absl::Span<const StructurePrediction> predictions,
                              const Metadata& provenance) {
  const ProfileScope scope(Stage::kWrite);
  Column predicted({}), reference({}), spread({}), deviation({}), atom_energy({}), atom_deviation({});
  Column predicted_force({3}), reference_force({3}), force_spread({}), force_deviation({3});
  Column predicted_stress({3, 3}), reference_stress({3, 3});
  std::vector<int64_t> num_atoms, offset = {0}, outside;
  std::vector<uint8_t> element, isolated;
  std::vector<std::string> names, config_types, compositions;
  for (const StructurePrediction& p : predictions) {
    predicted.Add(1, absl::MakeConstSpan(&p.predicted_energy, 1));
    reference.Add(1, absl::MakeConstSpan(&p.reference_energy, 1));
    spread.Add(1, ValueOf(p.energy_spread));
    deviation.Add(1, ValueOf(p.energy_std));
    atom_energy.Add(p.num_atoms, p.atom_energy);
    atom_deviation.Add(p.num_atoms, p.atom_energy_std);
    predicted_force.Add(p.num_atoms, p.predicted_force);
    reference_force.Add(p.num_atoms, p.reference_force);
    force_spread.Add(p.num_atoms, p.force_spread);
    force_deviation.Add(p.num_atoms, p.force_std);
    predicted_stress.Add(1, ValuesOf(p.predicted_stress));
    reference_stress.Add(1, ValuesOf(p.reference_stress));
    num_atoms.push_back(p.num_atoms);
    offset.push_back(offset.back() + p.num_atoms);
    if (p.atoms_outside.has_value()) outside.push_back(*p.atoms_outside);
    element.insert(element.end(), p.element.begin(), p.element.end());
    isolated.push_back(p.isolated ? 1 : 0);
    names.push_back(p.name);
    config_types.push_back(p.config_type);
    compositions.push_back(p.composition);
  }
  NamedTensors tensors;
  predicted.WriteTo("predicted_energy", &tensors);
  reference.WriteTo("reference_energy", &tensors);
  spread.WriteTo("energy_spread", &tensors);
  deviation.WriteTo("energy_std", &tensors);
  atom_energy.WriteTo("predicted_atom_energy", &tensors);
  atom_deviation.WriteTo("atom_energy_std", &tensors);
  predicted_force.WriteTo("predicted_force", &tensors);
  reference_force.WriteTo("reference_force", &tensors);
  force_spread.WriteTo("force_spread", &tensors);
  force_deviation.WriteTo("force_std", &tensors);
  predicted_stress.WriteTo("predicted_stress", &tensors);
  reference_stress.WriteTo("reference_stress", &tensors);
  tensors.Set("num_atoms", Tensor::Of(num_atoms));
  tensors.Set("atom_offset", Tensor::Of(offset));
  if (!outside.empty()) tensors.Set("atoms_outside", Tensor::Of(outside));
  tensors.Set("element", Tensor::Of(element));
  if (std::count(isolated.begin(), isolated.end(), 1) > 0) tensors.Set("isolated", Tensor::Of(isolated));
  Metadata metadata = provenance;
  metadata["kind"] = PredictionsSchema().kind;
  metadata["names"] = Dump(names);
  metadata["config_types"] = Dump(config_types);
  metadata["compositions"] = Dump(compositions);
  metadata["units"] = "energy eV, force eV/Å, stress eV/Å³";
  return WriteTensorFile(path, metadata, tensors);
}

absl::StatusOr<std::vector<StructurePrediction>> DecodePredictions(const TensorFile& file) {
  const ProfileScope scope(Stage::kRead);
  ASSIGN_OR_RETURN(const auto sizes, CheckSchema(PredictionsSchema(), file));
  const int64_t num = sizes.at("S"), num_all_atoms = sizes.at("A");
  ASSIGN_OR_RETURN(const std::vector<std::string> names, Strings(file, "names", num));
  ASSIGN_OR_RETURN(const std::vector<std::string> config_types, Strings(file, "config_types", num));
  ASSIGN_OR_RETURN(const std::vector<std::string> compositions, Strings(file, "compositions", num));
  const absl::Span<const int64_t> offset = file.tensors.At("atom_offset").values<int64_t>();
  const absl::Span<const int64_t> num_atoms = file.tensors.At("num_atoms").values<int64_t>();
  const absl::Span<const uint8_t> element = file.tensors.At("element").values<uint8_t>();
  const absl::Span<const double> atom_energy = file.tensors.At("predicted_atom_energy").values<double>();
  const Tensor* const force = file.tensors.Find("predicted_force");
  const Tensor* const spread = file.tensors.Find("energy_spread");
  const Tensor* const deviation = file.tensors.Find("energy_std");
  const Tensor* const outside = file.tensors.Find("atoms_outside");
  const Tensor* const isolated = file.tensors.Find("isolated");
  std::vector<StructurePrediction> predictions(num);
  for (int64_t s = 0; s < num; ++s) {
    const int64_t begin = offset[s], end = offset[s + 1];
    if (begin < 0 || end <= begin || end > num_all_atoms || end - begin != num_atoms[s]) {
      return absl::InvalidArgumentError(absl::StrCat(file.path, ": tensor \"atom_offset\": structure ", s, " has ",
                                                     num_atoms[s], " atoms, from ", begin, " to ", end));
    }
    for (int64_t atom = begin; atom < end; ++atom) {
      if (element[atom] >= 1 && element[atom] <= kHeaviestElement) continue;
      return absl::InvalidArgumentError(absl::StrCat(file.path, ": tensor \"element\": atom ", atom, " is element ",
                                                     int{element[atom]}, ", expected 1 to ", int{kHeaviestElement}));
    }
    StructurePrediction& p = predictions[s];
    p.name = names[s];
    p.config_type = config_types[s];
    p.composition = compositions[s];
    p.num_atoms = num_atoms[s];
    p.reference_energy = file.tensors.At("reference_energy").values<double>()[s];
    p.predicted_energy = file.tensors.At("predicted_energy").values<double>()[s];
    p.isolated = isolated != nullptr && isolated->values<uint8_t>()[s] != 0;
    p.element.assign(element.begin() + begin, element.begin() + end);
    p.atom_energy.assign(atom_energy.begin() + begin, atom_energy.begin() + end);
    p.reference_force = Rows(file, "reference_force", begin, end, 3);
    if (force != nullptr) {
      const absl::Span<const double> values = force->values<double>().subspan(3 * begin, 3 * (end - begin));
      p.predicted_force.assign(values.begin(), values.end());
    }
    p.reference_stress = Matrix(file, "reference_stress", s);
    p.predicted_stress = Matrix(file, "predicted_stress", s);
    if (spread != nullptr) p.energy_spread = spread->values<double>()[s];
    p.force_spread = Rows(file, "force_spread", begin, end, 1);
    if (deviation != nullptr) p.energy_std = deviation->values<double>()[s];
    p.atom_energy_std = Rows(file, "atom_energy_std", begin, end, 1);
    p.force_std = Rows(file, "force_std", begin, end, 3);
    if (outside != nullptr) p.atoms_outside = outside->values<int64_t>()[s];
  }
  if (offset[num] == num_all_atoms && offset[0] == 0) return predictions;
  return absl::InvalidArgumentError(absl::StrCat(file.path, ": tensor \"atom_offset\": runs from ", offset[0], " to ",
                                                 offset[num], ", expected 0 to ", num_all_atoms));
}

}  // namespace rutile
