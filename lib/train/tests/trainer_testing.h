// Short training runs on the toy task, and readers of the files they write, for tests of the trainer.

#ifndef RUTILE_LIB_TRAIN_TESTS_TRAINER_TESTING_H_
#define RUTILE_LIB_TRAIN_TESTS_TRAINER_TESTING_H_

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

// Returns a path that no other call and no other test uses; nothing exists there yet.
std::string NewRunDirectory();

// Returns the content of a file. CHECK-fails if it cannot be read.
std::string FileBytes(const std::string& path);

// Returns a split of the 40 examples: 32 train, 8 validate.
Split ToySplit(const Task& task);

// Options for Adam on batches of five: seven batches an epoch, the last of two examples.
TrainerOptions ToyOptions(int64_t max_epochs);

// A toy task with noise whose loss is made of roots of means.
ToyTaskOptions NoisyToy();

absl::StatusOr<TrainResult> TrainToyTask(const ToyTaskOptions& toy, const TrainerOptions& options,
                                         const std::string& directory);
absl::StatusOr<TrainResult> TrainNoisyToy(const TrainerOptions& options, const std::string& directory);

// Loads a checkpoint of a toy task in fp64 with two terms. CHECK-fails if it cannot be read.
Checkpoint LoadToyCheckpoint(const std::string& path);
Checkpoint LastCheckpoint(const std::string& directory);
// Returns the names of the run's checkpoints, in order.
std::vector<std::string> CheckpointNames(const std::string& directory);

// Returns log.tsv without its last two columns, which are times.
std::string LogWithoutTimes(const std::string& directory);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_TESTS_TRAINER_TESTING_H_
