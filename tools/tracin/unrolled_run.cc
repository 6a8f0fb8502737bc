#include "tools/tracin/unrolled_run.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "lib/base/random.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "lib/many_body/atom_kernel_factory.h"
#include "lib/optimizer/averages/ema.h"
#include "lib/optimizer/schedule/schedule.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/train/files/checkpoint.h"
#include "lib/train/files/run_directory.h"
#include "tools/common/run/run_tool.h"
#include "tools/tracin/checkpoint_set.h"
#include "tools/tracin/step_settings.h"

namespace rutile {
namespace {

int64_t DivideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

absl::Status Error(const CheckpointSummary& checkpoint, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("--unrolled: ", checkpoint.path, ": ", what));
}

absl::Status CheckSame(const CheckpointSummary& first, const CheckpointSummary& other) {
  // The length that a run began with decides nothing of its steps.
  const auto settings = [](const CheckpointSummary& checkpoint) {
    std::map<std::string, std::string> task = checkpoint.task;
    task.erase("default_epochs");
    return task;
  };
  if (first.config == other.config && settings(first) == settings(other)) return absl::OkStatus();
  return Error(other, absl::StrCat("its run went on with other settings than ", first.path,
                                   " has: give the checkpoints after the change alone"));
}

// Refuses a run that went on with other settings or data between the first state that is unrolled and the last.
absl::Status CheckOneSetup(int64_t first_step, const CheckpointSummary& last) {
  ASSIGN_OR_RETURN(const std::string changes, ReadCheckpointChanges(last.path));
  for (absl::string_view line : absl::StrSplit(changes, '\n', absl::SkipEmpty())) {
    const absl::string_view whole = line;
    int64_t step = 0;
    if (!absl::ConsumePrefix(&line, "step ") || !absl::SimpleAtoi(line.substr(0, line.find(':')), &step)) continue;
    if (step <= first_step || step >= last.step) continue;
    return Error(last, absl::StrCat("its run went on with other settings or data (", whole,
                                    "): give a checkpoint of that step or later, and those after it"));
  }
  return absl::OkStatus();
}

// Returns the model that the run of a checkpoint began with (--init_from), as its models record it; "" if there is
// none.
std::string InitialModel(const CheckpointSummary& checkpoint) {
  const std::string directory = RunDirectoryOf(checkpoint.path);
  if (directory.empty()) return "";
  const RunDirectory run(directory);
  for (const std::string& path : {run.last(), run.best()}) {
    if (!FileExists(path)) continue;
    const absl::StatusOr<TensorFile> look = LookIntoTensorFile(path);
    if (!look.ok()) continue;
    const auto found = look->metadata.find("init_from");
    if (found != look->metadata.end()) return found->second.substr(0, found->second.rfind(' '));
  }
  return "";
}

bool BeginsWithSeed(absl::Span<const CheckpointSummary> checkpoints) {
  if (!InitialModel(checkpoints[0]).empty()) return false;
  int64_t largest = checkpoints.size() == 1 ? checkpoints[0].step : 1;
  for (size_t c = 1; c < checkpoints.size(); ++c) {
    largest = std::max(largest, checkpoints[c].step - checkpoints[c - 1].step);
  }
  return checkpoints[0].step > 0 && checkpoints[0].step <= largest;
}

// Deals out the batches of a run as its loader does, one step after the other.
class Batches {
 public:
  Batches(const StepSettings& settings, uint64_t seed, absl::Span<const int64_t> examples)
      : seed_(seed),
        shuffle_(settings.shuffle),
        size_(settings.batch_size),
        together_(settings.accumulate_grad_batches),
        examples_(examples.begin(), examples.end()),
        batches_(DivideUp(static_cast<int64_t>(examples.size()), size_)) {}

  int64_t epoch() const { return epoch_; }
  int64_t batch() const { return batch_; }
  int64_t steps_per_epoch() const { return DivideUp(batches_, together_); }

  // Goes to the place of a checkpoint: epochs that are done, and batches of the next one.
  void GoTo(int64_t epoch, int64_t batch) {
    epoch_ = epoch;
    batch_ = batch;
    EndEpoch();
  }
  // True if that is the place, which the end of an epoch may call all of its batches.
  bool IsAt(const CheckpointSummary& checkpoint) const {
    Batches other = *this;
    other.GoTo(checkpoint.epoch, checkpoint.batch);
    return other.epoch_ == epoch_ && other.batch_ == batch_;
  }

  // Returns the examples of the next step, which are those of all batches that it accumulates, and goes on.
  std::vector<int64_t> Next() {
    const auto n = static_cast<int64_t>(examples_.size());
    if (shuffle_ && epoch_ != order_of_) {
      order_ = RandomPermutation(n, RandomStream(seed_, "shuffle", epoch_));
      order_of_ = epoch_;
    }
    const int64_t end = std::min(batches_, batch_ + together_);
    std::vector<int64_t> batch;
    for (int64_t k = batch_ * size_; k < std::min(n, end * size_); ++k) {
      batch.push_back(examples_[shuffle_ ? order_[k] : k]);
    }
    batch_ = end;
    EndEpoch();
    return batch;
  }

 private:
  void EndEpoch() {
    if (batch_ < batches_) return;
    ++epoch_;
    batch_ = 0;
  }

  const uint64_t seed_;
  const bool shuffle_;
  const int64_t size_, together_;
  const std::vector<int64_t> examples_;
  const int64_t batches_;  // of an epoch
  int64_t epoch_ = 0, batch_ = 0;
  int64_t order_of_ = -1;  // the epoch of order_
  std::vector<int64_t> order_;
};

// How the rates of a run's steps and the shares of its average follow from its settings.
class StepCourse {
 public:
  StepCourse(const StepSettings& settings, int64_t steps_per_epoch) : settings_(settings) {
    ScheduleOptions& schedule = settings_.schedule;
    if (schedule.cooldown_from_step >= 0) schedule.cooldown_from_epoch = schedule.cooldown_from_step / steps_per_epoch;
    schedule_.emplace(schedule, settings.learning_rate);
    if (!settings.ema.has_value()) return;
    int64_t run_steps = settings.max_epochs > 0 ? settings.max_epochs * steps_per_epoch : settings.max_steps;
    if (settings.max_steps > 0) run_steps = std::min(run_steps, settings.max_steps);
    ema_.emplace(*settings.ema, DType::kF64, 0, run_steps);
  }

  // Goes to the state after a checkpoint, as far as it is not a function of the step.
  absl::Status GoTo(const CheckpointSummary& at, absl::Span<const ParameterSlice> slices) {
    const bool is_plateau = settings_.schedule.kind == ScheduleKind::kPlateau;
    if (!is_plateau && !ema_.has_value()) return absl::OkStatus();
    ASSIGN_OR_RETURN(const Checkpoint state, LoadCheckpoint(at.path, slices, at.dtype));
    absl::Status status = is_plateau ? schedule_->SetState(state.schedule) : absl::OkStatus();
    const Tensor none = Tensor::Zeros(DType::kF64, {0});
    if (status.ok() && ema_.has_value()) {
      status = ema_->SetState(state.ema, state.ema_parameters.num_elements() > 0 ? &none : nullptr);
    }
    return status.ok() ? status : Error(at, std::string(status.message()));
  }

  double Rate(int64_t epoch, int64_t steps_done) const { return schedule_->LearningRate(epoch, steps_done); }
  // Returns the share of the parameters after this step, from 1, in the average; 0 if it does not move.
  double AverageShare(int64_t step) { return ema_.has_value() ? ema_->CountUpdate(step).value_or(0) : 0; }
  bool has_average() const { return ema_.has_value() && ema_->parameters() != nullptr; }

 private:
  StepSettings settings_;
  std::optional<Schedule> schedule_;
  std::optional<Ema> ema_;
};

absl::StatusOr<OptimizerState> ReadState(const CheckpointSummary& checkpoint, const UnrolledUpdate& update,
                                         absl::Span<const ParameterSlice> slices, bool has_average) {
  ASSIGN_OR_RETURN(const Checkpoint state, LoadCheckpoint(checkpoint.path, slices, checkpoint.dtype));
  OptimizerState result = ZeroState(update, state.parameters.num_elements());
  result.parameters = state.parameters.ToDoubles();
  if (has_average && state.ema_parameters.num_elements() > 0) result.average = state.ema_parameters.ToDoubles();
  const auto read = [&](const char* name, std::vector<double>* to) -> absl::Status {
    const Tensor* const found = state.optimizer.Find(name);
    if (found == nullptr || found->dtype() != state.parameters.dtype() ||
        found->num_elements() != state.parameters.num_elements()) {
      return absl::InvalidArgumentError(absl::StrCat(checkpoint.path, ": has no optimizer.", name, " of ",
                                                     state.parameters.num_elements(), " numbers of type ",
                                                     DTypeName(state.parameters.dtype())));
    }
    *to = found->ToDoubles();
    return absl::OkStatus();
  };
  if (const auto* sgd = std::get_if<SgdStep>(&update)) {
    if (sgd->momentum != 0) RETURN_IF_ERROR(read("momentum_buffer", &result.m));
    return result;
  }
  RETURN_IF_ERROR(read("exp_avg", &result.m));
  RETURN_IF_ERROR(read("exp_avg_sq", &result.v));
  if (!result.h.empty()) RETURN_IF_ERROR(read("max_exp_avg_sq", &result.h));
  return result;
}

OptimizerState InitialState(const CheckpointSummary& checkpoint, const UnrolledUpdate& update,
                            const NetworkShape& shape) {
  std::vector<double> initial = InitialAtomParameters(shape, checkpoint.seed);
  OptimizerState state = ZeroState(update, initial.size());
  if (checkpoint.dtype == DType::kF32) {
    for (double& each : initial) each = static_cast<float>(each);
  }
  state.parameters = std::move(initial);
  return state;
}

// INVALID_ARGUMENT unless the rates of steps that were not recorded one by one lead to those of the checkpoint: of its
// last step, and the sum since the checkpoint before, where both hold it.
absl::Status CheckRates(const CheckpointSummary& after, double last, double sum, double sum_before) {
  const auto same = [](double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)); };
  const double recorded = after.rate_sum - sum_before;
  if (same(last, after.learning_rate) && (std::isnan(recorded) || same(sum_before + sum, after.rate_sum))) {
    return absl::OkStatus();
  }
  return Error(after, absl::StrCat("its last rate is ", after.learning_rate, ", and the rates since the checkpoint ",
                                   "before are ", recorded, ", where its schedule has ", last, " and ", sum,
                                   " (plateau lowers rates at validations): checkpoints of each step hold its rate; "
                                   "the same train command with --keep_every_steps=1 and another --output_dir makes "
                                   "the same run with them"));
}

}  // namespace

absl::Status CheckUnrolled(absl::Span<const CheckpointSummary> checkpoints, int64_t max_bytes) {
  if (checkpoints.empty()) {
    return absl::InvalidArgumentError("--unrolled: needs the checkpoints of a run, and these are models");
  }
  ASSIGN_OR_RETURN(const StepSettings settings, ReadStepSettings(checkpoints[0]));
  int64_t numbers = 0;
  for (const auto& [name, dimensions] : checkpoints[0].parameters) {
    int64_t product = 1;
    for (const int64_t each : dimensions) product *= each;
    numbers += product;
  }
  // Parameters, means and the average.
  const OptimizerState one = ZeroState(settings.update, 1);
  const auto of_optimizer = static_cast<int64_t>(one.parameters.size() + one.m.size() + one.v.size() + one.h.size());
  const int64_t vectors = of_optimizer + settings.ema.has_value();
  int64_t before = BeginsWithSeed(checkpoints) ? 0 : checkpoints[0].step;
  RETURN_IF_ERROR(CheckOneSetup(before, checkpoints.back()));
  if (const std::string model = InitialModel(checkpoints[0]); !model.empty()) {
    const std::string what = absl::StrCat("its run began with the model ", model,
                                          " (--init_from), not with the parameters of its seed, so that the steps "
                                          "before its first checkpoint cannot be taken again");
    if (before == checkpoints.back().step) {
      return Error(checkpoints[0], absl::StrCat(what,
                                                ": give an earlier checkpoint, too (--keep_every_epochs, "
                                                "--keep_every_steps): the scores cover the steps after it"));
    }
    PrintMessage(absl::StrCat(checkpoints[0].path, ": ", what, "; the scores cover the steps after this checkpoint"));
  }
  if (before == checkpoints.back().step) {
    return Error(checkpoints[0], "is the state before the first step, of which there is nothing to unroll");
  }
  for (const CheckpointSummary& checkpoint : checkpoints) {
    RETURN_IF_ERROR(CheckSame(checkpoints[0], checkpoint));
    const int64_t steps = checkpoint.step - before;
    const double bytes = 8.0 * static_cast<double>(steps + 1) * static_cast<double>(vectors * numbers);
    if (bytes > static_cast<double>(max_bytes)) {
      return Error(checkpoint,
                   absl::StrCat("is ", steps,
                                " steps after the checkpoint before, or the start of the run; the states "
                                "between take ",
                                static_cast<int64_t>(bytes), " bytes, more than --max_bytes=", max_bytes,
                                ": the same train command with a smaller --keep_every_steps and another --output_dir "
                                "makes the same run with more checkpoints"));
    }
    before = checkpoint.step;
  }
  return absl::OkStatus();
}

absl::StatusOr<UnrolledRun> UnrolledRunOf(std::vector<CheckpointSummary> checkpoints,
                                          std::vector<ParameterSlice> slices, const NetworkShape& shape,
                                          absl::Span<const int64_t> examples) {
  ASSIGN_OR_RETURN(const StepSettings settings, ReadStepSettings(checkpoints[0]));
  UnrolledRun run;
  const bool from_seed = BeginsWithSeed(checkpoints);
  Batches batches(settings, checkpoints[0].seed, examples);
  StepCourse course(settings, batches.steps_per_epoch());
  int64_t done = 0, count = 0;
  double rate_sum = 0;
  run.known = {0};
  for (size_t c = 0; c < checkpoints.size(); ++c) {
    const CheckpointSummary& after = checkpoints[c];
    if (c > 0 || from_seed) {
      double rate = 0, sum = 0;
      const bool is_next = after.step == done + 1;
      while (done < after.step) {
        rate = is_next ? after.learning_rate : course.Rate(batches.epoch(), done);
        sum += rate;
        ++done;
        UnrolledStep step;
        step.examples = batches.Next();
        step.update = UpdateOfStep(settings, rate, ++count);
        step.clipping = settings.clipping;
        step.average_share = course.AverageShare(done);
        step.name = after.path;
        run.steps.push_back(std::move(step));
      }
      if (!is_next) RETURN_IF_ERROR(CheckRates(after, rate, sum, rate_sum));
      if (!batches.IsAt(after) || count != after.optimizer_step) {
        return Error(after, absl::StrCat("is after batch ", after.batch, " of epoch ", after.epoch + 1, " and step ",
                                         after.optimizer_step, " of its optimizer, expected batch ", batches.batch(),
                                         " of epoch ", batches.epoch() + 1, " and step ", count, ", with the ",
                                         examples.size(), " training structures of --train"));
      }
      run.known.push_back(static_cast<int64_t>(run.steps.size()));
    }
    RETURN_IF_ERROR(course.GoTo(after, slices));
    batches.GoTo(after.epoch, after.batch);
    done = after.step;
    count = after.optimizer_step;
    rate_sum = after.rate_sum;
  }
  run.of_average = course.has_average();
  if (checkpoints[0].dtype == DType::kF64) {
    run.tolerance = 1e-5;
    run.rounding = 1e-15;
  }
  run.state = [checkpoints = std::move(checkpoints), slices = std::move(slices), shape, from_seed, known = run.known,
               update = run.steps[0].update,
               has_average = settings.ema.has_value()](int64_t at) -> absl::StatusOr<OptimizerState> {
    const int64_t c = std::lower_bound(known.begin(), known.end(), at) - known.begin() - (from_seed ? 1 : 0);
    if (c < 0) return InitialState(checkpoints[0], update, shape);
    return ReadState(checkpoints[c], update, slices, has_average);
  };
  return run;
}

std::string UnrolledSteps(absl::Span<const CheckpointSummary> checkpoints) {
  return absl::StrCat(BeginsWithSeed(checkpoints) ? 1 : checkpoints[0].step + 1, "-", checkpoints.back().step);
}

}  // namespace rutile
