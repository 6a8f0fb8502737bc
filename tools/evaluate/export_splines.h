// Writes a MACE model whose radial functions are splines, for molecular dynamics (evaluate --splines_output).

#ifndef RUTILE_TOOLS_EVALUATE_EXPORT_SPLINES_H_
#define RUTILE_TOOLS_EVALUATE_EXPORT_SPLINES_H_

#include "absl/status/status.h"
#include "tools/common/run/run_tool.h"
#include "tools/evaluate/models.h"

namespace rutile {

// True if a flag of these is given.
bool WantsSplines();

// Writes the model, and prints the error of the splines. INVALID_ARGUMENT: no file to write, anything but a single MACE
// model, flags that control evaluation, a cutoff below the first knot, and splines that are too far from the radial
// functions.
absl::Status ExportSplines(const ToolRun& run, const Models& models);

}  // namespace rutile

#endif  // RUTILE_TOOLS_EVALUATE_EXPORT_SPLINES_H_
