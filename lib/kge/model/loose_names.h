// Names of an enum that users may spell as they like: "KvsAll", "kvsall" and "k-vs-all" are one name.

#ifndef RUTILE_LIB_KGE_MODEL_LOOSE_NAMES_H_
#define RUTILE_LIB_KGE_MODEL_LOOSE_NAMES_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "lib/base/enum_names.h"

namespace rutile {

// Normalizes the spelling of a name, so that "KvsAll" equals "kvsall" and "1-N" equals "1n".
inline std::string LooseName(absl::string_view name) {
  return absl::StrReplaceAll(absl::AsciiStrToLower(name), {{"-", ""}, {"_", ""}});
}

// An EnumNames whose Parse takes names in any case, with or without dashes.
template <typename T>
class LooseEnumNames : public EnumNames<T> {
 public:
  using EnumNames<T>::EnumNames;
  // `alias` is another name of the value `aliased`. Lists of choices leave it out.
  template <size_t N>
  constexpr LooseEnumNames(const char* unknown, const absl::string_view (&names)[N], absl::string_view alias, T aliased)
      : EnumNames<T>(unknown, names), alias_(alias), aliased_(aliased) {}

  // INVALID_ARGUMENT listing the choices.
  absl::StatusOr<T> Parse(absl::string_view name) const {
    const std::string loose = LooseName(name);
    if (!alias_.empty() && loose == LooseName(alias_)) return aliased_;
    for (const absl::string_view known : this->names()) {
      if (loose == LooseName(known)) return EnumNames<T>::Parse(known);
    }
    return EnumNames<T>::Parse(name);
  }

 private:
  absl::string_view alias_;
  T aliased_ = T();
};

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_MODEL_LOOSE_NAMES_H_
