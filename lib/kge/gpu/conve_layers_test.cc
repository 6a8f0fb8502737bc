// Compares the device's layers of ConvE, run by the host, with those of the CPU, and with golden values.

#include "lib/kge/layers/conve/conve_layers.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/gpu/device_array-inl.h"
#include "lib/gpu/host_backend-inl.h"
#include "lib/kge/gpu/conve_layers-inl.h"
#include "lib/kge/gpu/conve_statistics.h"
#include "lib/kge/layers/batch_rows.h"
#include "lib/kge/layers/batch_statistics.h"
#include "lib/kge/layers/conve/golden_conve_testing.h"
#include "lib/kge/model/kge_init.h"
#include "lib/kge/model/kge_options.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/kge/training/device_kge_kernel.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {
namespace {

// Numbers as after some training: no norm is the identity, running variances are above 0.
template <typename T>
std::vector<T> ParametersOf(const KgeShape& shape) {
  const std::vector<double> initial = InitialKgeParameters(shape, 3);
  RandomStream stream(5, "noise");
  std::vector<T> values;
  for (const double value : initial) values.push_back(static_cast<T>(value + 0.2 * stream.Uniform()));
  return values;
}

template <typename T>
struct Outcome {
  std::vector<T> v, gradient, d_heads, d_relations;
  BatchStatistics statistics;
};

// What Backward adds to, so that a value that is overwritten, or not, shows.
template <typename T>
std::vector<T> GradientBefore(const KgeShape& shape) {
  std::vector<T> gradient(shape.offsets().size);
  for (size_t i = 0; i < gradient.size(); ++i) gradient[i] = static_cast<T>(i % 3) / 16;
  return gradient;
}

template <typename T>
std::vector<T> SlopesOf(int64_t n) {
  RandomStream stream(8, "slopes");
  std::vector<T> slopes(n);
  for (T& slope : slopes) slope = static_cast<T>(stream.Normal());
  return slopes;
}

template <typename T>
Outcome<T> FromCpu(const KgeShape& shape, const std::vector<T>& parameters, const KgeBatch& batch) {
  const int64_t n = batch.size() * shape.dim();
  Outcome<T> outcome;
  outcome.v.resize(n);
  outcome.gradient = GradientBefore<T>(shape);
  outcome.d_heads.resize(n);
  outcome.d_relations.resize(n);
  ConveLayers<T> layers(shape, nullptr, FactorRounding::kNone);
  layers.Forward(parameters.data(), batch, outcome.v.data());
  outcome.statistics = layers.Statistics();
  layers.Backward(parameters.data(), batch, outcome.v.data(), SlopesOf<T>(n).data(), outcome.gradient.data(),
                  {outcome.d_heads.data(), outcome.d_relations.data()});
  return outcome;
}

// The layers on the host's backend.
template <typename T>
class OnDevice {
 public:
  explicit OnDevice(const KgeShape& shape, FactorRounding rounding = FactorRounding::kNone)
      : shape_(shape), step_(MakeStepShape(shape)), layers_(&backend_, step_) {
    if constexpr (sizeof(T) == 4) layers_.SetRounding(rounding);
  }

  Outcome<T> Run(const std::vector<T>& parameters, const KgeBatch& batch) {
    KgeDeviceBatch on_device;
    on_device.size = batch.size();
    on_device.head = batch.head.data();
    on_device.relation = batch.relation.data();
    on_device.training = batch.training;
    std::vector<uint64_t> keys[kNumKgeDropouts];
    for (int layer = 0; layer < kNumKgeDropouts; ++layer) {
      if (step_.rate[layer] == 0) continue;
      // As FillDropout of lib/kge/layers/dropout.h seeds its generator.
      const uint64_t seed = shape_.options.seed + 0x9e3779b97f4a7c15ULL * static_cast<uint64_t>(layer);
      for (const int64_t example : batch.example) {
        keys[layer].push_back(RandomStream(seed, "dropout", batch.epoch, example).Next());
      }
      on_device.mask_key[layer] = keys[layer].data();
    }
    const int64_t n = batch.size() * shape_.dim();
    const std::vector<T> d_v = SlopesOf<T>(n);
    Outcome<T> outcome;
    const T nan = std::nan("");
    outcome.v.assign(n, nan);
    outcome.d_heads.assign(n, nan);
    outcome.d_relations.assign(n, nan);
    outcome.gradient = GradientBefore<T>(shape_);
    layers_.Forward(parameters.data(), on_device, outcome.v.data());
    if (batch.training) {
      outcome.statistics =
          ConveStatistics(step_, batch.size(), absl::MakeSpan(layers_.statistics(), layers_.num_statistics()));
    }
    layers_.Backward(parameters.data(), on_device, outcome.v.data(), d_v.data(), outcome.gradient.data(),
                     outcome.d_heads.data(), outcome.d_relations.data());
    return outcome;
  }

 private:
  const KgeShape shape_;
  const KgeStepShape step_;
  HostBackend backend_;
  DeviceConveLayers<T, HostBackend> layers_;
};

// The tolerance is relative to the largest number or, if that is larger, to 1: gradients are sums of numbers of about
// this size, and may be 0 up to rounding where a norm follows.
template <typename T>
void ExpectNear(const T* actual, const T* expected, int64_t n, double tolerance, const char* what) {
  double most = 1;
  for (int64_t i = 0; i < n; ++i) most = std::max(most, std::abs(static_cast<double>(expected[i])));
  for (int64_t i = 0; i < n; ++i) ASSERT_NEAR(actual[i], expected[i], tolerance * most) << what << " " << i;
}

void ExpectSame(const BatchStatistics::Norm& actual, const BatchStatistics::Norm& expected, double tolerance) {
  ASSERT_EQ(actual.mean.size(), expected.mean.size());
  ASSERT_EQ(actual.variance.size(), expected.variance.size());
  for (size_t c = 0; c < actual.mean.size(); ++c) {
    EXPECT_NEAR(actual.mean[c], expected.mean[c], tolerance * (1 + std::abs(expected.mean[c])));
    EXPECT_NEAR(actual.variance[c], expected.variance[c], tolerance * (1 + expected.variance[c]));
  }
}

template <typename T>
void ExpectSame(const KgeShape& shape, const Outcome<T>& actual, const Outcome<T>& expected, double tolerance) {
  const int64_t n = static_cast<int64_t>(expected.v.size());
  ExpectNear(actual.v.data(), expected.v.data(), n, tolerance, "v");
  ExpectNear(actual.d_heads.data(), expected.d_heads.data(), n, tolerance, "d_heads");
  ExpectNear(actual.d_relations.data(), expected.d_relations.data(), n, tolerance, "d_relations");
  for (const ParameterSlice& slice : shape.Slices()) {
    int64_t size = 1;
    for (const int64_t extent : slice.shape) size *= extent;
    ExpectNear(actual.gradient.data() + slice.offset, expected.gradient.data() + slice.offset, size, tolerance,
               slice.name.c_str());
  }
  ExpectSame(actual.statistics.bn0, expected.statistics.bn0, tolerance);
  ExpectSame(actual.statistics.bn1, expected.statistics.bn1, tolerance);
  ExpectSame(actual.statistics.bn2, expected.statistics.bn2, tolerance);
}

struct Sizes {
  int64_t height, width, kernel_height, kernel_width, channels, batch;
};
// Groups of channels are below, at and above 8; some kernels are as large as the image, once with a single value of
// each channel, and one has more sums than are computed at once; sums over examples are below and above 64 parts.
const Sizes kSizes[] = {{3, 5, 2, 3, 1, 1},   {3, 5, 1, 1, 3, 2}, {2, 4, 3, 3, 8, 7},
                        {4, 6, 3, 3, 19, 7},  {1, 1, 1, 1, 2, 5}, {4, 3, 4, 6, 9, 70},
                        {5, 4, 3, 3, 4, 130}, {2, 3, 4, 3, 2, 1}, {9, 18, 16, 16, 8, 2}};

template <typename T>
void ForAll(const std::function<void(const KgeShape&, const OwnedKgeBatch&)>& check) {
  for (const ConveVariant variant : {ConveVariant::kDettmers, ConveVariant::kTiepin, ConveVariant::kLibkge}) {
    for (const Sizes& sizes : kSizes) {
      KgeShape shape;
      shape.num_entities = 11;
      shape.num_relations = 4;
      KgeOptions& options = shape.options;
      options.variant = variant;
      options.embedding_height = sizes.height;
      options.embedding_width = sizes.width;
      options.embedding_dim = sizes.height * sizes.width;
      options.kernel_height = sizes.kernel_height;
      options.kernel_width = sizes.kernel_width;
      options.output_channels = sizes.channels;
      options.seed = 77;
      options.precision = sizeof(T) == sizeof(float) ? DType::kF32 : DType::kF64;
      if (!CheckKgeOptions(options).ok()) continue;
      for (const bool drops : {true, false}) {
        if (!drops && sizes.kernel_height > 10) continue;  // it takes a second
        options.input_dropout = drops ? 0.3 : 0;
        options.feature_map_dropout = drops ? 0.4 : 0;
        options.output_dropout = drops ? 0.2 : 0;
        SCOPED_TRACE(absl::StrCat("variant ", static_cast<int>(variant), ", ", sizes.height, " x ", sizes.width,
                                  ", kernel ", sizes.kernel_height, " x ", sizes.kernel_width, ", ", sizes.channels,
                                  " channels, batch ", sizes.batch, drops ? ", dropout" : ""));
        check(shape, RandomKgeBatch(shape, sizes.batch, 2, 9));
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(DivisionTest, RoundsDown) {
  for (const int divisor : {1, 2, 3, 7, 10, 18, 324, 484, 4095, 65535}) {
    const Division divide(divisor);
    for (const int q : {0, 1, 2, 17, 1000, 65535}) {
      if (int64_t{q + 2} * divisor * divisor >= int64_t{1} << 32) continue;
      const int n = q * divisor;
      for (const int here : {n - 1, n, n + 1, n + divisor - 1}) {
        if (here < 0) continue;
        EXPECT_EQ(divide(here), here / divisor) << here << " / " << divisor;
      }
    }
  }
}

template <typename T>
class ConveLayersTest : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(ConveLayersTest, Types);

// Both round in other places. A norm of two values divides by their difference, which may be small: how much it
// amplifies rounding depends on the compiler, so that fp64 says whether training batches of two are right, and fp32 has
// a wide bound there.
TYPED_TEST(ConveLayersTest, EqualsTheCpu) {
  using T = TypeParam;
  constexpr bool kIsFloat = sizeof(T) == sizeof(float);
  ForAll<T>([](const KgeShape& shape, const OwnedKgeBatch& batch) {
    const std::vector<T> parameters = ParametersOf<T>(shape);
    OnDevice<T> device(shape);
    for (const bool training : {true, false}) {
      const bool amplifies = training && batch.head.size() == 2;
      const double tolerance = kIsFloat ? (amplifies ? 2e-2 : 5e-5) : 1e-10;
      SCOPED_TRACE(training ? "training" : "evaluation");
      const KgeBatch view = batch.View(training, /*epoch=*/2);
      const Outcome<T> expected = FromCpu(shape, parameters, view);
      ExpectSame(shape, device.Run(parameters, view), expected, tolerance);
    }
  });
}

// Two parts of TF32 have the accuracy that fp32 is tested for. bfloat16 has products of other numbers, all three of
// which show; a norm of few values would amplify the difference.
TEST(ConveLayersRoundingTest, RoundsProducts) {
  ForAll<float>([](const KgeShape& shape, const OwnedKgeBatch& batch) {
    if (batch.head.size() < 7) return;
    const std::vector<float> parameters = ParametersOf<float>(shape);
    const KgeBatch view = batch.View(/*training=*/true, /*epoch=*/2);
    const Outcome<float> exact = OnDevice<float>(shape).Run(parameters, view);
    ExpectSame(shape, OnDevice<float>(shape, FactorRounding::kTwoParts).Run(parameters, view), exact, 5e-5);
    const Outcome<float> rounded = OnDevice<float>(shape, FactorRounding::kBf16).Run(parameters, view);
    EXPECT_NE(rounded.v, exact.v);
    EXPECT_NE(rounded.d_heads, exact.d_heads);
    EXPECT_NE(rounded.gradient, exact.gradient);
    ExpectNear(rounded.v.data(), exact.v.data(), static_cast<int64_t>(exact.v.size()), 0.1, "v");
  });
}

TYPED_TEST(ConveLayersTest, RepeatsGiveTheSameBits) {
  using T = TypeParam;
  ForAll<T>([](const KgeShape& shape, const OwnedKgeBatch& batch) {
    const std::vector<T> parameters = ParametersOf<T>(shape);
    OnDevice<T> device(shape);
    const Outcome<T> first = device.Run(parameters, batch.View(true));
    device.Run(parameters, batch.View(false));  // what another batch leaves is of no use
    const Outcome<T> again = device.Run(parameters, batch.View(true));
    EXPECT_EQ(first.v, again.v);
    EXPECT_EQ(first.gradient, again.gradient);
    EXPECT_EQ(first.d_heads, again.d_heads);
    EXPECT_EQ(first.d_relations, again.d_relations);
    EXPECT_EQ(first.statistics.bn1.variance, again.statistics.bn1.variance);
  });
}

// A NaN in a row of embeddings shows in v of its own example and, through the batch's statistics, of all others.
TEST(ConveLayersNaNTest, IsSeen) {
  ForAll<float>([](const KgeShape& shape, const OwnedKgeBatch& batch) {
    std::vector<float> parameters = ParametersOf<float>(shape);
    std::fill_n(parameters.begin() + shape.offsets().entity + batch.head[0] * shape.dim(), shape.dim(), std::nanf(""));
    OnDevice<float> device(shape);
    for (const bool training : {true, false}) {
      const Outcome<float> outcome = device.Run(parameters, batch.View(training));
      const auto is_nan = [](float x) { return std::isnan(x); };
      EXPECT_TRUE(std::any_of(outcome.v.begin(), outcome.v.begin() + shape.dim(), is_nan));
      EXPECT_EQ(std::any_of(outcome.v.end() - shape.dim(), outcome.v.end(), is_nan),
                training || batch.head.back() == batch.head[0]);
    }
  });
}

// Gradients of sum(v d_v) in fp64 against differences of Forward, at sizes where no relu is at its corner.
TEST(ConveLayersGradientTest, EqualsDifferences) {
  KgeShape shape;
  shape.num_entities = 5;
  shape.num_relations = 2;
  shape.options.embedding_height = 2;
  shape.options.embedding_width = 3;
  shape.options.embedding_dim = 6;
  shape.options.kernel_height = 2;
  shape.options.kernel_width = 2;
  shape.options.output_channels = 2;
  shape.options.precision = DType::kF64;
  OwnedKgeBatch batch;
  for (const int32_t head : {0, 3, 1, 4}) batch.Add(head, head % 2, {1});
  const KgeBatch view = batch.View(true);
  std::vector<double> parameters = ParametersOf<double>(shape);
  OnDevice<double> device(shape);
  const Outcome<double> outcome = device.Run(parameters, view);
  const std::vector<double> d_v = SlopesOf<double>(view.size() * shape.dim()), before = GradientBefore<double>(shape);
  const auto loss_at = [&](int64_t p, double x) {
    std::vector<double> moved = parameters;
    moved[p] = x;
    const Outcome<double> at = device.Run(moved, view);
    double loss = 0;
    for (size_t i = 0; i < d_v.size(); ++i) loss += at.v[i] * d_v[i];
    return loss;
  };
  const KgeShape::Offsets at = shape.offsets();
  for (const int64_t p : {at.bn0_weight, at.bn0_bias, at.conv_weight, at.conv_weight + 5, at.bn1_weight + 1,
                          at.bn1_bias, at.fc_weight + 7, at.fc_bias, at.bn2_weight + 2, at.bn2_bias + 2}) {
    const double step = 1e-6;
    const double expected = (loss_at(p, parameters[p] + step) - loss_at(p, parameters[p] - step)) / (2 * step);
    EXPECT_NEAR(outcome.gradient[p] - before[p], expected, 1e-6 * (1 + std::abs(expected))) << p;
  }
  for (int64_t j = 0; j < shape.dim(); ++j) {  // of the rows of example 1
    const double step = 1e-6;
    const int64_t p = at.entity + 3 * shape.dim() + j;
    const double expected = (loss_at(p, parameters[p] + step) - loss_at(p, parameters[p] - step)) / (2 * step);
    EXPECT_NEAR(outcome.d_heads[shape.dim() + j], expected, 1e-6 * (1 + std::abs(expected))) << j;
  }
}

TEST(ConveLayersGoldenTest, EvaluationScores) {
  for (const char* variant : {"dettmers", "tiepin"}) {
    const GoldenConve golden(variant);
    const KgeShape& shape = golden.shape();
    const Tensor flat = golden.Flat("param.");
    const std::vector<double> parameters = flat.ToDoubles();
    const OwnedKgeBatch batch = golden.Batch(false);
    const Outcome<double> outcome = OnDevice<double>(shape).Run(parameters, batch.View(/*training=*/false));
    const std::vector<double> scores = golden.Array("eval.scores").ToDoubles();
    const KgeShape::Offsets at = shape.offsets();
    for (size_t i = 0; i < scores.size(); ++i) {
      const int64_t e = static_cast<int64_t>(i) / shape.num_entities, t = static_cast<int64_t>(i) % shape.num_entities;
      double score = at.entity_bias < 0 ? 0 : parameters[at.entity_bias + t];
      for (int64_t j = 0; j < shape.dim(); ++j) {
        score += outcome.v[e * shape.dim() + j] * parameters[at.entity + t * shape.dim() + j];
      }
      EXPECT_NEAR(score, scores[i], 1e-10) << variant << " " << i;
    }
  }
}

TEST(ConveLayersRefusalTest, NamesSizesThatDoNotFit) {
  KgeShape shape;
  EXPECT_EQ(WhyNoDeviceConve<float>(MakeStepShape(shape), 99 << 10), "");
  shape.options.embedding_height = 200;
  shape.options.embedding_width = 100;
  shape.options.embedding_dim = 20000;
  const std::string why = WhyNoDeviceConve<double>(MakeStepShape(shape), 99 << 10);
  EXPECT_NE(why.find("400 x 100"), std::string::npos) << why;
  EXPECT_NE(why.find("3 x 3"), std::string::npos) << why;
  EXPECT_NE(why.find("101376"), std::string::npos) << why;
}

TEST(ConveLayersEmptyTest, NothingOfAnEmptyBatch) {
  KgeShape shape;
  shape.num_entities = 3;
  shape.num_relations = 1;
  const OwnedKgeBatch batch;
  const Outcome<double> outcome = OnDevice<double>(shape).Run(ParametersOf<double>(shape), batch.View(true));
  EXPECT_EQ(outcome.gradient, GradientBefore<double>(shape));
}

}  // namespace
}  // namespace rutile
