#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/base/decimal.h"
#include "lib/data_check/checks.h"
#include "lib/data_check/median.h"
#include "lib/structure/covalent_radii.h"
#include "lib/structure/element.h"

namespace rutile {
namespace {

// Shares of the sum of covalent radii. The shortest bonds, N2 and C2H2, have 0.78; lengths in Angstrom that were taken
// for Bohr shrink by 0.53, which brings common bonds below 0.5, and nothing short of a collision in a hot simulation
// does so otherwise.
constexpr double kTooNear = 0.5;
// Half of the structures above it: bonds and metals have up to 1.2, and lengths in Bohr stretch them by 1.89.
constexpr double kStretched = 1.4;
constexpr size_t kFewest = 3;  // structures for a statement about half of them

std::string Pair(const FrameFacts& frame) {
  if (frame.nearest_a == 0) return "atoms at less than 0.1 Angstrom";
  const double distance = frame.nearest_share * (CovalentRadius(frame.nearest_a) + CovalentRadius(frame.nearest_b));
  return absl::StrCat(ElementSymbol(frame.nearest_a), " and ", ElementSymbol(frame.nearest_b), " at ",
                      Decimal(distance, 2), " Angstrom");
}

bool HasNobleGas(const FrameFacts& frame) {
  return std::any_of(frame.composition.begin(), frame.composition.end(),
                     [](const std::pair<uint8_t, int32_t>& entry) { return IsNobleGas(entry.first); });
}

}  // namespace

void CheckDistances(absl::Span<const FrameFacts> frames, std::vector<DataFinding>* findings) {
  std::vector<int64_t> near, fractional;
  std::vector<double> shares;
  int64_t nearest = -1;
  for (int64_t f = 0; f < static_cast<int64_t>(frames.size()); ++f) {
    const FrameFacts& frame = frames[f];
    if (frame.in_unit_box) fractional.push_back(f);
    if (frame.nearest_share < kTooNear) {
      near.push_back(f);
      if (nearest < 0 || frame.nearest_share < frames[nearest].nearest_share) nearest = f;
    }
    if (frame.atoms > 1 && !HasNobleGas(frame) && std::isfinite(frame.nearest_share)) {
      shares.push_back(frame.nearest_share);
    }
  }
  if (!near.empty() && !fractional.empty()) {
    findings->push_back({"distance",
                         absl::StrCat(CountOf(frames, fractional.size()),
                                      " have all coordinates between 0 and 1 in cells of several Angstrom, and atoms "
                                      "nearer than half the sum of their covalent radii (",
                                      Pair(frames[nearest]), "): ", NamesOf(frames, fractional)),
                         "are these fractional coordinates? Positions must be Cartesian, in Angstrom: multiply them by "
                         "the cell",
                         fractional});
  } else if (!near.empty()) {
    findings->push_back({"distance",
                         absl::StrCat(CountOf(frames, near.size()),
                                      " have atoms nearer than half the sum of their covalent radii, the nearest ",
                                      Pair(frames[nearest]), " in ", frames[nearest].name, ": ", NamesOf(frames, near)),
                         "are lengths in Angstrom and coordinates Cartesian? Else correct these structures or leave "
                         "them out",
                         near});
  }
  if (shares.size() < kFewest) return;
  const double median = Median(std::move(shares));
  if (median <= kStretched) return;
  findings->push_back({"distance",
                       absl::StrCat("in half of the structures even the nearest atoms are ", Decimal(median, 2),
                                    " times the sum of their covalent radii apart"),
                       "are lengths in Bohr (1.89 times too large)? Convert them to Angstrom",
                       {}});
}

}  // namespace rutile
