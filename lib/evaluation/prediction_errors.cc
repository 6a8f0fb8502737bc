#include "lib/evaluation/prediction_errors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/base/decimal.h"
#include "lib/base/larger_or_nan.h"
#include "lib/base/tsv_cell.h"
#include "lib/structure/element.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

constexpr double kMilli = 1000;
constexpr double kGigapascal = 160.21766208;  // GPa in 1 eV/Angstrom^3

enum Quantity {
  kEnergy,
  kEnergyTotal,
  kForce,
  kForceVector,
  kStress,
  kStressGpa,
  kNetForce,
  kEnergySpread,
  kForceSpread,
  kEnergyStd,
  kForceStd
};

struct QuantityInfo {
  const char *name, *unit;
  int decimals;
  bool only_all;
};

constexpr QuantityInfo kQuantities[] = {
    {"energy", "meV/atom", 4, false},     {"energy_total", "eV", 6, true},         {"force", "eV/Å", 6, false},
    {"force_vector", "eV/Å", 6, false},   {"stress", "eV/Å^3", 8, false},          {"stress_gpa", "GPa", 5, true},
    {"net_force", "eV/Å", 9, true},       {"energy_spread", "meV/atom", 4, false}, {"force_spread", "eV/Å", 6, false},
    {"energy_std", "meV/atom", 4, false}, {"force_std", "eV/Å", 6, false},
};
constexpr size_t kNumQuantities = std::size(kQuantities);

struct Sums {
  int64_t count = 0;
  double square = 0, absolute = 0, max = 0;
  int64_t structures = 0, atoms = 0;
  const StructurePrediction* last = nullptr;  // whose values came last

  void Add(double value) {
    ++count;
    square += value * value;
    absolute += std::abs(value);
    max = LargerOrNaN(max, std::abs(value));
  }

  // Counts that the structure has values of `num` more atoms. Those of a structure follow each other.
  void Count(const StructurePrediction& structure, int64_t num) {
    if (last != &structure) ++structures;
    last = &structure;
    atoms += num;
  }
};

struct GroupSums {
  std::array<Sums, kNumQuantities> quantities;
  Sums all;  // counts what there is, with and without values

  Sums& operator[](Quantity quantity) { return quantities[quantity]; }
};

void AddAtom(const StructurePrediction& p, int64_t atom, GroupSums* sums) {
  if (p.has_force_errors()) {
    double square = 0;
    for (int a = 0; a < 3; ++a) {
      const double error = p.predicted_force[3 * atom + a] - p.reference_force[3 * atom + a];
      (*sums)[kForce].Add(error);
      square += error * error;
    }
    (*sums)[kForceVector].Add(std::sqrt(square));
    for (const Quantity quantity : {kForce, kForceVector}) (*sums)[quantity].Count(p, 1);
  }
  if (!p.force_spread.empty()) {
    (*sums)[kForceSpread].Add(p.force_spread[atom]);
    (*sums)[kForceSpread].Count(p, 1);
  }
  if (p.force_std.empty()) return;
  for (int64_t c = 3 * atom; c < 3 * atom + 3; ++c) (*sums)[kForceStd].Add(p.force_std[c]);
  (*sums)[kForceStd].Count(p, 1);
}

void AddStructure(const StructurePrediction& p, GroupSums* sums) {
  const double atoms = static_cast<double>(p.num_atoms);
  const auto add = [&](Quantity quantity, double value) {
    (*sums)[quantity].Add(value);
    (*sums)[quantity].Count(p, p.num_atoms);
  };
  sums->all.Count(p, p.num_atoms);
  if (!std::isnan(p.reference_energy)) {
    const double error = p.predicted_energy - p.reference_energy;
    add(kEnergy, kMilli * error / atoms);
    add(kEnergyTotal, error);
  }
  if (p.energy_spread.has_value()) add(kEnergySpread, kMilli * *p.energy_spread / atoms);
  if (p.energy_std.has_value()) add(kEnergyStd, kMilli * *p.energy_std / atoms);
  if (p.has_stress_errors()) {
    for (int k = 0; k < 9; ++k) {
      const double error = (*p.predicted_stress)[k] - (*p.reference_stress)[k];
      (*sums)[kStress].Add(error);
      (*sums)[kStressGpa].Add(kGigapascal * error);
    }
    for (const Quantity quantity : {kStress, kStressGpa}) (*sums)[quantity].Count(p, p.num_atoms);
  }
  if (!p.predicted_force.empty()) add(kNetForce, NetForce(p));
  if (!p.has_force_errors() && p.force_spread.empty() && p.force_std.empty()) return;
  for (int64_t atom = 0; atom < p.num_atoms; ++atom) AddAtom(p, atom, sums);
}

void AppendRows(const char* grouping, const std::string& group, const GroupSums& sums, std::vector<ErrorRow>* rows) {
  const bool all = group.empty() && grouping == absl::string_view("all");
  for (size_t q = 0; q < kNumQuantities; ++q) {
    const Sums& s = sums.quantities[q];
    if (s.count == 0 || (kQuantities[q].only_all && !all)) continue;
    const double count = static_cast<double>(s.count);
    rows->push_back({grouping, group, kQuantities[q].name, kQuantities[q].unit, s.count, std::sqrt(s.square / count),
                     s.absolute / count, s.max, s.structures, s.atoms, sums.all.structures, sums.all.atoms});
  }
}

}  // namespace

std::vector<ErrorRow> ComputeErrors(absl::Span<const StructurePrediction> predictions) {
  const ProfileScope scope(Stage::kMetrics);
  GroupSums all, isolated;
  std::map<std::string, GroupSums> by_config, by_composition, by_species;
  for (const StructurePrediction& p : predictions) {
    if (p.isolated) {
      AddStructure(p, &isolated);
      continue;
    }
    AddStructure(p, &all);
    AddStructure(p, &by_config[p.config_type]);
    AddStructure(p, &by_composition[p.composition]);
    for (size_t atom = 0; atom < p.element.size(); ++atom) {
      GroupSums& sums = by_species[std::string(ElementSymbol(p.element[atom]))];
      sums.all.Count(p, 1);
      AddAtom(p, atom, &sums);
    }
  }
  std::vector<ErrorRow> rows;
  AppendRows("all", "", all, &rows);
  AppendRows("isolated_atoms", "", isolated, &rows);
  auto append_groups = [&](const char* grouping, const std::map<std::string, GroupSums>& groups) {
    if (groups.size() < 2) return;
    for (const auto& [group, sums] : groups) AppendRows(grouping, group, sums, &rows);
  };
  append_groups("config_type", by_config);
  append_groups("composition", by_composition);
  append_groups("species", by_species);
  return rows;
}

const ErrorRow* FindError(absl::Span<const ErrorRow> rows, absl::string_view quantity) {
  for (const ErrorRow& row : rows) {
    if (row.grouping == "all" && row.quantity == quantity) return &row;
  }
  return nullptr;
}

std::string StructuresOf(const ErrorRow& row) {
  if (row.structures == row.of_structures) return absl::StrCat(row.structures, " structures");
  return absl::StrCat(row.structures, " of ", row.of_structures, " structures");
}

std::vector<std::string> PartialErrors(absl::Span<const ErrorRow> rows) {
  constexpr const char* kLabels[][2] = {{"energy", "energy"}, {"force", "forces"}, {"stress", "stress"}};
  std::vector<std::string> sentences;
  for (const auto& [quantity, label] : kLabels) {
    const ErrorRow* const row = FindError(rows, quantity);
    if (row == nullptr || row->structures == row->of_structures) continue;
    sentences.push_back(absl::StrCat("errors of the ", label, " are over ", StructuresOf(*row), " (", row->atoms,
                                     " of ", row->of_atoms, " atoms): the others have no ", label, " to compare with"));
  }
  return sentences;
}

absl::Status CheckErrorLimits(absl::Span<const ErrorRow> rows, absl::Span<const ErrorLimit> limits) {
  for (const ErrorLimit& limit : limits) {
    if (limit.max_rmse == std::numeric_limits<double>::infinity()) continue;
    const ErrorRow* const row = FindError(rows, limit.quantity);
    if (row == nullptr) {
      return absl::FailedPreconditionError(
          absl::StrCat(limit.flag, " cannot be checked: the data has no ", limit.quantity, " to compare with",
                       limit.quantity == "stress" ? " in a cell that is periodic in three directions" : ""));
    }
    if (row->rmse <= limit.max_rmse) continue;
    return absl::FailedPreconditionError(absl::StrCat(limit.quantity, " RMSE ", FormatError(*row, row->rmse), " ",
                                                      row->unit, " is above ", limit.flag, "=", limit.max_rmse,
                                                      " (over ", StructuresOf(*row), ")"));
  }
  return absl::OkStatus();
}

std::string ExtrapolationWarning(absl::Span<const StructurePrediction> predictions) {
  constexpr size_t kMostNames = 3;
  std::vector<std::string> names;
  int64_t count = 0;
  for (const StructurePrediction& p : predictions) {
    if (p.atoms_outside.value_or(0) == 0) continue;
    ++count;
    if (names.size() < kMostNames) names.push_back(p.name);
  }
  if (count == 0) return "";
  return absl::StrCat(count, " of ", predictions.size(),
                      " structures have atoms outside the range of training (features, or a neighbor too near), where "
                      "predictions are guesses: ",
                      absl::StrJoin(names, ", "), count > static_cast<int64_t>(names.size()) ? ", ..." : "");
}

double NetForce(const StructurePrediction& prediction) {
  double sum[3] = {};
  for (size_t c = 0; c < prediction.predicted_force.size(); ++c) sum[c % 3] += prediction.predicted_force[c];
  return std::sqrt(sum[0] * sum[0] + sum[1] * sum[1] + sum[2] * sum[2]);
}

std::string FormatError(const ErrorRow& row, double value) {
  for (const QuantityInfo& quantity : kQuantities) {
    if (row.quantity == quantity.name) return Decimal(value, quantity.decimals);
  }
  return absl::StrCat(value);
}

std::string ErrorsToTsv(absl::Span<const ErrorRow> rows) {
  std::string tsv =
      "grouping\tgroup\tquantity\tunit\tcount\trmse\tmae\tmax\tstructures\tof_structures\tatoms\tof_atoms\n";
  for (const ErrorRow& row : rows) {
    absl::StrAppendFormat(&tsv, "%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\t%d\t%d\t%d\t%d\n", row.grouping, TsvCell(row.group),
                          row.quantity, row.unit, row.count, FormatError(row, row.rmse), FormatError(row, row.mae),
                          FormatError(row, row.max), row.structures, row.of_structures, row.atoms, row.of_atoms);
  }
  return tsv;
}

}  // namespace rutile
