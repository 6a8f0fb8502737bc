// Makes text that comes from files, names of files and the command line safe to print.
//
// A terminal obeys control characters: text with ESC can hide what is printed, change the title of the window, or
// worse. Text may also be of any length. All messages of a tool pass PrintableMessage at the place that prints them
// (tools/common/run/run_tool.h), and names in tab-separated tables pass EscapeControls (tsv_cell.h), so that no reader
// has to remember it.

#ifndef RUTILE_LIB_BASE_PRINTABLE_TEXT_H_
#define RUTILE_LIB_BASE_PRINTABLE_TEXT_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace rutile {

// The most characters of one piece of text in a message, and of a whole message.
inline constexpr size_t kLongestShownText = 200;
inline constexpr size_t kLongestMessage = 4000;

// Returns the text with \t, \n, \r, and \xNN for each byte of other control characters (below U+0020, U+007F to U+009F,
// those that change the direction of writing) and for bytes that are not UTF-8. Other text stays as it is.
std::string EscapeControls(absl::string_view text);

// Returns EscapeControls of the text, at most kLongestShownText bytes of it: a longer one loses its middle, because
// paths are told apart by their ends. "..." stands for what is left out.
std::string PrintableText(absl::string_view text);

// Returns a message in one line: EscapeControls of it, with words (what blanks separate) cut as by PrintableText, and
// the whole cut in the same way to kLongestMessage bytes.
std::string PrintableMessage(absl::string_view message);

}  // namespace rutile

#endif  // RUTILE_LIB_BASE_PRINTABLE_TEXT_H_
