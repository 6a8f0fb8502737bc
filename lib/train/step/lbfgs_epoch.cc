#include "lib/train/step/lbfgs_epoch.h"

#include <cstdint>
#include <cstring>
#include <string>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

constexpr char kConverged[] = "converged";

DataLoaderOptions AllInOrder(const TrainerOptions& options) {
  DataLoaderOptions loader = LoaderOptions(options);
  loader.shuffle = false;
  return loader;
}

}  // namespace

LbfgsEpoch::LbfgsEpoch(const EpochContext& context)
    : context_(context),
      loader_(context.task, context.examples, AllInOrder(context.options)),
      loss_(context.task, context.options.compile_mode, context.options.eager, &context.agreement),
      lbfgs_(context.options.optimizer, context.state.parameters,
             [this](const Tensor& parameters, Tensor* gradient) { return Evaluate(parameters, gradient); }) {}

absl::Status LbfgsEpoch::Train(EpochWork* work) {
  RETURN_IF_ERROR(context_.agreement.CheckInterrupt());
  Checkpoint& state = context_.state;
  if (state.batch == loader_.num_batches()) return absl::OkStatus();  // only its validation is missing
  context_.task.StartEpoch(0, /*training=*/true);                     // the function to minimize stays the same
  work_ = work;
  state.learning_rate = context_.schedule.LearningRate(state.epoch, state.step);
  state.rate_sum += state.learning_rate;
  const ProfileScope scope(Stage::kOptimizer);
  ASSIGN_OR_RETURN(const Lbfgs::Result result, lbfgs_.Step(state.learning_rate));
  state.epoch_sums = loss_.sums();  // the last evaluation is at the parameters reached
  state.batch = loader_.num_batches();
  ++state.step;
  if (context_.options.on_step) {
    context_.options.on_step({state.epoch + 1, state.step, state.batch, loader_.num_batches(), result.loss,
                              state.learning_rate, loss_.norm(), work->cost});
  }
  converged_ = result.converged;
  return absl::OkStatus();
}

NamedTensors LbfgsEpoch::State() const {
  NamedTensors state = lbfgs_.State();
  if (converged_) state.Set(kConverged, Tensor::Scalar<uint8_t>(1));
  return state;
}

absl::Status LbfgsEpoch::SetState(const NamedTensors& state) {
  converged_ = state.Has(kConverged);
  NamedTensors history;
  for (const auto& [name, tensor] : state) {
    if (name != kConverged) history.Set(name, tensor);
  }
  return lbfgs_.SetState(history);
}

absl::StatusOr<double> LbfgsEpoch::Evaluate(const Tensor& parameters, Tensor* gradient) {
  CHECK_EQ(parameters.data(), context_.state.parameters.data());  // L-BFGS updates them in place
  loss_.Clear();
  loader_.StartEpoch(0);
  const auto end = absl::MakeCleanup([this] { loader_.EndEpoch(); });
  NamedTensors last;  // shares the loader's memory
  while (true) {
    ASSIGN_OR_RETURN(const NamedTensors* batch, loader_.Next());
    if (batch == nullptr) break;
    last = *batch;
    if (!loader_.examples().empty()) {
      const ProfileScope scope(Stage::kStep);
      scope.Add(Counter::kExamples, static_cast<int64_t>(loader_.examples().size()));
      RETURN_IF_ERROR(loss_.Add(parameters, *batch));
    }
    work_->Add(context_.task, loader_.all_examples());
    if (!loss_.IsFinite()) break;  // stop here, where the failing batch is known
  }
  ASSIGN_OR_RETURN(const double loss, CombineLoss(context_, loader_.examples(), last, &loss_));
  std::memcpy(gradient->mutable_data(), loss_.gradient().data(), loss_.gradient().num_bytes());
  return loss;
}

}  // namespace rutile
