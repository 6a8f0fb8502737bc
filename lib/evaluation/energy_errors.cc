#include "lib/evaluation/energy_errors.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace rutile {
namespace {

constexpr double kMilli = 1000;

class Accumulator {
 public:
  void Add(const EnergyPrediction& p) {
    const double error = p.predicted - p.reference;
    const double per_atom = error / p.num_atoms;
    ++structures_;
    atoms_ += p.num_atoms;
    square_ += error * error;
    absolute_ += std::abs(error);
    square_per_atom_ += per_atom * per_atom;
    absolute_per_atom_ += std::abs(per_atom);
    max_per_atom_ = std::max(max_per_atom_, std::abs(per_atom));
  }

  EnergyErrors Result(const std::string& grouping, const std::string& group) const {
    EnergyErrors e;
    e.grouping = grouping;
    e.group = group;
    e.structures = structures_;
    e.atoms = atoms_;
    e.rmse_per_atom = kMilli * std::sqrt(square_per_atom_ / structures_);
    e.mae_per_atom = kMilli * absolute_per_atom_ / structures_;
    e.max_per_atom = kMilli * max_per_atom_;
    e.rmse_total = std::sqrt(square_ / structures_);
    e.mae_total = absolute_ / structures_;
    return e;
  }

 private:
  int64_t structures_ = 0, atoms_ = 0;
  double square_ = 0, absolute_ = 0, square_per_atom_ = 0, absolute_per_atom_ = 0, max_per_atom_ = 0;
};

// Names come from files; a tab or a line end inside one would shift the columns.
std::string Cell(const std::string& text) { return absl::StrReplaceAll(text, {{"\t", " "}, {"\n", " "}, {"\r", " "}}); }

}  // namespace

std::vector<EnergyErrors> ComputeEnergyErrors(absl::Span<const EnergyPrediction> predictions) {
  Accumulator all;
  std::map<std::string, Accumulator> by_config, by_composition;
  bool any = false;
  for (const EnergyPrediction& p : predictions) {
    if (std::isnan(p.reference)) continue;
    any = true;
    all.Add(p);
    by_config[p.config_type].Add(p);
    by_composition[p.composition].Add(p);
  }
  std::vector<EnergyErrors> errors;
  if (!any) return errors;
  errors.push_back(all.Result("all", ""));
  auto add_groups = [&](const char* grouping, const std::map<std::string, Accumulator>& groups) {
    if (groups.size() < 2) return;
    for (const auto& [group, sums] : groups) errors.push_back(sums.Result(grouping, group));
  };
  add_groups("config_type", by_config);
  add_groups("composition", by_composition);
  return errors;
}

std::string EnergyErrorsToTsv(absl::Span<const EnergyErrors> errors) {
  std::string tsv =
      "grouping\tgroup\tstructures\tatoms\tenergy_rmse[meV/atom]\tenergy_mae[meV/atom]\tenergy_max[meV/atom]\t"
      "energy_rmse_total[eV]\tenergy_mae_total[eV]\n";
  for (const EnergyErrors& e : errors) {
    absl::StrAppendFormat(&tsv, "%s\t%s\t%d\t%d\t%.4f\t%.4f\t%.4f\t%.6f\t%.6f\n", e.grouping, Cell(e.group),
                          e.structures, e.atoms, e.rmse_per_atom, e.mae_per_atom, e.max_per_atom, e.rmse_total,
                          e.mae_total);
  }
  return tsv;
}

std::string PredictionsToTsv(absl::Span<const EnergyPrediction> predictions) {
  std::string tsv =
      "name\tconfig_type\tcomposition\tatoms\treference_energy[eV]\tpredicted_energy[eV]\terror[meV/atom]\n";
  for (const EnergyPrediction& p : predictions) {
    absl::StrAppendFormat(&tsv, "%s\t%s\t%s\t%d\t%.8f\t%.8f\t%.5f\n", Cell(p.name), Cell(p.config_type), p.composition,
                          p.num_atoms, p.reference, p.predicted, kMilli * (p.predicted - p.reference) / p.num_atoms);
  }
  return tsv;
}

}  // namespace rutile
