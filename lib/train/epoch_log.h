// What log.tsv says of an epoch.

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

// epoch, step, learning_rate, train_loss, train_TERM..., with a validation set val_loss and val_METRIC..., epoch_time,
// examples_per_s, each with its unit: "train_energy[(eV/atom)^2]".
std::vector<std::string> EpochColumns(const Task& task, bool has_validation);

// A value for each of these columns. Without a validation set report.validation is empty.
std::vector<double> EpochRow(const EpochReport& report, bool has_validation);

// Continues the log of the directory with its first *rows rows. One with other columns is an error (TrainLog::Open), or
// (may_be_another: the run goes on with another loss) set aside, with *rows = 0.
absl::StatusOr<TrainLog> OpenEpochLog(const Task& task, bool has_validation, const RunDirectory& directory,
                                      absl::Span<const LogFormat> formats, bool may_be_another, int64_t* rows);

// [T] sum / count; NaN where nothing was counted.
std::vector<double> TermMeans(const TermSums& sums);
// Whether anything was counted. The loss that a task makes of sums without values means nothing.
bool HasValues(const TermSums& sums);

// Where a run is, and what it has trained of its epoch: train_loss is NaN where that is nothing, as behind the epoch's
// end. It is not validated: metrics are NaN.
EpochReport ReportOf(const Task& task, const Checkpoint& state, bool has_validation);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_EPOCH_LOG_H_
