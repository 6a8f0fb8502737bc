#include "tools/profile/train_trial.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "lib/base/interrupt.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "nlohmann/json.hpp"
#include "tools/profile/child_process.h"

namespace rutile {
namespace {

using Json = nlohmann::json;

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Returns the rows of a log after its line of units, without an incomplete last line.
std::vector<Json> ReadRows(const std::string& path) {
  std::vector<Json> rows;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    Json row = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (row.is_object() && !row.contains("units")) rows.push_back(std::move(row));
  }
  return rows;
}

double Number(const Json& row, const char* name) {
  const auto found = row.find(name);
  return found != row.end() && found->is_number() ? found->get<double>() : std::numeric_limits<double>::quiet_NaN();
}

std::map<std::string, std::string> ReadSettings(const std::string& path) {
  std::map<std::string, std::string> settings;
  std::ifstream file(path);
  const Json json = Json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("flags") || !json["flags"].is_object()) return settings;
  for (const auto& [name, flag] : json["flags"].items()) {
    if (flag.is_object() && flag.contains("value") && flag["value"].is_string()) settings[name] = flag["value"];
  }
  return settings;
}

// Returns the last line of standard error that is no warning, without "train: ".
std::string LastMessage(const std::string& path) {
  std::string last;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && !absl::StrContains(line, ": warning: ")) last = line;
  }
  return std::string(absl::StripPrefix(last, "train: "));
}

// True if there is a row after the line of units.
bool HasRow(const std::string& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!absl::StartsWith(line, "{\"units\"")) return true;
  }
  return false;
}

absl::Status StatusOf(const ChildResult& child, const std::string& message) {
  if (InterruptSignal() != 0) return CheckInterrupt();
  if (child.exit_status == 0 || child.done) return absl::OkStatus();
  if (child.over_memory) return absl::ResourceExhaustedError("took more than --memory_limit");
  if (child.exit_status == 137) return absl::ResourceExhaustedError("was killed (SIGKILL): out of memory?");
  if (child.exit_status == 1) return absl::InvalidArgumentError(message.empty() ? "train refused" : message);
  return absl::InternalError(
      absl::StrCat("train ended with ", child.exit_status, message.empty() ? "" : ": ", message));
}

double Setting(const TrialResult& result, const char* name, double otherwise) {
  const auto found = result.settings.find(name);
  return found == result.settings.end() ? otherwise : std::atof(found->second.c_str());
}

void Measure(const std::string& directory, TrialResult* result) {
  result->settings = ReadSettings(directory + "/config.json");
  std::vector<double> rates;
  double training_s = 0;
  for (const Json& row : ReadRows(directory + "/log.jsonl")) {
    const double rate = Number(row, "examples_per_s");
    if (rate > 0) rates.push_back(rate);
    training_s += std::isfinite(Number(row, "epoch_time")) ? Number(row, "epoch_time") : 0;
    if (result->steps_per_epoch == 0 && result->steps > 0) result->steps_per_epoch = result->steps;
    result->steps = static_cast<int64_t>(Number(row, "step"));
  }
  const std::vector<Json> steps = ReadRows(directory + "/steps.jsonl");
  if (!steps.empty()) {
    result->steps = std::max(result->steps, static_cast<int64_t>(Number(steps.back(), "step")));
    training_s = std::max(training_s, Number(steps.back(), "time"));
  }
  result->overhead_s = std::max(0.0, result->wall_s - training_s);
  if (result->steps > 0) result->step_s = training_s / static_cast<double>(result->steps);
  // The first epoch touches all memory for the first time, so it is left out.
  const bool whole_epochs = rates.size() > 1;
  if (whole_epochs) rates.erase(rates.begin());
  if (whole_epochs || (rates.size() == 1 && steps.size() < 3)) {
    result->examples_per_s = Median(rates);
    std::vector<double> deviations;
    for (const double rate : rates) deviations.push_back(std::abs(rate / result->examples_per_s - 1));
    result->spread = Median(deviations);
    return;
  }
  // With fewer than two epochs, whole batches are counted.
  if (steps.size() < 2) return;
  const double batch = Setting(*result, "batch_size", 0) * Setting(*result, "accumulate_grad_batches", 1);
  const double time = Number(steps.back(), "time") - Number(steps.front(), "time");
  if (time > 0) {
    result->examples_per_s = batch * (Number(steps.back(), "step") - Number(steps.front(), "step")) / time;
  }
}

}  // namespace

absl::StatusOr<TrialRunner> TrialRunner::Create(TrainCommand command) {
  command.Remove({"output_dir",
                  "overwrite",
                  "resume",
                  "override",
                  "save_energies",
                  "save_forces",
                  "save_interval",
                  "keep_every_epochs",
                  "keep_every_steps",
                  "keep_every_time",
                  "save_top_k",
                  "average_best",
                  "plot",
                  "plot_every",
                  "progress",
                  "log_interval",
                  "quiet",
                  "verbose",
                  "logger",
                  "log_every_n_steps",
                  "barebones",
                  "fast_dev_run",
                  "overfit_batches",
                  "limit_train_batches",
                  "limit_val_batches",
                  "max_epochs",
                  "max_steps",
                  "max_time",
                  "min_epochs",
                  "min_steps",
                  "patience",
                  "min_delta",
                  "divergence_threshold",
                  "stopping_threshold",
                  "check_val_every_n_epoch",
                  "val_check_interval",
                  "committee"});
  ASSIGN_OR_RETURN(ScratchDirectory scratch, ScratchDirectory::Create());
  return TrialRunner(std::move(command), std::move(scratch));
}

TrainCommand TrialRunner::CommandWith(const TuneFlags& flags, const std::string& directory, int64_t log_every) const {
  TrainCommand command = command_;
  for (const auto& [name, value] : flags) command.Set(name, value);
  command.Set("output_dir", directory);
  if (has_validation_) command.Set("check_val_every_n_epoch", "1000000");
  command.Set("logger", "jsonl");
  command.Set("log_every_n_steps", absl::StrCat(log_every));
  command.Set("plot", "false");
  command.Set("progress", "false");
  command.Set("save_interval", "1000000");
  return command;
}

ChildOptions TrialRunner::QuietChild() const {
  ChildOptions options;
  options.output = "/dev/null";
  options.messages = scratch_.path("messages");
  options.grace = absl::Seconds(5);
  return options;
}

bool TrialRunner::HasNoValidation(const absl::Status& refused) {
  // Which data have a validation set is train's knowledge, which refuses intervals of validations without one.
  const bool has_none = has_validation_ && absl::IsInvalidArgument(refused) &&
                        absl::StrContains(refused.message(), "check_val_every_n_epoch");
  if (has_none) has_validation_ = false;
  return has_none;
}

absl::StatusOr<TrialResult> TrialRunner::Run(const TuneFlags& flags, double seconds, int64_t memory_limit) {
  absl::StatusOr<TrialResult> result = TryRun(flags, seconds, memory_limit);
  return HasNoValidation(result.status()) ? TryRun(flags, seconds, memory_limit) : std::move(result);
}

absl::StatusOr<std::vector<StepRow>> TrialRunner::RunSteps(const TuneFlags& flags, int64_t steps, double max_seconds) {
  absl::StatusOr<std::vector<StepRow>> rows = TrySteps(flags, steps, max_seconds);
  return HasNoValidation(rows.status()) ? TrySteps(flags, steps, max_seconds) : std::move(rows);
}

std::map<std::string, std::string> TrialRunner::SettingsOfSteps() const {
  return ReadSettings(scratch_.path("steps") + "/config.json");
}

absl::StatusOr<TrialResult> TrialRunner::TryRun(const TuneFlags& flags, double seconds, int64_t memory_limit) {
  const std::string directory = scratch_.path("run");
  TrainCommand command = CommandWith(flags, directory, log_every_);
  command.Set("overwrite", "true");
  command.Set("max_epochs", "1000000");  // a limit, as schedules that span the run need one

  ChildOptions options = QuietChild();
  options.memory_limit = memory_limit;
  // It is killed once enough is known, before it evaluates all of the validation set. (Its --max_time would include
  // what comes before the first step.)
  const absl::Time start = absl::Now();
  absl::Time begun = absl::InfiniteFuture();
  bool late = false;
  options.done = [&] {
    if (begun == absl::InfiniteFuture() && (HasRow(directory + "/steps.jsonl") || HasRow(directory + "/log.jsonl"))) {
      begun = absl::Now();
    }
    late = begun == absl::InfiniteFuture() && absl::Now() - start > absl::Seconds(longest_start_s_ + seconds);
    const double trained_s = absl::ToDoubleSeconds(absl::Now() - begun);
    if (late || trained_s > 4 * seconds + 2) return true;
    return trained_s > seconds &&
           (ReadRows(directory + "/log.jsonl").size() >= 3 || ReadRows(directory + "/steps.jsonl").size() >= 3);
  };
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
  ASSIGN_OR_RETURN(const ChildResult child, RunChild(command.Words(), options));
  RETURN_IF_ERROR(StatusOf(child, LastMessage(options.messages)));
  if (late) {
    return absl::DeadlineExceededError(
        absl::StrFormat("made no step in %.0f s: stopped, as other trials begin sooner", child.wall_s));
  }
  TrialResult result;
  result.wall_s = child.wall_s;
  result.peak_rss_bytes = child.peak_rss_bytes;
  Measure(directory, &result);
  if (result.examples_per_s <= 0) {
    return absl::InternalError(absl::StrCat("train logged no step in ", absl::StrFormat("%.1f", seconds), " s"));
  }
  // The time before training differs between trials, but within limits.
  longest_start_s_ = std::min(longest_start_s_, 4 + 4 * result.overhead_s);
  // A row costs 5 us, so rows are written for at most 1 % of the time.
  if (result.step_s > 0) log_every_ = static_cast<int64_t>(std::clamp(0.01 / result.step_s, 1.0, 1000.0));
  return result;
}

absl::StatusOr<std::vector<StepRow>> TrialRunner::TrySteps(const TuneFlags& flags, int64_t steps, double max_seconds) {
  const std::string directory = scratch_.path("steps");
  TrainCommand command = CommandWith(flags, directory, /*log_every=*/1);
  command.Set("max_epochs", "-1");
  command.Set("max_steps", absl::StrCat(steps));
  ChildOptions options = QuietChild();
  options.max_time = absl::Seconds(max_seconds);
  const std::string log = directory + "/steps.jsonl";
  options.done = [&, steps] {  // the time after the last step is not counted
    const std::vector<Json> rows = ReadRows(log);
    return !rows.empty() && Number(rows.back(), "step") >= static_cast<double>(steps);
  };
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
  ASSIGN_OR_RETURN(const ChildResult child, RunChild(command.Words(), options));
  std::vector<StepRow> rows;
  for (const Json& row : ReadRows(log)) {
    rows.push_back({Number(row, "step"), Number(row, "loss"), Number(row, "learning_rate"), Number(row, "time")});
  }
  if (InterruptSignal() != 0) return CheckInterrupt();
  // Rates that are too high end in a loss that is not finite, which train reports as an error; the test looks for that.
  if (rows.size() < 2 && !child.cut) RETURN_IF_ERROR(StatusOf(child, LastMessage(options.messages)));
  if (rows.size() < 2) {
    return absl::DeadlineExceededError(absl::StrFormat("train made %d steps in %.0f s", rows.size(), max_seconds));
  }
  return rows;
}

}  // namespace rutile
