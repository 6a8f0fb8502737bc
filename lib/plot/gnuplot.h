// Runs gnuplot as a child process, from a script to a picture, without a shell or temporary files.

#ifndef RUTILE_LIB_PLOT_GNUPLOT_H_
#define RUTILE_LIB_PLOT_GNUPLOT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace rutile {

// How gnuplot is run.
struct GnuplotOptions {
  std::string program = "gnuplot";  // looked up in PATH
  absl::Duration timeout = absl::Seconds(60);
};

// Returns what gnuplot writes to its standard output for `script`, which contains its data inline (here-documents) and
// sets its own terminal. The user's start-up files and locale are ignored: the same script gives the same bytes.
//
// Fails with NOT_FOUND if gnuplot is not installed, DEADLINE_EXCEEDED after the timeout, and INTERNAL, with the text of
// gnuplot's standard error, if it fails, is killed or draws nothing.
absl::StatusOr<std::string> RunGnuplot(absl::string_view script, const GnuplotOptions& options = {});

}  // namespace rutile

#endif  // RUTILE_LIB_PLOT_GNUPLOT_H_
