// Runs of the toy task, and what they leave behind: for tests of the trainer.

#ifndef RUTILE_LIB_TRAIN_TRAINER_TESTING_H_
#define RUTILE_LIB_TRAIN_TRAINER_TESTING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/task/task.h"
#include "lib/testing/toy_task.h"
#include "lib/train/files/checkpoint.h"
#include "lib/train/options/split.h"
#include "lib/train/options/trainer_options.h"
#include "lib/train/trainer.h"

namespace rutile {

// Another one for each call, of no other test; nothing is there yet.
std::string NewRunDirectory();

// CHECK-fails when the file cannot be read.
std::string FileBytes(const std::string& path);

// 32 of 40 examples train, 8 validate.
Split ToySplit(const Task& task);

// Adam on batches of five: an epoch of seven, the last of two examples.
TrainerOptions ToyOptions(int64_t max_epochs);

// With noise, and roots of means as its loss.
ToyTaskOptions NoisyToy();

absl::StatusOr<TrainResult> TrainToyTask(const ToyTaskOptions& toy, const TrainerOptions& options,
                                         const std::string& directory);
absl::StatusOr<TrainResult> TrainNoisyToy(const TrainerOptions& options, const std::string& directory);

// Of a toy task in fp64 with two terms. CHECK-fails when it cannot be read.
Checkpoint LoadToyCheckpoint(const std::string& path);
Checkpoint LastCheckpoint(const std::string& directory);
// Names of the run's checkpoints, in order.
std::vector<std::string> CheckpointNames(const std::string& directory);

// log.tsv without its last two columns, which are times.
std::string LogWithoutTimes(const std::string& directory);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_TRAINER_TESTING_H_
