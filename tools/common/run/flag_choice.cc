#include "tools/common/run/flag_choice.h"

#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"

namespace rutile {

absl::Status NoChoice(absl::string_view flag, absl::string_view text, absl::Span<const absl::string_view> names) {
  std::string expected;
  for (size_t i = 0; i < names.size(); ++i) {
    absl::StrAppend(&expected,
                    i == 0                 ? ""
                    : i + 1 < names.size() ? ", "
                                           : " or ",
                    names[i].empty() ? "nothing" : names[i]);
  }
  return absl::InvalidArgumentError(absl::StrCat("--", flag, "=", text, ": expected ", expected));
}

}  // namespace rutile
