// Trains one potential.

#ifndef RUTILE_TOOLS_TRAIN_POTENTIAL_MEMBER_H_
#define RUTILE_TOOLS_TRAIN_POTENTIAL_MEMBER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/model/task_options.h"
#include "lib/tensorfile/tensor_file.h"
#include "lib/train/options/split.h"
#include "lib/train/options/trainer_options.h"
#include "tools/train/init_flags.h"
#include "tools/train/run_member.h"

namespace rutile {

// Trains, prints the outcome, and writes the files that the flags request. messages: printed first. model: the starting
// point of a new run; null for none.
absl::Status TrainMember(const Member& member, const AtomicData& data, const AtomisticTaskOptions& task_options,
                         const Split& split, const std::vector<std::string>& messages, const InitialModel* model,
                         TrainerOptions options, const Metadata& metadata);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_POTENTIAL_MEMBER_H_
