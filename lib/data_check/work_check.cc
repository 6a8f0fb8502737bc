#include "lib/data_check/work_check.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/base/decimal.h"
#include "lib/structure/cell.h"

namespace rutile {
namespace {

constexpr size_t kPartners = 6;            // structures of a kind with which a new one is compared
constexpr int64_t kMostAtoms = 500'000;    // of copies
constexpr size_t kMostSamples = 100'000;   // far more than a median needs
constexpr double kMostDisplacement = 0.5;  // Angstrom
constexpr double kMostStrain = 0.06;       // beyond it, elastic energies are not harmonic
constexpr double kSmallestStrain = 2e-3;   // below it, the work of the stress drowns in that of the forces
constexpr double kEqualCells = 1e-6;       // strain of cells that are equal but for printing
constexpr double kAgreement = 0.3;         // of ratios of single pairs
constexpr double kConsistent = 0.35;       // |slope - 1| that third-order terms may cause
constexpr double kTolerance = 0.12;        // of a slope that a unit explains

// A ratio of energy differences to work, and what causes it.
struct Cause {
  double slope;
  absl::string_view text;
};

constexpr Cause kForceCauses[] = {
    {27.2114, "forces in Hartree/Angstrom beside energies in eV"},
    {51.4221, "forces in Hartree/Bohr beside energies in eV"},
    {25.7110, "forces in Rydberg/Bohr beside energies in eV"},
    {1.88973, "energies in Hartree and forces in Hartree/Bohr, or energies in Rydberg and forces in Rydberg/Bohr"},
    {0.529177, "lengths in Bohr beside energies in eV and forces in eV/Angstrom"},
    {0.0367493, "energies in Hartree beside forces in eV/Angstrom"},
    {0.0734986, "energies in Rydberg beside forces in eV/Angstrom"},
    {23.0605, "energies in kcal/mol beside forces in eV/Angstrom"},
    {0.0433641, "forces in kcal/mol/Angstrom beside energies in eV"},
    {96.4853, "energies in kJ/mol beside forces in eV/Angstrom"},
    {0.0103643, "forces in kJ/mol/Angstrom beside energies in eV"},
};
constexpr Cause kStressCauses[] = {
    {1 / 1602.1766, "stresses in kbar"},
    {1 / 160.21766, "stresses in GPa"},
    {183.6315, "stresses in Hartree/Bohr^3"},
    {91.8158, "stresses in Rydberg/Bohr^3"},
};

std::string Explain(double slope, absl::Span<const Cause> causes, absl::string_view sign) {
  const double size = std::abs(slope);
  const std::string reversed = slope < 0 ? std::string(sign) : "";
  if (std::abs(size - 1) <= kConsistent) return reversed;
  std::vector<absl::string_view> found;
  for (const Cause& cause : causes) {
    if (std::abs(std::log(size / cause.slope)) <= kTolerance) found.push_back(cause.text);
  }
  const std::string unit = found.empty() ? "no unit that is known here" : absl::StrJoin(found, ", or ");
  return absl::StrCat(unit, reversed.empty() ? "" : ", and ", reversed);
}

}  // namespace

void WorkCheck::Add(const Structure& structure) {
  if (!structure.energy.has_value() || structure.force.empty()) return;
  std::string key(structure.element.begin(), structure.element.end());
  for (const bool periodic : structure.pbc) key.push_back(periodic ? 'T' : 'F');
  std::deque<Kept>& partners = kept_[std::move(key)];
  Kept kept = {structure.cell, structure.pbc, structure.position, structure.force, *structure.energy, structure.stress};
  for (const Kept& other : partners) Compare(other, kept);
  if (partners.size() == kPartners) {
    partners.pop_front();
    atoms_kept_ -= structure.size();
  }
  if (atoms_kept_ + structure.size() > kMostAtoms) return;
  atoms_kept_ += structure.size();
  partners.push_back(std::move(kept));
}

void WorkCheck::Compare(const Kept& a, const Kept& b) {
  if (force_samples_.size() >= kMostSamples || stress_samples_.size() >= kMostSamples) return;
  const absl::StatusOr<Matrix3> cell_a = CompleteCell(a.cell, a.pbc), cell_b = CompleteCell(b.cell, b.pbc);
  if (!cell_a.ok() || !cell_b.ok()) return;
  const Matrix3 inverse_a = InverseCell(*cell_a), inverse_b = InverseCell(*cell_b);
  Matrix3 strain;
  double largest = 0;
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < 3; ++k) {
      double sum = i == k ? -1 : 0;
      for (int l = 0; l < 3; ++l) sum += inverse_a[3 * i + l] * (*cell_b)[3 * l + k];
      strain[3 * i + k] = sum;
      largest = std::max(largest, std::abs(sum));
    }
  }
  if (!(largest <= kMostStrain)) return;
  double work = 0;
  for (size_t atom = 0; 3 * atom < a.position.size(); ++atom) {
    double step[3], square = 0;
    for (int i = 0; i < 3; ++i) {
      step[i] = 0;
      for (int l = 0; l < 3; ++l) {
        step[i] += b.position[3 * atom + l] * inverse_b[3 * l + i] - a.position[3 * atom + l] * inverse_a[3 * l + i];
      }
      if (a.pbc[i]) step[i] -= std::nearbyint(step[i]);
    }
    for (int k = 0; k < 3; ++k) {
      double u = 0;
      for (int i = 0; i < 3; ++i) u += step[i] * ((*cell_a)[3 * i + k] + (*cell_b)[3 * i + k]) / 2;
      work -= u * (a.force[3 * atom + k] + b.force[3 * atom + k]) / 2;
      square += u * u;
    }
    if (!(square <= kMostDisplacement * kMostDisplacement)) return;
  }
  const double energy = b.energy - a.energy;
  if (largest <= kEqualCells) {
    force_samples_.push_back({work, energy});
  } else if (largest >= kSmallestStrain && a.stress.has_value() && b.stress.has_value()) {
    const double volume_a = CellVolume(a.cell), volume_b = CellVolume(b.cell);
    double strain_work = 0;
    for (int k = 0; k < 9; ++k) strain_work += strain[k] * (volume_a * (*a.stress)[k] + volume_b * (*b.stress)[k]) / 2;
    stress_samples_.push_back({strain_work, energy - work});
  }
}

std::optional<WorkSlope> WorkCheck::Fit(const std::vector<Sample>& samples) {
  // The median of the ratios, each with the weight of its work, so that pairs without work do not count.
  std::vector<std::pair<double, double>> ratios;
  double total = 0;
  for (const Sample& sample : samples) {
    if (sample.work == 0 || !std::isfinite(sample.work) || !std::isfinite(sample.energy)) continue;
    ratios.emplace_back(sample.energy / sample.work, std::abs(sample.work));
    total += std::abs(sample.work);
  }
  if (ratios.empty()) return std::nullopt;
  std::sort(ratios.begin(), ratios.end());
  WorkSlope slope;
  slope.pairs = static_cast<int64_t>(ratios.size());
  double sum = 0;
  for (const auto& [ratio, weight] : ratios) {
    sum += weight;
    if (sum < total / 2) continue;
    slope.value = ratio;
    break;
  }
  for (const auto& [ratio, weight] : ratios) {
    if (std::abs(ratio - slope.value) <= kAgreement * std::abs(slope.value)) slope.agreement += weight / total;
  }
  return slope;
}

std::optional<WorkSlope> WorkCheck::ForceSlope() const { return Fit(force_samples_); }
std::optional<WorkSlope> WorkCheck::StressSlope() const { return Fit(stress_samples_); }

std::string ExplainForceSlope(double slope) {
  return Explain(slope, kForceCauses, "forces of the wrong sign (gradients?)");
}

std::string ExplainStressSlope(double slope) {
  return Explain(slope, kStressCauses, "the sign of pressures, which VASP prints");
}

}  // namespace rutile
