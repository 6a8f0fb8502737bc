#include "lib/base/terminal_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace rutile {

bool CanDrawLines() {
  const char* const terminal = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) && (terminal == nullptr || absl::string_view(terminal) != "dumb");
}

int TerminalLineWidth() {
  winsize size = {};
  return (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80) - 1;
}

void DrawTerminalLine(absl::string_view line, absl::string_view end) {
  // The escape sequence erases the rest of a longer line.
  const std::string text = absl::StrCat("\r", line.substr(0, std::max(0, TerminalLineWidth())), "\x1b[K", end);
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace rutile
