// Compares steps on a device, here the host, with those of the host's optimizers.

#include "lib/optimizer/gpu/device_performer.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/gpu/host_backend-inl.h"
#include "lib/optimizer/averages/ema.h"
#include "lib/optimizer/gpu/device_parameters-inl.h"
#include "lib/optimizer/gpu/device_parameters_testing.h"
#include "lib/optimizer/optimizer.h"
#include "lib/optimizer/optimizer_options.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::DoubleNear;
using ::testing::Pointwise;

constexpr int64_t kSize = 5003;  // several blocks, and no whole vectors
constexpr int kSteps = 9;

template <typename T>
Tensor Normals(const char* purpose, int step, int64_t size = kSize) {
  RandomStream stream(5, purpose, step);
  Tensor values = Tensor::Zeros(DTypeOf<T>(), {size});
  for (T& value : values.mutable_values<T>()) value = static_cast<T>(stream.Normal());
  return values;
}

// Ranges that decay and some that do not, of odd sizes, with a gap that no optimizer updates.
std::vector<ParameterRange> Ranges() {
  return {{0, 8, true}, {8, 9, false}, {20, 2500, true}, {2520, 1, false}, {2521, 2482, true}};
}

enum class Clip { kNone, kNorm, kValue };

struct Case {
  OptimizerOptions optimizer;
  Clip clip = Clip::kNone;
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
    decays.clip = Clip::kNorm;
    cases.push_back(decays);
  }
  const auto add = [&](OptimizerKind kind, auto change) {
    Case one;
    one.optimizer = DefaultOptimizerOptions(kind);
    one.optimizer.weight_decay = 0.1;
    one.clip = Clip::kValue;
    change(&one.optimizer);
    cases.push_back(one);
  };
  const auto amsgrad = [](OptimizerOptions* o) { o->amsgrad = true, o->beta2 = 0.8, o->epsilon = 1e-3; };
  add(OptimizerKind::kAdam, amsgrad);
  add(OptimizerKind::kAdamW, amsgrad);
  add(OptimizerKind::kSgd, [](OptimizerOptions* o) { o->momentum = 0.9, o->dampening = 0.25; });
  add(OptimizerKind::kSgd, [](OptimizerOptions* o) { o->momentum = 0.9, o->nesterov = true; });
  add(OptimizerKind::kRmsprop, [](OptimizerOptions* o) { o->momentum = 0.5; });
  add(OptimizerKind::kRmsprop, [](OptimizerOptions* o) { o->momentum = 0.5, o->centered = true; });
  add(OptimizerKind::kAdagrad, [](OptimizerOptions* o) { o->lr_decay = 0.1, o->initial_accumulator = 0.5; });
  add(OptimizerKind::kScheduleFreeAdamW, [](OptimizerOptions* o) { o->weight_step_power = 1; });
  return cases;
}

void ExpectSame(const Tensor& actual, const Tensor& expected, const std::string& what) {
  ASSERT_EQ(actual.num_elements(), expected.num_elements()) << what;
  if (__builtin_cpu_supports("fma")) {
    EXPECT_EQ(actual.ToDoubles(), expected.ToDoubles()) << what;
    return;
  }
  // Without fused multiply-adds the host rounds once more in each of them, and steps add that up.
  const double tolerance = expected.dtype() == DType::kF32 ? 1e-4 : 1e-12;
  EXPECT_THAT(actual.ToDoubles(), Pointwise(DoubleNear(tolerance), expected.ToDoubles())) << what;
}

// The gradient as the host's step combines and clips it.
template <typename T>
Tensor Clipped(const Tensor& gradient, double weight, Clip clip, double limit, double* norm) {
  Tensor result = Tensor::Zeros(gradient.dtype(), {gradient.num_elements()});
  const absl::Span<T> values = result.mutable_values<T>();
  double squares = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<T>(weight) * gradient.values<T>()[i];
    squares += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  }
  *norm = std::sqrt(squares);
  for (T& value : values) {
    if (clip == Clip::kNorm && *norm > limit) value *= static_cast<T>(limit / *norm);
    if (clip == Clip::kValue) value = std::clamp(value, -static_cast<T>(limit), static_cast<T>(limit));
  }
  return result;
}

template <typename T>
void StepsAsTheHostDoes(const Case& c) {
  const DType dtype = DTypeOf<T>();
  const std::string name(kOptimizerNames.Name(c.optimizer.kind));
  EmaOptions average;
  average.start_step = 3, average.update_every_n_steps = 2;
  Ema host_ema(average, dtype, kSize, kSteps), device_ema(average, dtype, kSize, kSteps);
  Tensor expected = Normals<T>("p", 0), actual = Normals<T>("p", 0);
  const auto host = MakeOptimizer(c.optimizer, dtype, Ranges());
  auto on_device = MakeOptimizer(c.optimizer, dtype, Ranges());
  HostDevice<T> device(kSize);
  DeviceParameters& parameters = device.parameters;
  for (int s = 1; s <= kSteps; ++s) {
    const double rate = c.optimizer.learning_rate / s;  // as a schedule changes it
    const double weight = 0.3, limit = c.clip == Clip::kNorm ? 4 : 0.25;
    const Tensor gradient = Normals<T>("g", s);
    double norm = 0, device_norm = 0;
    const Tensor clipped = Clipped<T>(gradient, weight, c.clip, limit, &norm);

    ASSERT_EQ(parameters.Begin(actual.mutable_data()), "");
    device.backend.Upload(device.parameters.gradient(), gradient.data(), gradient.num_bytes());
    ASSERT_EQ(parameters.Combine(weight, &device_norm), "");
    EXPECT_NEAR(device_norm, norm, 1e-13 * norm);  // sums in another order
    if (c.clip == Clip::kNorm) parameters.ClipByNorm(norm, limit);
    if (c.clip == Clip::kValue) parameters.ClipByValue(limit);
    on_device->BeginStep(rate);
    ASSERT_EQ(PerformStep(*on_device, &parameters), absl::OkStatus());
    const std::optional<double> share = device_ema.CountUpdate(s);
    if (share) {
      Tensor copy = *device_ema.parameters();
      ASSERT_EQ(parameters.UpdateAverage(*share, copy.mutable_data()), "");
    }
    if (s == 1) {
      EXPECT_EQ(actual.ToDoubles(), expected.ToDoubles());  // nothing is fetched yet
    }
    host->Step(rate, clipped, &expected);
    host_ema.Update(expected, s);
    if (s % 3 != 0) continue;
    ASSERT_EQ(parameters.Gather(), "");
    ExpectSame(actual, expected, name);
    if (s != 6) continue;  // the copies remain
    // Another optimizer goes on from what was fetched, as a resumed run does.
    parameters.Forget();
    auto next = MakeOptimizer(c.optimizer, dtype, Ranges());
    ASSERT_EQ(next->SetState(on_device->State()), absl::OkStatus());
    on_device = std::move(next);
  }
  ASSERT_EQ(parameters.Gather(), "");
  ExpectSame(actual, expected, name);
  ExpectSame(on_device->EvaluationParameters(actual), host->EvaluationParameters(expected), name);
  ExpectSame(*device_ema.parameters(), *host_ema.parameters(), name);
  const NamedTensors state = on_device->State();
  for (const auto& [key, tensor] : host->State()) ExpectSame(state.At(key), tensor, name + " " + key);
}

TEST(DevicePerformerTest, StepsAsTheHostDoesInFp32) {
  for (const Case& c : Cases()) StepsAsTheHostDoes<float>(c);
}

TEST(DevicePerformerTest, StepsAsTheHostDoesInFp64) {
  for (const Case& c : Cases()) StepsAsTheHostDoes<double>(c);
}

TEST(DevicePerformerTest, AnOptimizerWithoutParametersDoesNothing) {
  HostDevice<double> device(3);
  std::vector<double> parameters = {1, 2, 3};
  double norm = 0;
  ASSERT_EQ(device.parameters.Begin(parameters.data()), "");
  ASSERT_EQ(device.parameters.ClearGradient(), "");
  ASSERT_EQ(device.parameters.Combine(1, &norm), "");
  const auto optimizer = MakeOptimizer(OptimizerOptions(), DType::kF64, std::vector<ParameterRange>());
  optimizer->BeginStep(0.1);
  EXPECT_EQ(PerformStep(*optimizer, &device.parameters), absl::OkStatus());
  ASSERT_EQ(device.parameters.Gather(), "");
  EXPECT_THAT(parameters, ::testing::ElementsAre(1, 2, 3));
}

class FailedBackend : public HostBackend {
 public:
  std::string error() const { return "the GPU fell off the bus"; }
};

TEST(DevicePerformerTest, ErrorsOfTheDeviceAreInternal) {
  FailedBackend backend;
  DeviceParametersOn<double, FailedBackend> device(&backend, 3);
  const auto optimizer = MakeOptimizer(OptimizerOptions(), DType::kF64, 3);
  optimizer->BeginStep(0.1);
  EXPECT_THAT(PerformStep(*optimizer, &device), ErrorNames(absl::StatusCode::kInternal, {"fell off the bus"}));
}

TEST(DevicePerformerDeathTest, RefusesAnotherTypeAndAnotherSize) {
  HostDevice<float> device(3);
  const auto fp64 = MakeOptimizer(OptimizerOptions(), DType::kF64, 3);
  fp64->BeginStep(0.1);
  EXPECT_DEATH(PerformStep(*fp64, &device.parameters).IgnoreError(), "8 vs. 4");
  const auto longer = MakeOptimizer(OptimizerOptions(), DType::kF32, 4);
  longer->BeginStep(0.1);
  EXPECT_DEATH(PerformStep(*longer, &device.parameters).IgnoreError(), "Check failed");
}

}  // namespace
}  // namespace rutile
