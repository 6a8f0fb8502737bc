#include "tools/train/data/check_split.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "lib/data_check/data_check.h"
#include "lib/structure/structure.h"
#include "tools/common/flags/stream_check.h"

namespace rutile {
namespace {

void Load(const AtomicData& data, int64_t s, Structure* structure) {
  structure->Clear();
  structure->name = data.name(s);
  // Under the name by which the check knows isolated atoms, whatever --config_key is.
  structure->info["config_type"] = data.config_type(s);
  for (const uint8_t species : data.species(s)) structure->element.push_back(data.descriptor().species()[species]);
  const absl::Span<const double> position = data.position(s), force = data.force(s);
  structure->position.assign(position.begin(), position.end());
  structure->cell = data.cell(s);
  structure->pbc = data.pbc(s);
  if (data.has_energy(s)) structure->energy = data.energy(s);
  structure->force.assign(force.begin(), force.end());
  if (!data.has_stress(s)) return;
  structure->stress.emplace();
  const absl::Span<const double> stress = data.stress(s);
  std::copy(stress.begin(), stress.end(), structure->stress->begin());
}

// [structures of the data] the set of each; kAll: in none.
std::vector<DataPart> PartsOf(const AtomicData& data, const Split& split) {
  std::vector<DataPart> parts(data.num_structures(), DataPart::kAll);
  const std::array<std::pair<DataPart, const std::vector<int64_t>*>, 3> sets = {
      {{DataPart::kTest, &split.test}, {DataPart::kValidation, &split.validation}, {DataPart::kTrain, &split.train}}};
  // What trains and validates on purpose counts as training.
  for (const auto& [part, examples] : sets) {
    for (const int64_t s : *examples) parts[s] = part;
  }
  return parts;
}

}  // namespace

bool CheckSplit(const AtomicData& data, const std::map<uint8_t, double>& atomic_energies, const Split& split) {
  DataCheckOptions options;
  options.atomic_energies = atomic_energies;
  // train says what it does without these labels, as far as the loss counts them.
  options.energy_coverage = options.force_coverage = options.stress_coverage = false;
  options.only_across_parts = !data.from_structures();
  DataChecker checker(std::move(options));
  const std::vector<DataPart> parts = PartsOf(data, split);
  Structure structure;
  for (int64_t s = 0; s < data.num_structures(); ++s) {
    if (parts[s] == DataPart::kAll) continue;
    Load(data, s, &structure);
    checker.Add(structure, parts[s]);
  }
  const std::vector<DataFinding> findings = checker.Finish().findings;
  PrintFindings(findings);
  return std::any_of(findings.begin(), findings.end(), [](const DataFinding& f) { return f.check == "duplicate"; });
}

}  // namespace rutile
