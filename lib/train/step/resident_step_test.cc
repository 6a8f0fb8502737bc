// Compares steps with a task's own kernels on a device, here the host, with those of the host. Whole runs are in
// lib/train/tests/trainer_resident_test.cc.

#include "lib/train/step/resident_step.h"

#include <cmath>
#include <cstdint>
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
#include "lib/task/gradients/resident_gradients.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/testing/error_names.h"
#include "lib/testing/toy_task.h"
#include "lib/train/options/trainer_options.h"
#include "lib/train/step/gradient_step.h"
#include "lib/train/step/resident_toy_testing.h"

namespace rutile {
namespace {

using ::testing::DoubleNear;
using ::testing::Pointwise;

constexpr int64_t kSize = 38;
constexpr int kSteps = 12;

ToyTaskOptions Options() {
  ToyTaskOptions options;
  options.num_features = kSize - 2;
  return options;
}

NamedTensors BatchOf(const ResidentToy& task, int64_t first) {
  NamedTensors batch;
  EXPECT_TRUE(task.MakeBatch({first, first + 1, first + 2, first + 3}, &batch).ok());
  return batch;
}

struct Case {
  const char* optimizer;
  double clip = 0;
  GradientClip algorithm = GradientClip::kNorm;
  int batches = 1;  // of a step
};

// The optimizers themselves are compared in lib/optimizer/gpu.
TEST(ResidentStepTest, StepsAsTheHostDoes) {
  for (const Case& c : {Case{"adam"}, Case{"adam", 3}, Case{"sgd", 0.1, GradientClip::kValue}, Case{"adamw", 0, {}, 3},
                        Case{"schedule-free-adamw", 2, {}, 2}}) {
    ResidentToy task(Options(), true), reference(Options(), false);
    TrainerOptions options;
    options.gradient_clip_val = c.clip;
    options.gradient_clip_algorithm = c.algorithm;
    options.optimizer = DefaultOptimizerOptions(c.optimizer).value();
    EmaOptions average;
    average.start_step = 3, average.update_every_n_steps = 2;
    Ema host_ema(average, DType::kF64, kSize, kSteps), device_ema(average, DType::kF64, kSize, kSteps);
    Tensor expected = task.InitialParameters(1), actual = task.InitialParameters(1);
    const std::vector<ParameterRange> ranges = {{0, kSize - 1, true}};
    const auto host = MakeOptimizer(options.optimizer, DType::kF64, ranges);
    const auto device = MakeOptimizer(options.optimizer, DType::kF64, ranges);
    ResidentStep step(&task);
    for (int s = 1; s <= kSteps; ++s) {
      const double rate = 0.05 / s;  // as a schedule changes it
      std::vector<Tensor> gradient = {Tensor::Zeros(DType::kF64, {kSize})};
      TermSums sums(1), device_sums(1);
      ASSERT_EQ(step.Begin(actual), absl::OkStatus());
      for (int b = 0; b < c.batches; ++b) {
        const NamedTensors batch = BatchOf(task, (s + 5 * b) % 30);
        ASSERT_EQ(step.Add(batch, 1, &device_sums), absl::OkStatus());
        ASSERT_EQ(reference.AccumulateGradients(expected, batch, absl::MakeSpan(gradient), &sums), absl::OkStatus());
      }
      ASSERT_EQ(step.FetchSums(&device_sums), absl::OkStatus());
      EXPECT_EQ(device_sums.count, sums.count);
      const std::vector<double> weight = {task.CombineTerms(device_sums).weight[0]};
      const absl::StatusOr<double> device_norm = step.Combine(weight);
      ASSERT_TRUE(device_norm.ok()) << device_norm.status();
      const double norm = CombineGradients(weight, gradient, &gradient[0]);
      EXPECT_NEAR(*device_norm, norm, 1e-12 * norm);
      if (c.algorithm == GradientClip::kNorm) {
        ClipGradient(norm, c.clip, &gradient[0]);
      } else {
        ClipGradientByValue(c.clip, &gradient[0]);
      }
      host->Step(rate, gradient[0], &expected);
      reference.FinishStep(&expected);
      host_ema.Update(expected, s);

      ASSERT_EQ(step.Step(rate, *device_norm, options, device.get()), absl::OkStatus());
      const std::vector<double> before = actual.ToDoubles();
      task.FinishStep(&actual);
      ASSERT_EQ(step.CopyBuffers(actual, task.parameter_slices()), absl::OkStatus());
      ASSERT_EQ(step.UpdateAverage(s, &device_ema), absl::OkStatus());
      if (s == 1) {  // nothing is fetched yet: the host sets the buffer alone
        EXPECT_EQ(before, task.InitialParameters(1).ToDoubles());
        EXPECT_NE(actual.ToDoubles()[kSize - 1], before[kSize - 1]);
      }
      if (s % 5 == 0) {
        ASSERT_EQ(step.Gather(), absl::OkStatus());
        if (s == 10) step.Forget();  // as before another state is set
      }
    }
    ASSERT_EQ(step.Gather(), absl::OkStatus());
    EXPECT_EQ(task.on_device, c.batches * kSteps);
    EXPECT_EQ(task.on_host, 0);
    // Without clipping by norm, whose squares are added in another order, all is the same to the bit.
    EXPECT_THAT(actual.ToDoubles(), Pointwise(DoubleNear(1e-12), expected.ToDoubles())) << c.optimizer;
    EXPECT_THAT(device_ema.parameters()->ToDoubles(), Pointwise(DoubleNear(1e-12), host_ema.parameters()->ToDoubles()));
    const NamedTensors state = device->State();
    for (const auto& [key, tensor] : host->State()) {
      EXPECT_THAT(state.At(key).ToDoubles(), Pointwise(DoubleNear(1e-12), tensor.ToDoubles())) << key;
    }
  }
}

TEST(ResidentStepTest, WithoutABatchTheGradientIsZero) {
  ResidentToy task(Options(), true);
  const Tensor parameters = task.InitialParameters(1);
  ResidentStep step(&task);
  ASSERT_EQ(step.Begin(parameters), absl::OkStatus());
  ASSERT_EQ(step.Add(BatchOf(task, 0), 1, nullptr), absl::OkStatus());
  EXPECT_GT(step.Combine({1}).value(), 0);
  ASSERT_EQ(step.Begin(parameters), absl::OkStatus());  // which starts anew
  EXPECT_EQ(step.Combine({1}).value(), 0);
}

TEST(ResidentStepTest, AGradientThatIsNotFiniteShowsInTheNorm) {
  ResidentToy task(Options(), true);
  const Tensor parameters = task.InitialParameters(1);
  ResidentStep step(&task);
  ASSERT_EQ(step.Begin(parameters), absl::OkStatus());
  task.infinite_gradient = true;
  ASSERT_EQ(step.Add(BatchOf(task, 0), 1, nullptr), absl::OkStatus());
  EXPECT_FALSE(std::isfinite(step.Combine({1}).value()));
}

// Another run on the same task, perhaps with the same memory, starts from its own parameters.
TEST(ResidentStepTest, ANewStepForgetsWhatIsOnTheDevice) {
  ResidentToy task(Options(), true);
  Tensor parameters = task.InitialParameters(1);
  {
    ResidentStep step(&task);
    ASSERT_EQ(step.Begin(parameters), absl::OkStatus());
  }
  parameters.mutable_values<double>()[3] = 42;
  ResidentStep step(&task);
  ASSERT_EQ(step.Begin(parameters), absl::OkStatus());
  parameters.mutable_values<double>()[3] = 0;
  ASSERT_EQ(step.Gather(), absl::OkStatus());
  EXPECT_EQ(parameters.values<double>()[3], 42);
}

TEST(ResidentStepTest, ErrorsOfTheTaskArePassedOn) {
  ResidentToy task(Options(), true);
  task.fails_after = 1;
  const Tensor parameters = task.InitialParameters(1);
  ResidentStep step(&task);
  ASSERT_EQ(step.Begin(parameters), absl::OkStatus());
  ASSERT_EQ(step.Add(BatchOf(task, 0), 1, nullptr), absl::OkStatus());
  EXPECT_THAT(step.Add(BatchOf(task, 0), 1, nullptr), ErrorNames(absl::StatusCode::kInternal, {"fell off the bus"}));
}

}  // namespace
}  // namespace rutile
