#include "tools/profile/find_batch_size.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "lib/base/interrupt.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "lib/machine/memory.h"
#include "tools/common/run/run_tool.h"
#include "tools/profile/pages/curve_svg.h"
#include "tools/profile/pages/stage_table.h"
#include "tools/profile/search/batch_knee.h"
#include "tools/profile/train_command.h"
#include "tools/profile/train_trial.h"

namespace rutile {
namespace {

constexpr double kKneeShare = 0.9;  // share of the best throughput

struct Sweep {
  std::vector<BatchPoint> points;
  std::string end;  // why no larger batch was tried
  bool interrupted = false;
};

class Finder {
 public:
  Finder(TrialRunner runner, const FindBatchSizeOptions& options)
      : runner_(std::move(runner)),
        limit_(options.memory_limit > 0 ? options.memory_limit : AvailableMemory() / 10 * 9),
        start_(absl::Now()),
        budget_s_(options.budget_s) {}

  int64_t limit() const { return limit_; }

  absl::StatusOr<Sweep> Run() {
    Sweep sweep;
    // There are about 15 sizes, up and down.
    const double seconds = std::clamp(budget_s_ / 40, 0.3, 5.0);
    int64_t smallest = 4;
    for (int64_t size = smallest; sweep.end.empty(); size *= 2) {
      if (Elapsed() > 0.7 * budget_s_) sweep.end = "the time is over (--time_budget)";
      const int64_t predicted = PredictBytes(sweep.points, size);
      if (sweep.end.empty() && predicted > limit_) {
        sweep.end = absl::StrCat("a batch of ", size, " would take ", BytesText(predicted));
      }
      if (!sweep.end.empty()) break;
      const absl::StatusOr<TrialResult> result = Try(size, seconds);
      if (absl::IsCancelled(result.status())) {
        sweep.interrupted = true;
        break;
      }
      if (absl::IsResourceExhausted(result.status())) {
        sweep.end = absl::StrCat("a batch of ", size, " ", result.status().message());
        break;
      }
      if (!result.ok()) {
        // A size may be too small for some models (a batch norm) or too large; sizes that work are used.
        if (sweep.points.empty() && size < 64) continue;
        if (sweep.points.empty()) return result.status();
        sweep.end = absl::StrCat("a batch of ", size, ": ", result.status().message());
        break;
      }
      sweep.points.push_back({size, result->examples_per_s, result->peak_rss_bytes});
      PrintMessage(absl::StrFormat("%.0f/%.0f s: batch_size=%d: %s examples/s", Elapsed(), budget_s_, size,
                                   WithPrefix(result->examples_per_s)));
      if (whole_set_) sweep.end = "an epoch is one batch";
    }
    if (!sweep.interrupted) Again(seconds, &sweep);
    return sweep;
  }

 private:
  double Elapsed() const { return absl::ToDoubleSeconds(absl::Now() - start_); }

  absl::StatusOr<TrialResult> Try(int64_t size, double seconds) {
    ASSIGN_OR_RETURN(TrialResult result, runner_.Run({{"batch_size", absl::StrCat(size)}}, seconds, limit_));
    whole_set_ = result.steps_per_epoch == 1;
    return result;
  }

  // Measures each size a second time, from the largest down, to find those that were slow for another reason.
  void Again(double seconds, Sweep* sweep) {
    for (size_t i = sweep->points.size(); i-- > 0 && Elapsed() < budget_s_ - seconds - 1;) {
      const absl::StatusOr<TrialResult> result = Try(sweep->points[i].batch_size, seconds);
      if (absl::IsCancelled(result.status())) sweep->interrupted = true;
      if (!result.ok()) return;
      // Disturbances only ever slow a trial down.
      sweep->points[i].examples_per_s = std::max(sweep->points[i].examples_per_s, result->examples_per_s);
      sweep->points[i].peak_bytes = std::max(sweep->points[i].peak_bytes, result->peak_rss_bytes);
    }
  }

  TrialRunner runner_;
  const int64_t limit_;
  const absl::Time start_;
  const double budget_s_;
  bool whole_set_ = false;
};

absl::StatusOr<std::string> Plot(const Sweep& sweep, int64_t knee) {
  std::vector<double> size, rate;
  for (const BatchPoint& point : sweep.points) {
    size.push_back(static_cast<double>(point.batch_size));
    rate.push_back(point.examples_per_s);
  }
  CurveSvgOptions options;
  options.title = "Throughput over batch size";
  options.x_label = "batch size";
  options.y_label = "examples per second";
  options.marked_x = static_cast<double>(knee);
  options.mark_label = absl::StrCat("knee: ", knee);
  return CurveSvg({{"examples per second", size, rate, false}}, options);
}

}  // namespace

absl::StatusOr<int64_t> ParseBytesFlag(absl::string_view name, absl::string_view text) {
  absl::string_view rest = text;
  absl::ConsumeSuffix(&rest, "B");
  double unit = 1;
  for (const auto& [letter, times] : {std::pair{'k', 1e3}, {'K', 1e3}, {'M', 1e6}, {'G', 1e9}, {'T', 1e12}}) {
    if (!rest.empty() && rest.back() == letter) {
      unit = times;
      rest.remove_suffix(1);
      break;
    }
  }
  double value = 0;
  if (absl::SimpleAtod(rest, &value) && value > 0 && value * unit < 9e18 && std::isfinite(value)) {
    return static_cast<int64_t>(value * unit);
  }
  return absl::InvalidArgumentError(absl::StrCat("--", name, "=", text, ": expected bytes as in 512M or 8G"));
}

absl::Status FindBatchSize(const std::vector<std::string>& command, const FindBatchSizeOptions& options) {
  if (!options.output_dir.empty()) RETURN_IF_ERROR(CheckWritableDirectory(options.output_dir));
  ASSIGN_OR_RETURN(TrainCommand train, TrainCommand::Parse(command));
  if (train.Get("optimizer").value_or("") == "lbfgs") {
    return absl::InvalidArgumentError("--find_batch_size: lbfgs takes all examples in a step");
  }
  train.Remove({"batch_size"});
  ASSIGN_OR_RETURN(TrialRunner runner, TrialRunner::Create(std::move(train)));
  Finder finder(std::move(runner), options);
  ASSIGN_OR_RETURN(const Sweep sweep, finder.Run());
  const int at = FindKnee(sweep.points, kKneeShare);
  if (at < 0) {
    RETURN_IF_ERROR(CheckInterrupt());
    return absl::ResourceExhaustedError(absl::StrCat("no batch size was measured: ", sweep.end));
  }
  const BatchPoint& knee = sweep.points[at];
  std::string table = "batch_size\texamples_per_s\tpeak_memory[B]\tof_best[%]\n";
  double best = 0;
  for (const BatchPoint& point : sweep.points) best = std::max(best, point.examples_per_s);
  for (const BatchPoint& point : sweep.points) {
    absl::StrAppend(&table, point.batch_size,
                    absl::StrFormat("\t%.6g\t%d\t%.1f\n", point.examples_per_s, point.peak_bytes,
                                    100 * point.examples_per_s / best));
  }
  std::cout << table;
  if (!options.tsv) {
    const BatchPoint& last = sweep.points.back();
    std::cout << absl::StrFormat(
        "largest that fits %s: %d%s\nsuggested: --batch_size=%d (the smallest with %.0f %% of the best throughput). "
        "Fewer,"
        " larger steps learn otherwise: look at --learning_rate again (--find_lr)\n",
        BytesText(finder.limit()), last.batch_size, sweep.end.empty() ? "" : absl::StrCat(" tried; ", sweep.end),
        knee.batch_size, 100 * kKneeShare);
  }
  if (!options.output_dir.empty()) {
    ASSIGN_OR_RETURN(const std::string svg, Plot(sweep, knee.batch_size));
    RETURN_IF_ERROR(MakeDirectories(options.output_dir));
    RETURN_IF_ERROR(WriteFileAtomically(options.output_dir + "/batch-size.svg", svg));
    RETURN_IF_ERROR(WriteFileAtomically(options.output_dir + "/batch-size.tsv", table));
    PrintMessage(absl::StrCat(options.output_dir, "/batch-size.svg, batch-size.tsv"));
  }
  return CheckInterrupt();
}

}  // namespace rutile
