// Runs gnuplot as a child process: a script in, a picture out. No shell, no temporary files.

#ifndef RUTILE_LIB_PLOT_GNUPLOT_H_
#define RUTILE_LIB_PLOT_GNUPLOT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace rutile {

struct GnuplotOptions {
  std::string program = "gnuplot";  // looked up in PATH
  absl::Duration timeout = absl::Seconds(60);
};

// What gnuplot writes to its standard output for `script`, which holds its data inline (here-documents) and sets its
// own terminal. The user's start-up files and locale are not looked at: same script, same bytes.
//
// NOT_FOUND when gnuplot is not installed, DEADLINE_EXCEEDED after the timeout, INTERNAL with what gnuplot wrote to its
// standard error when it fails, is killed or draws nothing.
absl::StatusOr<std::string> RunGnuplot(absl::string_view script, const GnuplotOptions& options = {});

}  // namespace rutile

#endif  // RUTILE_LIB_PLOT_GNUPLOT_H_
