// Text that is safe inside XML, whatever a data file called its structures.

#ifndef RUTILE_LIB_PLOT_TEXT_H_
#define RUTILE_LIB_PLOT_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace rutile {

// Valid UTF-8 without control characters: bytes that are neither become U+FFFD, control characters (tabs and line ends
// too, unless `keep_lines`) a space.
std::string CleanText(absl::string_view text, bool keep_lines = false);

// CleanText, then at most `max_length` characters (not bytes), the last one "…" where something was cut off.
std::string ShortText(absl::string_view text, int max_length);

// Cleaned, with & < > " ' as entities: fit for XML and HTML, as content or in a quoted attribute.
std::string EscapeXml(absl::string_view text, bool keep_lines = false);

}  // namespace rutile

#endif  // RUTILE_LIB_PLOT_TEXT_H_
