// Draws a line at the bottom of the terminal over and over, to show progress.

#ifndef RUTILE_LIB_BASE_TERMINAL_LINE_H_
#define RUTILE_LIB_BASE_TERMINAL_LINE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace rutile {

// True if standard error is a terminal that can return to the start of a line. Logs and pipes cannot.
bool CanDrawLines();

// Returns the columns to use: one less than the terminal has, because some terminals wrap a full line.
int TerminalLineWidth();

// Overwrites the current line of the terminal with `line`, cut to the width, followed by `end` ("\n" leaves it there).
// The line must be ASCII; UTF-8 is not handled.
void DrawTerminalLine(absl::string_view line, absl::string_view end);

}  // namespace rutile

#endif  // RUTILE_LIB_BASE_TERMINAL_LINE_H_
