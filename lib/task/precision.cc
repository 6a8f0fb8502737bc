#include "lib/task/precision.h"

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace rutile {

absl::StatusOr<Precision> ParsePrecision(absl::string_view name, absl::Span<const Precision> choices) {
  std::string expected;
  for (size_t i = 0; i < choices.size(); ++i) {
    const absl::string_view choice = kPrecisionNames.Name(choices[i]);
    if (choice == name) return choices[i];
    absl::StrAppend(&expected, i == 0 ? "" : i + 1 < choices.size() ? ", " : " or ", choice);
  }
  return absl::InvalidArgumentError(absl::StrCat("expected ", expected));
}

}  // namespace rutile
