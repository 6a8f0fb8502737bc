// Saves the parts of a run that have memory (schedule, stop rule, averages, ...) into a checkpoint and restores them.

#ifndef RUTILE_LIB_TRAIN_CHECKPOINTED_STATE_H_
#define RUTILE_LIB_TRAIN_CHECKPOINTED_STATE_H_

#include "absl/status/status.h"
#include "lib/optimizer/averages/average_best.h"
#include "lib/optimizer/averages/ema.h"
#include "lib/optimizer/schedule/schedule.h"
#include "lib/task/task.h"
#include "lib/train/files/checkpoint.h"
#include "lib/train/options/stop_rule.h"
#include "lib/train/options/top_checkpoints.h"
#include "lib/train/starting_state.h"
#include "lib/train/step/epoch_trainer.h"

namespace rutile {

// The stateful parts of a run. All of them must outlive this struct.
struct CheckpointedState {
  Task& task;
  EpochTrainer& epoch;
  Schedule& schedule;
  StopRule& stop;
  TopCheckpoints& top_checkpoints;
  bool keeps_top;             // false: the run keeps no best checkpoints
  Ema* ema;                   // nullptr: the run has no moving average
  AverageBest* average_best;  // nullptr: the run does not average its best models
};

// Restores the parts from `state`, except those in start.new_parts. If start.path is empty (a new run), it only resets
// the task's state. INVALID_ARGUMENT naming the file, the part and the tensor that does not fit.
absl::Status RestoreStates(const CheckpointedState& parts, const StartingState& start, const Checkpoint& state);

// Writes the state of all parts into `state`, which shares their memory.
void SaveStates(const CheckpointedState& parts, Checkpoint* state);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_CHECKPOINTED_STATE_H_
