// The parts of a run that remember something, as checkpoints keep it.

#ifndef RUTILE_LIB_TRAIN_CHECKPOINTED_STATE_H_
#define RUTILE_LIB_TRAIN_CHECKPOINTED_STATE_H_

#include "absl/status/status.h"
#include "lib/optimizer/average_best.h"
#include "lib/optimizer/ema.h"
#include "lib/optimizer/schedule.h"
#include "lib/task/task.h"
#include "lib/train/files/checkpoint.h"
#include "lib/train/options/stop_rule.h"
#include "lib/train/options/top_checkpoints.h"
#include "lib/train/starting_state.h"
#include "lib/train/step/epoch_trainer.h"

namespace rutile {

// All must outlive it.
struct CheckpointedState {
  Task& task;
  EpochTrainer& epoch;
  Schedule& schedule;
  StopRule& stop;
  TopCheckpoints& top_checkpoints;
  bool keeps_top;             // whether there may be any
  Ema* ema;                   // nullptr: there is none
  AverageBest* average_best;  // likewise
};

// The states of `state`, where start.path is not empty; but for start.new_parts. INVALID_ARGUMENT naming the file, the
// part and the tensor that does not fit.
absl::Status RestoreStates(const CheckpointedState& parts, const StartingState& start, const Checkpoint& state);

// Into `state`, all that the parts must remember; it shares their memory.
void SaveStates(const CheckpointedState& parts, Checkpoint* state);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_CHECKPOINTED_STATE_H_
