// featurize --check_data: looks for mistakes in structures and writes no features.

#ifndef RUTILE_TOOLS_FEATURIZE_CHECK_DATA_H_
#define RUTILE_TOOLS_FEATURIZE_CHECK_DATA_H_

#include "absl/status/status.h"
#include "tools/common/run/run_tool.h"

namespace rutile {

// --check_data.
bool WantsDataCheck();

// Reads run.args, prints a table of the findings on standard output and, with --check_dir, writes data_check.tsv and
// data_check.html there. INVALID_ARGUMENT: the errors of reading; a flag that only features need.
absl::Status CheckData(const ToolRun& run);

}  // namespace rutile

#endif  // RUTILE_TOOLS_FEATURIZE_CHECK_DATA_H_
