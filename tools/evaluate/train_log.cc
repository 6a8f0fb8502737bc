#include "tools/evaluate/train_log.h"

#include <gflags/gflags.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "tools/common/run/run_tool.h"
#include "tools/evaluate/common_flags.h"

DEFINE_string(train_log, "",
              "log.tsv or log.jsonl of the run that made the model, for a learning curve in the report.");

namespace rutile {
namespace {

std::optional<double> NumberOf(const Metadata& metadata, const char* key) {
  const auto found = metadata.find(key);
  double value = 0;
  if (found == metadata.end() || !absl::SimpleAtod(found->second, &value)) return std::nullopt;
  return value;
}

// True if a model may have been saved within an epoch, between the rows of a log: `step` steps were done, and `epoch`
// epochs completed. A log has rows of whole epochs and of validations only.
bool IsBetweenRows(const std::vector<double>& epochs, const std::vector<double>& steps, double epoch, double step) {
  std::optional<size_t> before, after;
  for (size_t row = 0; row < epochs.size(); ++row) {
    if (steps[row] < step && (!before.has_value() || steps[row] >= steps[*before])) before = row;
    if (steps[row] > step && (!after.has_value() || steps[row] < steps[*after])) after = row;
  }
  // A row of a validation within an epoch has the number of that epoch, which is not completed yet.
  const bool begins = before.has_value() ? epochs[*before] == epoch || epochs[*before] == epoch + 1 : epoch == 0;
  return begins && (!after.has_value() || epochs[*after] == epoch + 1);
}

}  // namespace

absl::Status CheckTrainLog() {
  if (FLAGS_train_log.empty() || !FLAGS_output_dir.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError("--train_log draws a learning curve in the report: give --output_dir as well");
}

absl::StatusOr<std::optional<TrainingLog>> TrainLogFromFlag() {
  if (FLAGS_train_log.empty()) return std::nullopt;
  ASSIGN_OR_RETURN(TrainingLog log, ReadTrainingLog(FLAGS_train_log));
  if (!HasLearningCurve(log)) {
    const bool has_column = log.Find("train_loss") != nullptr || log.Find("val_loss") != nullptr;
    return absl::InvalidArgumentError(
        absl::StrCat("--train_log=", FLAGS_train_log,
                     has_column ? ": no train_loss or val_loss in it is a number, so that there is nothing to draw"
                                : ": has no train_loss; expected the log of epochs, log.tsv or log.jsonl, and not that "
                                  "of steps (steps.tsv, steps.jsonl)"));
  }
  return std::optional<TrainingLog>(std::move(log));
}

KeptModel KeptModelOf(const TrainingLog& log, const Metadata& metadata, absl::string_view path) {
  KeptModel kept;
  kept.epoch = NumberOf(metadata, "epoch");
  kept.step = NumberOf(metadata, "step");
  if (!kept.epoch.has_value()) return kept;
  const std::optional<double> value = NumberOf(metadata, "loss");
  const std::vector<double>&epochs = *log.Find("epoch"), *steps = log.Find("step");
  const bool by_step = kept.step.has_value() && steps != nullptr;
  std::optional<size_t> found;
  for (size_t row = 0; row < epochs.size() && kept.monitor.empty(); ++row) {
    if (by_step ? (*steps)[row] != *kept.step : epochs[row] != *kept.epoch) continue;
    found = row;
    if (value.has_value()) kept.monitor = ColumnOfValue(log, row, *value);
  }
  const std::string where = absl::StrCat("epoch ", metadata.at("epoch"),
                                         kept.step.has_value() ? absl::StrCat(", step ", metadata.at("step")) : "");
  if (found.has_value() && (!value.has_value() || !kept.monitor.empty())) {
    kept.epoch = epochs[*found];
    return kept;
  }
  const bool between_rows = !found.has_value() && by_step && IsBetweenRows(epochs, *steps, *kept.epoch, *kept.step);
  kept.epoch = kept.step = std::nullopt;
  kept.doubt = absl::StrCat("--train_log=", FLAGS_train_log);
  if (between_rows) {
    absl::StrAppend(&kept.doubt, ": has no row of step ", metadata.at("step"), ", as ", path,
                    " was saved within an epoch, and rows are of whole epochs and of validations. Whether the log is "
                    "of the same run was not checked.");
    PrintMessage(kept.doubt);
    return kept;
  }
  if (!found.has_value()) {
    absl::StrAppend(&kept.doubt, ": has no row of ", where, ", of which ", path, " is: is it the log of another run?");
  } else {
    absl::StrAppend(&kept.doubt, ": no loss or metric in its row of ", where, " is ", metadata.at("loss"), ", which ",
                    path, " records: is it the log of another run, or the model a mean of several?");
  }
  PrintWarning(kept.doubt);
  return kept;
}

}  // namespace rutile
