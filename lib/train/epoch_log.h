// What log.tsv says of an epoch.

#ifndef RUTILE_LIB_TRAIN_EPOCH_LOG_H_
#define RUTILE_LIB_TRAIN_EPOCH_LOG_H_

#include <string>
#include <vector>

#include "lib/task/task.h"
#include "lib/train/trainer_options.h"

namespace rutile {

// epoch, step, learning_rate, train_loss, train_TERM..., with a validation set val_loss and val_METRIC..., epoch_time,
// examples_per_s, each with its unit: "train_energy[(eV/atom)^2]".
std::vector<std::string> EpochColumns(const Task& task, bool has_validation);

// A value for each of these columns. Without a validation set report.validation is empty.
std::vector<double> EpochRow(const EpochReport& report, bool has_validation);

// [T] sum / count; NaN where nothing was counted.
std::vector<double> TermMeans(const TermSums& sums);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_EPOCH_LOG_H_
