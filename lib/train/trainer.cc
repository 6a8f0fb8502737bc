#include "lib/train/trainer.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "lib/base/file.h"
#include "lib/base/status_macros.h"
#include "lib/task/sampling_policy.h"
#include "lib/train/batch_epoch.h"
#include "lib/train/checkpoint.h"
#include "lib/train/course.h"
#include "lib/train/data_loader.h"
#include "lib/train/epoch_log.h"
#include "lib/train/epoch_trainer.h"
#include "lib/train/evaluate_examples.h"
#include "lib/train/first_batch_check.h"
#include "lib/train/lbfgs_epoch.h"
#include "lib/train/parameter_groups.h"
#include "lib/train/run_directory.h"
#include "lib/train/run_writer.h"
#include "lib/train/schedule.h"
#include "lib/train/starting_state.h"
#include "lib/train/stop_rule.h"
#include "lib/train/train_log.h"

namespace rutile {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

int64_t NumBatches(const Split& split, const TrainerOptions& options) {
  return (static_cast<int64_t>(split.train.size()) + options.batch_size - 1) / options.batch_size;
}

// A cosine without a period spans the run.
TrainerOptions Resolve(TrainerOptions options, int64_t num_batches) {
  ScheduleOptions& schedule = options.schedule;
  if (schedule.kind == ScheduleKind::kCosine && schedule.period == 0) {
    const int64_t steps = options.stop.max_epochs * num_batches;
    schedule.period = !schedule.per_step           ? options.stop.max_epochs
                      : options.stop.max_steps > 0 ? std::min(steps, options.stop.max_steps)
                                                   : steps;
  }
  return options;
}

DataLoaderOptions ValidationOptions(const TrainerOptions& options) {
  DataLoaderOptions loader = LoaderOptions(options);
  loader.shuffle = false;
  loader.batch_size =
      options.validation_batch_size > 0 ? options.validation_batch_size : std::max<int64_t>(options.batch_size, 256);
  return loader;
}

class Trainer {
 public:
  Trainer(Task& task, const Split& split, const TrainerOptions& options, absl::string_view output_dir,
          const Metadata& provenance)
      : task_(task),
        split_(split),
        num_batches_(NumBatches(split, options)),
        options_(Resolve(options, num_batches_)),
        directory_(output_dir),
        provenance_(provenance),
        validation_loader_(task, split.validation, ValidationOptions(options)),
        schedule_(options_.schedule, options_.optimizer.learning_rate),
        stop_(options_.stop),
        writer_(task, directory_, provenance) {}

  absl::StatusOr<TrainResult> Run();

 private:
  bool has_validation() const { return !split_.validation.empty(); }

  absl::Status Start();
  absl::Status SetStates(bool resume);
  absl::Status FinishEpoch(absl::Time epoch_start, const EpochWork& work);
  // Whether the last epoch's loss is the lowest so far; the parameters are kept then.
  bool ObserveLoss();
  // Into state_, all that the parts must remember.
  void GatherStates();
  absl::Status WriteCheckpoint(const std::string& path);
  absl::Status Save();
  TrainResult Result(const std::string& reason) const;

  Task& task_;
  const Split& split_;
  const int64_t num_batches_;
  const TrainerOptions options_;
  const RunDirectory directory_;
  const Metadata provenance_;
  DataLoader validation_loader_;
  Schedule schedule_;
  StopRule stop_;
  RunWriter writer_;
  std::unique_ptr<EpochTrainer> epoch_;
  std::optional<TrainLog> log_;
  Checkpoint state_;

  const absl::Time start_ = absl::Now();
  absl::Time last_save_ = start_;
  double train_loss_ = kNan;  // of the last epoch
  double last_loss_ = kNan;   // monitored
};

absl::Status Trainer::Start() {
  RETURN_IF_ERROR(AssignGroups(options_.groups, task_.parameter_slices()).status());
  ASSIGN_OR_RETURN(const bool resume, directory_.Open(options_.mode));
  if (resume) {
    ASSIGN_OR_RETURN(state_, ResumedState(task_, split_, options_, directory_, num_batches_));
  } else {
    state_ = NewState(task_, split_, options_);
  }
  if (options_.compile_mode == CompileMode::kCompile && options_.check_gradient) {
    RETURN_IF_ERROR(CheckFirstBatch(task_, state_.parameters, split_.train, options_, state_.epoch));
  }
  const EpochContext context = {task_, split_.train, options_, schedule_, stop_, state_, start_};
  if (options_.optimizer.kind == OptimizerKind::kLbfgs) {
    epoch_ = std::make_unique<LbfgsEpoch>(context);
  } else {
    epoch_ = std::make_unique<BatchEpoch>(context);
  }
  RETURN_IF_ERROR(SetStates(resume));
  if (options_.sampling_policy != SamplingPolicy::kUniform) {  // refused before an old run is removed
    RETURN_IF_ERROR(task_.SamplingWeights(options_.sampling_policy, split_.train).status());
  }
  // The file may be of a later epoch than the checkpoint, or gone.
  if (state_.best_epoch > 0) writer_.SetBestChanged();
  if (!resume) RETURN_IF_ERROR(directory_.RemoveRun());  // nothing but the environment can fail from here on
  ASSIGN_OR_RETURN(log_, TrainLog::Open(directory_.log(), EpochColumns(task_, has_validation()), state_.epoch));
  return WriteFileAtomically(directory_.config(), ConfigJson(options_, task_.Course(), provenance_));
}

absl::Status Trainer::SetStates(bool resume) {
  // The task may remember another run, or the check.
  if (!resume) return task_.SetState(NamedTensors());
  const auto check = [this](absl::string_view part, const absl::Status& status) {
    return status.ok()
               ? status
               : absl::InvalidArgumentError(absl::StrCat(directory_.checkpoint(), ": ", part, ": ", status.message()));
  };
  RETURN_IF_ERROR(check("optimizer", epoch_->SetState(state_.optimizer)));
  RETURN_IF_ERROR(check("schedule", schedule_.SetState(state_.schedule)));
  RETURN_IF_ERROR(check("stopping", stop_.SetState(state_.stopping)));
  return check("task", task_.SetState(state_.task));
}

void Trainer::GatherStates() {
  state_.optimizer = epoch_->State();
  state_.schedule = schedule_.State();
  state_.stopping = stop_.State();
  state_.task = task_.State();
}

absl::Status Trainer::WriteCheckpoint(const std::string& path) {
  GatherStates();
  return writer_.WriteCheckpoint(state_, path);
}

absl::Status Trainer::Save() {
  GatherStates();
  RETURN_IF_ERROR(writer_.Save(state_, last_loss_));
  last_save_ = absl::Now();
  return absl::OkStatus();
}

bool Trainer::ObserveLoss() {
  stop_.Observe(last_loss_);
  schedule_.Observe(last_loss_);
  if (!(last_loss_ < state_.best_loss)) return false;
  state_.best_loss = last_loss_;
  state_.best_epoch = state_.epoch + 1;
  std::memcpy(state_.best_parameters.mutable_data(), state_.parameters.data(), state_.parameters.num_bytes());
  writer_.SetBestChanged();
  return true;
}

absl::Status Trainer::FinishEpoch(absl::Time epoch_start, const EpochWork& work) {
  const double seconds = std::max(1e-9, absl::ToDoubleSeconds(absl::Now() - epoch_start));
  EvaluationResult validation;
  if (has_validation()) {
    ASSIGN_OR_RETURN(validation, EvaluateExamples(task_, state_.parameters, &validation_loader_, state_.epoch));
    if (!std::isfinite(validation.loss)) {
      return absl::OutOfRangeError(absl::StrCat("the validation loss is ", validation.loss, " after epoch ",
                                                state_.epoch + 1, ": try a lower learning rate, and check the data"));
    }
  }
  const Loss train = task_.CombineTerms(state_.epoch_sums);
  state_.loss_weight = train.weight;
  train_loss_ = train.value;
  last_loss_ = has_validation() ? validation.loss : train.value;

  EpochReport report;
  report.best = ObserveLoss();
  report.epoch = state_.epoch + 1;
  report.step = state_.step;
  report.learning_rate = state_.learning_rate;
  report.train_loss = train_loss_;
  report.terms = TermMeans(state_.epoch_sums);
  report.validation_loss = has_validation() ? validation.loss : kNan;
  report.validation = validation.metrics;
  report.time = absl::Now() - epoch_start;
  report.examples_per_s = static_cast<double>(work.examples) / seconds;
  report.cost_per_s = work.cost / seconds;
  RETURN_IF_ERROR(log_->Append(EpochRow(report, has_validation())));

  ++state_.epoch;
  state_.batch = 0;
  state_.epoch_sums = TermSums(static_cast<int>(report.terms.size()));
  state_.sampling_weight.clear();
  if (options_.on_epoch) options_.on_epoch(report);
  return absl::OkStatus();
}

absl::StatusOr<TrainResult> Trainer::Run() {
  RETURN_IF_ERROR(Start());
  std::string reason;
  bool saved = false;  // what state_ holds
  while (true) {
    reason = stop_.AfterEpoch(state_.epoch);
    if (reason.empty()) reason = stop_.AfterStep(state_.step, absl::Now() - start_);
    // Inside an epoch there is still its validation to do.
    if (!reason.empty() && (state_.batch == 0 || state_.epoch >= options_.stop.max_epochs)) break;

    const absl::Time epoch_start = absl::Now();
    EpochWork work;
    absl::Status status = reason.empty() ? epoch_->Train(&work, &reason) : absl::OkStatus();
    // A run that a limit ends inside an epoch goes on from there when it is resumed with a higher one, as if it had
    // not been validated in between.
    const bool partial = status.ok() && state_.batch < num_batches_;
    if (partial) RETURN_IF_ERROR(WriteCheckpoint(directory_.checkpoint()));
    if (status.ok()) status = FinishEpoch(epoch_start, work);
    if (absl::IsCancelled(status)) {
      RETURN_IF_ERROR(Save());
      return absl::CancelledError(absl::StrCat(status.message(), " in epoch ", state_.epoch + 1, "; the checkpoint is ",
                                               directory_.checkpoint()));
    }
    if (!status.ok()) {
      RETURN_IF_ERROR(writer_.WriteBest(state_));
      return status;
    }
    if (partial) {
      RETURN_IF_ERROR(writer_.WriteModels(state_, last_loss_));
      saved = true;
      break;
    }
    if (options_.keep_every_epochs > 0 && state_.epoch % options_.keep_every_epochs == 0) {
      RETURN_IF_ERROR(WriteCheckpoint(directory_.epoch_checkpoint(state_.epoch)));
    }
    saved = absl::Now() - last_save_ >= options_.save_interval;
    if (saved) RETURN_IF_ERROR(Save());
    if (!reason.empty()) break;
  }
  if (!saved) RETURN_IF_ERROR(Save());
  return Result(reason);
}

TrainResult Trainer::Result(const std::string& reason) const {
  TrainResult result;
  result.epochs = state_.epoch;
  result.steps = state_.step;
  result.stop_reason = reason;
  result.train_loss = train_loss_;
  result.best_loss = state_.best_loss;
  result.best_epoch = state_.best_epoch;
  result.best_parameters = state_.best_parameters;
  result.time = absl::Now() - start_;
  return result;
}

}  // namespace

absl::StatusOr<TrainResult> Train(Task& task, const Split& split, const TrainerOptions& options,
                                  absl::string_view output_dir, const Metadata& provenance) {
  RETURN_IF_ERROR(CheckTrainerOptions(options));
  if (split.train.empty()) return absl::InvalidArgumentError("there is no example to train on");
  return Trainer(task, split, options, output_dir, provenance).Run();
}

}  // namespace rutile
