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
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "lib/base/file.h"
#include "lib/base/interrupt.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/task/gradient_comparison.h"
#include "lib/task/reference_gradients.h"
#include "lib/train/checkpoint.h"
#include "lib/train/data_loader.h"
#include "lib/train/evaluate_examples.h"
#include "lib/train/gradient_step.h"
#include "lib/train/lbfgs.h"
#include "lib/train/optimizer.h"
#include "lib/train/run_directory.h"
#include "lib/train/schedule.h"
#include "lib/train/stop_rule.h"
#include "lib/train/train_log.h"

namespace rutile {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

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

DataLoaderOptions LoaderOptions(const TrainerOptions& options, int64_t batch_size, bool shuffle) {
  DataLoaderOptions loader;
  loader.batch_size = batch_size;
  loader.shuffle = shuffle;
  loader.seed = options.seed;
  loader.num_workers = options.num_workers;
  loader.prefetch_factor = options.prefetch_factor;
  return loader;
}

class Trainer {
 public:
  Trainer(Task& task, const Split& split, const TrainerOptions& options, absl::string_view output_dir,
          const Metadata& provenance)
      : task_(task),
        split_(split),
        lbfgs_chosen_(options.optimizer.kind == OptimizerKind::kLbfgs),
        directory_(output_dir),
        provenance_(provenance),
        terms_(task.terms()),
        slices_(task.parameter_slices()),
        train_loader_(task, split.train, LoaderOptions(options, options.batch_size, options.shuffle && !lbfgs_chosen_)),
        validation_loader_(task, split.validation,
                           LoaderOptions(options,
                                         options.validation_batch_size > 0 ? options.validation_batch_size
                                                                           : std::max<int64_t>(options.batch_size, 256),
                                         false)),
        options_(Resolve(options, train_loader_.num_batches())),
        schedule_(options_.schedule, options_.optimizer.learning_rate),
        stop_(options_.stop),
        sums_(num_terms()) {}

  absl::StatusOr<TrainResult> Run();

 private:
  int num_terms() const { return static_cast<int>(terms_.size()); }
  bool has_validation() const { return !split_.validation.empty(); }

  absl::Status Start();
  absl::Status Resume();
  absl::Status CheckFirstBatch();
  std::vector<std::string> LogColumns() const;

  // Adds the batch to gradients_ and sums_.
  absl::Status AddBatch(const NamedTensors& batch);
  // The loss of sums_, its gradient in combined_; OUT_OF_RANGE when either is not finite.
  absl::StatusOr<double> CombineTerms(double* gradient_norm);
  absl::Status Step(const NamedTensors& batch);
  // The rest of the epoch. `reason` is why to stop, "" for none.
  absl::Status TrainEpoch(std::string* reason);
  absl::Status IterateLbfgs(std::string* reason);
  // The whole training set at parameters, for L-BFGS.
  absl::StatusOr<double> EvaluateTrainingSet(const Tensor& parameters, Tensor* gradient);
  absl::Status FinishEpoch();

  absl::Status WriteBest();
  absl::Status WriteModels();
  absl::Status WriteCheckpoint(const std::string& path);
  absl::Status Save();

  Task& task_;
  const Split& split_;
  const bool lbfgs_chosen_;
  const RunDirectory directory_;
  const Metadata provenance_;
  const std::vector<LossTerm> terms_;
  const std::vector<ParameterSlice> slices_;
  DataLoader train_loader_;
  DataLoader validation_loader_;
  const TrainerOptions options_;
  Schedule schedule_;
  StopRule stop_;
  std::unique_ptr<Optimizer> optimizer_;  // one of these two
  std::unique_ptr<Lbfgs> lbfgs_;
  std::optional<TrainLog> log_;

  Checkpoint state_;
  std::vector<Tensor> gradients_;  // [T] of the batch
  Tensor combined_;
  TermSums sums_;  // of the batch

  const absl::Time start_ = absl::Now();
  absl::Time epoch_start_ = start_;
  absl::Time last_save_ = start_;
  int64_t examples_trained_ = 0;  // in this epoch and this session
  double cost_trained_ = 0;
  bool best_is_written_ = true;
  double train_loss_ = kNan;  // of the last epoch
  double last_loss_ = kNan;   // monitored
};

absl::Status Trainer::Start() {
  ASSIGN_OR_RETURN(const bool resume, directory_.Open(options_.mode));
  const int64_t num_parameters = task_.num_parameters();
  const DType dtype = task_.parameter_dtype();
  state_.seed = options_.seed;
  state_.epoch_sums = TermSums(num_terms());
  state_.loss_weight.assign(terms_.size(), 0);
  state_.config = CourseJson(options_);
  state_.data = Fingerprint(task_.num_examples(), split_.train, split_.validation);
  state_.best_parameters = Tensor::Zeros(dtype, {num_parameters});
  if (resume) {
    RETURN_IF_ERROR(Resume());
  } else {
    state_.parameters = task_.InitialParameters(options_.seed);
  }
  CHECK(state_.parameters.dtype() == dtype && state_.parameters.num_elements() == num_parameters);
  for (int t = 0; t < num_terms(); ++t) gradients_.push_back(Tensor::Zeros(dtype, {num_parameters}));
  combined_ = Tensor::Zeros(dtype, {num_parameters});
  if (options_.compile_mode == CompileMode::kCompile && options_.check_gradient) RETURN_IF_ERROR(CheckFirstBatch());

  if (lbfgs_chosen_) {
    lbfgs_ = std::make_unique<Lbfgs>(
        options_.optimizer, state_.parameters,
        [this](const Tensor& parameters, Tensor* gradient) { return EvaluateTrainingSet(parameters, gradient); });
  } else {
    optimizer_ = MakeOptimizer(options_.optimizer, dtype, num_parameters);
  }
  if (resume) {
    const absl::Status status =
        lbfgs_chosen_ ? lbfgs_->SetState(state_.optimizer) : optimizer_->SetState(state_.optimizer);
    if (!status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(directory_.checkpoint(), ": optimizer: ", status.message()));
    }
  }
  if (!resume) RETURN_IF_ERROR(directory_.RemoveRun());  // nothing but the environment can fail from here on
  ASSIGN_OR_RETURN(log_, TrainLog::Open(directory_.log(), LogColumns(), state_.epoch));
  return WriteFileAtomically(directory_.config(), ConfigJson(options_, provenance_));
}

absl::Status Trainer::Resume() {
  ASSIGN_OR_RETURN(Checkpoint saved,
                   LoadCheckpoint(directory_.checkpoint(), slices_, task_.parameter_dtype(), num_terms()));
  RETURN_IF_ERROR(CheckSameCourse(saved.config, state_.config));
  if (saved.data != state_.data) {
    return absl::FailedPreconditionError(
        absl::StrCat(directory_.path(),
                     ": the run to resume trained on other examples or another split; give the same data and "
                     "split, or start a new run"));
  }
  if (saved.batch > train_loader_.num_batches()) {
    return absl::InvalidArgumentError(absl::StrCat(directory_.checkpoint(), ": batch ", saved.batch, " of ",
                                                   train_loader_.num_batches(), "; the file is damaged"));
  }
  state_ = std::move(saved);
  RETURN_IF_ERROR(schedule_.SetState(state_.schedule));
  RETURN_IF_ERROR(stop_.SetState(state_.stopping));
  // The file may be of a later epoch than the checkpoint, or gone.
  best_is_written_ = state_.best_epoch == 0;
  return absl::OkStatus();
}

absl::Status Trainer::CheckFirstBatch() {
  NamedTensors batch;
  RETURN_IF_ERROR(task_.MakeBatch(absl::MakeConstSpan(split_.train).subspan(0, options_.batch_size), &batch));
  return CheckAgainstReference(
      task_, state_.parameters, batch,
      options_.gradient_tolerance > 0 ? options_.gradient_tolerance : ReferenceTolerance(task_.parameter_dtype()));
}

std::vector<std::string> Trainer::LogColumns() const {
  std::vector<std::string> columns = {"epoch", "step", "learning_rate", "train_loss"};
  for (const LossTerm& term : terms_) columns.push_back(LogColumn(absl::StrCat("train_", term.name), term.unit));
  if (has_validation()) {
    columns.push_back("val_loss");
    const std::vector<double> nothing(task_.num_metric_sums());
    for (const Metric& metric : task_.Metrics(nothing)) {
      columns.push_back(LogColumn(absl::StrCat("val_", metric.name), metric.unit));
    }
  }
  columns.push_back(LogColumn("epoch_time", "s"));
  columns.push_back("examples_per_s");
  return columns;
}

absl::Status Trainer::AddBatch(const NamedTensors& batch) {
  return options_.compile_mode == CompileMode::kCompile
             ? task_.AccumulateGradients(state_.parameters, batch, absl::MakeSpan(gradients_), &sums_)
             : ReferenceGradients(task_, state_.parameters, batch, absl::MakeSpan(gradients_), &sums_);
}

absl::StatusOr<double> Trainer::CombineTerms(double* gradient_norm) {
  const Loss loss = task_.CombineTerms(sums_);
  *gradient_norm = CombineGradients(loss.weight, gradients_, &combined_);
  if (std::isfinite(loss.value) && std::isfinite(*gradient_norm)) return loss.value;
  const absl::Span<const int64_t> examples = train_loader_.examples();
  return absl::OutOfRangeError(
      absl::StrCat(std::isfinite(loss.value) ? "the gradient" : "the loss", " is not finite in epoch ",
                   state_.epoch + 1, ", step ", state_.step + 1, " (loss ", loss.value, "; examples ",
                   absl::StrJoin(examples.subspan(0, 5), ", "), examples.size() > 5 ? ", ..." : "",
                   "): try a lower learning rate or clip the gradient, and check these examples"));
}

absl::Status Trainer::Step(const NamedTensors& batch) {
  SetToZero(absl::MakeSpan(gradients_));
  std::fill(sums_.sum.begin(), sums_.sum.end(), 0.0);
  std::fill(sums_.count.begin(), sums_.count.end(), 0.0);
  RETURN_IF_ERROR(AddBatch(batch));
  double norm;
  ASSIGN_OR_RETURN(const double loss, CombineTerms(&norm));
  ClipGradient(norm, options_.gradient_clip_norm, &combined_);
  state_.learning_rate = schedule_.LearningRate(state_.epoch, state_.step);
  optimizer_->Step(state_.learning_rate, combined_, &state_.parameters);

  state_.epoch_sums.Add(sums_);
  ++state_.batch;
  ++state_.step;
  for (const int64_t example : train_loader_.examples()) cost_trained_ += task_.ExampleCost(example);
  examples_trained_ += static_cast<int64_t>(train_loader_.examples().size());
  if (options_.on_step) {
    options_.on_step({state_.epoch + 1, state_.step, state_.batch, train_loader_.num_batches(), loss});
  }
  return absl::OkStatus();
}

absl::Status Trainer::TrainEpoch(std::string* reason) {
  if (lbfgs_chosen_) return IterateLbfgs(reason);
  train_loader_.StartEpoch(state_.epoch, state_.batch);
  while (state_.batch < train_loader_.num_batches() && reason->empty()) {
    RETURN_IF_ERROR(CheckInterrupt());
    ASSIGN_OR_RETURN(const NamedTensors* batch, train_loader_.Next());
    RETURN_IF_ERROR(Step(*batch));
    *reason = stop_.AfterStep(state_.step, absl::Now() - start_);
  }
  return absl::OkStatus();
}

absl::Status Trainer::IterateLbfgs(std::string* reason) {
  RETURN_IF_ERROR(CheckInterrupt());
  if (state_.batch == train_loader_.num_batches()) return absl::OkStatus();  // its validation is missing
  state_.learning_rate = schedule_.LearningRate(state_.epoch, state_.step);
  ASSIGN_OR_RETURN(const Lbfgs::Result result, lbfgs_->Step(state_.learning_rate));
  state_.epoch_sums = sums_;  // of the last evaluation, which is that of the parameters reached
  state_.batch = train_loader_.num_batches();
  ++state_.step;
  if (options_.on_step) {
    options_.on_step({state_.epoch + 1, state_.step, state_.batch, train_loader_.num_batches(), result.loss});
  }
  *reason = result.converged ? "L-BFGS has converged" : stop_.AfterStep(state_.step, absl::Now() - start_);
  return absl::OkStatus();
}

absl::StatusOr<double> Trainer::EvaluateTrainingSet(const Tensor& parameters, Tensor* gradient) {
  CHECK_EQ(parameters.data(), state_.parameters.data());  // L-BFGS moves them in place
  SetToZero(absl::MakeSpan(gradients_));
  sums_ = TermSums(num_terms());
  train_loader_.StartEpoch(0);
  while (true) {
    ASSIGN_OR_RETURN(const NamedTensors* batch, train_loader_.Next());
    if (batch == nullptr) break;
    RETURN_IF_ERROR(AddBatch(*batch));
    for (const int64_t example : train_loader_.examples()) cost_trained_ += task_.ExampleCost(example);
    examples_trained_ += static_cast<int64_t>(train_loader_.examples().size());
  }
  double norm;
  ASSIGN_OR_RETURN(const double loss, CombineTerms(&norm));
  std::memcpy(gradient->mutable_data(), combined_.data(), combined_.num_bytes());
  return loss;
}

absl::Status Trainer::FinishEpoch() {
  const absl::Duration train_time = absl::Now() - epoch_start_;
  EvaluationResult validation;
  if (has_validation()) {
    ASSIGN_OR_RETURN(validation, EvaluateExamples(task_, state_.parameters, &validation_loader_));
    if (!std::isfinite(validation.loss)) {
      return absl::OutOfRangeError(absl::StrCat("the validation loss is ", validation.loss, " after epoch ",
                                                state_.epoch + 1, ": try a lower learning rate, and check the data"));
    }
  }
  const Loss train = task_.CombineTerms(state_.epoch_sums);
  state_.loss_weight = train.weight;
  train_loss_ = train.value;
  last_loss_ = has_validation() ? validation.loss : train.value;
  const bool best = last_loss_ < state_.best_loss;
  if (best) {
    state_.best_loss = last_loss_;
    state_.best_epoch = state_.epoch + 1;
    std::memcpy(state_.best_parameters.mutable_data(), state_.parameters.data(), state_.parameters.num_bytes());
    best_is_written_ = false;
  }
  stop_.Observe(last_loss_);
  schedule_.Observe(last_loss_);

  EpochReport report;
  report.epoch = state_.epoch + 1;
  report.step = state_.step;
  report.learning_rate = state_.learning_rate;
  report.train_loss = train_loss_;
  report.validation_loss = has_validation() ? validation.loss : kNan;
  report.validation = validation.metrics;
  report.best = best;
  report.time = absl::Now() - epoch_start_;
  const double seconds = std::max(1e-9, absl::ToDoubleSeconds(train_time));
  report.examples_per_s = static_cast<double>(examples_trained_) / seconds;
  report.cost_per_s = cost_trained_ / seconds;

  std::vector<double> row = {static_cast<double>(report.epoch), static_cast<double>(report.step), report.learning_rate,
                             report.train_loss};
  for (int t = 0; t < num_terms(); ++t) {
    const double count = state_.epoch_sums.count[t];
    row.push_back(count > 0 ? state_.epoch_sums.sum[t] / count : kNan);
  }
  if (has_validation()) {
    row.push_back(validation.loss);
    for (const Metric& metric : validation.metrics) row.push_back(metric.value);
  }
  row.push_back(absl::ToDoubleSeconds(report.time));
  row.push_back(report.examples_per_s);
  RETURN_IF_ERROR(log_->Append(row));

  ++state_.epoch;
  state_.batch = 0;
  state_.epoch_sums = TermSums(num_terms());
  if (options_.on_epoch) options_.on_epoch(report);
  return absl::OkStatus();
}

absl::Status Trainer::WriteBest() {
  if (best_is_written_) return absl::OkStatus();
  Metadata extra = provenance_;
  extra["epoch"] = absl::StrCat(state_.best_epoch);
  extra["loss"] = absl::StrCat(state_.best_loss);
  RETURN_IF_ERROR(task_.WriteModel(directory_.best(), state_.best_parameters, extra));
  best_is_written_ = true;
  return absl::OkStatus();
}

absl::Status Trainer::WriteCheckpoint(const std::string& path) {
  state_.optimizer = lbfgs_chosen_ ? lbfgs_->State() : optimizer_->State();
  state_.schedule = schedule_.State();
  state_.stopping = stop_.State();
  return SaveCheckpoint(path, state_, slices_, provenance_);
}

absl::Status Trainer::WriteModels() {
  RETURN_IF_ERROR(WriteBest());
  Metadata extra = provenance_;
  extra["epoch"] = absl::StrCat(state_.epoch);
  extra["step"] = absl::StrCat(state_.step);
  if (!std::isnan(last_loss_)) extra["loss"] = absl::StrCat(last_loss_);
  return task_.WriteModel(directory_.last(), state_.parameters, extra);
}

// The checkpoint comes last: until it is replaced, the old one leads to the same files again.
absl::Status Trainer::Save() {
  RETURN_IF_ERROR(WriteModels());
  RETURN_IF_ERROR(WriteCheckpoint(directory_.checkpoint()));
  last_save_ = absl::Now();
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

    epoch_start_ = absl::Now();
    examples_trained_ = 0;
    cost_trained_ = 0;
    absl::Status status = reason.empty() ? TrainEpoch(&reason) : absl::OkStatus();
    // A run that a limit ends inside an epoch goes on from there when it is resumed with a higher one, as if it had
    // not been validated in between.
    const bool partial = status.ok() && state_.batch < train_loader_.num_batches();
    if (partial) RETURN_IF_ERROR(WriteCheckpoint(directory_.checkpoint()));
    if (status.ok()) status = FinishEpoch();
    if (absl::IsCancelled(status)) {
      RETURN_IF_ERROR(Save());
      return absl::CancelledError(absl::StrCat(status.message(), " in epoch ", state_.epoch + 1, "; the checkpoint is ",
                                               directory_.checkpoint()));
    }
    if (!status.ok()) {
      RETURN_IF_ERROR(WriteBest());
      return status;
    }
    if (partial) {
      RETURN_IF_ERROR(WriteModels());
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
