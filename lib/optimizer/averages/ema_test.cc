#include "lib/optimizer/averages/ema.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kRunSteps = 200;

EmaOptions Constant(double decay) {
  EmaOptions options;
  options.type = EmaDecay::kConstant;
  options.decay = decay;
  return options;
}

Tensor F64(const std::vector<double>& values) { return Tensor::Of(values); }

// Updates with one parameter of these values, after steps 1, 2, ..., and returns the last average.
double Average(const EmaOptions& options, const std::vector<double>& values) {
  Ema ema(options, DType::kF64, 1, kRunSteps);
  int64_t step = 0;
  for (const double value : values) ema.Update(F64({value}), ++step);
  return ema.parameters()->values<double>()[0];
}

// The parameter is 0 first, then always 1: after n more updates the average is 1 - d^n.
TEST(EmaTest, ConstantDecayIsAGeometricSeries) {
  std::vector<double> values = {0};
  for (int n = 1; n <= 50; ++n) {
    values.push_back(1);
    EXPECT_NEAR(Average(Constant(0.9), values), 1 - std::pow(0.9, n), 1e-15) << n;
  }
}

TEST(EmaTest, ConstantDecayInFp32) {
  Ema ema(Constant(0.99), DType::kF32, 2, 0);
  ema.Update(Tensor::Of<float>({0, 8}, {2}), 1);
  for (int n = 1; n <= 100; ++n) ema.Update(Tensor::Of<float>({1, 8}, {2}), n + 1);
  EXPECT_NEAR(ema.parameters()->values<float>()[0], 1 - std::pow(0.99, 100), 1e-6);
  EXPECT_EQ(ema.parameters()->values<float>()[1], 8);  // a parameter that never moves equals its average
}

TEST(EmaTest, ThresholdRisesToTheDecay) {
  EmaOptions options;  // threshold, 0.999
  options.decay = 0.5;
  // t counts updates including the first copy: 2/11, 3/12, ... and 0.5 from 9/18 on.
  EXPECT_DOUBLE_EQ(EmaDecayAt(options, 1, 0, 0), 2.0 / 11);
  EXPECT_DOUBLE_EQ(EmaDecayAt(options, 8, 0, 0), 0.5);
  EXPECT_DOUBLE_EQ(EmaDecayAt(options, 1000, 0, 0), 0.5);
  EXPECT_DOUBLE_EQ(Average(options, {0, 1}), 9.0 / 11);
  EXPECT_DOUBLE_EQ(Average(options, {0, 1, 5}), 0.25 * 9 / 11 + 0.75 * 5);
}

TEST(EmaTest, ExponentialRisesWithTheRun) {
  EmaOptions options;
  options.type = EmaDecay::kExponential;
  options.decay = 0.9;
  options.beta = 4;
  EXPECT_DOUBLE_EQ(EmaDecayAt(options, 3, 0, kRunSteps), 0);
  EXPECT_DOUBLE_EQ(EmaDecayAt(options, 3, 50, kRunSteps), 0.9 * (1 - std::exp(-1)));
  EXPECT_NEAR(EmaDecayAt(options, 3, kRunSteps, kRunSteps), 0.9, 0.02);
  const double d = 0.9 * (1 - std::exp(-4.0 * 1 / kRunSteps));
  EXPECT_NEAR(Average(options, {0, 1}), 1 - d, 1e-15);
}

TEST(EmaTest, ThereIsNoAverageBeforeStartStep) {
  EmaOptions options = Constant(0.5);
  options.start_step = 3;
  Ema ema(options, DType::kF64, 1, kRunSteps);
  for (int64_t step = 1; step <= 2; ++step) {
    ema.Update(F64({100}), step);
    EXPECT_EQ(ema.parameters(), nullptr);
  }
  ema.Update(F64({4}), 3);  // the first copies
  ASSERT_NE(ema.parameters(), nullptr);
  EXPECT_EQ(ema.parameters()->values<double>()[0], 4);
  ema.Update(F64({6}), 4);
  EXPECT_EQ(ema.parameters()->values<double>()[0], 5);
}

TEST(EmaTest, UpdatesEveryFewSteps) {
  EmaOptions options = Constant(0.5);
  options.start_step = 2;
  options.update_every_n_steps = 3;
  // Only steps 2, 5 and 8 count: 2, then (2 + 5) / 2, then (3.5 + 8) / 2.
  EXPECT_EQ(Average(options, {1, 2, 3, 4}), 2);
  EXPECT_EQ(Average(options, {1, 2, 3, 4, 5, 6, 7}), 3.5);
  EXPECT_EQ(Average(options, {1, 2, 3, 4, 5, 6, 7, 8}), 5.75);
}

// Constant parameters equal their average, to the last bit, for every type of decay.
// A caller who forms the average from the shares gets that of Update.
TEST(EmaTest, CountsUpdatesForAnAverageElsewhere) {
  EmaOptions options;
  options.start_step = 2, options.update_every_n_steps = 3;
  Ema ema(options, DType::kF64, 1, kRunSteps), counted(options, DType::kF64, 1, kRunSteps);
  double average = 100;
  for (int64_t step = 1; step <= 30; ++step) {
    const double value = 1.0 / static_cast<double>(step);
    ema.Update(F64({value}), step);
    const std::optional<double> share = counted.CountUpdate(step);
    EXPECT_EQ(share.has_value(), step >= 2 && (step - 2) % 3 == 0);
    if (share) average = *share == 1 ? value : average + *share * (value - average);
    EXPECT_EQ(counted.parameters() != nullptr, step >= 2);
    if (step >= 2) {
      EXPECT_NEAR(average, ema.parameters()->values<double>()[0], 1e-15) << step;
    }
  }
  EXPECT_EQ(counted.State().At("updates").ToDoubles(), ema.State().At("updates").ToDoubles());
}

TEST(EmaTest, ConstantParametersAreTheirOwnAverage) {
  RandomStream stream(1, "ema");
  std::vector<float> values(1003);
  for (float& value : values) value = static_cast<float>(stream.Normal());
  const Tensor parameters = Tensor::Of(values);
  for (const EmaDecay type : {EmaDecay::kConstant, EmaDecay::kThreshold, EmaDecay::kExponential}) {
    EmaOptions options;
    options.type = type;
    options.decay = 0.9999;
    Ema ema(options, DType::kF32, 1003, kRunSteps);
    for (int64_t step = 1; step <= kRunSteps; ++step) ema.Update(parameters, step);
    const auto average = ema.parameters()->values<float>();
    EXPECT_TRUE(std::equal(average.begin(), average.end(), values.begin())) << kEmaDecayNames.Name(type);
  }
}

TEST(EmaTest, ResumesWithTheSameBits) {
  EmaOptions options;
  options.update_every_n_steps = 2;
  RandomStream stream(1, "ema");
  Ema whole(options, DType::kF32, 37, kRunSteps), first(options, DType::kF32, 37, kRunSteps);
  Ema resumed(options, DType::kF32, 37, kRunSteps);
  std::vector<float> values(37);
  for (int64_t step = 1; step <= 50; ++step) {
    for (float& value : values) value = static_cast<float>(stream.Normal());
    whole.Update(Tensor::Of(values), step);
    if (step == 20) {
      ASSERT_EQ(resumed.SetState(first.State(), first.parameters()), absl::OkStatus());
      EXPECT_NE(resumed.parameters()->data(), first.parameters()->data());
    }
    (step < 20 ? first : resumed).Update(Tensor::Of(values), step);
  }
  const auto a = whole.parameters()->values<float>(), b = resumed.parameters()->values<float>();
  EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin()));
}

TEST(EmaTest, RefusesAStateThatDoesNotFit) {
  Ema ema(Constant(0.5), DType::kF64, 2, kRunSteps);
  const auto message = [&](const NamedTensors& state, const Tensor* average) {
    return std::string(ema.SetState(state, average).message());
  };
  EXPECT_EQ(ema.SetState(ema.State(), nullptr), absl::OkStatus());
  EXPECT_EQ(ema.parameters(), nullptr);
  const Tensor other = F64({1, 2, 3});
  NamedTensors state;
  EXPECT_THAT(message(state, nullptr), HasSubstr("no tensor \"updates\""));
  state.Set("updates", Tensor::Scalar<int64_t>(4));
  EXPECT_THAT(message(state, nullptr), HasSubstr("4 updates, but no average"));
  EXPECT_THAT(message(state, &other), HasSubstr("F64 [3], expected F64 [2]"));
  state.Set("updates", Tensor::Scalar<int64_t>(0));
  EXPECT_THAT(message(state, &other), HasSubstr("0 updates, but an average"));
  EXPECT_EQ(ema.parameters(), nullptr);
}

TEST(EmaTest, RefusesOptionsOutOfRange) {
  const auto message = [](void (*change)(EmaOptions*)) {
    EmaOptions options;
    change(&options);
    return std::string(CheckEmaOptions(options).message());
  };
  EXPECT_EQ(message([](EmaOptions*) {}), "");
  EXPECT_EQ(message([](EmaOptions* o) { o->decay = 1; }), "ema_decay is 1, expected 0 <= ema_decay < 1");
  EXPECT_THAT(message([](EmaOptions* o) { o->decay = std::nan(""); }), HasSubstr("decay is nan"));
  EXPECT_THAT(message([](EmaOptions* o) { o->beta = 0; }), HasSubstr("beta is 0"));
  EXPECT_THAT(message([](EmaOptions* o) { o->start_step = -1; }), HasSubstr("start_step is -1"));
  EXPECT_THAT(message([](EmaOptions* o) { o->update_every_n_steps = 0; }), HasSubstr("update_every_n_steps is 0"));
}

TEST(EmaTest, SettingsAreThoseOfTheOptions) {
  EmaOptions options;
  for (const auto& [name, text] :
       {std::pair("ema_decay_type", "exp"), std::pair("ema_decay", "0.9"), std::pair("ema_beta", "3"),
        std::pair("ema_start_step", "5"), std::pair("ema_update_every_n_steps", "2")}) {
    EXPECT_EQ(FindSetting(EmaSettings(), name)->Set(text, &options), absl::OkStatus());
  }
  EXPECT_EQ(options.type, EmaDecay::kExponential);
  EXPECT_EQ(options.decay, 0.9);
  EXPECT_EQ(options.beta, 3);
  EXPECT_EQ(options.start_step, 5);
  EXPECT_EQ(options.update_every_n_steps, 2);
  EXPECT_THAT(std::string(FindSetting(EmaSettings(), "ema_decay_type")->Set("linear", &options).message()),
              HasSubstr("the choices are constant, threshold, exp"));
}

TEST(EmaDeathTest, RejectsParametersOfAnotherType) {
  Ema ema(Constant(0.5), DType::kF32, 1, 0);
  EXPECT_DEATH(ema.Update(F64({1}), 1), "dtype");
  EmaOptions options;
  options.type = EmaDecay::kExponential;
  EXPECT_DEATH(Ema(options, DType::kF32, 1, 0), "run_steps");
}

}  // namespace
}  // namespace rutile
