#include "tools/common/flags/atomic_energies.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "lib/structure/element.h"

namespace rutile {

absl::StatusOr<std::map<uint8_t, double>> ParseAtomicEnergies(absl::string_view text) {
  std::map<uint8_t, double> energies;
  if (text.empty()) return energies;
  std::string content(text);
  std::string where = "--atomic_energies";
  if (!absl::StrContains(text, '=')) {
    ASSIGN_OR_RETURN(const FileContents file, FileContents::Open(text));
    content = std::string(file.data());
    where = std::string(text);
  }
  std::vector<std::string> entries;
  for (const absl::string_view line : absl::StrSplit(content, '\n')) {
    for (const absl::string_view entry : absl::StrSplit(line.substr(0, line.find('#')), ',')) {
      entries.push_back(absl::StrReplaceAll(entry, {{"=", " "}, {":", " "}, {"\t", " "}, {"\r", " "}}));
    }
  }
  for (const std::string& entry : entries) {
    const std::vector<std::string> words = absl::StrSplit(entry, ' ', absl::SkipEmpty());
    if (words.empty()) continue;
    double energy = 0;
    const uint8_t element = AtomicNumber(words[0]);
    if (words.size() != 2 || element == 0 || !absl::SimpleAtod(words[1], &energy) || !std::isfinite(energy)) {
      return absl::InvalidArgumentError(absl::StrCat(
          where, ": \"", entry, "\" is not an element and its energy in eV; expected as in Ti=-1604.6,O=-432.5"));
    }
    if (!energies.emplace(element, energy).second) {
      return absl::InvalidArgumentError(absl::StrCat(where, ": ", words[0], " is given twice"));
    }
  }
  if (energies.empty()) return absl::InvalidArgumentError(absl::StrCat(where, ": no element and energy in it"));
  return energies;
}

}  // namespace rutile
