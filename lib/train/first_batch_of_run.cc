#include "lib/train/first_batch_of_run.h"

#include "absl/status/statusor.h"
#include "lib/base/status_macros.h"
#include "lib/trace/scope.h"
#include "lib/train/run_plan.h"
#include "lib/train/starting_state.h"
#include "lib/train/step/first_batch_check.h"

namespace rutile {

namespace {

// Definitions have nothing to be compared with.
bool ChecksFirstBatch(const TrainerOptions& options) {
  return options.compile_mode != CompileMode::kNone && options.check_gradient;
}

}  // namespace

absl::Status CheckFirstBatchHere(Task& task, const Tensor& parameters, absl::Span<const int64_t> examples,
                                 const TrainerOptions& options, int64_t epoch) {
  if (!ChecksFirstBatch(options) || options.await_first_batch) return absl::OkStatus();
  return CheckFirstBatch(task, parameters, examples, options, epoch);
}

absl::Status AwaitFirstBatch(const TrainerOptions& options) {
  const ProfileScope scope(Stage::kSetup);
  return options.await_first_batch ? options.await_first_batch(/*wait=*/true) : absl::OkStatus();
}

absl::Status LookAtFirstBatch(const TrainerOptions& options) {
  return options.await_first_batch ? options.await_first_batch(/*wait=*/false) : absl::OkStatus();
}

absl::Status CheckFirstBatchOfRun(Task& task, const Split& split, const TrainerOptions& options) {
  if (!ChecksFirstBatch(options)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const RunPlan plan, MakeRunPlan(split, options));
  const Checkpoint state = NewState(task, plan);
  return CheckFirstBatch(task, state.parameters, plan.train, plan.options, state.epoch);
}

}  // namespace rutile
