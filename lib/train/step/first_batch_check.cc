#include "lib/train/step/first_batch_check.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "lib/base/status_macros.h"
#include "lib/task/eager_options.h"
#include "lib/task/torch/eager_gradients.h"
#include "lib/task/torch/gradient_comparison.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/trace/scope.h"
#include "lib/train/step/row_steps.h"

namespace rutile {

absl::Span<const int64_t> ExamplesToCheck(const Task& task, absl::Span<const int64_t> examples,
                                          const TrainerOptions& options) {
  const absl::Span<const int64_t> batch = examples.subspan(0, options.batch_size);
  size_t size = 0;
  double cost = 0;
  for (const int64_t example : batch) {
    cost += task.ExampleCost(example);
    if (size > 0 && cost > options.check_cost) break;
    ++size;
  }
  return batch.subspan(0, size);
}

namespace {

// A small error is the difference of large numbers: it and its gradients have fewer correct digits than the values that
// tests use.
constexpr double kRounding = 10;

absl::Status CheckExamples(Task& task, const Tensor& parameters, absl::Span<const int64_t> examples,
                           const TrainerOptions& options) {
  NamedTensors batch;
  RETURN_IF_ERROR(task.MakeBatch(examples, &batch));
  const double tolerance = options.gradient_tolerance > 0 ? options.gradient_tolerance
                                                          : kRounding * ReferenceTolerance(task.parameter_dtype());
  // Kernel and TorchScript are checked in the parameters' own type, whatever precision training uses: rounding to 16
  // bits would hide mistakes, and is larger than the difference if errors are small.
  if (options.compile_mode == CompileMode::kCompile) {
    RowGradients* const rows = RowsOfSteps(options, task);
    const AddGradients add = [&](absl::Span<Tensor> gradients, TermSums* sums) -> absl::Status {
      if (rows == nullptr) return task.AccumulateGradients(parameters, batch, gradients, sums);
      RowGradient gradient;
      RETURN_IF_ERROR(rows->ComputeRows(parameters, batch, &gradient, sums));
      AddRows(gradient, &gradients[0]);
      return absl::OkStatus();
    };
    task.SetMixedPrecision(false);
    const absl::Status status = CheckAgainstReference(task, add, parameters, batch, tolerance);
    task.SetMixedPrecision(true);
    return status;
  }
  EagerOptions script = EagerOptionsOf(options);
  script.precision = Precision::kAuto;
  EagerGradients eager(task, script);
  const AddGradients add = [&](absl::Span<Tensor> gradients, TermSums* sums) {
    RETURN_IF_ERROR(eager.Add(parameters, batch, /*scale=*/1, gradients, sums));
    return eager.Fetch(gradients, sums);
  };
  return CheckAgainstReference(task, add, parameters, batch, tolerance);
}

// An activation that is within rounding of a kink (relu at 0) makes correct gradients differ, in one start of ConvE in
// a hundred. On other examples they do not, so others are tried.
constexpr int kAttempts = 3;

// True for a disagreement or a value that is not finite, as opposed to an error of the task.
bool IsFinding(const absl::Status& status) { return absl::IsFailedPrecondition(status) || absl::IsOutOfRange(status); }

// Returns the error for values that are not finite: it names one example if a single one alone causes it.
absl::Status NameExample(Task& task, const Tensor& parameters, absl::Span<const int64_t> examples,
                         const TrainerOptions& options, const absl::Status& of_all) {
  for (size_t e = 0; e < examples.size(); ++e) {
    const absl::Status status = CheckExamples(task, parameters, examples.subspan(e, 1), options);
    if (!absl::IsOutOfRange(status)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("example ", examples[e], " (from 0) cannot be learned from: ", status.message()));
  }
  return absl::InvalidArgumentError(absl::StrCat("examples ", absl::StrJoin(examples.subspan(0, 5), ", "),
                                                 examples.size() > 5 ? ", ..." : "",
                                                 " (from 0) cannot be learned from: ", of_all.message()));
}

}  // namespace

absl::Status CheckFirstBatch(Task& task, const Tensor& parameters, absl::Span<const int64_t> examples,
                             const TrainerOptions& options, int64_t epoch) {
  const ProfileScope scope(Stage::kSetup);
  task.StartEpoch(epoch, /*training=*/true);
  std::vector<int64_t> kept;
  if (!options.left_out.empty()) {
    std::copy_if(examples.begin(), examples.end(), std::back_inserter(kept),
                 [&](int64_t example) { return options.left_out[example] == 0; });
    examples = kept;
  }
  const absl::Span<const int64_t> first = ExamplesToCheck(task, examples, options);
  const absl::Status status = CheckExamples(task, parameters, first, options);
  if (!IsFinding(status)) return status;
  absl::Span<const int64_t> checked = first;
  for (int attempt = 1; attempt < kAttempts; ++attempt) {
    examples.remove_prefix(checked.size());
    checked = ExamplesToCheck(task, examples, options);
    if (checked.size() < first.size()) break;  // too few examples agree too easily
    if (CheckExamples(task, parameters, checked, options).ok()) return absl::OkStatus();
  }
  return absl::IsOutOfRange(status) ? NameExample(task, parameters, first, options, status) : status;
}

}  // namespace rutile
