// The names that users write for the values of an enum: one table in place of a function for each direction.

#ifndef RUTILE_LIB_BASE_ENUM_NAMES_H_
#define RUTILE_LIB_BASE_ENUM_NAMES_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/base/logging.h"

namespace rutile {

// Gives the name of a value and the value of a name. T is an enum whose values are 0, 1, 2, ... in the order of the
// names. A table is a constant beside the enum, so that a new value is a new word in one place:
//
//   enum class Anneal { kCosine, kLinear };
//   inline constexpr absl::string_view kAnnealWords[] = {"cos", "linear"};
//   inline constexpr EnumNames<Anneal> kAnnealNames("one_cycle cannot anneal by", kAnnealWords);
//
//   kAnnealNames.Name(Anneal::kLinear);           // "linear"
//   // INVALID_ARGUMENT: one_cycle cannot anneal by "cosine"; the choices are cos, linear
//   kAnnealNames.Parse("cosine");
template <typename T>
class EnumNames {
 public:
  // `unknown` begins the message about a name that is not in the table. Both arguments must outlive the table.
  template <size_t N>
  constexpr EnumNames(const char* unknown, const absl::string_view (&names)[N])
      : unknown_(unknown), names_(names), size_(N) {}

  absl::Span<const absl::string_view> names() const { return {names_, size_}; }

  // CHECK-fails for a value that has no name.
  absl::string_view Name(T value) const {
    const auto index = static_cast<size_t>(value);
    CHECK(index < size_) << unknown_ << " " << index;
    return names_[index];
  }

  // INVALID_ARGUMENT listing the choices.
  absl::StatusOr<T> Parse(absl::string_view name) const {
    for (size_t i = 0; i < size_; ++i) {
      if (names_[i] == name) return static_cast<T>(i);
    }
    return absl::InvalidArgumentError(
        absl::StrCat(unknown_, " \"", name, "\"; the choices are ", absl::StrJoin(names(), ", ")));
  }

 private:
  const char* unknown_;
  const absl::string_view* names_;
  size_t size_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_BASE_ENUM_NAMES_H_
