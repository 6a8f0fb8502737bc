#include "lib/train/starting_state.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/task/sampling_policy.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/train/course.h"

namespace rutile {
namespace {

// Weights that an epoch can draw from: those of a policy, inside an epoch, for each training example.
bool FitsSampling(const Checkpoint& state, const RunPlan& plan) {
  if (state.batch == 0 || plan.options.sampling_policy == SamplingPolicy::kUniform) return true;
  double sum = 0;
  for (const double weight : state.sampling_weight) {
    if (!(weight >= 0)) return false;
    sum += weight;
  }
  return state.sampling_weight.size() == plan.train.size() && sum > 0 && std::isfinite(sum);
}

}  // namespace

Checkpoint NewState(const Task& task, const RunPlan& plan) {
  const size_t num_terms = task.terms().size();
  Checkpoint state;
  state.seed = plan.options.seed;
  state.epoch_sums = TermSums(static_cast<int>(num_terms));
  state.loss_weight.assign(num_terms, 0);
  state.config = CourseJson(plan.options, task.Course());
  state.data = Fingerprint(task.num_examples(), plan.train, plan.validation);
  state.parameters = task.InitialParameters(plan.options.seed);
  state.best_parameters = Tensor::Zeros(task.parameter_dtype(), {task.num_parameters()});
  if (state.parameters.num_bytes() > 0) {
    std::memcpy(state.best_parameters.mutable_data(), state.parameters.data(), state.parameters.num_bytes());
  }
  CHECK(state.parameters.dtype() == task.parameter_dtype() && state.parameters.num_elements() == task.num_parameters());
  return state;
}

absl::StatusOr<Checkpoint> ResumedState(const Task& task, const RunPlan& plan, const RunDirectory& directory) {
  const std::string path = directory.checkpoint();
  ASSIGN_OR_RETURN(Checkpoint saved, LoadCheckpoint(path, task.parameter_slices(), task.parameter_dtype(),
                                                    static_cast<int>(task.terms().size())));
  RETURN_IF_ERROR(CheckSameCourse(saved.config, CourseJson(plan.options, task.Course())));
  if (saved.data != Fingerprint(task.num_examples(), plan.train, plan.validation)) {
    return absl::FailedPreconditionError(
        absl::StrCat(directory.path(),
                     ": the run to resume trained on other examples or another split; give the same data and "
                     "split, or start a new run"));
  }
  if (saved.batch > plan.num_batches) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": batch ", saved.batch, " of ", plan.num_batches, "; the file is damaged"));
  }
  if (!FitsSampling(saved, plan)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": \"sampling_weight\" is no weight for each of the ",
                                                   plan.train.size(), " training examples; the file is damaged"));
  }
  return saved;
}

}  // namespace rutile
