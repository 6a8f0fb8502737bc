#include "lib/structure/missing_labels.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace rutile {

bool MissingLabels::IsLikeEnergy(absl::string_view name) {
  return absl::StrContains(absl::AsciiStrToLower(name), "energy");
}

bool MissingLabels::IsLikeForce(absl::string_view name) {
  const std::string lower = absl::AsciiStrToLower(name);
  return absl::StrContains(lower, "force") || absl::StrContains(lower, "grad");
}

void MissingLabels::Count(Quantity quantity, absl::Span<const absl::string_view> similar) {
  ++frames_[quantity];
  for (const absl::string_view name : similar) ++similar_[quantity][std::string(name)];
}

std::vector<std::string> MissingLabels::Messages(absl::string_view path, int64_t num_frames,
                                                 absl::string_view energy_key, absl::string_view force_key) const {
  struct Text {
    absl::string_view what, flag, given, kind;
  };
  const Text texts[kQuantities] = {{"energy", "energy_key", energy_key, "keys"},
                                   {"forces", "force_key", force_key, "columns of three numbers"}};
  std::vector<std::string> messages;
  for (int quantity = 0; quantity < kQuantities; ++quantity) {
    if (similar_[quantity].empty()) continue;
    const Text& text = texts[quantity];
    const std::string names = absl::StrJoin(similar_[quantity], ", ",
                                            [](std::string* out, const std::pair<const std::string, int64_t>& entry) {
                                              absl::StrAppend(out, entry.first, " in ", entry.second);
                                            });
    messages.push_back(
        absl::StrCat(path, ": ", frames_[quantity], " of ", num_frames, " frames have no ", text.what, " ",
                     text.given.empty() ? std::string("under the usual names")
                                        : absl::StrCat("named ", text.given, ", as --", text.flag, " asks for"),
                     ", but ", text.kind, " of similar names: ", names, "; --", text.flag, "=",
                     similar_[quantity].begin()->first, " reads that"));
  }
  return messages;
}

}  // namespace rutile
