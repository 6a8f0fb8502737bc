#include "lib/descriptor/feature_file.h"

#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/structure/element.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/tensorfile/tensor_writer.h"
#include "nlohmann/json.hpp"

namespace rutile {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr char kNoConfigType[] = "";

absl::StatusOr<std::vector<std::string>> ParseStrings(const TensorFile& file, const std::string& key) {
  const nlohmann::json json = nlohmann::json::parse(file.metadata.at(key), nullptr, /*allow_exceptions=*/false);
  if (!json.is_array()) {
    return absl::InvalidArgumentError(absl::StrCat(file.path, ": metadata \"", key, "\" is not a JSON list"));
  }
  std::vector<std::string> strings;
  for (const auto& item : json) {
    if (!item.is_string()) {
      return absl::InvalidArgumentError(absl::StrCat(file.path, ": metadata \"", key, "\" holds what is not a string"));
    }
    strings.push_back(item.get<std::string>());
  }
  return strings;
}

absl::StatusOr<std::map<uint8_t, double>> ParseAtomicEnergies(const TensorFile& file) {
  std::map<uint8_t, double> energies;
  const auto found = file.metadata.find("atomic_energies");
  if (found == file.metadata.end()) return energies;
  const nlohmann::json json = nlohmann::json::parse(found->second, nullptr, /*allow_exceptions=*/false);
  bool ok = json.is_object();
  if (ok) {
    for (const auto& [symbol, value] : json.items()) {
      ok = ok && AtomicNumber(symbol) != 0 && value.is_number();
      if (ok) energies[AtomicNumber(symbol)] = value.get<double>();
    }
  }
  if (!ok) {
    return absl::InvalidArgumentError(
        absl::StrCat(file.path, ": metadata \"atomic_energies\" is not {\"symbol\": eV, ...}: ", found->second));
  }
  return energies;
}

// Names come from files: bytes that are not UTF-8 are replaced, since JSON cannot hold them.
std::string DumpStrings(const std::vector<std::string>& strings) {
  return nlohmann::json(strings).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

absl::Status CheckIndices(const TensorFile& file, int64_t num_species, int64_t num_configs) {
  const absl::Span<const int64_t> offset = file.tensors.At("atom_offset").values<int64_t>();
  const int64_t num_atoms = file.tensors.At("species").dim(0);
  for (size_t s = 0; s < offset.size(); ++s) {
    if (offset[s] < (s == 0 ? 0 : offset[s - 1]) || (s == 0 && offset[s] != 0) || offset[s] > num_atoms ||
        (s + 1 == offset.size() && offset[s] != num_atoms)) {
      return absl::InvalidArgumentError(absl::StrCat(file.path, ": tensor \"atom_offset\": entry ", s, " is ",
                                                     offset[s], ", but offsets rise from 0 to the number of atoms, ",
                                                     num_atoms));
    }
  }
  for (const uint8_t species : file.tensors.At("species").values<uint8_t>()) {
    if (species >= num_species) {
      return absl::InvalidArgumentError(absl::StrCat(file.path, ": tensor \"species\": ", int{species},
                                                     " is not below the number of species, ", num_species));
    }
  }
  for (const int32_t config : file.tensors.At("config").values<int32_t>()) {
    if (config < 0 || config >= num_configs) {
      return absl::InvalidArgumentError(absl::StrCat(file.path, ": tensor \"config\": ", config,
                                                     " is not below the number of configs, ", num_configs));
    }
  }
  return absl::OkStatus();
}

template <typename T>
absl::Status CheckFinite(const TensorFile& file, const Tensor& feature) {
  T sum = 0;  // one pass without branches: a NaN or an infinity makes 0 * x a NaN
  for (const T x : feature.values<T>()) sum += x * 0;
  if (sum == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(file.path, ": tensor \"feature\" holds NaN or infinity: make it again"));
}

}  // namespace

const Schema& FeatureSchema() {
  static const Schema& schema = *new Schema{
      "atomistic.features/1",
      "Descriptors of every atom, made by `featurize`. A atoms, S structures, F features; atoms are concatenated. What "
      "a "
      "structure lacks is NaN and never read.",
      {
          {"feature",
           {DType::kF32, DType::kF64},
           {"A", "F"},
           true,
           "dimensionless, not yet scaled; F64 with `--precision=fp64`"},
          {"position", {DType::kF64}, {"A", "3"}, true, "Å, as given: not wrapped into the cell"},
          {"force", {DType::kF64}, {"A", "3"}, true, "eV/Å; NaN where not `has_force`"},
          {"cell", {DType::kF64}, {"S", "3", "3"}, true, "Å, rows are lattice vectors; zero where there is none"},
          {"energy", {DType::kF64}, {"S"}, true, "eV, total, as given; NaN where not `has_energy`"},
          {"stress", {DType::kF64}, {"S", "3", "3"}, true, "eV/Å³, positive in tension; NaN where not `has_stress`"},
          {"atom_offset",
           {DType::kI64},
           {"S+1"},
           true,
           "atoms of structure s are [atom_offset[s], atom_offset[s + 1])"},
          {"config", {DType::kI32}, {"S"}, true, "index into metadata `config_types`"},
          {"species", {DType::kU8}, {"A"}, true, "index into the descriptor's species"},
          {"pbc", {DType::kBool}, {"S", "3"}, true, "periodic along each lattice vector"},
          {"has_energy", {DType::kBool}, {"S"}, true, ""},
          {"has_force", {DType::kBool}, {"S"}, true, ""},
          {"has_stress", {DType::kBool}, {"S"}, true, ""},
      },
      {
          {"descriptor", true, "JSON: type, species (order fixes the typespins), orders, cutoffs in Å"},
          {"names", true, "JSON list of the structures' names: file, or file#frame counted from 0"},
          {"config_types", true, "JSON list of the values of `config_key`; \"\" where a structure has none"},
          {"config_key", true, "the key of a frame whose value is its config type"},
          {"atomic_energies", false, "JSON {symbol: eV}, when they were given"},
          {"units", true, "Å, eV, eV/Å, eV/Å³"},
      }};
  return schema;
}

absl::StatusOr<FeatureFile> ReadFeatures(absl::string_view path) {
  FeatureFile result;
  ASSIGN_OR_RETURN(result.file, ReadTensorFile(path));
  const TensorFile& file = result.file;
  ASSIGN_OR_RETURN(const auto sizes, CheckSchema(FeatureSchema(), file));
  absl::StatusOr<ChebyshevOptions> descriptor = ChebyshevOptions::FromJson(file.metadata.at("descriptor"));
  if (!descriptor.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(file.path, ": metadata \"descriptor\": ", descriptor.status().message()));
  }
  result.descriptor = *std::move(descriptor);
  if (result.descriptor.num_features() != sizes.at("F")) {
    return absl::InvalidArgumentError(absl::StrCat(file.path, ": tensor \"feature\" has ", sizes.at("F"),
                                                   " columns, but its descriptor has ",
                                                   result.descriptor.num_features(), " features"));
  }
  ASSIGN_OR_RETURN(result.names, ParseStrings(file, "names"));
  ASSIGN_OR_RETURN(result.config_types, ParseStrings(file, "config_types"));
  ASSIGN_OR_RETURN(result.atomic_energies, ParseAtomicEnergies(file));
  if (static_cast<int64_t>(result.names.size()) != sizes.at("S")) {
    return absl::InvalidArgumentError(absl::StrCat(file.path, ": metadata \"names\" has ", result.names.size(),
                                                   " entries for ", sizes.at("S"), " structures"));
  }
  RETURN_IF_ERROR(CheckIndices(file, result.descriptor.species.size(), result.config_types.size()));
  const Tensor& feature = file.tensors.At("feature");
  RETURN_IF_ERROR(feature.dtype() == DType::kF32 ? CheckFinite<float>(file, feature)
                                                 : CheckFinite<double>(file, feature));
  return result;
}

struct FeatureWriter::State {
  TensorStreamWriter writer;
  ChebyshevOptions descriptor;
  DType precision;
  std::map<uint8_t, double> atomic_energies;
  std::vector<std::string> names;
  std::vector<std::string> config_types;
  std::map<std::string, int32_t> config_ids;
  int64_t num_atoms = 0;
};

FeatureWriter::FeatureWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
FeatureWriter::FeatureWriter(FeatureWriter&&) noexcept = default;
FeatureWriter::~FeatureWriter() = default;

absl::StatusOr<FeatureWriter> FeatureWriter::Create(absl::string_view path, const ChebyshevOptions& descriptor,
                                                    DType precision, const std::map<uint8_t, double>& atomic_energies) {
  ASSIGN_OR_RETURN(TensorStreamWriter writer, TensorStreamWriter::Create(path));
  auto state = std::make_unique<State>(State{std::move(writer), descriptor, precision, atomic_energies, {}, {}, {}, 0});
  // The schema fixes names, types and row shapes: rows are what follows the first dimension.
  for (const TensorRule& rule : FeatureSchema().tensors) {
    std::vector<int64_t> row_shape;
    for (size_t d = 1; d < rule.shape.size(); ++d) {
      row_shape.push_back(rule.shape[d] == "F" ? descriptor.num_features() : 3);
    }
    const DType dtype = rule.name == "feature" ? precision : rule.dtypes[0];
    RETURN_IF_ERROR(state->writer.Declare(rule.name, dtype, std::move(row_shape)));
  }
  RETURN_IF_ERROR(state->writer.Append<int64_t>("atom_offset", {0}));
  return FeatureWriter(std::move(state));
}

absl::Status FeatureWriter::Append(const Structure& structure, absl::Span<const uint8_t> species,
                                   absl::Span<const float> features) {
  RETURN_IF_ERROR(state_->writer.Append("feature", features));
  return AppendStructure(structure, species);
}

absl::Status FeatureWriter::Append(const Structure& structure, absl::Span<const uint8_t> species,
                                   absl::Span<const double> features) {
  RETURN_IF_ERROR(state_->writer.Append("feature", features));
  return AppendStructure(structure, species);
}

absl::Status FeatureWriter::AppendStructure(const Structure& structure, absl::Span<const uint8_t> species) {
  State& state = *state_;
  TensorStreamWriter& writer = state.writer;
  const bool has_force = !structure.force.empty();
  RETURN_IF_ERROR(writer.Append("species", species));
  RETURN_IF_ERROR(writer.Append<double>("position", structure.position));
  if (has_force) {
    RETURN_IF_ERROR(writer.Append<double>("force", structure.force));
  } else {
    RETURN_IF_ERROR(writer.Append<double>("force", std::vector<double>(structure.position.size(), kNaN)));
  }
  RETURN_IF_ERROR(writer.Append<double>("cell", structure.cell));
  RETURN_IF_ERROR(writer.Append<bool>("pbc", structure.pbc));
  RETURN_IF_ERROR(writer.Append<double>("energy", {structure.energy.value_or(kNaN)}));
  Matrix3 no_stress;
  no_stress.fill(kNaN);
  RETURN_IF_ERROR(writer.Append<double>("stress", structure.stress.value_or(no_stress)));
  RETURN_IF_ERROR(writer.Append<bool>("has_energy", {structure.energy.has_value()}));
  RETURN_IF_ERROR(writer.Append<bool>("has_force", {has_force}));
  RETURN_IF_ERROR(writer.Append<bool>("has_stress", {structure.stress.has_value()}));
  state.num_atoms += structure.size();
  RETURN_IF_ERROR(writer.Append<int64_t>("atom_offset", {state.num_atoms}));

  const auto info = structure.info.find("config_type");
  const std::string config = info == structure.info.end() ? kNoConfigType : info->second;
  const auto [found, added] = state.config_ids.try_emplace(config, state.config_types.size());
  if (added) state.config_types.push_back(config);
  RETURN_IF_ERROR(writer.Append<int32_t>("config", {found->second}));
  state.names.push_back(structure.name);
  return absl::OkStatus();
}

absl::Status FeatureWriter::Finish(const Metadata& provenance) {
  Metadata metadata = provenance;
  metadata["kind"] = FeatureSchema().kind;
  metadata["descriptor"] = state_->descriptor.ToJson();
  metadata["names"] = DumpStrings(state_->names);
  metadata["config_types"] = DumpStrings(state_->config_types);
  metadata["units"] = "length Å, energy eV, force eV/Å, stress eV/Å³";
  if (!state_->atomic_energies.empty()) {
    nlohmann::json energies = nlohmann::json::object();
    for (const auto& [element, energy] : state_->atomic_energies)
      energies[std::string(ElementSymbol(element))] = energy;
    metadata["atomic_energies"] = energies.dump();
  }
  return state_->writer.Finish(metadata);
}

}  // namespace rutile
