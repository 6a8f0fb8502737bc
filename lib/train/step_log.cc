#include "lib/train/step_log.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "lib/base/logging.h"
#include "lib/distributed/agreement.h"
#include "lib/train/epoch_log.h"
#include "lib/train/files/run_directory.h"

namespace rutile {

std::vector<std::string> StepColumns(absl::string_view loss_unit) {
  return {"epoch", "step", LogColumn("loss", loss_unit), "learning_rate", "gradient_norm", LogColumn("time", "s")};
}

StepLog::StepLog(absl::string_view stem, std::vector<LogFormat> formats, absl::string_view loss_unit,
                 int64_t every_n_steps)
    : stem_(stem), formats_(std::move(formats)), columns_(StepColumns(loss_unit)), every_n_steps_(every_n_steps) {
  CHECK_GE(every_n_steps, 1);
}

void StepLog::Observe(const StepReport& report) {
  if (!status_.ok()) return;
  if (!log_.has_value()) {
    start_ = absl::Now();
    absl::StatusOr<TrainLog> log = TrainLog::Open(stem_, columns_, formats_, {0, report.step - 1});
    status_ = log.status();
    if (!log.ok()) return;
    log_ = *std::move(log);
  }
  if (report.step % every_n_steps_ != 0) return;
  status_ = log_->Append({static_cast<double>(report.epoch), static_cast<double>(report.step), report.loss,
                          report.learning_rate, report.gradient_norm, absl::ToDoubleSeconds(absl::Now() - start_)});
}

std::vector<std::string> LogColumns(const Task& task, bool has_validation, const TrainerOptions& options) {
  if (options.files != RunFiles::kAll || options.log_formats.empty()) return {};
  std::vector<std::string> columns = EpochColumns(task, has_validation);
  if (options.log_every_n_steps == 0) return columns;
  for (const std::string& column : StepColumns(task.loss_unit())) {
    if (std::find(columns.begin(), columns.end(), column) == columns.end()) columns.push_back(column);
  }
  return columns;
}

std::unique_ptr<StepLog> StepLogOf(const TrainerOptions& options, absl::string_view output_dir,
                                   absl::string_view loss_unit, std::function<void(const StepReport&)>* on_step) {
  if (options.log_every_n_steps == 0 || options.files != RunFiles::kAll || !Agreement(options.communicator).writes()) {
    return nullptr;
  }
  auto steps = std::make_unique<StepLog>(RunDirectory(output_dir).step_log_stem(), options.log_formats, loss_unit,
                                         options.log_every_n_steps);
  *on_step = [first = std::move(*on_step), log = steps.get()](const StepReport& report) {
    if (first) first(report);
    log->Observe(report);
  };
  return steps;
}

}  // namespace rutile
