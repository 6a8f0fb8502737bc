// Makes text safe inside XML, whatever names a data file uses.

#ifndef RUTILE_LIB_PLOT_TEXT_H_
#define RUTILE_LIB_PLOT_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace rutile {

// Returns valid UTF-8 without control characters: invalid bytes become U+FFFD, control characters (tabs and line ends
// too, unless `keep_lines`) become spaces.
std::string CleanText(absl::string_view text, bool keep_lines = false);

// Returns CleanText cut to at most `max_length` characters (not bytes), the last one "…" if the text was cut.
std::string ShortText(absl::string_view text, int max_length);

// Returns CleanText with & < > " ' as entities, for XML and HTML, as content or in a quoted attribute.
std::string EscapeXml(absl::string_view text, bool keep_lines = false);

}  // namespace rutile

#endif  // RUTILE_LIB_PLOT_TEXT_H_
