#include "lib/potential/data/structure_block.h"

#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lib/base/interrupt.h"
#include "lib/base/status_macros.h"
#include "lib/structure/species_map.h"

namespace rutile {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Elements of a std::vector<bool> have no addresses.
using Bools = absl::InlinedVector<bool, 8>;

struct Columns {
  std::vector<int64_t> atom_offset = {0};
  std::vector<uint8_t> species;
  std::vector<double> position, force, cell, energy, stress, weight;
  std::vector<int32_t> config;
  Bools pbc, has_energy, has_force, has_stress;
};

template <typename T, typename Range>
void AppendTo(std::vector<T>* column, const Range& values) {
  column->insert(column->end(), values.begin(), values.end());
}

absl::StatusOr<double> ParseWeight(const Structure& structure, const std::string& key, bool* given) {
  const auto found = structure.info.find(key);
  if (found == structure.info.end()) return 1.0;
  *given = true;
  double weight = 0;
  if (!absl::SimpleAtod(found->second, &weight) || !std::isfinite(weight) || weight < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(structure.name, ": ", key, "=", found->second, " is not a weight; expected a number from 0 on"));
  }
  return weight;
}

void Append(const Structure& structure, absl::Span<const uint8_t> species, double weight, Columns* columns) {
  AppendTo(&columns->species, species);
  AppendTo(&columns->position, structure.position);
  if (structure.force.empty()) {
    columns->force.resize(columns->position.size(), kNaN);
  } else {
    AppendTo(&columns->force, structure.force);
  }
  AppendTo(&columns->cell, structure.cell);
  if (structure.stress.has_value()) {
    AppendTo(&columns->stress, *structure.stress);
  } else {
    columns->stress.resize(columns->cell.size(), kNaN);
  }
  columns->pbc.insert(columns->pbc.end(), structure.pbc.begin(), structure.pbc.end());
  columns->energy.push_back(structure.energy.value_or(kNaN));
  columns->weight.push_back(weight);
  columns->has_energy.push_back(structure.energy.has_value());
  columns->has_force.push_back(!structure.force.empty());
  columns->has_stress.push_back(structure.stress.has_value());
  columns->atom_offset.push_back(columns->atom_offset.back() + structure.size());
}

}  // namespace

absl::StatusOr<AtomicBlock> BlockFromStructures(LineReader lines, const StructureBlockOptions& options) {
  AtomicBlock block;
  block.kind = AtomicKind::kStructures;
  block.path = lines.path();
  block.config_key = options.config_key;
  block.weight_key = options.weight_key;
  block.elements = options.species;
  ASSIGN_OR_RETURN(const std::unique_ptr<StructureReader> reader,
                   OpenStructureReader(std::move(lines), options.reader));
  const auto columns = std::make_shared<Columns>();
  const SpeciesMap species_map(options.species);
  std::map<std::string, int32_t> config_ids;
  std::vector<uint8_t> species;
  Structure structure;
  bool weights_given = false;
  while (true) {
    RETURN_IF_ERROR(CheckInterrupt());
    ASSIGN_OR_RETURN(const bool more, reader->Next(&structure));
    if (!more) break;
    RETURN_IF_ERROR(species_map.Map(structure, &species));
    double weight = 1;
    if (!options.weight_key.empty()) {
      ASSIGN_OR_RETURN(weight, ParseWeight(structure, options.weight_key, &weights_given));
    }
    Append(structure, species, weight, columns.get());
    const auto info = structure.info.find(options.config_key);
    const auto [config, added] = config_ids.try_emplace(info == structure.info.end() ? "" : info->second,
                                                        static_cast<int32_t>(block.config_types.size()));
    if (added) block.config_types.push_back(config->first);
    columns->config.push_back(config->second);
    block.names.push_back(structure.name);
  }
  block.atom_offset = columns->atom_offset;
  block.species = columns->species;
  block.position = columns->position;
  block.force = columns->force;
  block.cell = columns->cell;
  block.pbc = columns->pbc;
  block.energy = columns->energy;
  block.stress = columns->stress;
  block.config = columns->config;
  block.has_energy = columns->has_energy;
  block.has_force = columns->has_force;
  block.has_stress = columns->has_stress;
  if (weights_given) block.weight = columns->weight;
  block.owner = columns;
  return block;
}

}  // namespace rutile
