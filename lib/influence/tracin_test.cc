#include "lib/influence/tracin.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <set>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/influence/dense_products_testing.h"
#include "lib/influence/tracin_reference.h"

namespace rutile {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pointwise;
using ::testing::SizeIs;

constexpr int64_t kP = DenseProducts::kNumParameters;

// Checkpoints with random gradients of all training examples and tests.
struct Problem {
  Problem(int64_t num_train, int64_t num_tests, int num_checkpoints) : train(num_train), tests(num_tests) {
    std::iota(train.begin(), train.end(), 0);
    std::iota(tests.begin(), tests.end(), 0);
    for (int c = 0; c < num_checkpoints; ++c) {
      products.push_back(std::make_unique<DenseProducts>(num_train, num_tests, c));
      checkpoints.push_back(products.back().get());
      rates.push_back(0.1 * (c + 1));
    }
  }
  InfluenceInputs inputs() const { return {checkpoints, rates, train, tests, allowed}; }
  Influence Compute(const TracInOptions& options) const {
    absl::StatusOr<Influence> influence = ComputeInfluence(inputs(), options);
    EXPECT_TRUE(influence.ok()) << influence.status();
    return *std::move(influence);
  }
  std::string Error(const TracInOptions& options) const {
    const absl::Status status = ComputeInfluence(inputs(), options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  }

  std::vector<std::unique_ptr<DenseProducts>> products;
  std::vector<GradientProducts*> checkpoints;
  std::vector<double> rates;
  std::vector<int64_t> train, tests;
  std::function<bool(int64_t, int64_t)> allowed;
};

TracInOptions Everything() {
  TracInOptions options;
  options.top_k = 5;
  options.train_self = options.test_self = true;
  options.parts = {{"front", {0, 1}}, {"back", {3}}};
  options.part_scores = true;
  return options;
}

void ExpectNear(const Influence& a, const Influence& b, double error) {
  EXPECT_EQ(a.tests, b.tests);
  EXPECT_EQ(a.offset, b.offset);
  EXPECT_EQ(a.train, b.train);
  EXPECT_EQ(a.train_order, b.train_order);
  EXPECT_EQ(a.part_names, b.part_names);
  EXPECT_THAT(a.score, Pointwise(DoubleNear(error), b.score));
  EXPECT_THAT(a.part_score, Pointwise(DoubleNear(error), b.part_score));
  EXPECT_THAT(a.train_self, Pointwise(DoubleNear(error), b.train_self));
  EXPECT_THAT(a.train_self_part, Pointwise(DoubleNear(error), b.train_self_part));
  EXPECT_THAT(a.test_self, Pointwise(DoubleNear(error), b.test_self));
  EXPECT_THAT(a.test_self_part, Pointwise(DoubleNear(error), b.test_self_part));
}

void ExpectSame(const Influence& a, const Influence& b) { ExpectNear(a, b, 0); }

// Returns the scores of an influence that lists all as a matrix [tests, train].
std::vector<double> Matrix(const Influence& influence, int64_t num_train) {
  std::vector<double> matrix(influence.tests.size() * num_train, std::nan(""));
  for (size_t t = 0; t < influence.tests.size(); ++t) {
    for (int64_t i = influence.offset[t]; i < influence.offset[t + 1]; ++i) {
      matrix[t * num_train + influence.train[i]] = influence.score[i];
    }
  }
  return matrix;
}

constexpr InfluenceNormalization kNormalizations[] = {InfluenceNormalization::kNone, InfluenceNormalization::kCosine,
                                                      InfluenceNormalization::kTrainNorm};
constexpr InfluenceRanking kRankings[] = {InfluenceRanking::kHighest, InfluenceRanking::kLowest,
                                          InfluenceRanking::kAbsolute, InfluenceRanking::kBoth};

TEST(TracInTest, ClosedForm) {
  Problem problem(2, 1, 2);
  for (int c = 0; c < 2; ++c) {
    problem.products[c]->train.assign(2 * kP, 0);
    problem.products[c]->tests.assign(kP, 0);
    problem.products[c]->train[0] = 3;
    problem.products[c]->train[kP + 1] = 4;
    problem.products[c]->tests[0] = c + 1;
    problem.products[c]->tests[1] = -1;
  }
  problem.rates = {0.5, 0.25};
  TracInOptions options;
  options.train_self = options.test_self = true;
  const Influence influence = problem.Compute(options);
  EXPECT_THAT(influence.train, ElementsAre(0, 1));
  EXPECT_THAT(influence.score, ElementsAre(0.5 * 3 + 0.25 * 6, 0.5 * -4 + 0.25 * -4));
  EXPECT_THAT(influence.train_self, ElementsAre(0.75 * 9, 0.75 * 16));
  EXPECT_THAT(influence.test_self, ElementsAre(0.5 * 2 + 0.25 * 5));
  EXPECT_THAT(influence.part_names, ElementsAre("all"));
  EXPECT_THAT(influence.part_score, IsEmpty());
}

TEST(TracInTest, EqualsTheReference) {
  Problem problem(40, 9, 3);
  std::vector<Tensor> preconditioners(3);
  preconditioners[1] = Tensor::Of(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  problem.products[1]->preconditioner = preconditioners[1].ToDoubles();
  problem.train = {5, 3, 39, 0, 12, 13, 14, 20, 21, 22, 7, 6, 1, 2};
  problem.tests = {8, 0, 3, 5};
  for (const InfluenceNormalization normalization : kNormalizations) {
    for (const InfluenceRanking ranking : kRankings) {
      for (const int64_t top_k : {0, 1, 5, 6, 100}) {
        TracInOptions options = Everything();
        options.normalization = normalization;
        options.ranking = ranking;
        options.top_k = top_k;
        const absl::StatusOr<Influence> reference =
            ComputeInfluenceReference(problem.inputs(), options, preconditioners);
        ASSERT_TRUE(reference.ok());
        ExpectNear(problem.Compute(options), *reference, 1e-14);
      }
    }
  }
}

TEST(TracInTest, EachPartOfTheOutputAlone) {
  const Problem problem(20, 3, 2);
  const Influence all = problem.Compute(Everything());
  TracInOptions options = Everything();
  options.scores = options.test_self = false;
  const Influence train_self = problem.Compute(options);
  EXPECT_EQ(train_self.train_self, all.train_self);
  EXPECT_EQ(train_self.train_self_part, all.train_self_part);
  EXPECT_THAT(train_self.tests, IsEmpty());
  EXPECT_THAT(train_self.offset, ElementsAre(0));
  options.test_self = true;
  ExpectNear(problem.Compute(options), *ComputeInfluenceReference(problem.inputs(), options), 1e-15);
  options.train_self = false;
  const int64_t calls = problem.products[0]->calls;
  EXPECT_EQ(problem.Compute(options).test_self, all.test_self);
  EXPECT_EQ(problem.products[0]->calls, calls);  // no pass over the training examples
}

// The tests are the training examples.
TEST(TracInTest, SymmetricPositiveSemidefiniteWithSelfOnTheDiagonal) {
  Problem problem(15, 15, 2);
  for (auto& products : problem.products) products->tests = products->train;
  TracInOptions options;
  options.top_k = 0;
  options.train_self = options.test_self = true;
  const Influence influence = problem.Compute(options);
  const std::vector<double> matrix = Matrix(influence, 15);
  for (int i = 0; i < 15; ++i) {
    EXPECT_DOUBLE_EQ(matrix[i * 15 + i], influence.train_self[i]);
    EXPECT_EQ(influence.train_self[i], influence.test_self[i]);
    for (int j = 0; j < 15; ++j) EXPECT_DOUBLE_EQ(matrix[i * 15 + j], matrix[j * 15 + i]);
  }
  for (int trial = 0; trial < 20; ++trial) {  // x' K x = sum of rate |sum x_i g_i|^2
    double form = 0;
    for (int i = 0; i < 15; ++i) {
      for (int j = 0; j < 15; ++j) form += std::sin(trial + 3 * i) * matrix[i * 15 + j] * std::sin(trial + 3 * j);
    }
    EXPECT_GT(form, -1e-12);
  }
  options.normalization = InfluenceNormalization::kCosine;
  const std::vector<double> cosine = Matrix(problem.Compute(options), 15);
  for (int i = 0; i < 15; ++i) {
    EXPECT_DOUBLE_EQ(cosine[i * 15 + i], 0.1 + 0.2);  // the sum of rates
    for (int j = 0; j < 15; ++j) EXPECT_LE(std::abs(cosine[i * 15 + j]), 0.3 + 1e-15);
  }
}

TEST(TracInTest, PartsAddUpToTheWhole) {
  const Problem problem(30, 4, 2);
  for (const InfluenceNormalization normalization : kNormalizations) {
    TracInOptions options = Everything();
    options.normalization = normalization;
    const Influence parts = problem.Compute(options);
    options.parts.clear();
    options.part_scores = false;
    const Influence whole = problem.Compute(options);
    EXPECT_EQ(parts.train, whole.train);
    ASSERT_THAT(parts.part_score, SizeIs(2 * whole.score.size()));
    for (size_t i = 0; i < whole.score.size(); ++i) {
      EXPECT_NEAR(parts.part_score[2 * i] + parts.part_score[2 * i + 1], whole.score[i], 1e-15);
    }
    for (size_t i = 0; i < 30; ++i) {
      EXPECT_NEAR(parts.train_self_part[2 * i] + parts.train_self_part[2 * i + 1], whole.train_self[i], 1e-14);
    }
  }
}

TEST(TracInTest, DoubledRatesDouble) {
  Problem problem(30, 4, 2);
  for (const InfluenceNormalization normalization : kNormalizations) {
    TracInOptions options = Everything();
    options.normalization = normalization;
    Influence once = problem.Compute(options);
    for (double& rate : problem.rates) rate *= 2;
    const Influence twice = problem.Compute(options);
    for (double& rate : problem.rates) rate /= 2;
    for (std::vector<double>* values : {&once.score, &once.part_score, &once.train_self, &once.train_self_part,
                                        &once.test_self, &once.test_self_part}) {
      for (double& value : *values) value *= 2;
    }
    ExpectSame(once, twice);
  }
}

TEST(TracInTest, RateZeroIsNotComputed) {
  Problem problem(10, 2, 3);
  problem.rates[1] = 0;
  const Influence with = problem.Compute(Everything());
  EXPECT_EQ(problem.products[1]->calls, 0);
  problem.checkpoints.erase(problem.checkpoints.begin() + 1);
  problem.rates.erase(problem.rates.begin() + 1);
  ExpectSame(with, problem.Compute(Everything()));
}

TEST(TracInTest, DuplicatesScoreTheSameAndTheLowerIndexComesFirst) {
  Problem problem(12, 3, 2);
  for (auto& products : problem.products) {
    for (const int64_t copy : {2, 7, 11}) {
      std::copy_n(products->train.begin() + 4 * kP, kP, products->train.begin() + copy * kP);
    }
  }
  problem.train = {11, 7, 0, 1, 4, 3, 2, 5, 6, 8, 9, 10};
  TracInOptions options;
  options.top_k = 0;
  const Influence influence = problem.Compute(options);
  for (int t = 0; t < 3; ++t) {
    const auto first = std::find(influence.train.begin() + 12 * t, influence.train.begin() + 12 * (t + 1), 2);
    EXPECT_THAT(std::vector<int64_t>(first, first + 4), ElementsAre(2, 4, 7, 11));
    const double score = influence.score[first - influence.train.begin()];
    for (int i = 0; i < 4; ++i) EXPECT_EQ(influence.score[first - influence.train.begin() + i], score);
  }
}

TEST(TracInTest, OrderTilesThreadsAndPassesDoNotMatter) {
  Problem problem(60, 700, 2);
  for (const InfluenceNormalization normalization : kNormalizations) {
    TracInOptions options = Everything();
    options.normalization = normalization;
    options.ranking = InfluenceRanking::kBoth;
    const Influence expected = problem.Compute(options);
    TracInOptions other = options;
    other.threads = 3;
    ExpectSame(problem.Compute(other), expected);
    const int64_t tile = problem.products[0]->tile;
    for (auto& products : problem.products) products->tile = 1000;
    ExpectSame(problem.Compute(options), expected);
    for (auto& products : problem.products) products->tile = tile;
    // Two checkpoints of 100 bytes and two parts of a tile of 7 numbers take 424 bytes a test, so a pass has 10 tests.
    other.memory_limit = 4240;
    const int64_t calls = problem.products[0]->calls;
    ExpectSame(problem.Compute(other), expected);
    EXPECT_EQ(problem.products[0]->calls - calls, 70 * 9);
    std::reverse(problem.train.begin(), problem.train.end());
    Influence reversed = problem.Compute(options);
    std::reverse(problem.train.begin(), problem.train.end());
    EXPECT_EQ(reversed.train, expected.train);
    EXPECT_EQ(reversed.score, expected.score);
    std::reverse(reversed.train_self.begin(), reversed.train_self.end());
    EXPECT_EQ(reversed.train_self, expected.train_self);
  }
}

TEST(TracInTest, WeightedTestsAreTheSumOfColumns) {
  const Problem problem(25, 4, 2);
  TracInOptions options;
  options.top_k = 0;
  const std::vector<double> matrix = Matrix(problem.Compute(options), 25);
  options.test_weight = {1, -2, 0, 0.5};
  options.test_self = true;
  const Influence weighted = problem.Compute(options);
  EXPECT_THAT(weighted.tests, ElementsAre(-1));
  const std::vector<double> column = Matrix(weighted, 25);
  for (int i = 0; i < 25; ++i) {
    EXPECT_NEAR(column[i], matrix[i] - 2 * matrix[25 + i] + 0.5 * matrix[75 + i], 1e-14);
  }
  options.train_self = true;
  for (const InfluenceNormalization normalization : kNormalizations) {
    options.normalization = normalization;
    ExpectNear(problem.Compute(options), *ComputeInfluenceReference(problem.inputs(), options), 1e-14);
  }
}

TEST(TracInTest, OnlyAllowedExamplesAreListed) {
  Problem problem(50, 5, 2);
  problem.allowed = [](int64_t test, int64_t train) { return train % 5 == test || train < test; };
  for (const InfluenceRanking ranking : kRankings) {
    TracInOptions options = Everything();
    options.ranking = ranking;
    options.top_k = 11;
    const Influence influence = problem.Compute(options);
    ExpectNear(influence, *ComputeInfluenceReference(problem.inputs(), options), 1e-14);
    for (int t = 0; t < 5; ++t) {
      for (int64_t i = influence.offset[t]; i < influence.offset[t + 1]; ++i) {
        EXPECT_TRUE(problem.allowed(t, influence.train[i]));
      }
    }
  }
}

TEST(TracInTest, GradientsOfZeroScoreZeroHoweverNormalized) {
  Problem problem(6, 2, 1);
  std::fill_n(problem.products[0]->train.begin() + 3 * kP, kP, 0);
  std::fill_n(problem.products[0]->tests.begin(), kP, 0);
  for (const InfluenceNormalization normalization : kNormalizations) {
    TracInOptions options;
    options.top_k = 0;
    options.normalization = normalization;
    const std::vector<double> matrix = Matrix(problem.Compute(options), 6);
    for (int i = 0; i < 6; ++i) EXPECT_EQ(matrix[i], 0);
    EXPECT_EQ(matrix[6 + 3], 0);
    EXPECT_NE(matrix[6 + 2], 0);
  }
}

TEST(TracInTest, WhatIsNotFiniteIsNamed) {
  for (const int bad_checkpoint : {0, 1}) {
    Problem problem(30, 4, 2);
    problem.products[bad_checkpoint]->train[17 * kP] = std::nan("");
    problem.products[bad_checkpoint]->tests[2 * kP] = INFINITY;
    TracInOptions options;
    options.top_k = 1;
    const std::string place = bad_checkpoint == 0 ? " at checkpoint 1" : " at checkpoint 2";
    EXPECT_THAT(problem.Error(options), HasSubstr("training example 0 and test 2"));
    EXPECT_THAT(problem.Error(options), HasSubstr(place));
    problem.tests = {1, 3};
    EXPECT_THAT(problem.Error(options), HasSubstr("training example 17 and test 1: the score is nan" + place));
    problem.tests = {2};
    options.test_self = true;
    EXPECT_THAT(problem.Error(options), HasSubstr("test 2: the square of its gradient is inf" + place));
    options.scores = options.test_self = false;
    options.train_self = true;
    EXPECT_THAT(problem.Error(options), HasSubstr("training example 17: the square of its gradient is nan" + place));
  }
}

TEST(TracInTest, MemoryForLessThanOneTestIsRefused) {
  const Problem problem(30, 4, 2);
  TracInOptions options;
  options.memory_limit = 300;
  EXPECT_THAT(problem.Error(options), HasSubstr("memory_limit: 300 bytes, but one test takes 312 at 2 checkpoints"));
}

}  // namespace
}  // namespace rutile
