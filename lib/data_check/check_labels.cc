#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "lib/base/decimal.h"
#include "lib/data_check/checks.h"

namespace rutile {
namespace {

constexpr int64_t kMostNames = 3;
constexpr double kSameEnergy = 1e-3;  // eV per atom; converged calculations repeat to less

void CheckOneLabel(absl::Span<const FrameFacts> frames, absl::string_view what, absl::string_view remedy,
                   bool (*has)(const FrameFacts&), std::vector<DataFinding>* findings) {
  std::vector<int64_t> without;
  for (int64_t f = 0; f < static_cast<int64_t>(frames.size()); ++f) {
    if (!has(frames[f])) without.push_back(f);
  }
  if (without.empty() || without.size() == frames.size()) return;
  findings->push_back({"coverage",
                       absl::StrCat(CountOf(frames, without.size()), " have no ", what, ": ", NamesOf(frames, without)),
                       std::string(remedy), without});
}

void CheckOneKey(absl::Span<const FrameFacts> frames, absl::string_view what, absl::string_view flag,
                 std::string FrameFacts::*key, std::vector<DataFinding>* findings) {
  std::map<std::string, std::pair<int64_t, int64_t>> uses;  // key -> number of structures, the first of them
  for (int64_t f = 0; f < static_cast<int64_t>(frames.size()); ++f) {
    const std::string& name = frames[f].*key;
    if (name.empty()) continue;
    ++uses.try_emplace(name, 0, f).first->second.first;
  }
  if (uses.size() < 2) return;
  const std::string list = absl::StrJoin(
      uses, ", ", [&](std::string* out, const std::pair<const std::string, std::pair<int64_t, int64_t>>& use) {
        absl::StrAppend(out, use.first, " in ", use.second.first, " structures (", frames[use.second.second].name, ")");
      });
  findings->push_back({"keys",
                       absl::StrCat(what, " have different names in one set: ", list),
                       absl::StrCat("are they of the same calculations? --", flag, " reads one of them alone"),
                       {}});
}

constexpr char kAcrossRemedy[] =
    "errors on one set are of structures that the other knows: remove them, or name whole sets (--validation_data, "
    "--validation_key and so on)";

// Structures that repeat an earlier one.
struct Repeats {
  std::map<int64_t, int64_t> original;  // of each copy: the first such structure, or the first in another part
  std::vector<int64_t> copies, across, contradicting;
};

Repeats FindRepeats(absl::Span<const FrameFacts> frames) {
  Repeats repeats;
  std::map<uint64_t, std::vector<int64_t>> earlier;  // by geometry, the first of each part
  for (int64_t f = 0; f < static_cast<int64_t>(frames.size()); ++f) {
    const FrameFacts& frame = frames[f];
    std::vector<int64_t>& known = earlier[frame.geometry];
    const auto other =
        std::find_if(known.begin(), known.end(), [&](int64_t of) { return frames[of].part != frame.part; });
    if (!known.empty()) {
      repeats.copies.push_back(f);
      if (other != known.end()) repeats.across.push_back(f);
      const int64_t original = repeats.original[f] = other != known.end() ? *other : known[0];
      if (frame.energy.has_value() && frames[original].energy.has_value() &&
          std::abs(frame.energy_per_atom() - frames[original].energy_per_atom()) > kSameEnergy) {
        repeats.contradicting.push_back(f);
      }
    }
    if (std::none_of(known.begin(), known.end(), [&](int64_t of) { return frames[of].part == frame.part; })) {
      known.push_back(f);
    }
  }
  return repeats;
}

// Returns "a.xyz#7 (test) repeats a.xyz#1 (training)".
std::string OneRepeat(absl::Span<const FrameFacts> frames, const Repeats& repeats, int64_t copy) {
  return absl::StrCat(NamesOf(frames, {&copy, 1}), " repeats ", NamesOf(frames, {&repeats.original.at(copy), 1}));
}

}  // namespace

std::string NamesOf(absl::Span<const FrameFacts> frames, absl::Span<const int64_t> indices) {
  std::vector<std::string> names;
  for (const int64_t index : indices.subspan(0, std::min<size_t>(indices.size(), kMostNames))) {
    const absl::string_view part = DataPartName(frames[index].part);
    names.push_back(part.empty() ? frames[index].name : absl::StrCat(frames[index].name, " (", part, ")"));
  }
  const std::string more =
      indices.size() > kMostNames ? absl::StrCat(" and ", indices.size() - kMostNames, " more") : std::string();
  return absl::StrCat(absl::StrJoin(names, ", "), more);
}

std::string CountOf(absl::Span<const FrameFacts> frames, size_t count) {
  return absl::StrCat(count, " of ", frames.size(), " structures");
}

void CheckCoverage(absl::Span<const FrameFacts> frames, const DataCheckOptions& options,
                   std::vector<DataFinding>* findings) {
  if (options.energy_coverage) {
    CheckOneLabel(
        frames, "energy", "train leaves them out; --energy_key names a key that is not a usual one",
        [](const FrameFacts& f) { return f.energy.has_value(); }, findings);
  }
  if (options.force_coverage) {
    CheckOneLabel(
        frames, "forces", "their energies alone are learned; --force_key names a column that is not a usual one",
        [](const FrameFacts& f) { return f.largest_force.has_value(); }, findings);
  }
  if (options.stress_coverage) {
    CheckOneLabel(
        frames, "stress", "they add nothing to the errors of stresses",
        [](const FrameFacts& f) { return f.largest_stress.has_value(); }, findings);
  }
}

void CheckKeys(absl::Span<const FrameFacts> frames, std::vector<DataFinding>* findings) {
  CheckOneKey(frames, "energies", "energy_key", &FrameFacts::energy_key, findings);
  CheckOneKey(frames, "forces", "force_key", &FrameFacts::force_key, findings);
}

void CheckDuplicates(absl::Span<const FrameFacts> frames, std::vector<DataFinding>* findings) {
  const Repeats repeats = FindRepeats(frames);
  if (repeats.copies.empty()) return;
  std::string found =
      absl::StrCat(CountOf(frames, repeats.copies.size()), " repeat others exactly, as ",
                   OneRepeat(frames, repeats, (repeats.across.empty() ? repeats.copies : repeats.across)[0]));
  if (!repeats.across.empty()) {
    absl::StrAppend(&found, "; ", repeats.across.size(),
                    " of them are in another set than their originals: ", NamesOf(frames, repeats.across));
  }
  findings->push_back({"duplicate", std::move(found),
                       repeats.across.empty() ? "remove them, unless they are to count more often" : kAcrossRemedy,
                       repeats.copies});
  if (repeats.contradicting.empty()) return;
  const int64_t f = repeats.contradicting[0], original = repeats.original.at(f);
  findings->push_back(
      {"duplicate",
       absl::StrCat(CountOf(frames, repeats.contradicting.size()),
                    " repeat others, but with another energy: ", frames[f].name, " has ", Decimal(*frames[f].energy, 4),
                    " eV, ", frames[original].name, " has ", Decimal(*frames[original].energy, 4)),
       "one of each pair is wrong, or they are of different calculations", repeats.contradicting});
}

void CheckDuplicatesAcrossParts(absl::Span<const FrameFacts> frames, std::vector<DataFinding>* findings) {
  const Repeats repeats = FindRepeats(frames);
  if (repeats.across.empty()) return;
  findings->push_back({"duplicate",
                       absl::StrCat(CountOf(frames, repeats.across.size()), " repeat structures of another set, as ",
                                    OneRepeat(frames, repeats, repeats.across[0])),
                       kAcrossRemedy, repeats.across});
}

}  // namespace rutile
