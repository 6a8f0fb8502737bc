// Runs the tasks of potentials through LibTorch's other paths: script, 16 bits, another device.

#include <ATen/ATen.h>

#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/machine/cpu_bf16.h"
#include "lib/network/network_shape.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/model/task_options.h"
#include "lib/potential/training/atomistic_task.h"
#include "lib/potential/training/force_task.h"
#include "lib/task/eager_options.h"
#include "lib/task/task.h"
#include "lib/task/torch/eager_gradients.h"
#include "lib/task/torch/eager_task.h"
#include "lib/task/torch/gradient_comparison.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensorfile_torch.h"

namespace rutile {
namespace {

AtomicData Tio2() {
  AtomicDataOptions options;
  options.descriptor.emplace();
  options.descriptor->chebyshev().species = {22, 8};
  options.descriptor->chebyshev().rad_order = 4;
  options.descriptor->chebyshev().rad_cutoff = 4;
  options.descriptor->chebyshev().ang_order = 3;
  options.descriptor->chebyshev().ang_cutoff = 3;
  AtomicData data = *AtomicData::Read({"data/tio2-pbe/tio2-pbe.extxyz"}, options);
  EXPECT_TRUE(data.CacheNeighbors(false, "", int64_t{1} << 30, 1).ok());
  return data;
}

// Makes a task of energies alone, or of energies, forces and stress.
std::unique_ptr<Task> MakeTask(const AtomicData& data, bool forces, Activation activation, DType precision) {
  AtomisticTaskOptions options;
  options.hidden = {12, 9};
  options.activation = activation;
  options.precision = precision;
  std::vector<int64_t> all(data.num_structures());
  std::iota(all.begin(), all.end(), 0);
  if (!forces) return *AtomisticTask::Create(data, options, all);
  options.loss.energy_weight = 0.8;
  options.loss.force_weight = 0.1;
  options.loss.stress_weight = 0.1;
  std::unique_ptr<ForceTask> task = *ForceTask::Create(data, options, all);
  task->StartEpoch(0, true);
  return task;
}

// Compares EagerGradients with the reference: returns "" if they agree, else the difference.
std::string Compare(const Task& task, const EagerOptions& options, double tolerance) {
  EXPECT_EQ(CheckEager(task, options), absl::OkStatus());
  EagerGradients eager(task, options);
  const Tensor parameters = task.InitialParameters(5);
  NamedTensors batch;
  // Batch sizes change, because LibTorch specializes what it compiles.
  for (const std::vector<int64_t>& examples : {std::vector<int64_t>{7, 200}, {3}, {41, 402, 5, 9}, {7, 200}}) {
    EXPECT_TRUE(task.MakeBatch(examples, &batch).ok());
    const AddGradients add = [&](absl::Span<Tensor> gradients, TermSums* sums) {
      return eager.Add(parameters, batch, /*scale=*/1, gradients, sums);
    };
    const absl::Status status = CheckAgainstReference(task, add, parameters, batch, tolerance);
    if (!status.ok()) return std::string(status.message());
  }
  return "";
}

class EagerLossesTest : public ::testing::TestWithParam<Activation> {};

TEST_P(EagerLossesTest, ScriptIsTheReferenceToRounding) {
  const AtomicData data = Tio2();
  EagerOptions script;
  script.script = true;
  for (const bool forces : {false, true}) {
    EXPECT_EQ(Compare(*MakeTask(data, forces, GetParam(), DType::kF64), script, 1e-10), "");
    EXPECT_EQ(Compare(*MakeTask(data, forces, GetParam(), DType::kF32), script, 5e-4), "");
  }
}

TEST_P(EagerLossesTest, MixedPrecisionIsNearTheReference) {
  if (CpuBf16Instructions().empty()) GTEST_SKIP() << "bf16-mixed is refused on this CPU";
  const AtomicData data = Tio2();
  EagerOptions mixed;
  mixed.precision = Precision::kBf16Mixed;
  for (const bool forces : {false, true}) {
    const std::unique_ptr<Task> task = MakeTask(data, forces, GetParam(), DType::kF32);
    EXPECT_EQ(Compare(*task, mixed, 0.15), "");
    EXPECT_NE(Compare(*task, mixed, 1e-5), "");
    mixed.script = true;
    EXPECT_EQ(Compare(*task, mixed, 0.15), "");
    mixed.script = false;
  }
}

INSTANTIATE_TEST_SUITE_P(Activations, EagerLossesTest,
                         ::testing::Values(Activation::kLinear, Activation::kTanh, Activation::kSigmoid,
                                           Activation::kMtanh, Activation::kTwist, Activation::kSilu),
                         [](const auto& info) { return std::string(kActivationNames.Name(info.param)); });

// "meta" is a device without numbers that refuses to mix with the CPU like any other, so that a tensor that was left on
// the CPU is found.
TEST(EagerLossesDeviceTest, AllOfTheLossIsOnTheParametersDevice) {
  const AtomicData data = Tio2();
  const std::unique_ptr<Task> task = MakeTask(data, false, Activation::kTanh, DType::kF32);
  NamedTensors batch;
  ASSERT_TRUE(task->MakeBatch({7, 200, 3}, &batch).ok());
  const at::Tensor parameters = ToTorch(task->InitialParameters(5), at::Device("meta")).requires_grad_();
  const at::Tensor losses = task->eager()->EagerLosses(parameters, task->CompleteBatch(batch).value(), {});
  EXPECT_TRUE(losses.is_meta());
  EXPECT_EQ(losses.size(0), 3);
}

}  // namespace
}  // namespace rutile
