#include "lib/train/step/row_steps.h"

#include "absl/strings/str_cat.h"
#include "lib/distributed/communicator.h"
#include "lib/optimizer/grouped_optimizer.h"
#include "lib/optimizer/optimizer_options.h"

namespace rutile {
namespace {

// Returns why a run whose batches touch a few rows does not step these alone; "" if it does.
std::string WhyNotRows(const TrainerOptions& options) {
  if (options.compile_mode != CompileMode::kCompile) {
    return absl::StrCat("compile_mode ", kCompileModeNames.Name(options.compile_mode),
                        " computes the gradient of all rows");
  }
  if (options.communicator != nullptr && options.communicator->size() > 1) {
    return "several processes add up the gradient of all rows";
  }
  if (options.accumulate_grad_batches != 1) return "accumulate_grad_batches adds up gradients of all rows";
  return WhyNotRowsAlone(options.optimizer, options.groups);
}

template <typename T>
void Add(const RowGradient& rows, Tensor* gradient) {
  const absl::Span<const T> from = rows.values.values<T>();
  const absl::Span<T> to = gradient->mutable_values<T>();
  for (const RowGradient::Range& range : rows.ranges) {
    for (int64_t i = 0; i < range.size; ++i) to[range.begin + i] += from[range.at + i];
  }
}

}  // namespace

RowGradients* RowsOfSteps(const TrainerOptions& options, Task& task) {
  return WhyNotRows(options).empty() ? RowGradientsOf(task.stream()) : nullptr;
}

std::string WhyDenseSteps(const TrainerOptions& options, Task& task) {
  if (RowGradientsOf(task.stream()) != nullptr) return WhyNotRows(options);
  if (options.optimizer.kind != OptimizerKind::kRowwiseAdagrad) return "";
  return "batches have a gradient in all rows (negatives_per_batch leaves most rows alone)";
}

void AddRows(const RowGradient& rows, Tensor* gradient) {
  if (gradient->dtype() == DType::kF64) {
    Add<double>(rows, gradient);
  } else {
    Add<float>(rows, gradient);
  }
}

}  // namespace rutile
