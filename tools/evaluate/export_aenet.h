// evaluate --export_aenet: a model for the programs that aenet is part of.

#ifndef RUTILE_TOOLS_EVALUATE_EXPORT_AENET_H_
#define RUTILE_TOOLS_EVALUATE_EXPORT_AENET_H_

#include "absl/status/status.h"
#include "tools/common/run/run_tool.h"
#include "tools/evaluate/models.h"

namespace rutile {

bool WantsAenet();

// INVALID_ARGUMENT: anything but one model of one potential, flags that say how to evaluate, and WriteAenetPotentials'.
absl::Status ExportToAenet(const ToolRun& run, const Models& models);

}  // namespace rutile

#endif  // RUTILE_TOOLS_EVALUATE_EXPORT_AENET_H_
