#include "tools/profile/find_lr.h"

#include <cmath>
#include <iostream>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/settings.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "lib/optimizer/schedule/schedule.h"
#include "tools/common/run/run_tool.h"
#include "tools/profile/group_rates.h"
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

// Returns the value of --parameter_groups whose rates keep their ratio to the run's, or "" if the command's does that:
// the test takes the run's rate through many powers of ten, and groups with rates of their own would run away from it.
absl::StatusOr<std::string> GroupsOfTest(const std::optional<std::string>& groups,
                                         const std::optional<std::string>& learning_rate, const FindLrOptions& options,
                                         TrialRunner* runner) {
  if (!groups.has_value() ||
      (!absl::StrContains(*groups, "learning_rate") && !absl::StrContains(*groups, "optimizer"))) {
    return "";
  }
  TuneFlags flags;
  if (learning_rate.has_value()) flags.emplace_back("learning_rate", *learning_rate);
  // A default rate depends on data and preset: a short run says what it is.
  RETURN_IF_ERROR(runner->RunSteps(flags, /*steps=*/2, options.max_seconds).status());
  const std::map<std::string, std::string> settings = runner->SettingsOfSteps();
  const auto rate = settings.find("learning_rate"), optimizer = settings.find("optimizer");
  double run_rate = 0;
  if (rate == settings.end() || optimizer == settings.end() || !absl::SimpleAtod(rate->second, &run_rate) ||
      !(run_rate > 0)) {
    return absl::InternalError("train's config.json does not say its learning_rate and optimizer");
  }
  ASSIGN_OR_RETURN(const std::string relative, GroupsRelativeToRate(*groups, optimizer->second, run_rate));
  return relative == *groups ? "" : relative;
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
  const std::optional<std::string> own_rate = train.Get("learning_rate"), own_groups = train.Get("parameter_groups");
  train.Remove({"learning_rate", "ema_start_step"});
  ASSIGN_OR_RETURN(TrialRunner runner, TrialRunner::Create(std::move(train)));
  ASSIGN_OR_RETURN(const std::string groups, GroupsOfTest(own_groups, own_rate, options, &runner));
  const double factor = std::pow(options.max_lr / options.min_lr, 1.0 / static_cast<double>(options.steps - 1));
  TuneFlags flags = {{"learning_rate", absl::StrFormat("%.17g", options.min_lr)},
                     {"lr_scheduler", "exponential"},
                     {"lr_interval", "step"},
                     {"lr_factor", absl::StrFormat("%.17g", factor)}};
  if (!groups.empty()) flags.emplace_back("parameter_groups", groups);
  ASSIGN_OR_RETURN(const std::vector<StepRow> rows, runner.RunSteps(flags, options.steps, options.max_seconds));
  std::vector<double> rate, loss;
  for (const StepRow& row : rows) {
    rate.push_back(row.learning_rate);
    loss.push_back(row.loss);
  }
  ASSIGN_OR_RETURN(const LrRange range, FindLearningRate(rate, loss));
  const std::string table = Table(rate, loss, range);
  const std::string of_groups =
      groups.empty() ? ""
                     : absl::StrCat("rates of groups keep their ratio to the suggested one: give --parameter_groups='",
                                    groups, "' with it");
  if (options.tsv) {
    std::cout << table;
    if (!of_groups.empty()) PrintMessage(of_groups);
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
    if (!of_groups.empty()) std::cout << of_groups << "\n";
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
