#include "tools/train/potential_member.h"

#include <algorithm>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/network/kernel_plan.h"
#include "lib/potential/model/labels/counted_labels.h"
#include "lib/potential/model/labels/scaling.h"
#include "lib/task/torch/gradient_comparison.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/train/files/checkpoint_series.h"
#include "lib/train/files/run_directory.h"
#include "lib/train/run_plan.h"
#include "tools/common/run/run_tool.h"
#include "tools/train/flags/preset_flags.h"
#include "tools/train/make_task.h"
#include "tools/train/report/potential_outcome.h"

namespace rutile {
namespace {

constexpr absl::string_view kTaskState = "task.";  // in names of a checkpoint's tensors
constexpr double kFloatEpsilon = 6e-8;
constexpr double kNoticeable = 1e-3;     // of a standardized feature, which is of order 1
constexpr double kLargestAllowed = 0.1;  // a wrong kernel is off by more

// Raises the tolerance of the gradient check if features hardly vary (small displacements, few structures). Features
// have the precision of a float relative to their size, so standardizing such features leaves fewer digits, and correct
// gradients differ by more than with other data.
void AllowForRounding(const FeatureScaling& scaling, TrainerOptions* options) {
  const double rounding = kFloatEpsilon * scaling.Magnification();
  if (rounding > kNoticeable) {
    PrintWarning(
        absl::StrFormat("a feature varies by only %.0e of its size over the training atoms: fp32 knows it to "
                        "%.1g of what varies, --precision=fp64 exactly",
                        1 / scaling.Magnification(), rounding));
  }
  const double usual = 10 * ReferenceTolerance(DType::kF32);
  if (10 * rounding > usual) options->gradient_tolerance = std::min(10 * rounding, kLargestAllowed);
}

// The examples that a validation sees may be fewer than the set's.
absl::Status CheckMeasures(const AtomicData& data, const LossOptions& loss, const Split& split,
                           const TrainerOptions& options) {
  ASSIGN_OR_RETURN(const RunPlan plan, MakeRunPlan(split, options));
  RETURN_IF_ERROR(CheckMonitored(data, loss, plan.validation, options.monitor));
  for (const std::string& warning : TermsWithoutLabels(data, loss, plan.train, "training")) PrintWarning(warning);
  for (const std::string& warning : PartialLabels(data, loss, split.test, "test")) PrintWarning(warning);
  if (plan.validation.empty()) return absl::OkStatus();
  for (const std::string& warning : TermsWithoutLabels(data, loss, plan.validation, "validation"))
    PrintWarning(warning);
  for (const std::string& warning : PartialLabels(data, loss, plan.validation, "validation")) PrintWarning(warning);
  return absl::OkStatus();
}

// The columns beside the errors of a set: how many of its structures each error is over.
std::vector<std::pair<std::string, int64_t>> LabelColumns(const AtomicData& data, const LossOptions& loss,
                                                          absl::Span<const int64_t> structures) {
  std::vector<std::pair<std::string, int64_t>> columns;
  for (const LabelCount& each : CountLabels(data, loss, structures)) columns.emplace_back(each.label, each.count);
  return columns;
}

// Returns the text of the plan that max-autotune found for the run that goes on, which has it in its checkpoint; "" for
// a new run, and where an override may let it be found anew.
std::string PlanOfRun(const Member& member, const TrainerOptions& options) {
  const auto finds_anew = [](const std::string& override) {
    return override == "compile_mode" || override == "compile_preset" || override == "precision" || override == "data";
  };
  if (std::any_of(options.overrides.begin(), options.overrides.end(), finds_anew)) return "";
  const std::optional<CheckpointSummary> resumed = CheckpointOfRun(member.directory, options);
  if (!resumed.has_value()) return "";
  const absl::StatusOr<TensorFile> checkpoint = LookIntoTensorFile(resumed->path);
  if (!checkpoint.ok()) return "";
  NamedTensors state;
  for (const auto& [name, tensor] : checkpoint->tensors) {
    if (absl::StartsWith(name, kTaskState)) state.Set(name.substr(kTaskState.size()), tensor);
  }
  const absl::StatusOr<KernelPlan> plan = KernelPlanOfState(state);
  return plan.ok() ? KernelPlanText(*plan) : "";
}

}  // namespace

absl::Status TrainMember(const Member& member, const AtomicData& data, const AtomisticTaskOptions& task_options,
                         const Split& split, const std::vector<std::string>& messages, const InitialModel* model,
                         TrainerOptions options, const Metadata& metadata) {
  ASSIGN_OR_RETURN(const TrainingTask task, MakeTrainingTask(data, task_options, split.train));
  for (const std::string& message : messages) PrintMessage(message);
  const bool tunes = task_options.compile.preset == CompilePreset::kMaxAutotune;
  if (const std::string kept = tunes ? PlanOfRun(member, options) : ""; !kept.empty()) {
    PrintMessage(absl::StrCat("max-autotune: ", kept, ", the plan of the run that goes on"));
  } else if (!task.compile_message.empty()) {
    PrintMessage(task.compile_message);
  }
  ASSIGN_OR_RETURN(const Split used, LearnedSplit(split, options));
  RETURN_IF_ERROR(CheckMeasures(data, task_options.loss, split, options));
  PrintFacts(data, task, task_options.loss, used);
  if (task_options.precision == DType::kF32) AllowForRounding(task.model->feature_scaling(), &options);
  const bool is_new = options.mode != RunMode::kResumeOrNew || !RunDirectory(member.directory).HasCheckpoint();
  if (model != nullptr && is_new) RETURN_IF_ERROR(SetInitialParameters(*model, task, &options));
  const TaskRun run = {task.task.get(), "atoms", "structures",
                       [&] { return WriteFrames(member.directory, data, used); },
                       [&](absl::Span<const int64_t> set) { return LabelColumns(data, task_options.loss, set); }};
  ASSIGN_OR_RETURN(const TrainResult result, RunTask(member, run, split, options, metadata));
  if (!WritesFiles(options)) return absl::OkStatus();
  RETURN_IF_ERROR(SavePredictions(member.directory, data, used, task_options.num_threads));
  return WriteFinished(member, options, result);
}

}  // namespace rutile
