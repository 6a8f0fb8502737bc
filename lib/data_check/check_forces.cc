#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
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

// Limits of the largest component of a structure.
struct Limits {
  absl::string_view check, what, unit;
  double typical;       // of half of the structures: beyond it, the unit is another
  double outlier;       // below it, nothing is an outlier
  double times_median;  // above so many medians and `outlier`, a structure is one
  double always;        // above it, a structure is one whatever the others are
  absl::string_view unit_remedy, outlier_remedy;
};

// Forces of thermal motion are a few eV/Angstrom, those of collisions up to 200. Stresses of 1 eV/Angstrom^3, 160 GPa,
// are those of planets' cores.
constexpr Limits kForces = {"force",
                            "force component",
                            "eV/Angstrom",
                            30,
                            50,
                            100,
                            1000,
                            "are forces in eV/Angstrom? Convert them",
                            "correct these structures or leave them out (--max_forces)"};
constexpr Limits kStresses = {"stress",
                              "stress component",
                              "eV/Angstrom^3",
                              1,
                              5,
                              100,
                              100,
                              "are stresses in GPa (divide by 160.21766) or kbar (by 1602.1766; VASP's have the other "
                              "sign)? They must be in eV/Angstrom^3, positive in tension",
                              "correct these structures or leave them out"};

void CheckSizes(absl::Span<const FrameFacts> frames, std::optional<double> FrameFacts::*member, const Limits& limits,
                std::vector<DataFinding>* findings) {
  std::vector<double> sizes;
  for (const FrameFacts& frame : frames) {
    if ((frame.*member).has_value()) sizes.push_back(*(frame.*member));
  }
  if (sizes.empty()) return;
  const double median = Median(std::move(sizes));
  if (median > limits.typical) {
    findings->push_back(
        {std::string(limits.check),
         absl::StrCat("in half of the structures, the largest ", limits.what, " is ", Decimal(median, 1), " ",
                      limits.unit, " or more, where up to ", limits.typical, " is plausible"),
         std::string(limits.unit_remedy),
         {}});
    return;
  }
  const double limit = std::min(limits.always, std::max(limits.outlier, limits.times_median * median));
  std::vector<int64_t> outliers;
  int64_t worst = -1;
  for (int64_t f = 0; f < static_cast<int64_t>(frames.size()); ++f) {
    const std::optional<double>& size = frames[f].*member;
    if (!size.has_value() || *size <= limit) continue;
    outliers.push_back(f);
    if (worst < 0 || *size > *(frames[worst].*member)) worst = f;
  }
  if (outliers.empty()) return;
  findings->push_back(
      {std::string(limits.check),
       absl::StrCat(CountOf(frames, outliers.size()), " have a ", limits.what, " above ", Decimal(limit, 1), " ",
                    limits.unit, ", up to ", Decimal(*(frames[worst].*member), 1), " in ", frames[worst].name,
                    ", where half of all stay below ", Decimal(median, 3), ": ", NamesOf(frames, outliers)),
       std::string(limits.outlier_remedy), outliers});
}

// Below it, other forces of a structure may be 0 by rounding, too: eV/Angstrom.
constexpr double kLargeBesideZeros = 0.05;
// A few atoms may be 0 by chance: one in a large structure, or one or two in a whole set.
constexpr double kShareOfZeros = 0.05;
constexpr int64_t kFewestZeros = 3;

std::string Agreement(const WorkSlope& slope) {
  return absl::StrCat("over ", slope.pairs, " pairs of structures that are nearly the same");
}

}  // namespace

void CheckForcesAndStresses(absl::Span<const FrameFacts> frames, std::vector<DataFinding>* findings) {
  CheckSizes(frames, &FrameFacts::largest_force, kForces, findings);
  CheckSizes(frames, &FrameFacts::largest_stress, kStresses, findings);
}

void CheckZeroForces(absl::Span<const FrameFacts> frames, std::vector<DataFinding>* findings) {
  std::vector<int64_t> found;
  int64_t atoms = 0, zeros = 0;
  for (int64_t f = 0; f < static_cast<int64_t>(frames.size()); ++f) {
    const FrameFacts& frame = frames[f];
    if (frame.largest_force.value_or(0) < kLargeBesideZeros) continue;
    if (static_cast<double>(frame.unexplained_zero_forces) < kShareOfZeros * static_cast<double>(frame.atoms)) continue;
    found.push_back(f);
    atoms += frame.atoms;
    zeros += frame.unexplained_zero_forces;
  }
  if (zeros < kFewestZeros) return;
  findings->push_back(
      {"zero force",
       absl::StrCat(CountOf(frames, found.size()), " have forces of exactly 0 on ", zeros, " of their ", atoms,
                    " atoms, which no symmetry explains, beside others: ", NamesOf(frames, found)),
       "were these atoms fixed by constraints, which set their forces to zero? Write the forces of the calculation: "
       "atoms.get_forces(apply_constraint=False) in ASE",
       found});
}

void CheckMixedForces(absl::Span<const FrameFacts> frames, const std::map<std::string, WorkCheck>& work,
                      std::vector<DataFinding>* findings) {
  int64_t consistent = 0;
  std::vector<std::pair<std::string, WorkSlope>> others;
  for (const auto& [source, of_source] : work) {
    const std::optional<WorkSlope> slope = of_source.ForceSlope();
    if (!slope.has_value() || !slope->is_certain()) continue;
    if (ExplainForceSlope(slope->value).empty()) {
      ++consistent;
    } else {
      others.emplace_back(source, *slope);
    }
  }
  if (consistent == 0) return;  // what is wrong with all is told of all
  for (const auto& [source, slope] : others) {
    std::vector<int64_t> of_source;
    for (int64_t f = 0; f < static_cast<int64_t>(frames.size()); ++f) {
      if (SourceOf(frames[f]) == source && frames[f].largest_force.has_value()) of_source.push_back(f);
    }
    findings->push_back({"mixed",
                         absl::StrCat(of_source.size(), " structures (", NamesOf(frames, of_source),
                                      ") have forces unlike the rest: "
                                      "differences of their energies are ",
                                      Decimal(slope.value, 4), " times the work of the forces, ", Agreement(slope),
                                      ", and 1 is expected, as in ", consistent, consistent == 1 ? " other" : " others",
                                      " of the files; it would be explained by ", ExplainForceSlope(slope.value)),
                         absl::StrCat("convert energies and forces of ", source.empty() ? "these" : source,
                                      " to eV and eV/Angstrom, or leave them out"),
                         of_source});
  }
}

void CheckWork(const WorkCheck& work, std::vector<DataFinding>* findings) {
  const std::optional<WorkSlope> force = work.ForceSlope();
  if (force.has_value() && force->is_certain()) {
    const std::string why = ExplainForceSlope(force->value);
    if (!why.empty()) {
      findings->push_back(
          {"work",
           absl::StrCat("differences of energies are ", Decimal(force->value, 4), " times the work of the forces, ",
                        Agreement(*force), ", and 1 is expected; it would be explained by ", why),
           "energies must be in eV and forces, which are -dE/dr, in eV/Angstrom: convert them",
           {}});
      return;  // the work of stresses is judged with that of forces
    }
  }
  const std::optional<WorkSlope> stress = work.StressSlope();
  if (!stress.has_value() || !stress->is_certain()) return;
  const std::string why = ExplainStressSlope(stress->value);
  if (why.empty()) return;
  findings->push_back({"work",
                       absl::StrCat("differences of energies, less the work of the forces, are ",
                                    absl::StrCat(stress->value), " times the work of the stresses, ",
                                    Agreement(*stress), ", and 1 is expected; it would be explained by ", why),
                       "stresses must be in eV/Angstrom^3, positive in tension: convert them",
                       {}});
}

}  // namespace rutile
