// Finds the value of an enumeration by its name.

#ifndef RUTILE_LIB_KGE_MODEL_PARSE_CHOICE_H_
#define RUTILE_LIB_KGE_MODEL_PARSE_CHOICE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace rutile {

// Normalizes the spelling of a name, so that "KvsAll" equals "kvsall" and "1-N" equals "1n".
inline std::string LooseName(absl::string_view name) {
  return absl::StrReplaceAll(absl::AsciiStrToLower(name), {{"-", ""}, {"_", ""}});
}

// Returns the choice called `name`, in any case, with or without dashes. INVALID_ARGUMENT listing the names if there is
// none. what: the option's name in the message, "loss".
template <typename T>
absl::StatusOr<T> ParseChoice(absl::string_view what, absl::string_view name, absl::Span<const T> choices,
                              absl::string_view (*name_of)(T)) {
  std::vector<absl::string_view> names;
  for (const T choice : choices) {
    if (LooseName(name_of(choice)) == LooseName(name)) return choice;
    names.push_back(name_of(choice));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("no ", what, " has the name \"", name, "\"; there are ", absl::StrJoin(names, ", ")));
}

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_MODEL_PARSE_CHOICE_H_
