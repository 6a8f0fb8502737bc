// What `train` adds to the sources that it shares with train-libtorch: definitions that stand in for those that need
// LibTorch, which it does not link. As this object comes before all libraries, the linker leaves out their objects of
// the same functions. One that is forgotten here is an error of the linker, since LibTorch is not there
// (tools/dev/without_libtorch.bzl).
//
// None of them is reached, because train has become train-libtorch by then, but for FindTorchFacts.

#include <ATen/core/Tensor.h>  // declarations alone: nothing of a tensor is called
#include <gflags/gflags.h>
#include <torch/version.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/distributed/gloo_communicator.h"
#include "lib/kge/training/kge_task.h"
#include "lib/machine/cpu_bf16.h"
#include "lib/optimizer/methods/lbfgs.h"
#include "lib/potential/training/atomistic_task.h"
#include "lib/potential/training/force_task.h"
#include "lib/profile/operators.h"
#include "lib/task/torch/device_events.h"
#include "lib/task/torch/eager_evaluation.h"
#include "lib/task/torch/eager_gradients.h"
#include "lib/task/torch/torch_facts.h"
#include "lib/train/step/torch_device_step.h"
#include "tools/common/run/exec_sibling_binary.h"
#include "tools/train/first_batch_process.h"
#include "tools/train/flags/libtorch_flags.h"
#include "tools/train/libtorch.h"

#define NEEDS_LIBTORCH LOG(FATAL) << "LibTorch is needed, and WhyLibTorch() has not said so: " << __func__

namespace rutile {

absl::Status ContinueWithLibTorch(const ToolRun& run) {
  if (const std::string why = WhyLibTorch(); !why.empty()) {
    return ExecSiblingBinary(run, "train-libtorch", absl::StrCat(why, " needs LibTorch"));
  }
  std::string checks, device;
  gflags::GetCommandLineOption("check_gradient", &checks);
  gflags::GetCommandLineOption("device", &device);
  if (checks != "true") return absl::OkStatus();
  constexpr char kWhy[] = "--check_gradient, which is on unless it is set to false, needs LibTorch";
  ASSIGN_OR_RETURN(bool beside, CanReadInputsTwice(run));
  beside &= !absl::StartsWith(device, "cuda");  // a GPU may be for one process alone
  return beside ? StartFirstBatchProcess(run, kWhy) : ExecSiblingBinary(run, "train-libtorch", kWhy);
}

absl::Status NeedLibTorch(const ToolRun& run, absl::Span<const std::string> inputs, absl::string_view why) {
  if (std::find(inputs.begin(), inputs.end(), "-") != inputs.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat(why,
                     " need LibTorch, with which standard input cannot be read again: name a file, or give "
                     "--compile_mode=none, which starts with LibTorch"));
  }
  return ExecSiblingBinary(run, "train-libtorch", absl::StrCat(why, " need LibTorch"));
}

void SetLibTorchThreads(int) {}

// What matters to those who need no LibTorch: nobody asks for a GPU.
TorchFacts FindTorchFacts() {
  TorchFacts facts;
  facts.version = TORCH_VERSION;
  facts.cpu_bf16 = CpuBf16Instructions();
  facts.cpu_matmul_precision = TORCH_VERSION_MAJOR >= 2;
  return facts;
}
bool CudaHasBf16(absl::string_view) { NEEDS_LIBTORCH; }
std::unique_ptr<DeviceClock> MakeDeviceClock(const std::string&) { NEEDS_LIBTORCH; }

void StartOperators() { NEEDS_LIBTORCH; }
std::vector<ProfileOperator> StopOperators(size_t) { NEEDS_LIBTORCH; }

at::Tensor AtomisticTask::ExampleLosses(const at::Tensor&, const NamedTensors&) const { NEEDS_LIBTORCH; }
at::Tensor AtomisticTask::EagerLosses(const at::Tensor&, const NamedTensors&, const EagerOptions&) const {
  NEEDS_LIBTORCH;
}
at::Tensor ForceTask::ExampleLosses(const at::Tensor&, const NamedTensors&) const { NEEDS_LIBTORCH; }
at::Tensor ForceTask::EagerLosses(const at::Tensor&, const NamedTensors&, const EagerOptions&) const { NEEDS_LIBTORCH; }
at::Tensor KgeTask::ExampleLosses(const at::Tensor&, const NamedTensors&) const { NEEDS_LIBTORCH; }
at::Tensor KgeTask::EagerLosses(const at::Tensor&, const NamedTensors&, const EagerOptions&) const { NEEDS_LIBTORCH; }
void KgeTask::EvaluateEager(const at::Tensor&, const NamedTensors&, TermSums*, absl::Span<double>) const {
  NEEDS_LIBTORCH;
}

absl::Status CheckEager(const Task&, const EagerOptions&) { NEEDS_LIBTORCH; }

struct EagerGradients::Impl {};
EagerGradients::EagerGradients(const Task&, const EagerOptions&, bool) { NEEDS_LIBTORCH; }
EagerGradients::~EagerGradients() = default;
absl::Status EagerGradients::Add(const Tensor&, const NamedTensors&, double, absl::Span<Tensor>, TermSums*) {
  NEEDS_LIBTORCH;
}
void EagerGradients::SetProcesses(DeviceSums*) { NEEDS_LIBTORCH; }
absl::Status EagerGradients::Fetch(absl::Span<Tensor>, TermSums*) { NEEDS_LIBTORCH; }

bool EvaluatesOnDevices(const Task&) { NEEDS_LIBTORCH; }

struct EagerEvaluation::Impl {};
EagerEvaluation::EagerEvaluation(const Task&, const Tensor&, const std::string&) { NEEDS_LIBTORCH; }
EagerEvaluation::~EagerEvaluation() = default;
absl::Status EagerEvaluation::Add(const NamedTensors&, TermSums*, absl::Span<double>) { NEEDS_LIBTORCH; }

std::unique_ptr<DeviceStep> MakeTorchDeviceStep(const Task&, const EagerOptions&) { NEEDS_LIBTORCH; }

struct Lbfgs::Impl {};
Lbfgs::Lbfgs(const OptimizerOptions&, Tensor, Function) { NEEDS_LIBTORCH; }
Lbfgs::~Lbfgs() = default;
absl::StatusOr<Lbfgs::Result> Lbfgs::Step(double) { NEEDS_LIBTORCH; }
NamedTensors Lbfgs::State() const { NEEDS_LIBTORCH; }
absl::Status Lbfgs::SetState(const NamedTensors&) { NEEDS_LIBTORCH; }

absl::StatusOr<std::unique_ptr<Communicator>> JoinGloo(const RankSettings&, const GlooOptions&, int*) {
  NEEDS_LIBTORCH;
}

}  // namespace rutile
