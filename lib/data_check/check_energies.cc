#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/decimal.h"
#include "lib/data_check/checks.h"
#include "lib/data_check/median.h"

namespace rutile {
namespace {

// Residuals of energies per atom beyond this are outliers. Cohesive energies are below 10 eV per atom, so no structure
// can be off by more than 20; in a narrow set fifty times the median is out of place, but 5 eV may be a broken bond.
constexpr double kLargest = 20, kSmallest = 5, kTimesMedian = 50;

// Binding energy per atom, less the atoms: tungsten has 8.9 eV, the most of all elements.
constexpr double kMostBound = -12, kLeastBound = 1;
constexpr double kBeyondDoubt = 0.03;  // accuracy of the estimate of all-electron energies, from carbon to xenon

// Estimates the total energy of an atom with all its electrons in Hartree, by the statistical theory: J. Schwinger,
// Phys. Rev. A 24, 2353 (1981).
double AllElectronHartree(int z) {
  return -0.768745 * std::pow(z, 7.0 / 3) + 0.5 * z * z - 0.2699 * std::pow(z, 5.0 / 3);
}

void CheckOutliers(absl::Span<const FrameFacts> frames, const CompositionFit& fit, std::vector<DataFinding>* findings) {
  if (fit.fitted == 0) return;
  const double limit = std::min(kLargest, std::max(kSmallest, kTimesMedian * fit.median));
  std::vector<int64_t> outliers;
  for (int64_t f = 0; f < static_cast<int64_t>(frames.size()); ++f) {
    if (std::abs(fit.residual[f]) > limit) outliers.push_back(f);
  }
  if (outliers.empty()) return;
  const int64_t worst = *std::max_element(outliers.begin(), outliers.end(), [&](int64_t a, int64_t b) {
    return std::abs(fit.residual[a]) < std::abs(fit.residual[b]);
  });
  const double residual = fit.residual[worst];
  const FrameFacts& frame = frames[worst];
  findings->push_back(
      {"energy",
       absl::StrCat(NamesOf(frames, {&worst, 1}), ": its energy, ", Decimal(*frame.energy, 4), " eV, is ",
                    Decimal(std::abs(residual), 1), " eV per atom ", residual > 0 ? "above" : "below", " the ",
                    Decimal(*frame.energy - residual * static_cast<double>(frame.atoms), 4),
                    " eV that its composition explains; ", CountOf(frames, outliers.size()), " are off by more than ",
                    Decimal(limit, 1), ", half of all by more than ", Decimal(fit.median, 3),
                    outliers.size() > 1 ? absl::StrCat(" (", NamesOf(frames, outliers), ")") : std::string()),
       "a calculation that did not converge, another unit, or energies of two references? Correct them or leave them "
       "out (--max_energy, --config_weights)",
       outliers});
}

void CheckUnit(absl::Span<const FrameFacts> frames, std::vector<DataFinding>* findings) {
  std::vector<double> ratios;
  for (const FrameFacts& frame : frames) {
    if (!frame.energy.has_value()) continue;
    double estimate = 0;
    for (const auto& [element, count] : frame.composition) estimate += count * AllElectronHartree(element);
    ratios.push_back(*frame.energy / estimate);
  }
  if (ratios.empty()) return;
  const double ratio = Median(std::move(ratios));
  struct Unit {
    double in_hartree;
    absl::string_view name, factor;
  };
  for (const Unit& unit :
       {Unit{1, "Hartree", "27.2114"}, Unit{627.509, "kcal/mol", "0.0433641"}, Unit{2625.50, "kJ/mol", "0.0103643"}}) {
    if (std::abs(ratio / unit.in_hartree - 1) > kBeyondDoubt) continue;
    findings->push_back(
        {"energy",
         absl::StrCat("total energies are ", Decimal(ratio, 3),
                      " times the Hartree energies of all the electrons of these atoms, half of them "
                      "more, half less: they look like energies in ",
                      unit.name),
         absl::StrCat("energies must be in eV: multiply them by ", unit.factor, ", and see in which unit forces are"),
         {}});
  }
}

// Returns the energies of isolated atoms in the data, the lowest of each element, as train takes them.
std::map<uint8_t, double> IsolatedAtoms(absl::Span<const FrameFacts> frames) {
  std::map<uint8_t, double> energies;
  for (const FrameFacts& frame : frames) {
    if (!frame.is_isolated_atom || !frame.energy.has_value()) continue;
    const auto [found, is_new] = energies.emplace(frame.composition[0].first, *frame.energy);
    if (!is_new) found->second = std::min(found->second, *frame.energy);
  }
  return energies;
}

void CheckBinding(absl::Span<const FrameFacts> frames, const std::map<uint8_t, double>& given,
                  std::vector<DataFinding>* findings) {
  const std::map<uint8_t, double> energies = given.empty() ? IsolatedAtoms(frames) : given;
  std::vector<double> binding;
  for (const FrameFacts& frame : frames) {
    if (!frame.energy.has_value() || frame.atoms < 2) continue;
    double energy = *frame.energy;
    const bool known = std::all_of(frame.composition.begin(), frame.composition.end(), [&](const auto& entry) {
      const auto found = energies.find(entry.first);
      if (found == energies.end()) return false;
      energy -= entry.second * found->second;
      return true;
    });
    if (known) binding.push_back(energy / static_cast<double>(frame.atoms));
  }
  if (binding.empty()) return;
  const double median = Median(std::move(binding));
  if (median >= kMostBound && median <= kLeastBound) return;
  findings->push_back({"atomic energy",
                       absl::StrCat("less the ", given.empty() ? "energies of the isolated atoms" : "atomic energies",
                                    ", half of the structures have ", Decimal(median, 2),
                                    " eV per atom or more, where atoms that bind have from 0 down to -10"),
                       "atomic energies must be of the same program, settings and unit as the other energies",
                       {}});
}

}  // namespace

void CheckEnergies(absl::Span<const FrameFacts> frames, const CompositionFit& fit,
                   const std::map<uint8_t, double>& atomic_energies, std::vector<DataFinding>* findings) {
  CheckOutliers(frames, fit, findings);
  CheckUnit(frames, findings);
  CheckBinding(frames, atomic_energies, findings);
}

}  // namespace rutile
