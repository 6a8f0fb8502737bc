// The columns and rows of log.tsv, which describes epochs and validations.

#ifndef RUTILE_LIB_TRAIN_EPOCH_LOG_H_
#define RUTILE_LIB_TRAIN_EPOCH_LOG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/task/task.h"
#include "lib/train/files/checkpoint.h"
#include "lib/train/files/log_format.h"
#include "lib/train/files/run_directory.h"
#include "lib/train/files/train_log.h"
#include "lib/train/options/trainer_options.h"

namespace rutile {

// The columns of the log, each with its unit ("train_energy[(eV/atom)^2]"): epoch, step, learning_rate, train_loss,
// train_TERM..., with a validation set val_loss and val_METRIC..., epoch_time, examples_per_s.
std::vector<std::string> EpochColumns(const Task& task, bool has_validation);

// Returns one value for each of EpochColumns. Without a validation set report.validation must be empty.
std::vector<double> EpochRow(const EpochReport& report, bool has_validation);

// Opens the log of the directory and keeps its first *rows rows. A log with other columns is an error (TrainLog::Open);
// with may_be_another (the run goes on with another loss) it is set aside instead, and so is JSON alone, whose rows
// name no units. *rows then becomes 0.
absl::StatusOr<TrainLog> OpenEpochLog(const Task& task, bool has_validation, const RunDirectory& directory,
                                      absl::Span<const LogFormat> formats, bool may_be_another, int64_t* rows);

// Returns [T] sum / count of each term; NaN where nothing was counted.
std::vector<double> TermMeans(const TermSums& sums);
// True if any term counted a value. Otherwise the loss that a task forms of the sums means nothing.
bool HasValues(const TermSums& sums);

// Returns the report of a run's current position and of its unfinished epoch. train_loss is NaN if the epoch has
// trained nothing yet. The metrics are NaN, because nothing is validated here.
EpochReport ReportOf(const Task& task, const Checkpoint& state, bool has_validation);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_EPOCH_LOG_H_
