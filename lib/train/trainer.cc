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
#include "lib/base/file.h"
#include "lib/base/status_macros.h"
#include "lib/task/eager_gradients.h"
#include "lib/task/sampling_policy.h"
#include "lib/train/batch_epoch.h"
#include "lib/train/batch_limit.h"
#include "lib/train/checkpoint.h"
#include "lib/train/course.h"
#include "lib/train/data_loader.h"
#include "lib/train/epoch_log.h"
#include "lib/train/epoch_trainer.h"
#include "lib/train/evaluate_examples.h"
#include "lib/train/first_batch_check.h"
#include "lib/train/lbfgs_epoch.h"
#include "lib/train/monitor.h"
#include "lib/train/run_directory.h"
#include "lib/train/run_writer.h"
#include "lib/train/schedule.h"
#include "lib/train/starting_state.h"
#include "lib/train/stop_rule.h"
#include "lib/train/train_log.h"
#include "lib/train/validation_rule.h"

namespace rutile {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

int64_t DivideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The same few examples train and validate when a model shall overfit them.
Split ChosenSplit(const Split& split, const TrainerOptions& options) {
  if (options.overfit_batches.all()) return split;
  const auto size = static_cast<int64_t>(split.train.size());
  const int64_t batches = LimitBatches(options.overfit_batches, DivideUp(size, options.batch_size));
  Split chosen = split;
  chosen.train.resize(std::min(size, batches * options.batch_size));
  chosen.validation = chosen.train;
  return chosen;
}

int64_t NumBatches(const Split& split, const TrainerOptions& options) {
  return LimitBatches(options.limit_train_batches,
                      DivideUp(static_cast<int64_t>(split.train.size()), options.batch_size));
}

int64_t StepsPerEpoch(const TrainerOptions& options, int64_t num_batches) {
  return options.optimizer.kind == OptimizerKind::kLbfgs ? 1 : DivideUp(num_batches, options.accumulate_grad_batches);
}

// With what depends on the length of the run worked out.
absl::StatusOr<TrainerOptions> Resolve(TrainerOptions options, int64_t num_batches) {
  if (!options.overfit_batches.all()) options.shuffle = false;
  ASSIGN_OR_RETURN(options.schedule, ResolveSchedule(options.schedule, options.stop.max_epochs, options.stop.max_steps,
                                                     StepsPerEpoch(options, num_batches)));
  return options;
}

DataLoaderOptions ValidationLoader(const TrainerOptions& options) {
  DataLoaderOptions loader = LoaderOptions(options);
  loader.shuffle = false;
  loader.batch_size =
      options.validation_batch_size > 0 ? options.validation_batch_size : std::max<int64_t>(options.batch_size, 256);
  return loader;
}

// limit_val_batches counts batches of the training's size, whatever the size that they are evaluated in.
std::vector<int64_t> ValidationExamples(const Split& split, const TrainerOptions& options) {
  const auto size = static_cast<int64_t>(split.validation.size());
  const int64_t batches = LimitBatches(options.limit_val_batches, DivideUp(size, options.batch_size));
  std::vector<int64_t> examples = split.validation;
  examples.resize(std::min(size, batches * options.batch_size));
  return examples;
}

class Trainer {
 public:
  // split and options: chosen and resolved.
  Trainer(Task& task, Split split, const TrainerOptions& options, Monitor monitor, absl::string_view output_dir,
          const Metadata& provenance)
      : task_(task),
        split_(std::move(split)),
        num_batches_(NumBatches(split_, options)),
        options_(options),
        monitor_(std::move(monitor)),
        directory_(output_dir),
        provenance_(provenance),
        validation_loader_(task, ValidationExamples(split_, options_), ValidationLoader(options_)),
        schedule_(options_.schedule, options_.optimizer.learning_rate),
        stop_(options_.stop, monitor_.maximize()),
        validation_rule_(options_.validation, StepsPerEpoch(options_, num_batches_)),
        writer_(task, directory_, provenance) {}

  absl::StatusOr<TrainResult> Run();

 private:
  bool has_validation() const { return !split_.validation.empty(); }

  absl::Status Start();
  absl::Status SetStates(bool resume);

  // From where the state is to the end of the epoch, or to a reason to stop.
  absl::Status TrainEpoch(std::string* reason);
  // Whether something is due inside an epoch, for which training pauses.
  bool PauseIsDue();
  bool ValidationIsDue() const;
  bool KeepIsDue() const;
  bool SaveIsDue() const { return options_.files == RunFiles::kAll && now_ - last_save_ >= options_.save_interval; }
  // Does it. The validation may give a reason to stop.
  absl::Status DoWhatIsDue(std::string* reason);

  enum class When { kInsideEpoch, kEndOfEpoch, kEndOfRun };
  // Looks at the loss of the epoch so far, and at the validation set if `validate`: best, early stopping, plateau, log.
  absl::Status Observe(bool validate, When when);
  // Whether the value is the best so far; the parameters are kept then.
  bool ObserveValue(double value);
  absl::Status FinishEpoch();
  // What a run ends with: the last parameters are evaluated, and everything is written.
  absl::Status Finish();

  // Into state_, all that the parts must remember.
  void GatherStates();
  absl::Status WriteCheckpoint(const std::string& path);
  absl::Status Save();
  TrainResult Result(const std::string& reason) const;

  Task& task_;
  const Split split_;
  const int64_t num_batches_;
  const TrainerOptions options_;
  const Monitor monitor_;
  const RunDirectory directory_;
  const Metadata provenance_;
  DataLoader validation_loader_;
  Schedule schedule_;
  StopRule stop_;
  const ValidationRule validation_rule_;
  RunWriter writer_;
  std::unique_ptr<EpochTrainer> epoch_;
  std::optional<TrainLog> log_;
  Checkpoint state_;

  const absl::Time start_ = absl::Now();
  absl::Time now_ = start_;  // after the last step
  absl::Time epoch_start_ = start_;
  absl::Time last_save_ = start_;
  absl::Time last_keep_ = start_;
  absl::Time last_validation_ = start_;
  EpochWork work_;             // of the epoch, in this session
  absl::Duration train_time_;  // likewise, without validations
  int64_t saved_step_ = -1;    // of the numbered checkpoint written last
  double train_loss_ = kNan;   // when last looked at
  double last_loss_ = kNan;    // monitored
};

absl::Status Trainer::Start() {
  bool resume = false;
  if (options_.files != RunFiles::kNone) {
    ASSIGN_OR_RETURN(resume, directory_.Open(options_.mode));
  }
  if (resume) {
    ASSIGN_OR_RETURN(state_, ResumedState(task_, split_, options_, directory_, num_batches_));
  } else {
    state_ = NewState(task_, split_, options_);
  }
  if (options_.compile_mode != CompileMode::kNone && options_.check_gradient) {
    RETURN_IF_ERROR(CheckFirstBatch(task_, state_.parameters, split_.train, options_, state_.epoch));
  }
  const EpochContext context = {
      task_, split_.train, options_, schedule_, num_batches_, state_, [this] { return PauseIsDue(); }};
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
  if (options_.files == RunFiles::kNone) return absl::OkStatus();
  if (!resume) RETURN_IF_ERROR(directory_.RemoveRun());  // nothing but the environment can fail from here on
  if (options_.files == RunFiles::kAll) {
    ASSIGN_OR_RETURN(log_, TrainLog::Open(directory_.log(), EpochColumns(task_, has_validation()), state_.log_rows));
  }
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
  if (options_.files == RunFiles::kNone) return absl::OkStatus();
  GatherStates();
  return writer_.WriteCheckpoint(state_, path);
}

absl::Status Trainer::Save() {
  if (options_.files == RunFiles::kNone) return absl::OkStatus();
  GatherStates();
  const double loss = state_.observed_step == state_.step ? last_loss_ : kNan;
  RETURN_IF_ERROR(writer_.Save(state_, epoch_->EvaluationParameters(), loss));
  last_save_ = absl::Now();
  return absl::OkStatus();
}

bool Trainer::ObserveValue(double value) {
  last_loss_ = value;
  state_.observed_step = state_.step;
  stop_.Observe(value);
  schedule_.Observe(value);
  if (state_.best_epoch > 0 && !monitor_.Better(value, state_.best_loss)) return false;
  state_.best_loss = value;
  state_.best_epoch = std::max<int64_t>(1, state_.epoch + (state_.batch > 0));
  state_.best_step = state_.step;
  const Tensor& parameters = epoch_->EvaluationParameters();
  std::memcpy(state_.best_parameters.mutable_data(), parameters.data(), parameters.num_bytes());
  writer_.SetBestChanged();
  return true;
}

absl::Status Trainer::Observe(bool validate, When when) {
  EpochReport report;
  report.validation_loss = kNan;
  if (validate && has_validation()) {
    epoch_->Leave();
    ASSIGN_OR_RETURN(const EvaluationResult validation,
                     EvaluateExamples(task_, epoch_->EvaluationParameters(), &validation_loader_, state_.epoch));
    if (!std::isfinite(validation.loss)) {
      return absl::OutOfRangeError(absl::StrCat("the validation loss is ", validation.loss, " after epoch ",
                                                state_.epoch + 1, ", step ", state_.step,
                                                ": try a lower learning rate, and check the data"));
    }
    report.validated = true;
    report.validation_loss = validation.loss;
    report.validation = validation.metrics;
    last_validation_ = absl::Now();
  } else if (has_validation()) {
    report.validation = task_.Metrics(std::vector<double>(task_.num_metric_sums()));
    for (Metric& metric : report.validation) metric.value = kNan;
  }
  const Loss train = task_.CombineTerms(state_.epoch_sums);
  if (when == When::kEndOfEpoch) state_.loss_weight = train.weight;
  train_loss_ = train.value;
  if (report.validated) state_.observed_step = state_.step;
  // The training loss is looked at where an epoch or the run ends.
  if (monitor_.of_validation() ? report.validated : when != When::kInsideEpoch) {
    const double value = monitor_.Value(train.value, report.validation_loss, report.validation);
    if (std::isnan(value)) {
      return absl::OutOfRangeError(absl::StrCat(monitor_.name(), " is not a number after epoch ", state_.epoch + 1,
                                                ", step ", state_.step, ": monitor something else"));
    }
    report.best = ObserveValue(value);
  }
  report.epoch = state_.epoch + (state_.batch > 0);
  report.step = state_.step;
  report.end_of_epoch = when == When::kEndOfEpoch;
  report.learning_rate = state_.learning_rate;
  report.train_loss = train_loss_;
  report.terms = TermMeans(state_.epoch_sums);
  report.time = absl::Now() - epoch_start_;
  const double seconds = std::max(1e-9, absl::ToDoubleSeconds(train_time_));
  report.examples_per_s = static_cast<double>(work_.examples) / seconds;
  report.cost_per_s = work_.cost / seconds;
  if (log_) RETURN_IF_ERROR(log_->Append(EpochRow(report, has_validation())));
  ++state_.log_rows;
  if (options_.on_epoch) options_.on_epoch(report);
  return absl::OkStatus();
}

bool Trainer::ValidationIsDue() const {
  return state_.observed_step != state_.step && validation_rule_.inside_epochs() &&
         validation_rule_.AfterStep(state_.epoch, DivideUp(state_.batch, options_.accumulate_grad_batches), state_.step,
                                    now_ - last_validation_);
}

bool Trainer::KeepIsDue() const {
  return options_.files == RunFiles::kAll && saved_step_ != state_.step &&
         ((options_.keep_every_steps > 0 && state_.step % options_.keep_every_steps == 0) ||
          now_ - last_keep_ >= options_.keep_every_time);
}

bool Trainer::PauseIsDue() {
  now_ = absl::Now();
  return stop_.LimitReached(state_.step, now_ - start_) || ValidationIsDue() || KeepIsDue() || SaveIsDue();
}

absl::Status Trainer::DoWhatIsDue(std::string* reason) {
  if (KeepIsDue()) {
    RETURN_IF_ERROR(WriteCheckpoint(directory_.step_checkpoint(state_.step)));
    saved_step_ = state_.step;
    last_keep_ = now_;
  }
  if (state_.batch == num_batches_) return absl::OkStatus();  // the rest is the end of the epoch's
  *reason = stop_.Limit(state_.epoch, state_.step, now_ - start_);
  if (ValidationIsDue()) {
    RETURN_IF_ERROR(Observe(/*validate=*/true, When::kInsideEpoch));
    if (reason->empty()) *reason = stop_.Early(state_.epoch, state_.step);
  }
  return reason->empty() && SaveIsDue() ? Save() : absl::OkStatus();
}

absl::Status Trainer::TrainEpoch(std::string* reason) {
  epoch_start_ = now_ = absl::Now();
  work_ = EpochWork();
  train_time_ = absl::ZeroDuration();
  // What was due when a signal came is still due when the run is resumed.
  if (state_.batch > 0) RETURN_IF_ERROR(DoWhatIsDue(reason));
  while (reason->empty() && state_.batch < num_batches_) {
    const absl::Time before = absl::Now();
    RETURN_IF_ERROR(epoch_->Train(&work_));
    now_ = absl::Now();
    train_time_ += now_ - before;
    RETURN_IF_ERROR(DoWhatIsDue(reason));
  }
  epoch_->Leave();
  return state_.batch == num_batches_ ? FinishEpoch() : absl::OkStatus();
}

absl::Status Trainer::FinishEpoch() {
  const bool due = validation_rule_.AfterEpoch(state_.epoch + 1, state_.step, now_ - last_validation_);
  RETURN_IF_ERROR(Observe(due, When::kEndOfEpoch));
  ++state_.epoch;
  state_.batch = 0;
  state_.epoch_sums = TermSums(static_cast<int>(state_.epoch_sums.sum.size()));
  state_.sampling_weight.clear();
  if (options_.keep_every_epochs > 0 && state_.epoch % options_.keep_every_epochs == 0 &&
      options_.files == RunFiles::kAll) {
    RETURN_IF_ERROR(WriteCheckpoint(directory_.epoch_checkpoint(state_.epoch)));
  }
  return SaveIsDue() ? Save() : absl::OkStatus();
}

absl::Status Trainer::Finish() {
  // A run that is resumed with a higher limit goes on as if it had not been looked at here.
  RETURN_IF_ERROR(WriteCheckpoint(directory_.checkpoint()));
  const bool can_look = state_.step > 0 || has_validation();
  if (can_look && (state_.observed_step != state_.step || state_.best_epoch == 0)) {
    RETURN_IF_ERROR(Observe(/*validate=*/true, When::kEndOfRun));
  }
  if (options_.files == RunFiles::kNone) return absl::OkStatus();
  return writer_.WriteModels(state_, epoch_->EvaluationParameters(), last_loss_);
}

absl::StatusOr<TrainResult> Trainer::Run() {
  RETURN_IF_ERROR(Start());
  std::string reason;
  absl::Status status;
  while (status.ok()) {
    reason = stop_.Limit(state_.epoch, state_.step, absl::Now() - start_);
    if (reason.empty()) reason = stop_.Early(state_.epoch, state_.step);
    if (reason.empty() && state_.batch == 0) reason = epoch_->Finished();
    if (!reason.empty()) break;
    status = TrainEpoch(&reason);
    if (status.ok() && state_.batch > 0) break;  // inside an epoch, for the reason
  }
  if (status.ok()) status = Finish();
  if (absl::IsCancelled(status)) {
    RETURN_IF_ERROR(Save());
    return absl::CancelledError(absl::StrCat(status.message(), " in epoch ", state_.epoch + 1, "; the checkpoint is ",
                                             directory_.checkpoint()));
  }
  if (!status.ok()) {
    if (options_.files != RunFiles::kNone) RETURN_IF_ERROR(writer_.WriteBest(state_));
    return status;
  }
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
  if (options.compile_mode != CompileMode::kCompile) RETURN_IF_ERROR(CheckEager(task, EagerOptionsOf(options)));
  if (split.train.empty()) return absl::InvalidArgumentError("there is no example to train on");
  const bool has_validation = !split.validation.empty() || !options.overfit_batches.all();
  ASSIGN_OR_RETURN(Monitor monitor, Monitor::Create(task, options.monitor, has_validation));
  Split chosen = ChosenSplit(split, options);
  ASSIGN_OR_RETURN(const TrainerOptions resolved, Resolve(options, NumBatches(chosen, options)));
  return Trainer(task, std::move(chosen), resolved, std::move(monitor), output_dir, provenance).Run();
}

}  // namespace rutile
