#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/decimal.h"
#include "lib/data_check/checks.h"
#include "lib/data_check/median.h"

namespace rutile {
namespace {

// Energies of one composition are of two kinds if the gap between them is wide, and each side narrow beside it. Phases,
// surfaces and thermal motion differ by less than 1 eV per atom and fill the range between them.
constexpr double kSmallestGap = 1;       // eV per atom
constexpr double kTimesSpread = 10;      // of the median distance from a side's middle
constexpr int64_t kFewest = 5;           // structures on either side
constexpr double kDenser = 1.5;          // ratio of volumes per atom beyond which sides are other matter
constexpr double kFactorAccuracy = 0.1;  // of the ratio of two sides' energies that a unit explains

// Elements with their numbers of atoms, divided by what all have in common, and whether there are volumes.
using Formula = std::tuple<std::vector<std::pair<uint8_t, int32_t>>, bool>;

Formula FormulaOf(const FrameFacts& frame) {
  std::vector<std::pair<uint8_t, int32_t>> formula = frame.composition;
  int32_t divisor = 0;
  for (const auto& entry : formula) divisor = std::gcd(divisor, entry.second);
  for (auto& entry : formula) entry.second /= std::max(divisor, 1);
  return {std::move(formula), frame.volume_per_atom > 0};
}

// The structures of a formula, by rising energy per atom, divided at `begin_upper`.
struct Sides {
  std::vector<int64_t> lower, upper;
  double lower_energy = 0, upper_energy = 0;  // medians, eV per atom
};

double MedianOf(absl::Span<const FrameFacts> frames, absl::Span<const int64_t> of, double (*value)(const FrameFacts&)) {
  std::vector<double> values;
  for (const int64_t f : of) values.push_back(value(frames[f]));
  return Median(std::move(values));
}

double EnergyOf(const FrameFacts& frame) { return frame.energy_per_atom(); }
double VolumeOf(const FrameFacts& frame) { return frame.volume_per_atom; }

double SpreadOf(absl::Span<const FrameFacts> frames, absl::Span<const int64_t> of, double middle) {
  std::vector<double> values;
  for (const int64_t f : of) values.push_back(std::abs(frames[f].energy_per_atom() - middle));
  return Median(std::move(values));
}

// Divides at the widest gap. False if the sides are not two kinds of energies.
bool Divide(absl::Span<const FrameFacts> frames, std::vector<int64_t> of, Sides* sides) {
  if (static_cast<int64_t>(of.size()) < 2 * kFewest) return false;
  std::sort(of.begin(), of.end(), [&](int64_t a, int64_t b) { return EnergyOf(frames[a]) < EnergyOf(frames[b]); });
  size_t at = 1;
  const auto gap = [&](size_t i) { return EnergyOf(frames[of[i]]) - EnergyOf(frames[of[i - 1]]); };
  for (size_t i = 1; i < of.size(); ++i) {
    if (gap(i) > gap(at)) at = i;
  }
  sides->lower.assign(of.begin(), of.begin() + static_cast<std::ptrdiff_t>(at));
  sides->upper.assign(of.begin() + static_cast<std::ptrdiff_t>(at), of.end());
  if (static_cast<int64_t>(std::min(sides->lower.size(), sides->upper.size())) < kFewest) return false;
  sides->lower_energy = MedianOf(frames, sides->lower, EnergyOf);
  sides->upper_energy = MedianOf(frames, sides->upper, EnergyOf);
  const double spread = std::max(SpreadOf(frames, sides->lower, sides->lower_energy),
                                 SpreadOf(frames, sides->upper, sides->upper_energy));
  if (!(gap(at) > std::max(kSmallestGap, kTimesSpread * spread))) return false;
  const double a = MedianOf(frames, sides->lower, VolumeOf), b = MedianOf(frames, sides->upper, VolumeOf);
  return std::max(a, b) <= kDenser * std::min(a, b);
}

// Says which unit the side with the smaller energies has if the other's are in eV; "" if none explains the ratio.
std::string UnitOfRatio(double ratio, absl::string_view* factor) {
  struct Unit {
    double in_ev;
    absl::string_view name, factor;
  };
  for (const Unit& unit : {Unit{27.2114, "Hartree", "27.2114"}, Unit{13.6057, "Rydberg", "13.6057"}}) {
    if (!(std::abs(std::log(ratio / unit.in_ev)) <= kFactorAccuracy)) continue;  // nan: the sides have other signs
    *factor = unit.factor;
    return std::string(unit.name);
  }
  return "";
}

// "in b.xyz" if a file's structures are on one side alone, and those of the other in other files.
std::string FilesOf(absl::Span<const FrameFacts> frames, const Sides& sides, const std::vector<int64_t>& side) {
  std::map<std::string, std::pair<bool, bool>> files;  // has structures of this side, of the other
  for (const std::vector<int64_t>* const each : {&sides.lower, &sides.upper}) {
    for (const int64_t f : *each) {
      auto& [here, there] = files[SourceOf(frames[f])];
      (each == &side ? here : there) = true;
    }
  }
  std::vector<std::string> found;
  for (const auto& [file, where] : files) {
    if (!where.first) continue;
    if (where.second) return "";
    found.push_back(file);
  }
  return found.size() == 1 && !found[0].empty() ? absl::StrCat(", all of them in ", found[0]) : "";
}

}  // namespace

std::string SourceOf(const FrameFacts& frame) {
  const size_t hash = frame.name.rfind('#');
  if (hash != std::string::npos) return frame.name.substr(0, hash);
  const size_t slash = frame.name.rfind('/');
  return slash == std::string::npos ? "" : frame.name.substr(0, slash);
}

void CheckMixedEnergies(absl::Span<const FrameFacts> frames, std::vector<DataFinding>* findings) {
  std::map<Formula, std::vector<int64_t>> by_formula;
  for (int64_t f = 0; f < static_cast<int64_t>(frames.size()); ++f) {
    const FrameFacts& frame = frames[f];
    if (frame.energy.has_value() && std::isfinite(*frame.energy) && !frame.is_isolated_atom) {
      by_formula[FormulaOf(frame)].push_back(f);
    }
  }
  Sides most;  // of the formula with the most structures
  int64_t formulas = 0;
  for (auto& [formula, of] : by_formula) {
    Sides sides;
    if (!Divide(frames, std::move(of), &sides)) continue;
    ++formulas;
    if (sides.lower.size() + sides.upper.size() > most.lower.size() + most.upper.size()) most = std::move(sides);
  }
  if (formulas == 0) return;
  const bool lower_is_few = most.lower.size() < most.upper.size();
  std::vector<int64_t> few = lower_is_few ? most.lower : most.upper;
  const double few_energy = lower_is_few ? most.lower_energy : most.upper_energy;
  const double many_energy = lower_is_few ? most.upper_energy : most.lower_energy;
  std::sort(few.begin(), few.end());
  const double ratio =
      most.lower_energy / most.upper_energy;  // of the larger by size to the smaller, if both are bound
  absl::string_view factor;
  const std::string unit = UnitOfRatio(ratio, &factor);
  const bool few_are_small = std::abs(few_energy) < std::abs(many_energy);
  findings->push_back(
      {"mixed",
       absl::StrCat("energies of equal composition are of two kinds: ", few.size(), " structures (",
                    NamesOf(frames, few), FilesOf(frames, most, lower_is_few ? most.lower : most.upper),
                    ") have about ", Decimal(few_energy, 3), " eV per atom and ",
                    most.lower.size() + most.upper.size() - few.size(), " have about ", Decimal(many_energy, 3),
                    ", with none between them",
                    formulas > 1 ? absl::StrCat("; so it is with ", formulas, " compositions") : std::string(),
                    unit.empty() ? std::string() : absl::StrCat("; the ratio is that of ", unit, " to eV")),
       unit.empty()
           ? absl::StrCat("energies of two programs, settings or references cannot be learned together: leave one "
                          "kind out (--config_weights, --max_energy), or take each one's atomic energies off "
                          "before; here they differ by ",
                          Decimal(std::abs(few_energy - many_energy), 3), " eV per atom")
           : absl::StrCat("multiply the ", few_are_small ? "former" : "latter", " by ", factor,
                          ", and see in which unit their forces are"),
       few});
}

}  // namespace rutile
