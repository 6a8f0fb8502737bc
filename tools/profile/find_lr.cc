#include "tools/profile/find_lr.h"

#include <cmath>
#include <iostream>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/settings.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "lib/optimizer/schedule/schedule.h"
#include "tools/common/run/run_tool.h"
#include "tools/profile/pages/curve_svg.h"
#include "tools/profile/search/lr_range.h"
#include "tools/profile/train_command.h"
#include "tools/profile/train_trial.h"

namespace rutile {
namespace {

absl::StatusOr<std::string> Plot(const std::vector<double>& rate, const std::vector<double>& loss,
                                 const LrRange& range) {
  const std::vector<double> drawn(rate.begin(), rate.begin() + static_cast<int64_t>(range.smoothed.size()));
  // Losses of diverged steps would flatten the rest.
  const std::vector<double> raw(loss.begin(), loss.begin() + static_cast<int64_t>(range.smoothed.size()));
  CurveSvgOptions options;
  options.title = "Learning-rate range test";
  options.x_label = "learning rate";
  options.y_label = "training loss";
  options.marked_x = range.suggestion;
  options.mark_label = absl::StrFormat("%s: %.2g", range.has_slope ? "steepest" : "suggested", range.suggestion);
  return CurveSvg({{"smoothed", drawn, range.smoothed, false}, {"of each batch", drawn, raw, true}}, options);
}

std::string Table(const std::vector<double>& rate, const std::vector<double>& loss, const LrRange& range) {
  std::string table = "step\tlearning_rate\tloss\tsmoothed\n";
  for (size_t i = 0; i < rate.size(); ++i) {
    absl::StrAppend(&table, i + 1, absl::StrFormat("\t%.6g\t%.9g\t", rate[i], loss[i]),
                    i < range.smoothed.size() ? absl::StrFormat("%.9g", range.smoothed[i]) : "", "\n");
  }
  return table;
}

}  // namespace

absl::Status CheckFindLrOptions(const FindLrOptions& options) {
  if (!(options.min_lr > 0 && std::isfinite(options.min_lr))) {
    return absl::InvalidArgumentError(absl::StrCat("--min_lr=", options.min_lr, ": expected a number above 0"));
  }
  if (!(options.max_lr > options.min_lr && std::isfinite(options.max_lr))) {
    return absl::InvalidArgumentError(
        absl::StrCat("--max_lr=", options.max_lr, ": expected above --min_lr=", options.min_lr));
  }
  if (options.steps < 20 || options.steps > 1000000) {
    return absl::InvalidArgumentError(absl::StrCat("--lr_steps=", options.steps, ": expected 20 to 1000000"));
  }
  return absl::OkStatus();
}

absl::Status FindLr(const std::vector<std::string>& command, const FindLrOptions& options) {
  RETURN_IF_ERROR(CheckFindLrOptions(options));
  if (!options.output_dir.empty()) RETURN_IF_ERROR(CheckWritableDirectory(options.output_dir));
  ASSIGN_OR_RETURN(TrainCommand train, TrainCommand::Parse(command));
  if (train.Get("optimizer").value_or("") == "lbfgs") {
    return absl::InvalidArgumentError("--find_lr: lbfgs finds its step itself");
  }
  // The test's own schedule takes the place of the run's.
  for (const SettingInfo& setting : ScheduleSettings()) train.Remove({setting.name});
  train.Remove({"learning_rate", "ema_start_step"});
  ASSIGN_OR_RETURN(TrialRunner runner, TrialRunner::Create(std::move(train)));
  const double factor = std::pow(options.max_lr / options.min_lr, 1.0 / static_cast<double>(options.steps - 1));
  ASSIGN_OR_RETURN(const std::vector<StepRow> rows,
                   runner.RunSteps({{"learning_rate", absl::StrFormat("%.17g", options.min_lr)},
                                    {"lr_scheduler", "exponential"},
                                    {"lr_interval", "step"},
                                    {"lr_factor", absl::StrFormat("%.17g", factor)}},
                                   options.steps, options.max_seconds));
  std::vector<double> rate, loss;
  for (const StepRow& row : rows) {
    rate.push_back(row.learning_rate);
    loss.push_back(row.loss);
  }
  ASSIGN_OR_RETURN(const LrRange range, FindLearningRate(rate, loss));
  const std::string table = Table(rate, loss, range);
  if (options.tsv) {
    std::cout << table;
  } else {
    const std::string why =
        range.has_slope ? absl::StrFormat("where the loss falls most steeply; %s %.2g",
                                          range.suggestion <= range.highest ? "at most about"
                                                                            : "safer, a tenth of where it is lowest:",
                                          range.highest)
                        : "a tenth of where the loss is lowest, as too few steps fall for a slope";
    std::cout << absl::StrFormat(
        "learning rates from %.2g to %.2g in %d steps; the loss falls by %.0f %% until %.2g%s\n"
        "suggested: --learning_rate=%.2g (%s)\n",
        rate.front(), rate.back(), rate.size(), 100 * range.fall, rate[range.lowest],
        range.diverged || rows.size() < static_cast<size_t>(options.steps) ? ", then diverges" : "", range.suggestion,
        why);
  }
  if (options.output_dir.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string svg, Plot(rate, loss, range));
  RETURN_IF_ERROR(MakeDirectories(options.output_dir));
  RETURN_IF_ERROR(WriteFileAtomically(options.output_dir + "/learning-rate.svg", svg));
  RETURN_IF_ERROR(WriteFileAtomically(options.output_dir + "/learning-rate.tsv", table));
  PrintMessage(absl::StrCat(options.output_dir, "/learning-rate.svg, learning-rate.tsv"));
  return absl::OkStatus();
}

}  // namespace rutile
