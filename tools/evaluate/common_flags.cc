#include "tools/evaluate/common_flags.h"

#include <gflags/gflags.h>

DEFINE_string(output_dir, "", "Directory for tables, predictions, plots and report.html. Empty: none are written.");
DEFINE_bool(progress, true, "Show progress when standard error is a terminal.");
