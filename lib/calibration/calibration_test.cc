#include "lib/calibration/calibration.h"

#include <cmath>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// Answers to `questions` questions whose probability is that of slope 2 and offset -1 at a base rate of `share`.
std::vector<ScoredExample> Answers(int questions, int each, uint64_t seed) {
  RandomStream random(seed, "answers");
  std::vector<ScoredExample> examples;
  for (int q = 0; q < questions; ++q) {
    for (int i = 0; i < each; ++i) {
      const double score = random.Normal();
      examples.push_back({q, score, random.Uniform() < Sigmoid(2 * score - 1)});
    }
  }
  return examples;
}

double ShareOfTrue(const std::vector<ScoredExample>& examples) {
  double num = 0;
  for (const ScoredExample& example : examples) num += example.is_true;
  return num / static_cast<double>(examples.size());
}

TEST(CalibrationTest, FindsTheProbabilitiesThatAnswersWereDrawnBy) {
  const std::vector<ScoredExample> examples = Answers(1, 40000, 1);
  for (const CalibrationMethod method : {CalibrationMethod::kPlatt, CalibrationMethod::kIsotonic}) {
    CalibrationOptions options;
    options.method = method;
    options.base_rate = ShareOfTrue(examples);
    const auto calibration = Calibration::Fit(examples, 1, options);
    ASSERT_TRUE(calibration.ok()) << calibration.status();
    for (const double score : {-2.0, -0.5, 0.0, 0.5, 1.0, 2.0}) {
      EXPECT_NEAR(calibration->Probability(0, score), Sigmoid(2 * score - 1), 0.05) << score;
    }
    // Other answers of the same kind are as probable as they are said to be.
    const CalibrationMeasures measures = MeasureCalibration(&*calibration, Answers(1, 20000, 2), options.base_rate);
    EXPECT_GE(measures.bins.size(), 9);
    for (const CalibrationMeasures::Bin& bin : measures.bins) EXPECT_NEAR(bin.predicted, bin.observed, 0.05);
    EXPECT_LT(measures.brier, 0.16);
  }
}

// Another base rate is Bayes' rule, and a fit with that rate gives nearly the same.
TEST(CalibrationTest, BaseRates) {
  const std::vector<ScoredExample> examples = Answers(1, 40000, 3);
  CalibrationOptions half, rare;
  rare.base_rate = 0.01;
  const auto of_half = Calibration::Fit(examples, 1, half), of_rare = Calibration::Fit(examples, 1, rare);
  for (const double score : {-1.0, 0.0, 1.0, 2.0}) {
    const double p = of_half->Probability(0, score), shifted = of_half->Probability(0, score, 0.01);
    EXPECT_NEAR(shifted / (1 - shifted), p / (1 - p) * 0.01 / 0.99, 1e-12);
    EXPECT_NEAR(shifted, of_rare->Probability(0, score), 0.1 * shifted) << score;
    EXPECT_EQ(of_half->Probability(0, score, 0.5), p);
  }
}

TEST(CalibrationTest, FewAnswersShareACurve) {
  std::vector<ScoredExample> examples = Answers(2, 1000, 4);
  for (const bool is_true : {true, false}) examples.push_back({2, is_true ? -5.0 : 5.0, is_true});
  const auto calibration = Calibration::Fit(examples, 4, {});
  ASSERT_TRUE(calibration.ok());
  EXPECT_EQ(calibration->num_own(), 2);
  EXPECT_EQ(calibration->num_questions(), 4);
  EXPECT_EQ(calibration->Probability(2, 0.3), calibration->Probability(3, 0.3));
  EXPECT_NE(calibration->Probability(0, 0.3), calibration->Probability(1, 0.3));
  EXPECT_GT(calibration->Probability(2, 5), 0.9) << "two odd answers do not turn the order of scores";
}

TEST(CalibrationTest, NeverCertainNorFalling) {
  std::vector<ScoredExample> examples;
  for (int i = 0; i < 50; ++i) examples.push_back({0, i < 25 ? -1.0 - i : 1.0 + i, i >= 25});
  for (const CalibrationMethod method : {CalibrationMethod::kPlatt, CalibrationMethod::kIsotonic}) {
    CalibrationOptions options;
    options.method = method;
    const auto calibration = Calibration::Fit(examples, 1, options);
    double before = 0;
    for (double score = -100; score <= 100; score += 0.5) {
      const double p = calibration->Probability(0, score);
      EXPECT_GE(p, before);
      before = p;
    }
    EXPECT_GT(calibration->Probability(0, -20), 0);
    EXPECT_LT(calibration->Probability(0, 100), 1);
    EXPECT_GT(calibration->Probability(0, 40), 0.9);
  }
}

TEST(CalibrationTest, TensorsRoundTrip) {
  const std::vector<ScoredExample> examples = Answers(3, 500, 5);
  for (const CalibrationMethod method : {CalibrationMethod::kPlatt, CalibrationMethod::kIsotonic}) {
    CalibrationOptions options;
    options.method = method;
    options.base_rate = 0.2;
    const auto calibration = Calibration::Fit(examples, 4, options);
    NamedTensors tensors;
    calibration->AddTensors(&tensors);
    const auto read = Calibration::FromTensors(tensors, method, 0.2, 4);
    ASSERT_TRUE(read.ok()) << read.status();
    for (int32_t question = 0; question < 4; ++question) {
      for (const double score : {-1.0, 0.1, 3.0}) {
        EXPECT_EQ(read->Probability(question, score), calibration->Probability(question, score));
      }
    }
    const auto refused = [&](const char* name, const Tensor& tensor, const char* what) {
      NamedTensors damaged = tensors;
      damaged.Set(name, tensor);
      EXPECT_THAT(std::string(Calibration::FromTensors(damaged, method, 0.2, 4).status().message()), HasSubstr(what));
    };
    EXPECT_FALSE(Calibration::FromTensors(tensors, method, 0, 4).ok());
    EXPECT_FALSE(Calibration::FromTensors(tensors, method, 0.2, 5).ok());
    EXPECT_FALSE(Calibration::FromTensors(NamedTensors(), method, 0.2, 4).ok());
    refused("calibration.curve", Tensor::Of<int32_t>({0, 1, 2, 9}), "no curve 9");
    refused("calibration.begin", Tensor::Of<int64_t>({0, 5, 1}), "ascending");
    refused("calibration.value", Tensor::Of<double>({0.5}), "as many");
    refused("calibration.score", Tensor::Of<float>({0.5f}), "F64");
  }
  // Platt's slope may not be negative, nor may steps fall.
  NamedTensors falling;
  falling.Set("calibration.curve", Tensor::Of<int32_t>({0}));
  falling.Set("calibration.begin", Tensor::Of<int64_t>({0, 1}));
  falling.Set("calibration.score", Tensor::Of<double>({-1}));
  falling.Set("calibration.value", Tensor::Of<double>({0.5}));
  EXPECT_FALSE(Calibration::FromTensors(falling, CalibrationMethod::kPlatt, 0.5, 1).ok());
  falling.Set("calibration.begin", Tensor::Of<int64_t>({0, 2}));
  falling.Set("calibration.score", Tensor::Of<double>({-1, 1}));
  falling.Set("calibration.value", Tensor::Of<double>({0.5, 0.25}));
  EXPECT_FALSE(Calibration::FromTensors(falling, CalibrationMethod::kIsotonic, 0.5, 1).ok());
}

// Weights of 2 are what answers are that come twice, but for how certain a fit may be: two equal answers tell no more
// than one. With many answers that is nothing.
TEST(CalibrationTest, WeightsCountAsRepetitions) {
  std::vector<ScoredExample> weighted = Answers(1, 20000, 6), repeated;
  for (size_t i = 0; i < weighted.size(); ++i) {
    repeated.push_back(weighted[i]);
    if (weighted[i].score < 0) continue;
    repeated.push_back(weighted[i]);
    weighted[i].weight = 2;
  }
  for (const CalibrationMethod method : {CalibrationMethod::kPlatt, CalibrationMethod::kIsotonic}) {
    CalibrationOptions options;
    options.method = method;
    const auto by_weight = Calibration::Fit(weighted, 1, options), by_number = Calibration::Fit(repeated, 1, options);
    const auto plain = Calibration::Fit(Answers(1, 20000, 6), 1, options);
    for (const double score : {-1.0, 0.0, 0.7, 1.5}) {
      EXPECT_NEAR(by_weight->Probability(0, score), by_number->Probability(0, score), 2e-3) << score;
    }
    EXPECT_GT(std::abs(by_weight->Probability(0, 0) - plain->Probability(0, 0)), 5e-3) << "weights do not count";
    const CalibrationMeasures a = MeasureCalibration(&*plain, weighted, 0.5);
    const CalibrationMeasures b = MeasureCalibration(&*plain, repeated, 0.5);
    EXPECT_NEAR(a.brier, b.brier, 1e-12);
    EXPECT_NEAR(a.log_loss, b.log_loss, 1e-12);
    EXPECT_EQ(a.num_true + a.num_false, 20000);
  }
}

// Equal weights change nothing, however large they are; 0.1 is rounded, so that sums are, too.
TEST(CalibrationTest, OnlyRatiosOfWeightsMatter) {
  const std::vector<ScoredExample> plain = Answers(2, 300, 7);
  std::vector<ScoredExample> small = plain, two = plain;
  for (ScoredExample& example : small) example.weight = 0.1;
  for (ScoredExample& example : two) example.weight = 2;
  for (const CalibrationMethod method : {CalibrationMethod::kPlatt, CalibrationMethod::kIsotonic}) {
    CalibrationOptions options;
    options.method = method;
    const auto a = Calibration::Fit(plain, 2, options), b = Calibration::Fit(small, 2, options);
    const auto c = Calibration::Fit(two, 2, options);
    EXPECT_EQ(b->num_own(), a->num_own());
    for (const double score : {-1.0, 0.0, 2.0}) {
      EXPECT_NEAR(b->Probability(1, score), a->Probability(1, score), 1e-9);
      EXPECT_EQ(c->Probability(1, score), a->Probability(1, score));
    }
    EXPECT_EQ(MeasureCalibration(&*a, two, 0.3).brier, MeasureCalibration(&*a, plain, 0.3).brier);
  }
}

// A few heavy answers among many light ones are few answers: 30 of which one weighs as much as the rest are less than
// 20, so that the question has no curve of its own.
TEST(CalibrationTest, EffectiveNumbersDecideAboutCurves) {
  std::vector<ScoredExample> examples = Answers(1, 400, 8);
  for (int i = 0; i < 60; ++i) examples.push_back({1, i < 30 ? 1.0 + i : -1.0 - i, i < 30});
  EXPECT_EQ(Calibration::Fit(examples, 2, {})->num_own(), 2);
  examples[400].weight = 29;
  EXPECT_EQ(Calibration::Fit(examples, 2, {})->num_own(), 1);
}

TEST(CalibrationTest, NothingToFitIsAnError) {
  EXPECT_FALSE(Calibration::Fit({}, 1, {}).ok());
  EXPECT_FALSE(Calibration::Fit({{0, 1.0, true}}, 1, {}).ok());
  EXPECT_FALSE(Calibration::Fit({{0, 1.0, false}}, 1, {}).ok());
}

// By hand: with the base rate itself as the probability, Brier's score is its variance.
TEST(MeasureCalibrationTest, ByHand) {
  const std::vector<ScoredExample> examples = {{0, 1, true}, {0, 0, false}, {0, 0, false}, {1, 2, true}, {2, 0, false}};
  const CalibrationMeasures measures = MeasureCalibration(nullptr, examples, 0.3);
  EXPECT_EQ(measures.num_true, 1) << "question 1 has no false answer, question 2 no true one";
  EXPECT_EQ(measures.num_false, 2);
  EXPECT_NEAR(measures.brier, 0.3 * 0.7, 1e-15);
  EXPECT_NEAR(measures.log_loss, -0.3 * std::log(0.3) - 0.7 * std::log(0.7), 1e-15);
  ASSERT_EQ(measures.bins.size(), 1);
  EXPECT_NEAR(measures.bins[0].observed, 0.3, 1e-15);
  EXPECT_NEAR(measures.bins[0].share, 1, 1e-15);
  EXPECT_EQ(MeasureCalibration(nullptr, {}, 0.5).num_true, 0);
}

}  // namespace
}  // namespace rutile
