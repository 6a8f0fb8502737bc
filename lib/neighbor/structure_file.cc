#include "lib/neighbor/structure_file.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/all_finite.h"
#include "lib/base/status_macros.h"
#include "lib/structure/element.h"
#include "nlohmann/json.hpp"

namespace rutile {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr char kNoConfigType[] = "";

const std::vector<TensorRule>& CommonTensors() {
  static const std::vector<TensorRule>& rules = *new std::vector<TensorRule>{
      {"position", {DType::kF64}, {"A", "3"}, true, "Å, as given: not wrapped into the cell"},
      {"force", {DType::kF64}, {"A", "3"}, true, "eV/Å; NaN where not `has_force`"},
      {"cell", {DType::kF64}, {"S", "3", "3"}, true, "Å, rows are lattice vectors; zero where there is none"},
      {"energy", {DType::kF64}, {"S"}, true, "eV, total, as given; NaN where not `has_energy`"},
      {"stress", {DType::kF64}, {"S", "3", "3"}, true, "eV/Å³, positive in tension; NaN where not `has_stress`"},
      {"weight", {DType::kF64}, {"S"}, false, "of the structure in training, 0 or more; without it all weigh 1"},
      {"atom_offset", {DType::kI64}, {"S+1"}, true, "atoms of structure s are [atom_offset[s], atom_offset[s + 1])"},
      {"config", {DType::kI32}, {"S"}, true, "index into metadata `config_types`"},
      {"species", {DType::kU8}, {"A"}, true, "index into the metadata's list of species"},
      {"pbc", {DType::kBool}, {"S", "3"}, true, "periodic along each lattice vector"},
      {"has_energy", {DType::kBool}, {"S"}, true, ""},
      {"has_force", {DType::kBool}, {"S"}, true, ""},
      {"has_stress", {DType::kBool}, {"S"}, true, ""},
  };
  return rules;
}

const std::vector<MetadataRule>& CommonMetadata() {
  static const std::vector<MetadataRule>& rules = *new std::vector<MetadataRule>{
      {"names", true, "JSON list of the structures' names: file, or file#frame counted from 0"},
      {"config_types", true, "JSON list of the values of `config_key`; \"\" where a structure has none"},
      {"config_key", true, "the key of a frame whose value is its config type"},
      {"weight_key", false, "the key of a frame whose value is its weight, when there are weights"},
      {"atomic_energies", false, "JSON {symbol: eV}, when they were given"},
      {"energy_key", false,
       "with `force_key`, `stress_key`, `virial_key`, `runner_units`, `xsf_forces`: flags by which labels were read"},
      {"structures_sha256", false, "of elements, positions, cells and periodicity: the same for the same structures"},
      {"units", true, "Å, eV, eV/Å, eV/Å³"},
  };
  return rules;
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

// Checks that values that are present are finite; those that are missing are not looked at.
absl::Status CheckNumbers(const StructureFile& structures) {
  const TensorFile& file = structures.file;
  const auto values = [&](absl::string_view name) { return file.tensors.At(name).values<double>(); };
  const auto error = [&](absl::string_view name, absl::string_view where) {
    return absl::InvalidArgumentError(
        absl::StrCat(file.path, ": tensor \"", name, "\" holds NaN or infinity", where, ": make it again"));
  };
  for (const char* name : {"position", "cell"}) {
    if (!AllFinite(values(name))) return error(name, "");
  }
  struct Label {
    const char *name, *has;
    bool per_atom;
    int64_t row;
  };
  const absl::Span<const int64_t> offset = file.tensors.At("atom_offset").values<int64_t>();
  for (const Label& label : {Label{"energy", "has_energy", false, 1}, Label{"force", "has_force", true, 3},
                             Label{"stress", "has_stress", false, 9}}) {
    const absl::Span<const bool> has = file.tensors.At(label.has).values<bool>();
    const absl::Span<const double> all = values(label.name);
    for (int64_t s = 0; s < structures.num_structures(); ++s) {
      const int64_t begin = label.per_atom ? offset[s] : s, end = label.per_atom ? offset[s + 1] : s + 1;
      if (has[s] && !AllFinite(all.subspan(begin * label.row, (end - begin) * label.row))) {
        return error(label.name, absl::StrCat(" for structure ", s, ", which has one"));
      }
    }
  }
  const Tensor* const weight = file.tensors.Find("weight");
  if (weight == nullptr) return absl::OkStatus();
  for (const double w : weight->values<double>()) {
    if (!(w >= 0 && std::isfinite(w))) {
      return absl::InvalidArgumentError(
          absl::StrCat(file.path, ": tensor \"weight\" holds ", w, ", expected 0 or more"));
    }
  }
  return absl::OkStatus();
}

template <typename T, size_t n>
std::array<T, n> Row(const TensorFile& file, absl::string_view name, int64_t s) {
  std::array<T, n> row;
  std::copy_n(file.tensors.At(name).values<T>().data() + n * s, n, row.begin());
  return row;
}

}  // namespace

std::string DumpStrings(const std::vector<std::string>& values) {
  return nlohmann::json(values).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

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

absl::StatusOr<std::map<uint8_t, double>> AtomicEnergiesOf(const TensorFile& file) {
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

std::vector<TensorRule> WithStructureTensors(std::vector<TensorRule> own) {
  own.insert(own.end(), CommonTensors().begin(), CommonTensors().end());
  return own;
}

std::vector<MetadataRule> WithStructureMetadata(std::vector<MetadataRule> own) {
  own.insert(own.end(), CommonMetadata().begin(), CommonMetadata().end());
  return own;
}

void StructureHash::Add(absl::Span<const uint8_t> elements, absl::Span<const double> position, const Matrix3& cell,
                        const std::array<bool, 3>& pbc) {
  const auto bytes = [](const void* data, size_t size) {
    return absl::string_view(static_cast<const char*>(data), size);
  };
  // The number of atoms is hashed first, so that no two sequences of structures give the same bytes.
  const uint64_t size = elements.size();
  hash_.Update(bytes(&size, sizeof(size)));
  hash_.Update(bytes(elements.data(), elements.size()));
  hash_.Update(bytes(position.data(), position.size() * sizeof(double)));
  hash_.Update(bytes(cell.data(), sizeof(cell)));
  hash_.Update(bytes(pbc.data(), sizeof(pbc)));
}

absl::Status DecodeStructures(const std::map<std::string, int64_t>& sizes, absl::Span<const uint8_t> species,
                              StructureFile* file) {
  ASSIGN_OR_RETURN(file->names, ParseStrings(file->file, "names"));
  ASSIGN_OR_RETURN(file->config_types, ParseStrings(file->file, "config_types"));
  ASSIGN_OR_RETURN(file->atomic_energies, AtomicEnergiesOf(file->file));
  if (file->num_structures() != sizes.at("S")) {
    return absl::InvalidArgumentError(absl::StrCat(file->file.path, ": metadata \"names\" has ", file->names.size(),
                                                   " entries for ", sizes.at("S"), " structures"));
  }
  RETURN_IF_ERROR(CheckIndices(file->file, species.size(), file->config_types.size()));
  return CheckNumbers(*file);
}

void CopyStructure(const StructureFile& file, absl::Span<const uint8_t> species, int64_t s, Structure* structure) {
  const NamedTensors& tensors = file.file.tensors;
  const absl::Span<const int64_t> offset = tensors.At("atom_offset").values<int64_t>();
  const int64_t begin = offset[s], size = offset[s + 1] - begin;
  const absl::Span<const uint8_t> index = tensors.At("species").values<uint8_t>().subspan(begin, size);
  const auto atoms = [&](absl::string_view name) {
    return tensors.At(name).values<double>().subspan(3 * begin, 3 * size);
  };
  structure->name = file.names[s];
  structure->element.resize(size);
  for (int64_t i = 0; i < size; ++i) structure->element[i] = species[index[i]];
  structure->position.assign(atoms("position").begin(), atoms("position").end());
  structure->cell = Row<double, 9>(file.file, "cell", s);
  structure->pbc = Row<bool, 3>(file.file, "pbc", s);
  structure->energy.reset();
  structure->energy_key.clear();
  structure->force_key.clear();
  structure->force.clear();
  structure->stress.reset();
  if (tensors.At("has_energy").values<bool>()[s]) structure->energy = tensors.At("energy").values<double>()[s];
  if (tensors.At("has_force").values<bool>()[s]) structure->force.assign(atoms("force").begin(), atoms("force").end());
  if (tensors.At("has_stress").values<bool>()[s]) structure->stress = Row<double, 9>(file.file, "stress", s);
  structure->info.clear();
  const std::string& config = file.config_types[tensors.At("config").values<int32_t>()[s]];
  if (config != kNoConfigType) structure->info["config_type"] = config;
}

std::string StructuresSha256(const StructureFile& file, absl::Span<const uint8_t> species) {
  const auto found = file.file.metadata.find("structures_sha256");
  if (found != file.file.metadata.end()) return found->second;
  StructureHash hash;
  Structure structure;
  for (int64_t s = 0; s < file.num_structures(); ++s) {
    CopyStructure(file, species, s, &structure);
    hash.Add(structure.element, structure.position, structure.cell, structure.pbc);
  }
  return hash.HexDigest();
}

struct StructureFileWriter::State {
  State(TensorStreamWriter w, bool has_weights) : writer(std::move(w)), weights(has_weights) {}

  TensorStreamWriter writer;
  const bool weights;
  StructureHash hash;
  std::vector<std::string> names;
  std::vector<std::string> config_types;
  std::map<std::string, int32_t> config_ids;
  int64_t num_atoms = 0;
  std::vector<double> missing;  // NaN, as many as were needed so far
};

StructureFileWriter::StructureFileWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
StructureFileWriter::StructureFileWriter(StructureFileWriter&&) noexcept = default;
StructureFileWriter::~StructureFileWriter() = default;

absl::StatusOr<StructureFileWriter> StructureFileWriter::Create(absl::string_view path, bool weights) {
  ASSIGN_OR_RETURN(TensorStreamWriter writer, TensorStreamWriter::Create(path));
  auto state = std::make_unique<State>(std::move(writer), weights);
  // The schema's rules fix names, types and row shapes; a row is the shape after the first dimension.
  for (const TensorRule& rule : CommonTensors()) {
    if (!rule.required && !weights) continue;
    RETURN_IF_ERROR(state->writer.Declare(rule.name, rule.dtypes[0], std::vector<int64_t>(rule.shape.size() - 1, 3)));
  }
  RETURN_IF_ERROR(state->writer.Append<int64_t>("atom_offset", {0}));
  return StructureFileWriter(std::move(state));
}

TensorStreamWriter& StructureFileWriter::tensors() { return state_->writer; }

int64_t StructureFileWriter::num_atoms() const { return state_->num_atoms; }

absl::Status StructureFileWriter::Append(const Structure& structure, absl::Span<const uint8_t> species, double weight) {
  State& state = *state_;
  TensorStreamWriter& writer = state.writer;
  const bool has_force = !structure.force.empty();
  RETURN_IF_ERROR(writer.Append("species", species));
  RETURN_IF_ERROR(writer.Append<double>("position", structure.position));
  if (!has_force && state.missing.size() < structure.position.size()) {
    state.missing.assign(structure.position.size(), kNaN);
  }
  RETURN_IF_ERROR(
      writer.Append<double>("force", has_force ? absl::MakeConstSpan(structure.force)
                                               : absl::MakeConstSpan(state.missing).first(structure.position.size())));
  RETURN_IF_ERROR(writer.Append<double>("cell", structure.cell));
  RETURN_IF_ERROR(writer.Append<bool>("pbc", structure.pbc));
  RETURN_IF_ERROR(writer.Append<double>("energy", {structure.energy.value_or(kNaN)}));
  Matrix3 no_stress;
  no_stress.fill(kNaN);
  RETURN_IF_ERROR(writer.Append<double>("stress", structure.stress.value_or(no_stress)));
  RETURN_IF_ERROR(writer.Append<bool>("has_energy", {structure.energy.has_value()}));
  RETURN_IF_ERROR(writer.Append<bool>("has_force", {has_force}));
  RETURN_IF_ERROR(writer.Append<bool>("has_stress", {structure.stress.has_value()}));
  if (state.weights) RETURN_IF_ERROR(writer.Append<double>("weight", {weight}));
  state.num_atoms += structure.size();
  RETURN_IF_ERROR(writer.Append<int64_t>("atom_offset", {state.num_atoms}));

  state.hash.Add(structure.element, structure.position, structure.cell, structure.pbc);
  const auto info = structure.info.find("config_type");
  const std::string config = info == structure.info.end() ? kNoConfigType : info->second;
  const auto [found, added] = state.config_ids.try_emplace(config, state.config_types.size());
  if (added) state.config_types.push_back(config);
  RETURN_IF_ERROR(writer.Append<int32_t>("config", {found->second}));
  state.names.push_back(structure.name);
  return absl::OkStatus();
}

absl::Status StructureFileWriter::Finish(Metadata metadata, const std::map<uint8_t, double>& atomic_energies) {
  metadata["names"] = DumpStrings(state_->names);
  metadata["config_types"] = DumpStrings(state_->config_types);
  metadata["structures_sha256"] = state_->hash.HexDigest();
  metadata["units"] = "length Å, energy eV, force eV/Å, stress eV/Å³";
  if (!atomic_energies.empty()) {
    nlohmann::json energies = nlohmann::json::object();
    for (const auto& [element, energy] : atomic_energies) energies[std::string(ElementSymbol(element))] = energy;
    metadata["atomic_energies"] = energies.dump();
  }
  return state_->writer.Finish(metadata);
}

}  // namespace rutile
