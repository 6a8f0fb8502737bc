// A line at the bottom of the terminal that is drawn over and over: for progress.

#ifndef RUTILE_LIB_BASE_TERMINAL_LINE_H_
#define RUTILE_LIB_BASE_TERMINAL_LINE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace rutile {

// Whether standard error is a terminal that can go back to the start of a line. Logs and pipes see nothing.
bool CanDrawLines();

// Columns to use: one less than there are, or some terminals go to the next line.
int TerminalLineWidth();

// Writes the line over what stands there, cut to the width; `end` follows ("\n" to leave it there). UTF-8 is not known:
// the line is ASCII.
void DrawTerminalLine(absl::string_view line, absl::string_view end);

}  // namespace rutile

#endif  // RUTILE_LIB_BASE_TERMINAL_LINE_H_
