// Tests the kernels of GPUs on the host; device_performer_test.cc has the optimizers' steps.

#include "lib/optimizer/gpu/device_parameters.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/gpu/host_backend-inl.h"
#include "lib/optimizer/gpu/device_parameters-inl.h"
#include "lib/optimizer/gpu/device_parameters_testing.h"

namespace rutile {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

// 1, 2, ..., n.
template <typename T>
std::vector<T> Numbers(int64_t n) {
  std::vector<T> numbers(n);
  std::iota(numbers.begin(), numbers.end(), T{1});
  return numbers;
}

template <typename T>
void SetGradient(const std::vector<T>& values, HostDevice<T>* device) {
  device->backend.Upload(device->parameters.gradient(), values.data(), values.size() * sizeof(T));
}

template <typename T>
class DeviceParametersTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(DeviceParametersTest, Types);

TYPED_TEST(DeviceParametersTest, KnowsItsSizeAndType) {
  HostDevice<TypeParam> device(37);
  EXPECT_EQ(device.parameters.size(), 37);
  EXPECT_EQ(device.parameters.value_bytes(), sizeof(TypeParam));
}

// Below, at and above the lanes and the chunks of the sum.
TYPED_TEST(DeviceParametersTest, NormsAreThoseOfTheClosedForm) {
  for (const int64_t n : {1, 2, 255, 256, 257, 4095, 4096, 4097, 8193, 50000}) {
    HostDevice<TypeParam> device(n);
    SetGradient(Numbers<TypeParam>(n), &device);
    double norm = -1;
    ASSERT_EQ(device.parameters.Combine(0.5, &norm), "");
    const double m = static_cast<double>(n);
    const double expected = 0.5 * std::sqrt(m * (m + 1) * (2 * m + 1) / 6);  // of whole numbers: exact but for the root
    EXPECT_NEAR(norm, expected, 1e-14 * expected) << n;
    double again = -1;
    ASSERT_EQ(device.parameters.Combine(0.5, &again), "");
    EXPECT_EQ(norm, again);
  }
}

TYPED_TEST(DeviceParametersTest, OfNoParametersTheNormIsZero) {
  HostDevice<TypeParam> device(0);
  double norm = -1;
  ASSERT_EQ(device.parameters.ClearGradient(), "");
  ASSERT_EQ(device.parameters.Combine(1, &norm), "");
  EXPECT_EQ(norm, 0);
}

TEST(DeviceParametersNormTest, SquaresDoNotOverflow) {
  HostDevice<float> device(37);
  SetGradient(std::vector<float>(37, 1e30f), &device);
  double norm = 0;
  ASSERT_EQ(device.parameters.Combine(1, &norm), "");
  EXPECT_NEAR(norm, 1e30 * std::sqrt(37.0), 1e24);
}

TYPED_TEST(DeviceParametersTest, TheNormShowsWhatIsNotFinite) {
  for (const double wrong : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    HostDevice<TypeParam> device(5000);
    std::vector<TypeParam> gradient(5000, 1);
    gradient[4321] = static_cast<TypeParam>(wrong);
    SetGradient(gradient, &device);
    double norm = 0;
    ASSERT_EQ(device.parameters.Combine(1, &norm), "");
    EXPECT_FALSE(std::isfinite(norm));
    ASSERT_EQ(device.parameters.Combine(0, &norm), "");  // a term of weight 0, whatever its gradient holds
    EXPECT_EQ(norm, 0);
    ASSERT_EQ(device.parameters.FetchGradient(gradient.data()), "");
    EXPECT_THAT(gradient, Each(0));
  }
}

TYPED_TEST(DeviceParametersTest, GradientsAreClearedAndFetched) {
  HostDevice<TypeParam> device(3);
  std::vector<TypeParam> gradient(3);
  SetGradient<TypeParam>({1, 2, 3}, &device);
  ASSERT_EQ(device.parameters.FetchGradient(gradient.data()), "");
  EXPECT_THAT(gradient, ElementsAre(1, 2, 3));
  ASSERT_EQ(device.parameters.ClearGradient(), "");
  ASSERT_EQ(device.parameters.FetchGradient(gradient.data()), "");
  EXPECT_THAT(gradient, Each(0));
}

// Plain gradient descent at rate 1, on parameters of 0: what moves is the gradient.
template <typename T>
std::vector<T> Moved(HostDevice<T>* device) {
  SgdStep step;
  step.learning_rate = 1;
  std::vector<T> parameters(device->parameters.size());
  device->parameters.Forget();
  EXPECT_EQ(device->parameters.Begin(parameters.data()), "");
  EXPECT_EQ(device->parameters.Sgd(step, {{0, 0, device->parameters.size(), true}}, nullptr), "");
  EXPECT_EQ(device->parameters.Gather(), "");
  for (T& parameter : parameters) parameter = -parameter;
  return parameters;
}

TYPED_TEST(DeviceParametersTest, GradientsAreWeighedAndClipped) {
  HostDevice<TypeParam> device(2);
  double norm = 0;
  const auto combine = [&](double weight) {
    SetGradient<TypeParam>({3, -4}, &device);
    ASSERT_EQ(device.parameters.Combine(weight, &norm), "");
  };
  combine(2);
  EXPECT_EQ(norm, 10);
  EXPECT_THAT(Moved(&device), ElementsAre(6, -8));
  combine(2);
  device.parameters.ClipByNorm(norm, 5);
  EXPECT_THAT(Moved(&device), ElementsAre(3, -4));
  combine(2);
  device.parameters.ClipByNorm(norm, 11);  // shorter
  device.parameters.ClipByNorm(norm, 0);   // no limit
  device.parameters.ClipByValue(0);
  EXPECT_THAT(Moved(&device), ElementsAre(6, -8));
  combine(2);
  device.parameters.ClipByValue(7);
  EXPECT_THAT(Moved(&device), ElementsAre(6, -7));
  combine(1);  // the limit before does not last
  EXPECT_THAT(Moved(&device), ElementsAre(3, -4));
}

TYPED_TEST(DeviceParametersTest, CopiesAreMadeOnceUntilTheyAreForgotten) {
  HostDevice<TypeParam> device(2);
  std::vector<TypeParam> parameters = {1, 2}, average = {5, 7};
  ASSERT_EQ(device.parameters.Begin(parameters.data()), "");
  EXPECT_EQ(device.parameters.parameters()[1], 2);
  ASSERT_EQ(device.parameters.UpdateAverage(0.5, average.data()), "");
  EXPECT_THAT(average, ElementsAre(5, 7));  // nothing is fetched yet
  parameters = {0, 0}, average = {0, 0};    // the device's are what counts
  ASSERT_EQ(device.parameters.Begin(parameters.data()), "");
  ASSERT_EQ(device.parameters.UpdateAverage(0.25, average.data()), "");
  ASSERT_EQ(device.parameters.Gather(), "");
  EXPECT_THAT(parameters, ElementsAre(1, 2));
  EXPECT_THAT(average, ElementsAre(2.5, 3.875));
  ASSERT_EQ(device.parameters.Gather(), "");  // the copies remain
  EXPECT_THAT(average, ElementsAre(2.5, 3.875));

  parameters = {3, 4}, average = {1, 2};
  device.parameters.Forget();
  ASSERT_EQ(device.parameters.Begin(parameters.data()), "");
  ASSERT_EQ(device.parameters.UpdateAverage(0.5, average.data()), "");
  ASSERT_EQ(device.parameters.Gather(), "");
  EXPECT_THAT(parameters, ElementsAre(3, 4));
  EXPECT_THAT(average, ElementsAre(2, 3));
}

TYPED_TEST(DeviceParametersTest, AShareOfOneIsACopyWhateverTheAverageHolds) {
  HostDevice<TypeParam> device(2);
  std::vector<TypeParam> parameters = {1, 2}, average(2, std::numeric_limits<TypeParam>::quiet_NaN());
  ASSERT_EQ(device.parameters.Begin(parameters.data()), "");
  ASSERT_EQ(device.parameters.UpdateAverage(1, average.data()), "");
  ASSERT_EQ(device.parameters.Gather(), "");
  EXPECT_THAT(average, ElementsAre(1, 2));
}

TYPED_TEST(DeviceParametersTest, BuffersComeFromTheHost) {
  HostDevice<TypeParam> device(5);
  std::vector<TypeParam> parameters = {1, 2, 3, 4, 5};
  ASSERT_EQ(device.parameters.Begin(parameters.data()), "");
  parameters = {9, 9, 9, 9, 9};
  ASSERT_EQ(device.parameters.CopyBuffer(parameters.data(), 1, 3), "");
  ASSERT_EQ(device.parameters.Gather(), "");
  EXPECT_THAT(parameters, ElementsAre(1, 9, 9, 9, 5));
}

// Ranges of all lengths around a block's, in one launch; what is in no range stays.
TYPED_TEST(DeviceParametersTest, StepsTheRangesAndNothingElse) {
  const std::vector<DeviceRange> ranges = {{1, 0, 3, true},       {5, 3, 2047, false},      {2060, 2050, 2048, true},
                                           {4200, 4098, 0, true}, {4300, 4098, 2049, true}, {7000, 6147, 5001, false}};
  constexpr int64_t kSize = 13000, kState = 11148;
  HostDevice<TypeParam> device(kSize);
  std::vector<TypeParam> parameters = Numbers<TypeParam>(kSize), momentum(kState, 1);
  const std::vector<TypeParam> before = parameters;
  ASSERT_EQ(device.parameters.Begin(parameters.data()), "");
  SetGradient(std::vector<TypeParam>(kSize, 8), &device);
  double norm = 0;
  ASSERT_EQ(device.parameters.Combine(1, &norm), "");
  SgdStep step;
  step.momentum = 2, step.l2 = 1, step.learning_rate = 0.5;
  ASSERT_EQ(device.parameters.Sgd(step, ranges, momentum.data()), "");
  ASSERT_EQ(device.parameters.Gather(), "");
  std::vector<TypeParam> expected = before, expected_momentum(kState, 1);
  for (const DeviceRange& range : ranges) {
    for (int64_t i = 0; i < range.size; ++i) {
      TypeParam& p = expected[range.begin + i];
      TypeParam& b = expected_momentum[range.at + i];
      b = 2 * b + 8 + (range.decays ? p : 0);
      p -= b / 2;
    }
  }
  EXPECT_EQ(parameters, expected);
  EXPECT_EQ(momentum, expected_momentum);
}

// A device that has failed.
class FailingBackend : public HostBackend {
 public:
  std::string error() const { return failed ? "the GPU fell off the bus" : ""; }
  bool failed = false;
};

TEST(DeviceParametersErrorTest, AfterAnErrorNothingIsDone) {
  FailingBackend backend;
  DeviceParametersOn<double, FailingBackend> device(&backend, 2);
  std::vector<double> parameters = {1, 2}, average = {3, 4};
  ASSERT_EQ(device.Begin(parameters.data()), "");
  ASSERT_EQ(device.UpdateAverage(1, average.data()), "");
  backend.failed = true;
  const std::string error = backend.error();
  double norm = 0;
  EXPECT_EQ(device.Begin(parameters.data()), error);
  EXPECT_EQ(device.ClearGradient(), error);
  EXPECT_EQ(device.Combine(1, &norm), error);
  EXPECT_EQ(device.FetchGradient(average.data()), error);
  EXPECT_EQ(device.Adagrad({}, {{0, 0, 2, true}}, average.data()), error);
  EXPECT_EQ(device.CopyBuffer(average.data(), 0, 2), error);
  EXPECT_EQ(device.UpdateAverage(0.5, average.data()), error);
  EXPECT_EQ(device.Gather(), error);
  EXPECT_THAT(average, ElementsAre(3, 4));
}

}  // namespace
}  // namespace rutile
