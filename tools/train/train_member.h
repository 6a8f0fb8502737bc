// One model's run, or those of a committee, one after another.

#ifndef RUTILE_TOOLS_TRAIN_TRAIN_MEMBER_H_
#define RUTILE_TOOLS_TRAIN_TRAIN_MEMBER_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/potential/atomic_data.h"
#include "lib/potential/potential_file.h"
#include "lib/potential/task_options.h"
#include "lib/tensorfile/tensor_file.h"
#include "lib/train/split.h"
#include "lib/train/trainer_options.h"

namespace rutile {

struct Member {
  std::string name;  // "member-00"; "" where there is one model alone
  std::string directory;
};

// By --committee and --output_dir. INVALID_ARGUMENT when a directory holds a run that may not be replaced, cannot be
// written, or another process trains there: before data are read.
absl::StatusOr<std::vector<Member>> MembersFromFlags(const TrainerOptions& options);

// Trains, says what came of it, and writes what the flags ask for. messages: said first. model: a new run starts from
// it, if any.
absl::Status TrainMember(const Member& member, const AtomicData& data, const AtomisticTaskOptions& task_options,
                         const Split& split, const std::vector<std::string>& messages,
                         const std::optional<Potential>& model, TrainerOptions options, const Metadata& metadata);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_TRAIN_MEMBER_H_
