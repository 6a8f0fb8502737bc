#include "lib/train/batch_epoch.h"

#include <string>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "lib/base/interrupt.h"
#include "lib/base/status_macros.h"
#include "lib/task/sampling_policy.h"
#include "lib/train/gradient_step.h"
#include "lib/train/grouped_optimizer.h"

namespace rutile {

BatchEpoch::BatchEpoch(const EpochContext& context)
    : context_(context),
      loader_(context.task, context.examples, LoaderOptions(context.options)),
      loss_(context.task, context.options.compile_mode),
      optimizer_(MakeTrainingOptimizer(context.options.optimizer, context.options.groups, context.task)) {}

absl::Status BatchEpoch::Start() {
  Checkpoint& state = context_.state;
  context_.task.StartEpoch(state.epoch, /*training=*/true);
  const SamplingPolicy policy = context_.options.sampling_policy;
  if (policy != SamplingPolicy::kUniform && state.batch == 0) {
    ASSIGN_OR_RETURN(state.sampling_weight, context_.task.SamplingWeights(policy, context_.examples));
  }
  loader_.StartEpoch(state.epoch, state.batch, state.sampling_weight);
  return absl::OkStatus();
}

absl::Status BatchEpoch::Train(EpochWork* work, std::string* reason) {
  RETURN_IF_ERROR(Start());
  const auto end = absl::MakeCleanup([this] { loader_.EndEpoch(); });
  while (context_.state.batch < loader_.num_batches() && reason->empty()) {
    RETURN_IF_ERROR(CheckInterrupt());
    ASSIGN_OR_RETURN(const NamedTensors* batch, loader_.Next());
    RETURN_IF_ERROR(Step(*batch, work));
    *reason = context_.stop.AfterStep(context_.state.step, absl::Now() - context_.start);
  }
  return absl::OkStatus();
}

absl::Status BatchEpoch::Step(const NamedTensors& batch, EpochWork* work) {
  Checkpoint& state = context_.state;
  loss_.SetResting(optimizer_->resting());
  loss_.Clear();
  RETURN_IF_ERROR(loss_.Add(state.parameters, batch));
  ASSIGN_OR_RETURN(const double loss, loss_.Combine(state, loader_.examples()));
  ClipGradient(loss_.norm(), context_.options.gradient_clip_norm, &loss_.gradient());
  state.learning_rate = context_.schedule.LearningRate(state.epoch, state.step);
  optimizer_->Step(state.learning_rate, loss_.gradient(), &state.parameters);

  state.epoch_sums.Add(loss_.sums());
  ++state.batch;
  ++state.step;
  work->Add(context_.task, loader_.examples());
  if (context_.options.on_step) {
    context_.options.on_step({state.epoch + 1, state.step, state.batch, loader_.num_batches(), loss});
  }
  return absl::OkStatus();
}

}  // namespace rutile
