#include "lib/influence/tracin_inputs.h"

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/influence/dense_products_testing.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

class TracInInputsTest : public ::testing::Test {
 protected:
  std::string Error() {
    const absl::Status status = CheckInfluenceInputs({checkpoints_, rates_, train_, tests_, allowed_}, options_);
    EXPECT_TRUE(status.ok() || status.code() == absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  }

  DenseProducts a_{10, 4, 0}, b_{10, 4, 1};
  std::vector<GradientProducts*> checkpoints_ = {&a_, &b_};
  std::vector<double> rates_ = {0.1, 0};
  std::vector<int64_t> train_ = {9, 0, 3}, tests_ = {3, 1};
  std::function<bool(int64_t, int64_t)> allowed_;
  TracInOptions options_;
};

TEST_F(TracInInputsTest, GoodOnesPass) { EXPECT_EQ(Error(), ""); }

TEST_F(TracInInputsTest, ChecksOptions) {
  options_.top_k = -1;
  EXPECT_THAT(Error(), HasSubstr("top_k"));
}

TEST_F(TracInInputsTest, Rates) {
  rates_ = {0.1};
  EXPECT_THAT(Error(), HasSubstr("rates: 1, expected one for each of 2 checkpoints"));
  rates_ = {0.1, -0.1};
  EXPECT_THAT(Error(), HasSubstr("rates: -0.1"));
  rates_ = {0.1, std::nan("")};
  EXPECT_THAT(Error(), HasSubstr("rates: nan"));
  rates_ = {0, 0};
  EXPECT_THAT(Error(), HasSubstr("rates: all are 0"));
  rates_ = {};
  checkpoints_ = {};
  EXPECT_THAT(Error(), HasSubstr("checkpoints: none"));
}

TEST_F(TracInInputsTest, Examples) {
  train_ = {0, 10};
  EXPECT_THAT(Error(), HasSubstr("training example 10, expected 0 to 9"));
  train_ = {4, 2, 4};
  EXPECT_THAT(Error(), HasSubstr("training example 4 is there twice"));
  train_ = {};
  EXPECT_EQ(Error(), "");
  tests_ = {-1};
  EXPECT_THAT(Error(), HasSubstr("test -1, expected 0 to 3"));
  tests_ = {1, 1};
  EXPECT_THAT(Error(), HasSubstr("test 1 is there twice"));
  tests_ = {};
  EXPECT_THAT(Error(), HasSubstr("tests: none"));
  options_.scores = false;
  options_.train_self = true;
  EXPECT_EQ(Error(), "");
}

TEST_F(TracInInputsTest, WeightedTests) {
  options_.test_weight = {1, 2, 3};
  EXPECT_THAT(Error(), HasSubstr("test_weight: 3 numbers for 4 tests"));
  options_.test_weight = {1, 2, 3, 4};
  tests_ = {};
  EXPECT_EQ(Error(), "");
  allowed_ = [](int64_t, int64_t) { return true; };
  EXPECT_THAT(Error(), HasSubstr("test_weight: does not go with"));
}

TEST_F(TracInInputsTest, CheckpointsOfOtherDataAreABug) {
  DenseProducts other(11, 4, 0);
  checkpoints_[1] = &other;
  EXPECT_DEATH(Error(), "11 vs. 10");
}

}  // namespace
}  // namespace rutile
