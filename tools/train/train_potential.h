// Trains a potential: train on structures, features or neighbors.

#ifndef RUTILE_TOOLS_TRAIN_TRAIN_POTENTIAL_H_
#define RUTILE_TOOLS_TRAIN_TRAIN_POTENTIAL_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/common/run/run_tool.h"

namespace rutile {

// Trains on `inputs`, the run's expanded arguments.
absl::Status TrainPotential(const ToolRun& run, const std::vector<std::string>& inputs);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_TRAIN_POTENTIAL_H_
