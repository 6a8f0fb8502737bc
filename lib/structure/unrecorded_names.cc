#include "lib/structure/unrecorded_names.h"

#include "absl/strings/str_cat.h"

namespace rutile {

void UnrecordedNames::Count(Quantity quantity, absl::string_view recorded, absl::string_view used) {
  if (recorded.empty() || used == recorded) return;
  Frames& frames = frames_[quantity];
  if (frames.count++ == 0) {
    frames.recorded = std::string(recorded);
    frames.used = std::string(used);
  }
}

std::vector<std::string> UnrecordedNames::Messages(absl::string_view path, int64_t num_frames) const {
  constexpr absl::string_view kWhat[kQuantities] = {"energy", "forces", "stress", "virial"};
  constexpr absl::string_view kFlag[kQuantities] = {"energy_key", "force_key", "stress_key", "virial_key"};
  std::vector<std::string> messages;
  for (int quantity = 0; quantity < kQuantities; ++quantity) {
    const Frames& frames = frames_[quantity];
    if (frames.count == 0) continue;
    messages.push_back(absl::StrCat(path, ": ", frames.count, " of ", num_frames, " frames have no ", frames.recorded,
                                    ", the ", kWhat[quantity], " that the model learned from; ", frames.used,
                                    " is read in its place, --", kFlag[quantity], " names another"));
  }
  return messages;
}

}  // namespace rutile
