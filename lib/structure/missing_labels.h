// Collects warnings about labels that frames lack under the names that are read, but may have under another.

#ifndef RUTILE_LIB_STRUCTURE_MISSING_LABELS_H_
#define RUTILE_LIB_STRUCTURE_MISSING_LABELS_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace rutile {

// Counts such frames in one file, with the similar names that they have.
class MissingLabels {
 public:
  enum Quantity { kEnergy, kForces, kQuantities };

  // True if the name of a key, or of a column, could be that of an energy, or of forces, in any spelling:
  // "vasp_energy", "MyForces", "gradient".
  static bool IsLikeEnergy(absl::string_view name);
  static bool IsLikeForce(absl::string_view name);

  // Counts a frame without the quantity. It has these names, perhaps none, like that of the quantity.
  void Count(Quantity quantity, absl::Span<const absl::string_view> similar);

  // Returns a message "path: found, remedy" for each quantity with similar names. energy_key, force_key: the names that
  // the user gave, or "".
  std::vector<std::string> Messages(absl::string_view path, int64_t num_frames, absl::string_view energy_key,
                                    absl::string_view force_key) const;

 private:
  std::array<int64_t, kQuantities> frames_ = {};                     // frames without the quantity
  std::array<std::map<std::string, int64_t>, kQuantities> similar_;  // name -> frames without the quantity that have it
};

}  // namespace rutile

#endif  // RUTILE_LIB_STRUCTURE_MISSING_LABELS_H_
