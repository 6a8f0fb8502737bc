// train of structures, features or neighbors: a potential.

#ifndef RUTILE_TOOLS_TRAIN_TRAIN_POTENTIAL_H_
#define RUTILE_TOOLS_TRAIN_TRAIN_POTENTIAL_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/common/run/run_tool.h"

namespace rutile {

// inputs: the run's arguments, expanded.
absl::Status TrainPotential(const ToolRun& run, const std::vector<std::string>& inputs);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_TRAIN_POTENTIAL_H_
