#include "lib/evaluation/prediction_tables.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/larger_or_nan.h"
#include "lib/base/status_macros.h"
#include "lib/base/tsv_cell.h"
#include "lib/evaluation/prediction_errors.h"
#include "lib/file/file.h"
#include "lib/structure/element.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kMilli = 1000;
constexpr size_t kBufferBytes = 1 << 20;

struct ForceErrors {
  double rmse = kNaN, largest = kNaN;
};

ForceErrors ErrorsOfForces(const StructurePrediction& p) {
  if (!p.has_force_errors()) return {};
  double sum = 0, largest = 0;
  for (int64_t atom = 0; atom < p.num_atoms; ++atom) {
    double square = 0;
    for (int a = 0; a < 3; ++a) {
      const double error = p.predicted_force[3 * atom + a] - p.reference_force[3 * atom + a];
      square += error * error;
    }
    sum += square;
    largest = LargerOrNaN(largest, square);
  }
  return {std::sqrt(sum / (3.0 * p.num_atoms)), std::sqrt(largest)};
}

bool HasUncertainty(absl::Span<const StructurePrediction> predictions) {
  return std::any_of(predictions.begin(), predictions.end(),
                     [](const StructurePrediction& p) { return p.energy_std.has_value(); });
}

double ErrorOfStress(const StructurePrediction& p) {
  if (!p.has_stress_errors()) return kNaN;
  double sum = 0;
  for (int k = 0; k < 9; ++k) sum += std::pow((*p.predicted_stress)[k] - (*p.reference_stress)[k], 2);
  return std::sqrt(sum / 9);
}

}  // namespace

std::string PredictionsToTsv(absl::Span<const StructurePrediction> predictions) {
  const ProfileScope scope(Stage::kWrite);
  std::string tsv =
      "name\tconfig_type\tcomposition\tatoms\treference_energy[eV]\tpredicted_energy[eV]\terror[meV/atom]\t"
      "energy_spread[meV/atom]\tforce_rmse[eV/Å]\tforce_max[eV/Å]\tnet_force[eV/Å]\tforce_spread_max[eV/Å]\t"
      "stress_rmse[eV/Å^3]\tatoms_outside";
  const bool has_std = HasUncertainty(predictions);
  absl::StrAppend(&tsv, has_std ? "\tenergy_std[meV/atom]\tforce_std_max[eV/Å]\n" : "\n");
  for (const StructurePrediction& p : predictions) {
    const double atoms = static_cast<double>(p.num_atoms);
    const ForceErrors force = ErrorsOfForces(p);
    double spread = p.force_spread.empty() ? kNaN : 0;
    for (const double value : p.force_spread) spread = LargerOrNaN(spread, value);
    absl::StrAppendFormat(&tsv, "%s\t%s\t%s\t%d\t%.8f\t%.8f\t%.5f\t%.5f\t%.6f\t%.6f\t%.3e\t%.6f\t%.8f\t%s",
                          TsvCell(p.name), TsvCell(p.config_type), TsvCell(p.composition), p.num_atoms,
                          p.reference_energy, p.predicted_energy,
                          kMilli * (p.predicted_energy - p.reference_energy) / atoms,
                          p.energy_spread.has_value() ? kMilli * *p.energy_spread / atoms : kNaN, force.rmse,
                          force.largest, p.predicted_force.empty() ? kNaN : NetForce(p), spread, ErrorOfStress(p),
                          p.atoms_outside.has_value() ? absl::StrCat(*p.atoms_outside) : "nan");
    if (has_std) {
      double largest = p.force_std.empty() ? kNaN : 0;
      for (const double value : p.force_std) largest = LargerOrNaN(largest, value);
      absl::StrAppendFormat(&tsv, "\t%.5f\t%.6f", p.energy_std.has_value() ? kMilli * *p.energy_std / atoms : kNaN,
                            largest);
    }
    tsv += '\n';
  }
  return tsv;
}

absl::Status WriteForcesTsv(absl::string_view path, absl::Span<const StructurePrediction> predictions) {
  const ProfileScope scope(Stage::kWrite);
  ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  std::string buffer =
      "structure\tname\tatom\telement\treference_fx[eV/Å]\treference_fy[eV/Å]\treference_fz[eV/Å]\t"
      "predicted_fx[eV/Å]\tpredicted_fy[eV/Å]\tpredicted_fz[eV/Å]\terror[eV/Å]\tspread[eV/Å]\tenergy[eV]";
  const bool has_std = HasUncertainty(predictions);
  absl::StrAppend(&buffer, has_std ? "\tstd_fx[eV/Å]\tstd_fy[eV/Å]\tstd_fz[eV/Å]\tenergy_std[eV]\n" : "\n");
  for (size_t s = 0; s < predictions.size(); ++s) {
    const StructurePrediction& p = predictions[s];
    if (p.predicted_force.empty()) continue;
    const std::string name = TsvCell(p.name);
    for (int64_t atom = 0; atom < p.num_atoms; ++atom) {
      const double* const f = &p.predicted_force[3 * atom];
      double r[3] = {kNaN, kNaN, kNaN};
      if (p.has_force_errors()) std::copy_n(&p.reference_force[3 * atom], 3, r);
      const double error =
          std::sqrt((f[0] - r[0]) * (f[0] - r[0]) + (f[1] - r[1]) * (f[1] - r[1]) + (f[2] - r[2]) * (f[2] - r[2]));
      absl::StrAppendFormat(&buffer, "%d\t%s\t%d\t%s\t%.8f\t%.8f\t%.8f\t%.8f\t%.8f\t%.8f\t%.6f\t%.6f\t%.8f", s, name,
                            atom + 1, ElementSymbol(p.element[atom]), r[0], r[1], r[2], f[0], f[1], f[2], error,
                            p.force_spread.empty() ? kNaN : p.force_spread[atom], p.atom_energy[atom]);
      if (has_std) {
        for (int a = 0; a < 3; ++a) {
          absl::StrAppendFormat(&buffer, "\t%.6f", p.force_std.empty() ? kNaN : p.force_std[3 * atom + a]);
        }
        absl::StrAppendFormat(&buffer, "\t%.8f", p.atom_energy_std.empty() ? kNaN : p.atom_energy_std[atom]);
      }
      buffer += '\n';
    }
    if (buffer.size() < kBufferBytes) continue;
    RETURN_IF_ERROR(file.Append(buffer));
    buffer.clear();
  }
  RETURN_IF_ERROR(file.Append(buffer));
  return file.Commit();
}

}  // namespace rutile
