// Exports a model for programs that use aenet potentials (evaluate --export_aenet).

#ifndef RUTILE_TOOLS_EVALUATE_EXPORT_AENET_H_
#define RUTILE_TOOLS_EVALUATE_EXPORT_AENET_H_

#include "absl/status/status.h"
#include "tools/common/run/run_tool.h"
#include "tools/evaluate/models.h"

namespace rutile {

bool WantsAenet();

// Exports the model. INVALID_ARGUMENT: anything but a single potential, flags that control evaluation, and the errors
// of WriteAenetPotentials.
absl::Status ExportToAenet(const ToolRun& run, const Models& models);

}  // namespace rutile

#endif  // RUTILE_TOOLS_EVALUATE_EXPORT_AENET_H_
