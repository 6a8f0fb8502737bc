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
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "lib/base/status_macros.h"
#include "lib/distributed/agreement.h"
#include "lib/optimizer/averages/average_best.h"
#include "lib/optimizer/averages/ema.h"
#include "lib/optimizer/parameter_groups.h"
#include "lib/optimizer/schedule/schedule.h"
#include "lib/task/example_sampling.h"
#include "lib/task/sampling_policy.h"
#include "lib/task/torch/eager_gradients.h"
#include "lib/train/checkpointed_state.h"
#include "lib/train/epoch_log.h"
#include "lib/train/files/checkpoint.h"
#include "lib/train/files/failed_batch.h"
#include "lib/train/files/run_directory.h"
#include "lib/train/files/run_writer.h"
#include "lib/train/files/train_log.h"
#include "lib/train/first_batch_of_run.h"
#include "lib/train/options/monitor.h"
#include "lib/train/options/stop_rule.h"
#include "lib/train/options/top_checkpoints.h"
#include "lib/train/options/validation_rule.h"
#include "lib/train/process_startup.h"
#include "lib/train/resume_config.h"
#include "lib/train/run_plan.h"
#include "lib/train/starting_state.h"
#include "lib/train/step/batch_epoch.h"
#include "lib/train/step/data_loader.h"
#include "lib/train/step/epoch_trainer.h"
#include "lib/train/step/evaluate_examples.h"
#include "lib/train/step/lbfgs_epoch.h"
#include "lib/train/step/model_shards.h"
#include "lib/train/step_log.h"

namespace rutile {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class Trainer {
 public:
  Trainer(Task& task, RunPlan plan, Monitor monitor, absl::string_view output_dir, const Metadata& provenance,
          absl::Time clock_start)
      : task_(task),
        plan_(std::move(plan)),
        monitor_(std::move(monitor)),
        directory_(output_dir),
        provenance_(provenance),
        validation_loader_(task, plan_.validation, ValidationLoaderOptions(options_)),
        schedule_(options_.schedule, options_.optimizer.learning_rate),
        stop_(options_.stop, monitor_.maximize()),
        validation_rule_(options_.validation, plan_.steps_per_epoch),
        top_checkpoints_(options_.save_top_k, monitor_.maximize()),
        agreement_(options_.communicator),
        files_(agreement_.writes() ? options_.files : RunFiles::kNone),
        files_of_all_(options_.shard_model ? options_.files : files_),
        writer_(task, directory_, provenance,
                {/*beside_training=*/options_.save_interval > absl::ZeroDuration(), options_.on_message,
                 /*before_checkpoint=*/[this] { return log_ ? log_->Sync() : absl::OkStatus(); }}),
        start_(clock_start) {
    if (options_.ema) ema_.emplace(*options_.ema, task.parameter_dtype(), task.num_parameters(), plan_.run_steps);
    if (options_.average_best > 0) {
      average_best_.emplace(options_.average_best, monitor_.maximize(), task.parameter_dtype(), task.num_parameters());
    }
  }

  absl::StatusOr<TrainResult> Run();

 private:
  bool has_validation() const { return !plan_.validation.empty(); }
  std::string At() const { return absl::StrCat(" after epoch ", state_.epoch + 1, ", step ", state_.step); }
  // The parameters to validate and to write as a model: the moving average once it has begun.
  const Tensor& Evaluated() const {
    return ema_ && ema_->parameters() != nullptr ? *ema_->parameters() : epoch_->EvaluationParameters();
  }

  absl::StatusOr<EvaluationResult> Validate(const Tensor& parameters) {
    return EvaluateExamples(task_, parameters, &validation_loader_, state_.epoch, &agreement_, options_.eager.device);
  }

  absl::Status Start();
  absl::Status StartFiles(const StartingState& start);
  void WriteFailed(const FailedBatch& failed);

  // Trains to the end of the epoch, or until there is a *reason to stop.
  absl::Status TrainEpoch(std::string* reason);
  // True if something is due inside an epoch, for which training must pause.
  bool PauseIsDue();
  bool ValidationIsDue() const;
  bool KeepIsDue() const;
  bool SaveIsDue() const {
    return files_of_all_ == RunFiles::kAll && now_ - last_save_ >= options_.save_interval &&
           (options_.shard_model || !writer_.busy());
  }
  // Runs whatever is due. Sets *reason if a limit is reached or early stopping fires.
  absl::Status DoWhatIsDue(std::string* reason);

  enum class When { kInsideEpoch, kEndOfEpoch, kEndOfRun };
  // Evaluates the epoch so far, on the validation set too if `validate`, and informs best model, early stopping,
  // schedule and log.
  absl::Status Observe(bool validate, When when);
  // Records the monitored value. Returns true if it is the best so far, and then keeps the parameters.
  bool ObserveValue(double value, When when);
  // Writes the checkpoint if the last validation put it among the k best.
  absl::Status KeepTop();
  absl::Status FinishEpoch();
  // Returns the monitored value of the current parameters; NaN if it is not known.
  double LastLoss() const { return state_.observed_step == state_.step ? state_.observed_loss : kNan; }
  // True if, at the end of the run, the monitored value of the last parameters is still missing and can be computed.
  bool LastLookIsDue() const;
  // Ends the run: evaluates the last parameters and writes everything.
  absl::Status Finish();
  absl::Status FinishAverage();
  CheckpointedState Parts();
  absl::Status KeepCheckpoint(const std::string& path);
  // Saves models and checkpoint: beside training or, with `now`, before returning.
  absl::Status Save(bool now);
  TrainResult Result(const std::string& reason) const;

  Task& task_;
  const RunPlan plan_;
  const TrainerOptions& options_ = plan_.options;
  const Monitor monitor_;
  const RunDirectory directory_;
  const Metadata provenance_;
  DataLoader validation_loader_;
  Schedule schedule_;
  StopRule stop_;
  const ValidationRule validation_rule_;
  std::optional<Ema> ema_;
  std::optional<AverageBest> average_best_;
  TopCheckpoints top_checkpoints_;
  std::string top_;  // name of the top-k checkpoint to write once its validation is complete
  Agreement agreement_;
  const RunFiles files_;         // files that this process writes
  const RunFiles files_of_all_;  // files for which all processes must meet, to gather a sharded model
  RunPlace place_;
  bool fresh_ = false;  // no file was in the directory
  std::optional<TrainLog> log_;
  RunWriter writer_;  // destroyed before the members it writes to, as it may still work beside training
  std::unique_ptr<ModelShards> shards_;
  std::unique_ptr<EpochTrainer> epoch_;
  Checkpoint state_;

  const absl::Time begin_ = absl::Now();
  // Time-based decisions use the agreed clock, so that all ranks decide alike.
  absl::Time start_, last_save_, last_keep_, last_validation_;
  absl::Time now_;  // the agreed time after the last step
  absl::Time epoch_start_ = begin_;
  EpochWork work_;              // done in this epoch and session
  double train_loss_ = kNan;    // NaN until something was trained
  double average_loss_ = kNan;  // validation loss of the mean of the best models
};

absl::Status Trainer::Start() {
  ASSIGN_OR_RETURN(start_, AgreeOnStart(&agreement_, start_));
  now_ = last_save_ = last_keep_ = last_validation_ = agreement_.Now();
  RETURN_IF_ERROR(AssignGroups(options_.groups, task_.parameter_slices()).status());
  if (options_.files != RunFiles::kNone) {
    ASSIGN_OR_RETURN(place_, JoinRun(&agreement_, directory_, options_));
  }
  ASSIGN_OR_RETURN(StartingState start, AgreeToStart(&agreement_, place_.resume, task_, plan_, directory_));
  state_ = std::move(start.state);
  RETURN_IF_ERROR(CheckSameRun(&agreement_, task_, plan_, state_, directory_, provenance_));
  RETURN_IF_ERROR(CheckFirstBatchHere(task_, state_.parameters, plan_.train, options_, state_.epoch));
  if (options_.compile_mode != CompileMode::kCompile) RETURN_IF_ERROR(agreement_.JoinDevices(options_.eager.device));
  if (options_.shard_model) {
    ASSIGN_OR_RETURN(shards_, ModelShards::Create(&task_, &agreement_));
  }
  const EpochContext context = {task_,
                                plan_.train,
                                options_,
                                schedule_,
                                plan_.num_batches,
                                state_,
                                ema_ ? &*ema_ : nullptr,
                                agreement_,
                                [this] { return PauseIsDue(); },
                                [this](const FailedBatch& failed) { WriteFailed(failed); },
                                shards_.get()};
  if (options_.optimizer.kind == OptimizerKind::kLbfgs) {
    epoch_ = std::make_unique<LbfgsEpoch>(context);
  } else {
    epoch_ = std::make_unique<BatchEpoch>(context);
  }
  RETURN_IF_ERROR(RestoreStates(Parts(), start, state_));
  if (options_.sampling_policy != SamplingPolicy::kUniform) {  // fails before an old run is removed
    RETURN_IF_ERROR(SamplingWeightsOf(task_, options_.sampling_policy, plan_.train).status());
  }
  // best.safetensors may be newer than the checkpoint, or missing.
  if (state_.best_epoch > 0) writer_.SetBestChanged();
  if (files_ != RunFiles::kNone) RETURN_IF_ERROR(StartFiles(start));
  if (options_.on_message) std::for_each(start.messages.begin(), start.messages.end(), options_.on_message);
  return absl::OkStatus();
}

absl::Status Trainer::StartFiles(const StartingState& start) {
  fresh_ = directory_.IsEmpty();
  if (!fresh_) RETURN_IF_ERROR(AwaitFirstBatch(options_));
  RETURN_IF_ERROR(start.path.empty() ? directory_.RemoveRun() : directory_.RemoveFinished());
  if (!start.path.empty()) {
    // The checkpoint must be in place before the logs are cut back to it.
    if (start.is_to_be_last) {
      SaveStates(Parts(), &state_);
      RETURN_IF_ERROR(writer_.ReplaceLastCheckpoint(state_));
    }
    if (start.leaves_previous) RETURN_IF_ERROR(directory_.RemovePrevious());
    RETURN_IF_ERROR(directory_.RemoveNamed(top_checkpoints_.Names()));
  }
  if (files_ == RunFiles::kAll) {
    ASSIGN_OR_RETURN(log_, OpenEpochLog(task_, has_validation(), directory_, options_.log_formats,
                                        /*may_be_another=*/start.new_parts.judgment, &state_.log_rows));
  }
  return WriteRunRecord(directory_, options_, task_, provenance_, LogColumns(task_, has_validation(), options_),
                        state_.changes);
}

void Trainer::WriteFailed(const FailedBatch& failed) {
  if (!epoch_->AllGather().ok() || files_ == RunFiles::kNone) return;
  const absl::Status status = WriteFailedBatch(directory_.failed_batch(), task_, state_, failed, provenance_);
  if (status.ok() || !options_.on_message) return;  // the run ends with the numerical failure, not with this error
  options_.on_message(absl::StrCat("failed-batch.safetensors is not written: ", status.message()));
}

CheckpointedState Trainer::Parts() {
  return {task_,
          *epoch_,
          schedule_,
          stop_,
          top_checkpoints_,
          options_.save_top_k != 0,
          ema_ ? &*ema_ : nullptr,
          average_best_ ? &*average_best_ : nullptr};
}

absl::Status Trainer::KeepCheckpoint(const std::string& path) {
  RETURN_IF_ERROR(AwaitFirstBatch(options_));
  if (files_of_all_ != RunFiles::kAll) return absl::OkStatus();
  RETURN_IF_ERROR(epoch_->AllGather());
  if (files_ != RunFiles::kAll) return absl::OkStatus();
  if (log_) RETURN_IF_ERROR(writer_.Tolerate(log_->Flush()));  // the checkpoint refers to these rows
  SaveStates(Parts(), &state_);
  return writer_.Keep(state_, path);
}

absl::Status Trainer::Save(bool now) {
  RETURN_IF_ERROR(AwaitFirstBatch(options_));
  last_save_ = agreement_.Now();
  RETURN_IF_ERROR(epoch_->AllGather());
  if (files_ == RunFiles::kNone) return absl::OkStatus();
  // The checkpoint refers to rows of the log, which must be written first.
  const absl::Status logged = log_ ? log_->Flush() : absl::OkStatus();
  if (!logged.ok()) return now ? logged : writer_.Tolerate(logged);
  SaveStates(Parts(), &state_);
  return now ? writer_.SaveNow(state_, Evaluated(), LastLoss()) : writer_.Save(state_, Evaluated(), LastLoss());
}

absl::Status Trainer::KeepTop() {
  if (top_.empty()) return absl::OkStatus();
  return KeepCheckpoint(directory_.named_checkpoint(std::exchange(top_, "")));
}

bool Trainer::ObserveValue(double value, When when) {
  state_.observed_loss = value;
  state_.observed_step = state_.step;
  stop_.Observe(value);
  schedule_.Observe(value);
  // At the end of a run this is for FinishAverage alone: the last checkpoint is written already (Finish).
  if (average_best_) average_best_->Observe(value, state_.epoch + 1, state_.step, Evaluated());
  // The evaluation at the end of a run is not part of its state, so a resumed run does not see it.
  if (when != When::kEndOfRun) {
    const TopCheckpoints::Decision decision = top_checkpoints_.Observe(value, state_.epoch + 1, state_.step);
    top_ = decision.write;
    if (!decision.remove.empty()) writer_.RemoveAfterSave(decision.remove);
  }
  if (state_.best_epoch > 0 && !monitor_.Better(value, state_.best_loss)) return false;
  state_.best_epoch = std::max<int64_t>(1, state_.epoch + (state_.batch > 0));
  state_.best_loss = value, state_.best_step = state_.step;
  std::memcpy(state_.best_parameters.mutable_data(), Evaluated().data(), Evaluated().num_bytes());
  writer_.SetBestChanged();
  return true;
}

absl::Status Trainer::Observe(bool validate, When when) {
  EpochReport report = ReportOf(task_, state_, has_validation());
  if (validate || !monitor_.of_validation()) RETURN_IF_ERROR(epoch_->AllGather());
  if (validate && has_validation()) {
    epoch_->Suspend();
    ASSIGN_OR_RETURN(const EvaluationResult validation, Validate(Evaluated()));
    if (validation.counts && !std::isfinite(validation.loss)) {
      return absl::OutOfRangeError(absl::StrCat("the validation loss is ", validation.loss, At(),
                                                ": try a lower learning rate, and check the data"));
    }
    report.validated = true;
    report.validation_loss = validation.loss;
    report.validation = validation.metrics;
    last_validation_ = agreement_.Now();
  }
  const bool trained = HasValues(state_.epoch_sums);
  if (trained) train_loss_ = report.train_loss;
  if (report.validated) state_.validated_step = state_.step;
  // The training loss is monitored only at the end of an epoch or of the run.
  if (monitor_.of_validation() ? report.validated : trained && when != When::kInsideEpoch) {
    report.monitored = monitor_.Value(report.train_loss, report.validation_loss, report.validation);
    if (std::isnan(report.monitored)) {
      return absl::OutOfRangeError(absl::StrCat(monitor_.name(), " is not a number", At(), ": monitor something else"));
    }
    report.best = ObserveValue(report.monitored, when);
  }
  report.end_of_epoch = when == When::kEndOfEpoch;
  report.time = absl::Now() - epoch_start_;
  const double seconds = std::max(1e-9, absl::ToDoubleSeconds(work_.time));
  report.examples_per_s = static_cast<double>(work_.examples) / seconds;
  report.cost_per_s = work_.cost / seconds;
  if (log_) RETURN_IF_ERROR(writer_.Tolerate(log_->AppendSoon(EpochRow(report, has_validation()))));
  ++state_.log_rows;
  if (options_.on_epoch) options_.on_epoch(report);
  return absl::OkStatus();
}

bool Trainer::ValidationIsDue() const {
  return state_.validated_step != state_.step && validation_rule_.inside_epochs() &&
         validation_rule_.AfterStep(state_.epoch, plan_.StepsOf(state_.batch), state_.step, now_ - last_validation_);
}

bool Trainer::KeepIsDue() const {
  return files_of_all_ == RunFiles::kAll && state_.kept_step != state_.step &&
         ((options_.keep_every_steps > 0 && state_.step % options_.keep_every_steps == 0) ||
          now_ - last_keep_ >= options_.keep_every_time);
}

bool Trainer::PauseIsDue() {
  now_ = agreement_.Now();
  return stop_.LimitReached(state_.step, now_ - start_) || ValidationIsDue() || KeepIsDue() || SaveIsDue() ||
         !LookAtFirstBatch(options_).ok();
}

absl::Status Trainer::DoWhatIsDue(std::string* reason) {
  RETURN_IF_ERROR(LookAtFirstBatch(options_));
  if (KeepIsDue()) {
    state_.kept_step = state_.step;  // so that resuming from it does not write it again
    RETURN_IF_ERROR(KeepCheckpoint(directory_.step_checkpoint(state_.step)));
    last_keep_ = now_;
  }
  if (state_.batch == plan_.num_batches) return absl::OkStatus();  // FinishEpoch does the rest
  *reason = stop_.Limit(state_.epoch, state_.step, now_ - start_);
  if (ValidationIsDue()) {
    RETURN_IF_ERROR(Observe(/*validate=*/true, When::kInsideEpoch));
    RETURN_IF_ERROR(KeepTop());
    if (reason->empty()) *reason = stop_.Early(state_.epoch, state_.step);
  }
  return reason->empty() && SaveIsDue() ? Save(/*now=*/false) : absl::OkStatus();
}

absl::Status Trainer::TrainEpoch(std::string* reason) {
  epoch_start_ = absl::Now();
  now_ = agreement_.Now();
  work_ = EpochWork();
  // What was due when a signal interrupted the run is still due after resuming.
  if (state_.batch > 0) RETURN_IF_ERROR(DoWhatIsDue(reason));
  while (reason->empty() && state_.batch < plan_.num_batches) {
    const absl::Time before = absl::Now();
    RETURN_IF_ERROR(epoch_->Train(&work_));
    now_ = agreement_.Now();
    work_.time += absl::Now() - before;
    RETURN_IF_ERROR(DoWhatIsDue(reason));
  }
  epoch_->Suspend();
  return state_.batch == plan_.num_batches ? FinishEpoch() : absl::OkStatus();
}

absl::Status Trainer::FinishEpoch() {
  const Loss train = task_.CombineTerms(state_.epoch_sums);
  state_.loss_weight.assign(train.weight.begin(), train.weight.end());
  state_.loss_count = state_.epoch_sums.count;
  const bool due = validation_rule_.AfterEpoch(state_.epoch + 1, state_.step, now_ - last_validation_);
  RETURN_IF_ERROR(Observe(due, When::kEndOfEpoch));
  ++state_.epoch;
  state_.batch = 0;
  state_.epoch_sums = TermSums(static_cast<int>(state_.epoch_sums.sum.size()));
  state_.sampling_weight.clear();
  RETURN_IF_ERROR(KeepTop());
  if (options_.keep_every_epochs > 0 && state_.epoch % options_.keep_every_epochs == 0) {
    RETURN_IF_ERROR(KeepCheckpoint(directory_.epoch_checkpoint(state_.epoch)));
  }
  return SaveIsDue() ? Save(/*now=*/false) : absl::OkStatus();
}

bool Trainer::LastLookIsDue() const {
  // Right after the end of an epoch nothing new is trained, so only a validation can add something.
  if (!has_validation() && (state_.step == 0 || !HasValues(state_.epoch_sums))) return false;
  return state_.observed_step != state_.step || state_.best_epoch == 0;
}

absl::Status Trainer::Finish() {
  RETURN_IF_ERROR(epoch_->AllGather());
  // The checkpoint is written before the last evaluation: a run that is resumed with a higher limit does not see it.
  if (files_ != RunFiles::kNone) {
    if (log_) RETURN_IF_ERROR(log_->Flush());
    SaveStates(Parts(), &state_);
    RETURN_IF_ERROR(writer_.WriteLastCheckpoint(state_));
  }
  if (LastLookIsDue()) RETURN_IF_ERROR(Observe(state_.validated_step != state_.step, When::kEndOfRun));
  writer_.SetRunEnded();
  RETURN_IF_ERROR(FinishAverage());
  if (files_ == RunFiles::kNone) return absl::OkStatus();
  if (log_) RETURN_IF_ERROR(log_->Flush());
  return writer_.WriteModels(state_, Evaluated(), LastLoss());
}

absl::Status Trainer::FinishAverage() {
  if (!average_best_ || average_best_->size() == 0) return absl::OkStatus();
  const Tensor mean = average_best_->Mean();
  if (has_validation()) {
    ASSIGN_OR_RETURN(const EvaluationResult validation, Validate(mean));
    average_loss_ = validation.loss;
  }
  return files_ == RunFiles::kNone ? absl::OkStatus() : writer_.WriteAverage(state_, mean, average_loss_);
}

absl::StatusOr<TrainResult> Trainer::Run() {
  RETURN_IF_ERROR(Start());
  std::string reason;
  absl::Status status;
  while (status.ok()) {
    // A run makes a step, however late it begins: models that have learned nothing are of no use.
    reason = stop_.Limit(state_.epoch, state_.step, state_.step > 0 ? agreement_.Now() - start_ : absl::Duration());
    if (reason.empty()) reason = stop_.Early(state_.epoch, state_.step);
    if (reason.empty() && state_.batch == 0) reason = epoch_->Finished();
    if (!reason.empty()) break;
    status = TrainEpoch(&reason);
    if (status.ok() && state_.batch > 0) break;  // stopped inside an epoch; `reason` is set
  }
  // A first batch that is not learned from rightly comes before other errors.
  if (const absl::Status found = AwaitFirstBatch(options_); !found.ok()) {
    if (fresh_) directory_.RemoveRun().IgnoreError();
    return found;
  }
  // Finish writes the checkpoint before the last evaluation, so it must not be saved again after an interruption there.
  const bool finishing = status.ok();
  if (finishing) status = Finish();
  if (absl::IsCancelled(status)) {
    const absl::Status saved = finishing ? absl::OkStatus() : Save(/*now=*/true);
    agreement_.Agree().IgnoreError();  // for the checkpoint: launchers kill the other processes as soon as one ends
    if (!saved.ok()) return writer_.NotWritten(saved, status.message());
    return absl::CancelledError(absl::StrCat(status.message(), " in epoch ", state_.epoch + 1, "; the checkpoint is ",
                                             directory_.checkpoint()));
  }
  if (!status.ok()) {
    if (finishing) return writer_.NotWritten(status, "the run is over");
    if (files_ != RunFiles::kNone) RETURN_IF_ERROR(writer_.WriteBest(state_));
    return status;
  }
  writer_.ReportFailures();
  return Result(reason);
}

TrainResult Trainer::Result(const std::string& reason) const {
  TrainResult result;
  result.epochs = state_.epoch, result.steps = state_.step, result.stop_reason = reason;
  result.train_loss = train_loss_, result.best_loss = state_.best_loss, result.average_loss = average_loss_;
  result.best_epoch = state_.best_epoch, result.best_step = state_.best_step, result.time = absl::Now() - begin_;
  result.best_parameters = state_.best_parameters, result.averaged = average_best_ ? average_best_->size() : 0;
  return result;
}

}  // namespace

absl::StatusOr<TrainResult> Train(Task& task, const Split& split, const TrainerOptions& options,
                                  absl::string_view output_dir, const Metadata& provenance, absl::Time clock_start) {
  RETURN_IF_ERROR(CheckTrainerOptions(options));
  if (options.compile_mode != CompileMode::kCompile) RETURN_IF_ERROR(CheckEager(task, EagerOptionsOf(options)));
  ASSIGN_OR_RETURN(RunPlan plan, MakeRunPlan(split, options));
  ASSIGN_OR_RETURN(Monitor monitor, Monitor::Create(task, options.monitor, !plan.validation.empty()));
  plan.options.schedule.maximize = monitor.maximize();
  const std::unique_ptr<StepLog> steps = StepLogOf(options, output_dir, task.loss_unit(), &plan.options.on_step);
  auto result = Trainer(task, std::move(plan), std::move(monitor), output_dir, provenance, clock_start).Run();
  if (result.ok() && steps != nullptr && !steps->status().ok()) return steps->status();
  return result;
}

}  // namespace rutile
