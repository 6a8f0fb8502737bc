#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/gpu/device_array-inl.h"
#include "lib/gpu/host_backend-inl.h"
#include "lib/kge/gpu/entity_losses-inl.h"
#include "lib/kge/layers/conve/golden_conve_testing.h"
#include "lib/kge/layers/dropout.h"
#include "lib/kge/layers/kge_batch.h"
#include "lib/kge/model/kge_labels.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/kge/training/scores/entity_scores.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/matrix/gpu/device_rounding.h"
#include "lib/matrix/gpu/host_products.h"

namespace rutile {
namespace {

template <typename T>
using Array = DeviceArray<T, HostBackend>;

constexpr int64_t kDim = 12, kNumber = 3;

template <typename T>
std::vector<T> Values(int64_t n, const char* purpose) {
  RandomStream stream(1, purpose);
  std::vector<T> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(static_cast<T>(stream.Normal()));
  return values;
}

// What is computed from a batch. Gradients that are added to begin as 1.
template <typename T>
struct Result {
  std::vector<double> losses;  // of queries; the definition's is their sum
  std::vector<T> d_entities, d_bias, d_v;
};

template <typename T>
struct Problem {
  KgeShape shape;
  OwnedKgeBatch batch;
  std::vector<double> weights;  // of queries; empty: 1
  std::vector<T> v, entities, bias;
  bool has_bias = true, add = true;
  FactorRounding rounding = FactorRounding::kNone;  // of Actual

  Problem(KgeLoss loss, int64_t queries, int64_t num_entities, int64_t most_positives) {
    shape.options.embedding_dim = kDim;
    shape.options.loss = loss;
    shape.num_entities = num_entities;
    shape.num_relations = 3;
    batch = RandomKgeBatch(shape, queries, most_positives, 5);
    v = Values<T>(queries * kDim, "v");
    entities = Values<T>(num_entities * kDim, "entities");
    bias = Values<T>(num_entities, "bias");
  }
  int64_t size() const { return static_cast<int64_t>(batch.head.size()); }
  KgeBatch View() const {
    KgeBatch view = batch.View(/*training=*/true, /*epoch=*/2);
    view.number = kNumber;
    return view;
  }

  // Returns results by the kernels of processors.
  Result<T> Expected() const {
    const T begin = add ? T{1} : std::numeric_limits<T>::quiet_NaN();
    Result<T> result{{0},
                     std::vector<T>(entities.size(), begin),
                     std::vector<T>(bias.size(), begin),
                     std::vector<T>(v.size(), begin)};
    EntityScores<T> scores(shape, /*pool=*/nullptr, FactorRounding::kNone);
    EntityArrays<T> arrays;
    arrays.v = v.data();
    arrays.entities = entities.data();
    arrays.bias = has_bias ? bias.data() : nullptr;
    arrays.d_entities = result.d_entities.data();
    arrays.d_bias = has_bias ? result.d_bias.data() : nullptr;
    arrays.d_v = result.d_v.data();
    arrays.add = add;
    arrays.weights = weights;
    result.losses[0] = scores.AddLosses(View(), arrays);
    return result;
  }

  // Returns results by the kernels of GPUs, of which gradients are left out if they are not wanted.
  Result<T> Actual(int64_t most_bytes, bool gradients = true, int64_t* blocks = nullptr) const {
    HostBackend backend;
    Result<T> result;
    std::vector<double> base, extra, weight;
    for (int64_t q = 0; q < size(); ++q) {
      const int64_t num_true = batch.positive_offset[q + 1] - batch.positive_offset[q];
      const SmoothedLabels labels = SmoothLabels(shape.options, shape.num_entities, num_true);
      base.push_back(labels.base);
      extra.push_back(labels.extra);
      weight.push_back(QueryWeight(shape.options, num_true) * (weights.empty() ? 1 : weights[q]));
    }
    Array<double> on_base(&backend), on_extra(&backend), on_weight(&backend), losses(&backend);
    Array<int64_t> offset(&backend);
    Array<int32_t> positive(&backend);
    Array<T> on_v(&backend), on_entities(&backend), on_bias(&backend);
    Array<T> d_v(&backend), d_entities(&backend), d_bias(&backend);
    Array<uint64_t> keys(&backend);
    on_base.Upload(base);
    on_extra.Upload(extra);
    on_weight.Upload(weight);
    losses.Resize(size());
    offset.Upload(batch.positive_offset);
    positive.Upload(batch.positive);
    on_v.Upload(v);
    on_entities.Upload(entities);
    on_bias.Upload(bias);
    d_v.Resize(on_v.size());
    d_entities.Resize(on_entities.size());
    d_bias.Resize(on_bias.size());
    if (add) {
      d_entities.Upload(std::vector<T>(entities.size(), T{1}));
      d_bias.Upload(std::vector<T>(bias.size(), T{1}));
    }
    keys.Resize(shape.num_entities);
    const uint64_t of_batch = RandomStream(shape.options.seed, "candidate_dropout", /*epoch=*/2, kNumber).Next();
    backend.ForEach(shape.num_entities, CandidateKeyBody(of_batch, keys.data()));

    const DeviceLabels labels = {size(),         offset.data(),   positive.data(),
                                 on_base.data(), on_extra.data(), on_weight.data()};
    DeviceEntityArrays<T> arrays;
    arrays.v = on_v.data();
    arrays.entities = on_entities.data();
    arrays.bias = has_bias ? on_bias.data() : nullptr;
    arrays.add = add;
    if (gradients) {
      arrays.d_v = d_v.data();
      arrays.d_entities = d_entities.data();
      arrays.d_bias = has_bias ? d_bias.data() : nullptr;
    }
    arrays.candidate_rate = shape.options.candidate_dropout;
    arrays.candidate_key = keys.data();
    DeviceEntityLosses<T, HostBackend> entity_losses(&backend, most_bytes);
    if constexpr (sizeof(T) == 4) entity_losses.SetRounding(rounding);
    entity_losses.AddLosses(labels, shape.num_entities, kDim, IsSoftmaxLoss(shape.options.loss),
                            1.0 / static_cast<double>(shape.num_entities), arrays, losses.data());
    if (blocks != nullptr) {
      const int64_t block = entity_losses.BlockSize(size(), shape.num_entities);
      *blocks = (shape.num_entities + block - 1) / block;
    }
    losses.Download(&result.losses);
    d_v.Download(&result.d_v);
    d_entities.Download(&result.d_entities);
    d_bias.Download(&result.d_bias);
    return result;
  }
};

template <typename T>
double Sum(const std::vector<T>& values) {
  double sum = 0;
  for (const T value : values) sum += static_cast<double>(value);
  return sum;
}

// Sums have some hundred terms whose sizes are 10 or so.
template <typename T>
constexpr double kTolerance = sizeof(T) == 4 ? 5e-5 : 1e-13;

template <typename T>
void ExpectNear(const std::vector<T>& actual, const std::vector<T>& expected, const char* what) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(actual[i], expected[i], kTolerance<T> * (1 + std::abs(expected[i]))) << what << " " << i;
  }
}

template <typename T>
void ExpectSame(const Problem<T>& problem, int64_t block) {
  SCOPED_TRACE(testing::Message() << kKgeLossNames.Name(problem.shape.options.loss) << ", " << problem.size()
                                  << " queries, blocks of " << block);
  const Result<T> expected = problem.Expected();
  int64_t blocks = 0;
  const int64_t bytes = block * problem.size() * static_cast<int64_t>(sizeof(T));
  const Result<T> actual = problem.Actual(bytes, /*gradients=*/true, &blocks);
  EXPECT_EQ(blocks, (problem.shape.num_entities + block - 1) / block);
  EXPECT_NEAR(Sum(actual.losses), expected.losses[0], kTolerance<T> * std::abs(expected.losses[0]));
  ExpectNear(actual.d_v, expected.d_v, "d_v");
  ExpectNear(actual.d_entities, expected.d_entities, "d_entities");
  if (problem.has_bias) ExpectNear(actual.d_bias, expected.d_bias, "d_bias");

  // Losses alone are the same numbers, and so are those of a repeated call.
  EXPECT_EQ(problem.Actual(bytes, /*gradients=*/false).losses, actual.losses);
  const Result<T> again = problem.Actual(bytes);
  EXPECT_EQ(again.d_v, actual.d_v);
  EXPECT_EQ(again.d_entities, actual.d_entities);
}

template <typename T>
class DeviceEntityLossesTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(DeviceEntityLossesTest, Types);

constexpr KgeLoss kLosses[] = {KgeLoss::kOneToN, KgeLoss::kOneOfN, KgeLoss::kOneVsAll, KgeLoss::kKvsAll};

TYPED_TEST(DeviceEntityLossesTest, AgreesWithProcessors) {
  for (const KgeLoss loss : kLosses) {
    for (const int64_t block : {1, 7, 61}) {
      const int64_t entities = block == 1 ? 9 : 61;
      Problem<TypeParam> problem(loss, /*queries=*/5, entities, IsKeyLoss(loss) ? 6 : 1);
      ExpectSame(problem, block);
      problem.add = false;
      ExpectSame(problem, block);
      problem.has_bias = false;
      ExpectSame(problem, block);
    }
  }
}

TYPED_TEST(DeviceEntityLossesTest, AgreesWithProcessorsInLargeBlocks) {
  for (const KgeLoss loss : {KgeLoss::kOneToN, KgeLoss::kKvsAll}) {
    const Problem<TypeParam> problem(loss, /*queries=*/33, /*num_entities=*/300, 20);
    ExpectSame(problem, 128);
    ExpectSame(problem, 300);
  }
}

TYPED_TEST(DeviceEntityLossesTest, CandidateDropout) {
  for (const KgeLoss loss : kLosses) {
    for (const int64_t block : {7, 61}) {
      Problem<TypeParam> problem(loss, /*queries=*/5, /*num_entities=*/61, IsKeyLoss(loss) ? 6 : 1);
      problem.shape.options.candidate_dropout = 0.4;
      problem.shape.options.seed = 12345;
      ExpectSame(problem, block);
      problem.add = false;
      ExpectSame(problem, block);
    }
  }
}

TYPED_TEST(DeviceEntityLossesTest, SmoothingAndWeights) {
  for (const LabelSmoothing form : {LabelSmoothing::kDettmers, LabelSmoothing::kStandard, LabelSmoothing::kPykeen}) {
    for (const double smoothing : {0.0, 0.3}) {
      for (const KgeLoss loss : kLosses) {
        Problem<TypeParam> problem(loss, 4, 30, IsKeyLoss(loss) ? 3 : 1);
        problem.shape.options.smoothing_form = form;
        problem.shape.options.label_smoothing = smoothing;
        if (IsSoftmaxLoss(loss)) problem.weights = {1, 0.5, 3, 2};
        ExpectSame(problem, 30);
        ExpectSame(problem, 16);
      }
    }
  }
}

TYPED_TEST(DeviceEntityLossesTest, GroupedQueriesAreWeighted) {
  Problem<TypeParam> problem(KgeLoss::kOneVsAll, 4, 30, 5);
  problem.shape.options.group_queries = true;
  ExpectSame(problem, 30);
}

// Two parts of TF32 have the accuracy that fp32 is tested for.
TEST(DeviceEntityLossesRoundingTest, SplitAgreesWithProcessors) {
  for (const KgeLoss loss : kLosses) {
    Problem<float> problem(loss, /*queries=*/33, /*num_entities=*/300, IsKeyLoss(loss) ? 20 : 1);
    problem.rounding = FactorRounding::kTwoParts;
    ExpectSame(problem, 128);
  }
}

// Scores have products of factors with 8 bits, which are exact if v and entities have no more. Gradients round the
// slopes of the losses, by 2^-9 at most.
TEST(DeviceEntityLossesRoundingTest, Bf16RoundsFactorsOfAllProducts) {
  for (const KgeLoss loss : kLosses) {
    Problem<float> problem(loss, 33, 300, IsKeyLoss(loss) ? 20 : 1);
    const int64_t bytes = 128 * problem.size() * 4;
    Problem<float> rounded = problem;
    for (float& x : rounded.v) x = RoundToBf16(x);
    for (float& x : rounded.entities) x = RoundToBf16(x);
    const Result<float> of_rounded = rounded.Actual(bytes);
    problem.rounding = FactorRounding::kBf16;
    rounded.rounding = FactorRounding::kBf16;
    const Result<float> actual = problem.Actual(bytes), again = rounded.Actual(bytes);
    EXPECT_EQ(actual.losses, again.losses);
    EXPECT_EQ(actual.d_v, again.d_v);
    EXPECT_EQ(actual.d_entities, again.d_entities);
    EXPECT_NEAR(Sum(actual.losses), Sum(of_rounded.losses), 1e-5 * Sum(of_rounded.losses));
    EXPECT_NE(actual.d_v, of_rounded.d_v);
    EXPECT_NE(actual.d_entities, of_rounded.d_entities);
    double most = 0;
    for (const float x : of_rounded.d_v) most = std::max(most, static_cast<double>(std::abs(x)));
    for (size_t i = 0; i < actual.d_v.size(); ++i) EXPECT_NEAR(actual.d_v[i], of_rounded.d_v[i], 0x1p-8 * most);
  }
}

// A query's loss is that of a batch that has no other.
TYPED_TEST(DeviceEntityLossesTest, LossesAreThoseOfQueries) {
  for (const KgeLoss loss : {KgeLoss::kOneToN, KgeLoss::kKvsAll}) {
    const Problem<TypeParam> problem(loss, 6, 40, 4);
    const std::vector<double> losses = problem.Actual(/*most_bytes=*/1 << 20).losses;
    ASSERT_EQ(losses.size(), 6);
    for (int64_t q = 0; q < 6; ++q) {
      Problem<TypeParam> one(loss, 1, 40, 4);
      const auto begin = problem.batch.positive.begin() + problem.batch.positive_offset[q];
      const auto end = problem.batch.positive.begin() + problem.batch.positive_offset[q + 1];
      one.batch = OwnedKgeBatch();
      one.batch.Add(0, 0, std::vector<int32_t>(begin, end));
      one.v.assign(problem.v.begin() + q * kDim, problem.v.begin() + (q + 1) * kDim);
      const double expected = one.Expected().losses[0];
      EXPECT_NEAR(losses[q], expected, kTolerance<TypeParam> * expected) << q;
    }
  }
}

// With vectors of zeros, each of N scores is the bias 0: losses are log 2 - labels 0, and log N.
TYPED_TEST(DeviceEntityLossesTest, ClosedForm) {
  for (const KgeLoss loss : {KgeLoss::kOneToN, KgeLoss::kKvsAll}) {
    Problem<TypeParam> problem(loss, 3, 50, 2);
    problem.shape.options.label_smoothing = 0;
    problem.has_bias = false;
    std::fill(problem.v.begin(), problem.v.end(), TypeParam{0});
    for (const double actual : problem.Actual(7 * 3 * sizeof(TypeParam)).losses) {
      EXPECT_NEAR(actual, IsSoftmaxLoss(loss) ? std::log(50.0) : std::log(2.0), 1e-6);
    }
  }
}

// The exponential of a score of 10000 is not finite.
TYPED_TEST(DeviceEntityLossesTest, LargeScoresAreExact) {
  for (const KgeLoss loss : kLosses) {
    Problem<TypeParam> problem(loss, 5, 61, 1);
    for (TypeParam& x : problem.v) x *= 10000;
    const Result<TypeParam> result = problem.Actual(20 * 5 * sizeof(TypeParam));
    for (const double x : result.losses) EXPECT_TRUE(std::isfinite(x));
    for (const TypeParam x : result.d_v) EXPECT_TRUE(std::isfinite(x));
    ExpectSame(problem, 61);
  }
}

TYPED_TEST(DeviceEntityLossesTest, WhatIsNotANumberShows) {
  for (const KgeLoss loss : kLosses) {
    for (const int64_t block : {20, 61}) {
      Problem<TypeParam> problem(loss, 5, 61, 1);
      problem.v[2 * kDim + 1] = std::numeric_limits<TypeParam>::quiet_NaN();
      const Result<TypeParam> result = problem.Actual(block * 5 * static_cast<int64_t>(sizeof(TypeParam)));
      for (int64_t q = 0; q < 5; ++q) {
        EXPECT_EQ(std::isnan(result.losses[q]), q == 2) << q;
        EXPECT_EQ(std::isnan(result.d_v[q * kDim]), q == 2) << q;
      }
      EXPECT_TRUE(std::isnan(result.d_entities[0]));
      // One score that is NaN, of the last entity.
      problem.v[2 * kDim + 1] = 0;
      problem.bias[60] = std::numeric_limits<TypeParam>::quiet_NaN();
      for (const double x : problem.Actual(block * 5 * static_cast<int64_t>(sizeof(TypeParam))).losses) {
        EXPECT_TRUE(std::isnan(x));
      }
    }
  }
}

TYPED_TEST(DeviceEntityLossesTest, ATailThatIsListedTwiceCountsTwice) {
  for (const KgeLoss loss : {KgeLoss::kOneToN, KgeLoss::kKvsAll}) {
    Problem<TypeParam> problem(loss, 2, 20, 1);
    problem.batch = OwnedKgeBatch();
    problem.batch.Add(0, 0, {3, 3, 9, 9, 9});
    problem.batch.Add(1, 0, {0, 19});
    ExpectSame(problem, 20);
  }
}

TYPED_TEST(DeviceEntityLossesTest, NoQueries) {
  Problem<TypeParam> problem(KgeLoss::kKvsAll, 0, 20, 1);
  EXPECT_TRUE(problem.Actual(1000).losses.empty());
}

TEST(BlockSizeTest, FitsIntoMemory) {
  HostBackend backend;
  const DeviceEntityLosses<float, HostBackend> losses(&backend);
  EXPECT_EQ(losses.BlockSize(128, 14541), 14541);
  EXPECT_EQ(losses.BlockSize(2048, 14541), 7296);  // half, in tiles of 128
  EXPECT_EQ(losses.BlockSize(1024, 1000000), 16256);
  EXPECT_EQ(losses.BlockSize(int64_t{1} << 30, 100), 1);
}

TEST(CandidateKeyTest, MakesTheMasksOfProcessors) {
  HostBackend backend;
  constexpr uint64_t kSeed = 99;
  constexpr int64_t kEntities = 50, kLength = 21;
  std::vector<uint64_t> keys(kEntities);
  backend.ForEach(kEntities, CandidateKeyBody(RandomStream(kSeed, "candidate_dropout", 4, 7).Next(), keys.data()));
  for (const double rate : {0.1, 0.5, 0.9}) {
    for (int64_t e = 0; e < kEntities; ++e) {
      std::vector<float> expected(kLength);
      FillCandidateDropout(kSeed, 4, 7, e, rate, absl::MakeSpan(expected));
      for (int64_t k = 0; k < kLength; ++k) {
        ASSERT_EQ(DropoutScale(keys[e], MakeDropoutRate<float>(rate), k), expected[k]) << rate << " " << e << " " << k;
      }
    }
  }
}

}  // namespace
}  // namespace rutile
