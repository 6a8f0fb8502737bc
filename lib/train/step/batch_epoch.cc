#include "lib/train/step/batch_epoch.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/optimizer/grouped_optimizer.h"
#include "lib/optimizer/parameter_range.h"
#include "lib/task/example_sampling.h"
#include "lib/task/gradients/gradient_stream.h"
#include "lib/task/gradients/row_gradients.h"
#include "lib/task/model_sharding.h"
#include "lib/task/sampling_policy.h"
#include "lib/trace/scope.h"
#include "lib/train/step/device_step.h"
#include "lib/train/step/gradient_step.h"
#include "lib/train/step/model_shards.h"
#include "lib/train/step/resident_step.h"
#include "lib/train/step/row_steps.h"
#include "lib/train/step/torch_device_step.h"

namespace rutile {

namespace {

std::unique_ptr<DeviceStep> MakeDeviceStep(const EpochContext& context) {
  const TrainerOptions& options = context.options;
  if (!WhyHostSteps(options, context.task, context.agreement.alone()).empty()) return nullptr;
  if (options.compile_mode == CompileMode::kCompile) return std::make_unique<ResidentStep>(&context.task);
  return MakeTorchDeviceStep(context.task, EagerOptionsOf(options));
}

RowGradients* RowsOf(const EpochContext& context, const DeviceStep* device) {
  const bool alone = context.agreement.alone() && context.shards == nullptr && device == nullptr;
  return alone ? RowsOfSteps(context.options, context.task) : nullptr;
}

// Says which setting makes steps that could be of a few rows those of all parameters.
void SayIfDense(const EpochContext& context) {
  if (!context.options.on_message || !context.agreement.writes()) return;
  const std::string why = WhyDenseSteps(context.options, context.task);
  if (!why.empty()) context.options.on_message(absl::StrCat("each step is over all parameters: ", why));
}

}  // namespace

BatchEpoch::BatchEpoch(const EpochContext& context)
    : context_(context),
      loader_(context.task, context.examples, LoaderOptions(context.options)),
      device_(MakeDeviceStep(context)),
      loss_(context.task, context.options.compile_mode, context.options.eager, &context.agreement, context.shards,
            device_.get(), RowsOf(context, device_.get())),
      optimizer_(MakeTrainingOptimizer(context.options.optimizer, context.options.groups, context.task)) {
  SayIfDense(context);
  optimizer_->SetThreads(context.task.Threads());
  if (context.options.gradient_clip_val == 0) loss_.LeaveWeight();
}

absl::Status BatchEpoch::Start() {
  Checkpoint& state = context_.state;
  context_.task.StartEpoch(state.epoch, /*training=*/true);
  const SamplingPolicy policy = context_.options.sampling_policy;
  if (policy != SamplingPolicy::kUniform && state.batch == 0) {
    ASSIGN_OR_RETURN(state.sampling_weight, SamplingWeightsOf(context_.task, policy, context_.examples));
  }
  loader_.StartEpoch(state.epoch, state.batch, state.sampling_weight);
  started_ = true;
  return absl::OkStatus();
}

absl::Status BatchEpoch::Train(EpochWork* work) {
  auto leave = absl::MakeCleanup([this] { Suspend(); });
  if (!started_) RETURN_IF_ERROR(Start());
  while (context_.state.batch < context_.num_batches) {
    RETURN_IF_ERROR(context_.agreement.CheckInterrupt());
    RETURN_IF_ERROR(Step(work));
    if (context_.pause() && context_.state.batch < context_.num_batches) {
      std::move(leave).Cancel();
      break;
    }
  }
  return absl::OkStatus();
}

void BatchEpoch::Suspend() {
  loader_.EndEpoch();
  started_ = false;
}

bool BatchEpoch::StepsEarly() {
  const TrainerOptions& options = context_.options;
  return device_ == nullptr && loss_.rows() == nullptr && context_.task.stream() != nullptr &&
         options.compile_mode == CompileMode::kCompile && options.accumulate_grad_batches == 1 &&
         options.gradient_clip_val == 0 && (context_.agreement.alone() || context_.shards != nullptr) &&
         optimizer_->frozen().empty();
}

absl::StatusOr<bool> BatchEpoch::AddStepping(const NamedTensors& batch) {
  Checkpoint& state = context_.state;
  TermSums counts(1);  // counts suffice for the weight of a loss of one term: GradientStream
  ASSIGN_OR_RETURN(const NamedTensors complete, context_.task.CompleteBatch(batch));
  for (const double count : context_.task.ExampleCounts(complete)) counts.count[0] += count;
  const double weight = context_.task.CombineTerms(counts).weight[0];
  if (weight == 0 || !std::isfinite(weight)) return false;
  early_.Begin(optimizer_.get(), context_.schedule.LearningRate(state.epoch, state.step), weight, &state.parameters,
               &loss_.gradient(), StepBytes() / std::max<int64_t>(1, state.parameters.num_elements()),
               context_.shards == nullptr ? nullptr : &context_.shards->updated());
  RETURN_IF_ERROR(loss_.AddStepping(state.parameters, batch, &early_));
  return true;
}

absl::StatusOr<double> BatchEpoch::AddBatches(int64_t end, EpochWork* work) {
  loss_.SetFrozen(optimizer_->frozen());
  loss_.Clear();
  stepping_ = learns_ = false;
  if (device_ != nullptr) RETURN_IF_ERROR(device_->Begin(context_.state.parameters));
  const NamedTensors* batch = nullptr;
  for (int64_t b = context_.state.batch; b < end; ++b) {
    ASSIGN_OR_RETURN(batch, loader_.Next());
    if (loader_.all_examples().empty()) continue;  // all of it is left out
    learns_ = true;
    const bool meets = SynchronizesBatches(context_.task);
    if (meets || !loader_.examples().empty()) {
      const ProfileScope scope(Stage::kStep);
      scope.Add(Counter::kExamples, static_cast<int64_t>(loader_.examples().size()));
      if (StepsEarly()) {
        ASSIGN_OR_RETURN(stepping_, AddStepping(*batch));
      }
      if (!stepping_) RETURN_IF_ERROR(loss_.Add(context_.state.parameters, *batch, /*last=*/b + 1 == end));
    }
    work->Add(context_.task, loader_.all_examples());
    if (!meets && !loss_.IsFinite()) break;  // stop here, where the failing batch is known
  }
  if (!learns_) return std::numeric_limits<double>::quiet_NaN();
  const ProfileScope scope(Stage::kOptimizer);  // combining is the first pass over the gradient
  return CombineLoss(context_, loader_.examples(), *batch, &loss_);
}

absl::Status BatchEpoch::MoveParameters() {
  Checkpoint& state = context_.state;
  if (stepping_) {
    early_.Finish();
    return absl::OkStatus();
  }
  if (device_ != nullptr) {
    return device_->Step(state.learning_rate, loss_.norm(), context_.options, optimizer_.get());
  }
  RowGradient* const rows = loss_.rows();
  Tensor& gradient = rows == nullptr ? loss_.gradient() : rows->values;
  const double limit = context_.options.gradient_clip_val;
  if (context_.options.gradient_clip_algorithm == GradientClip::kNorm) {
    ClipGradient(loss_.norm(), limit, &gradient);
  } else {
    ClipGradientByValue(limit, &gradient);
  }
  if (rows != nullptr) {
    optimizer_->StepRows(state.learning_rate, *rows, loss_.weight(), &state.parameters);
    return absl::OkStatus();
  }
  if (context_.shards == nullptr) {
    optimizer_->Step(state.learning_rate, gradient, &state.parameters, loss_.weight());
    return absl::OkStatus();
  }
  optimizer_->BeginStep(state.learning_rate);
  for (const GradientRange& range : context_.shards->updated()) {
    optimizer_->StepLargePart(range.begin, gradient.Slice(range.begin, {range.end - range.begin}), loss_.weight(),
                              &state.parameters);
  }
  return absl::OkStatus();
}

absl::Status BatchEpoch::FinishStep(bool counts) {
  Checkpoint& state = context_.state;
  context_.task.FinishStep(&state.parameters);
  RETURN_IF_ERROR(AverageBuffers());
  const bool averages = counts && context_.ema != nullptr;
  if (device_ != nullptr) {
    RETURN_IF_ERROR(device_->CopyBuffers(state.parameters, context_.task.parameter_slices()));
    return averages ? device_->UpdateAverage(state.step, context_.ema) : absl::OkStatus();
  }
  if (averages) context_.ema->Update(state.parameters, state.step);
  return absl::OkStatus();
}

absl::Status BatchEpoch::Step(EpochWork* work) {
  Checkpoint& state = context_.state;
  const int64_t end = std::min(state.batch + context_.options.accumulate_grad_batches, context_.num_batches);
  whole_ = false;
  ASSIGN_OR_RETURN(const double loss, AddBatches(end, work));
  std::optional<ProfileScope> scope(Stage::kOptimizer);
  if (scope->is_on()) scope->Add(Counter::kBytes, StepBytes() - (stepping_ ? early_.bytes() : 0));
  const bool counts = !learns_ || !loss_.overflowed();
  if (counts) {
    state.learning_rate = context_.schedule.LearningRate(state.epoch, state.step);
    if (learns_) {
      state.rate_sum += state.learning_rate;
      RETURN_IF_ERROR(MoveParameters());
    } else {
      optimizer_->PassStep();
    }
    ++state.step;
  }
  RETURN_IF_ERROR(FinishStep(counts));
  scope.reset();

  if (learns_) state.epoch_sums.Add(loss_.sums());
  state.batch = end;
  if (context_.options.on_step && learns_) {
    const ProfileScope log(Stage::kLog);
    context_.options.on_step({state.epoch + 1, state.step, state.batch, context_.num_batches, loss, state.learning_rate,
                              loss_.norm(), work->cost});
  }
  return absl::OkStatus();
}

// A step reads the gradient, and reads and writes parameters and the optimizer's averages.
int64_t BatchEpoch::StepBytes() {
  if (RowGradient* const rows = loss_.rows()) return 3 * rows->values.num_bytes();
  if (step_bytes_ == 0) {
    step_bytes_ = loss_.gradient().num_bytes() + 2 * context_.state.parameters.num_bytes();
    for (const auto& [name, tensor] : optimizer_->State()) step_bytes_ += 2 * tensor.num_bytes();
  }
  return step_bytes_;
}

absl::Status BatchEpoch::AverageBuffers() {
  if (context_.agreement.alone() || context_.shards != nullptr) return absl::OkStatus();
  std::vector<Tensor> buffers;
  for (const ParameterSlice& slice : context_.task.parameter_slices()) {
    if (slice.buffer) buffers.push_back(context_.state.parameters.Slice(slice.offset, {slice.num_elements()}));
  }
  return buffers.empty() ? absl::OkStatus() : context_.agreement.Average(absl::MakeSpan(buffers));
}

absl::Status BatchEpoch::AllGather() {
  if (whole_ || (context_.shards == nullptr && device_ == nullptr)) return absl::OkStatus();
  if (device_ != nullptr) {
    RETURN_IF_ERROR(device_->Gather());
    whole_ = true;
    return absl::OkStatus();
  }
  const std::vector<ParameterRange> all = {{0, context_.state.parameters.num_elements(), true}};
  RETURN_IF_ERROR(context_.shards->AllGather(all, &context_.state.parameters));
  const std::vector<ParameterRange> trained = TrainedRanges(context_.options.groups, context_.task);
  for (auto [name, tensor] : optimizer_->State()) {
    if (tensor.num_elements() != TotalSize(trained)) continue;  // skip the step count
    RETURN_IF_ERROR(context_.shards->AllGather(trained, &tensor));
  }
  if (context_.ema != nullptr && context_.ema->parameters() != nullptr) {
    Tensor average = *context_.ema->parameters();  // shares the memory of the average
    RETURN_IF_ERROR(context_.shards->AllGather(all, &average));
  }
  whole_ = true;
  return absl::OkStatus();
}

NamedTensors BatchEpoch::State() const {
  NamedTensors state = optimizer_->State();
  for (const auto& [name, tensor] : loss_.State()) state.Set(name, tensor);
  return state;
}

absl::Status BatchEpoch::SetState(const NamedTensors& state) {
  if (device_ != nullptr) device_->Forget();
  RETURN_IF_ERROR(optimizer_->SetState(state));
  return loss_.SetState(state);
}

}  // namespace rutile
