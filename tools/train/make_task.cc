#include "tools/train/make_task.h"

#include <string>
#include <utility>

#include "lib/base/status_macros.h"
#include "lib/potential/training/atomistic_task.h"
#include "lib/potential/training/force_task.h"

namespace rutile {
namespace {

template <typename T>
absl::StatusOr<TrainingTask> Make(const AtomicData& data, const AtomisticTaskOptions& options,
                                  absl::Span<const int64_t> train) {
  ASSIGN_OR_RETURN(std::unique_ptr<T> task, T::Create(data, options, train));
  const AtomisticModel* const model = &task->model();
  std::string message = task->compile_message();
  return TrainingTask{std::move(task), model, std::move(message)};
}

}  // namespace

bool LearnsFromKeptFeatures(const AtomicData& data, const AtomisticTaskOptions& options) {
  return data.descriptor().is_chebyshev() && options.loss.force_weight == 0 && options.loss.stress_weight == 0 &&
         (data.has_features() || options.cached_features);
}

absl::StatusOr<TrainingTask> MakeTrainingTask(const AtomicData& data, const AtomisticTaskOptions& options,
                                              absl::Span<const int64_t> train) {
  return LearnsFromKeptFeatures(data, options) ? Make<AtomisticTask>(data, options, train)
                                               : Make<ForceTask>(data, options, train);
}

}  // namespace rutile
