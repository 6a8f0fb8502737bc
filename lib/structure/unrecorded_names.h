// Collects warnings about labels that are read under another name than that of the data from which a model learned.

#ifndef RUTILE_LIB_STRUCTURE_UNRECORDED_NAMES_H_
#define RUTILE_LIB_STRUCTURE_UNRECORDED_NAMES_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace rutile {

// Counts such frames in one file.
class UnrecordedNames {
 public:
  enum Quantity { kEnergy, kForces, kStress, kVirial, kQuantities };

  // Counts a frame whose quantity was read under the name `used`. recorded: the name that the model knows; "" for none.
  void Count(Quantity quantity, absl::string_view recorded, absl::string_view used);

  // Returns a message "path: found, what was made of it, remedy" for each quantity with frames that lack the recorded
  // name.
  std::vector<std::string> Messages(absl::string_view path, int64_t num_frames) const;

 private:
  struct Frames {
    int64_t count = 0;
    std::string recorded, used;  // of the first
  };

  std::array<Frames, kQuantities> frames_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_STRUCTURE_UNRECORDED_NAMES_H_
