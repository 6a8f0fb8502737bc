// Compares steps on a device, here the CPU, with those of the host's optimizers. Whole runs are in
// lib/train/tests/trainer_device_test.cc.

#include "lib/train/step/torch_device_step.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/optimizer/averages/ema.h"
#include "lib/optimizer/optimizer.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensorfile_torch.h"
#include "lib/testing/toy_task.h"
#include "lib/train/options/trainer_options.h"
#include "lib/train/step/gradient_step.h"

namespace rutile {
namespace {

using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

constexpr int64_t kSize = 37;
constexpr int kSteps = 25;

Tensor Normals(DType dtype, const char* purpose, int step) {
  RandomStream stream(5, purpose, step);
  Tensor values = Tensor::Zeros(dtype, {kSize});
  for (int64_t i = 0; i < kSize; ++i) {
    const double value = stream.Normal();
    if (dtype == DType::kF32) {
      values.mutable_values<float>()[i] = static_cast<float>(value);
    } else {
      values.mutable_values<double>()[i] = value;
    }
  }
  return values;
}

// Of a task with kSize parameters and two or three terms.
ToyTaskOptions TaskOptions(DType dtype, int num_terms = 2) {
  ToyTaskOptions options;
  options.dtype = dtype;
  options.num_features = kSize - 1;
  options.strain_every = num_terms == 3 ? 1 : 0;
  return options;
}

// Two ranges that decay and one that does not, with a gap that no optimizer updates.
std::vector<ParameterRange> Ranges() { return {{0, 8, true}, {8, 9, false}, {20, 17, true}}; }

struct Case {
  OptimizerOptions optimizer;
  double clip = 0;
  GradientClip algorithm = GradientClip::kNorm;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const absl::string_view name : kOptimizerWords) {
    Case plain;
    plain.optimizer = DefaultOptimizerOptions(name).value();
    // Neither has steps that a device knows (WhyHostSteps).
    if (plain.optimizer.kind == OptimizerKind::kLbfgs) continue;
    if (plain.optimizer.kind == OptimizerKind::kRowwiseAdagrad) continue;
    plain.optimizer.learning_rate = 0.05;
    cases.push_back(plain);
    Case decays = plain;
    decays.optimizer.weight_decay = 0.2;
    decays.clip = 4;
    cases.push_back(decays);
  }
  const auto add = [&](OptimizerKind kind, auto change) {
    Case one;
    one.optimizer = DefaultOptimizerOptions(kind);
    one.optimizer.weight_decay = 0.1;
    one.clip = 0.5, one.algorithm = GradientClip::kValue;
    change(&one.optimizer);
    cases.push_back(one);
  };
  const auto amsgrad = [](OptimizerOptions* o) { o->amsgrad = true, o->beta2 = 0.8, o->epsilon = 1e-3; };
  add(OptimizerKind::kAdam, amsgrad);
  add(OptimizerKind::kAdamW, amsgrad);
  add(OptimizerKind::kSgd, [](OptimizerOptions* o) { o->momentum = 0.9, o->dampening = 0.25; });
  add(OptimizerKind::kSgd, [](OptimizerOptions* o) { o->momentum = 0.9, o->nesterov = true; });
  add(OptimizerKind::kRmsprop, [](OptimizerOptions* o) { o->momentum = 0.5, o->centered = true; });
  add(OptimizerKind::kAdagrad, [](OptimizerOptions* o) { o->lr_decay = 0.1, o->initial_accumulator = 0.5; });
  add(OptimizerKind::kScheduleFreeAdamW, [](OptimizerOptions* o) { o->weight_step_power = 1; });
  return cases;
}

void ExpectNear(const Tensor& actual, const Tensor& expected, const std::string& what) {
  // Kernels fuse multiplications with additions, and LibTorch does not: rounding that steps add up.
  const double tolerance = expected.dtype() == DType::kF32 ? 1e-5 : 1e-13;
  EXPECT_THAT(actual.ToDoubles(), Pointwise(DoubleNear(tolerance), expected.ToDoubles())) << what;
}

TEST(TorchDeviceStepTest, StepsAsTheHostDoes) {
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    for (const Case& c : Cases()) {
      const std::string name(kOptimizerNames.Name(c.optimizer.kind));
      TrainerOptions options;
      options.gradient_clip_val = c.clip;
      options.gradient_clip_algorithm = c.algorithm;
      EmaOptions average;
      average.start_step = 3, average.update_every_n_steps = 2;
      Ema host_ema(average, dtype, kSize, kSteps), device_ema(average, dtype, kSize, kSteps);
      Tensor expected = Normals(dtype, "p", 0), actual = Normals(dtype, "p", 0);
      const auto host = MakeOptimizer(c.optimizer, dtype, Ranges());
      auto device = MakeOptimizer(c.optimizer, dtype, Ranges());
      const ToyTask task(TaskOptions(dtype, 3));
      TorchDeviceStep step(task, {});
      for (int s = 1; s <= kSteps; ++s) {
        const double rate = c.optimizer.learning_rate / s;  // as a schedule changes it
        const std::vector<double> weight = {0.5, 0, 2};
        std::vector<Tensor> terms;
        for (const char* term : {"a", "b", "c"}) terms.push_back(Normals(dtype, term, s));
        Tensor gradient = Tensor::Zeros(dtype, {kSize});
        const double norm = CombineGradients(weight, terms, &gradient);
        if (c.algorithm == GradientClip::kNorm) {
          ClipGradient(norm, c.clip, &gradient);
        } else {
          ClipGradientByValue(c.clip, &gradient);
        }
        host->Step(rate, gradient, &expected);
        host_ema.Update(expected, s);

        *step.gradients() = {ToTorch(terms[0]), at::Tensor(), ToTorch(terms[2])};
        ASSERT_EQ(step.Begin(actual), absl::OkStatus());
        const auto device_norm = step.Combine(weight);
        ASSERT_TRUE(device_norm.ok()) << device_norm.status();
        EXPECT_NEAR(*device_norm, norm, 1e-6 * norm);
        EXPECT_FALSE((*step.gradients())[0].defined());
        ASSERT_EQ(step.Step(rate, *device_norm, options, device.get()), absl::OkStatus());
        ASSERT_EQ(step.UpdateAverage(s, &device_ema), absl::OkStatus());
        if (s == 1) {
          EXPECT_EQ(actual.ToDoubles(), Normals(dtype, "p", 0).ToDoubles());  // nothing is fetched yet
        }
        if (s % 7 != 0) continue;
        // Another optimizer goes on from what was fetched, as a resumed run does.
        ASSERT_EQ(step.Gather(), absl::OkStatus());
        ExpectNear(actual, expected, name);
        auto next = MakeOptimizer(c.optimizer, dtype, Ranges());
        ASSERT_EQ(next->SetState(device->State()), absl::OkStatus());
        device = std::move(next);
        if (s == 14) step.Forget();
      }
      ASSERT_EQ(step.Gather(), absl::OkStatus());
      ExpectNear(actual, expected, name);
      ExpectNear(device->EvaluationParameters(actual), host->EvaluationParameters(expected), name);
      ExpectNear(*device_ema.parameters(), *host_ema.parameters(), name);
      EXPECT_EQ(device_ema.State().At("updates").ToDoubles(), host_ema.State().At("updates").ToDoubles());
      const NamedTensors state = device->State();
      for (const auto& [key, tensor] : host->State()) ExpectNear(state.At(key), tensor, name + " " + key);
    }
  }
}

TEST(TorchDeviceStepTest, NothingToAddIsAGradientOfZero) {
  const ToyTask task(TaskOptions(DType::kF32));
  TorchDeviceStep step(task, {});
  const Tensor parameters = Normals(DType::kF32, "p", 0);
  ASSERT_EQ(step.Begin(parameters), absl::OkStatus());
  EXPECT_EQ(step.Combine({1, 1}).value(), 0);
  at::Tensor& first = (*step.gradients())[0];
  first = at::full({kSize}, std::numeric_limits<float>::infinity());
  EXPECT_EQ(step.Combine({0, 1}).value(), 0);  // of weight 0
  first = at::full({kSize}, std::numeric_limits<float>::infinity());
  EXPECT_FALSE(std::isfinite(step.Combine({1, 1}).value()));
}

TEST(TorchDeviceStepTest, SquaresDoNotOverflow) {
  const ToyTask task(TaskOptions(DType::kF32));
  TorchDeviceStep step(task, {});
  ASSERT_EQ(step.Begin(Normals(DType::kF32, "p", 0)), absl::OkStatus());
  (*step.gradients())[0] = at::full({kSize}, 1e30, at::kFloat);
  EXPECT_NEAR(step.Combine({1, 1}).value(), 1e30 * std::sqrt(double{kSize}), 1e24);
}

TEST(TorchDeviceStepTest, BuffersComeFromTheHost) {
  std::vector<ParameterSlice> slices(2);
  slices[0].name = "weight", slices[0].offset = 0, slices[0].shape = {30};
  slices[1].name = "running_mean", slices[1].offset = 30, slices[1].shape = {7}, slices[1].buffer = true;
  Tensor parameters = Normals(DType::kF64, "p", 0);
  const ToyTask task(TaskOptions(DType::kF64));
  TorchDeviceStep step(task, {});
  ASSERT_EQ(step.Begin(parameters), absl::OkStatus());
  const std::vector<double> before = parameters.ToDoubles();
  for (double& value : parameters.mutable_values<double>()) value = 9;
  ASSERT_EQ(step.CopyBuffers(parameters, slices), absl::OkStatus());
  ASSERT_EQ(step.Gather(), absl::OkStatus());
  for (int64_t i = 0; i < kSize; ++i) EXPECT_EQ(parameters.ToDoubles()[i], i < 30 ? before[i] : 9) << i;
}

TEST(TorchDeviceStepTest, LibTorchsExceptionsBecomeErrors) {
  const ToyTask task(TaskOptions(DType::kF32));
  TorchDeviceStep step(task, {});
  ASSERT_EQ(step.Begin(Normals(DType::kF32, "p", 0)), absl::OkStatus());
  *step.gradients() = {at::zeros({3}), at::zeros({4})};
  const absl::Status status = step.Combine({1, 1}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("LibTorch"));
}

}  // namespace
}  // namespace rutile
