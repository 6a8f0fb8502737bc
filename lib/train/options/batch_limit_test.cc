#include "lib/train/options/batch_limit.h"

#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/settings.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

int64_t Limited(const char* text, int64_t num_batches) {
  return LimitBatches(ParseBatchLimit(text).value(), num_batches);
}

TEST(BatchLimitTest, TheDotTellsSharesFromNumbers) {
  EXPECT_EQ(Limited("1", 40), 1);
  EXPECT_EQ(Limited("1.0", 40), 40);
  EXPECT_EQ(Limited("0.25", 40), 10);
  EXPECT_EQ(Limited("0.3", 11), 3);  // rounded down
  EXPECT_EQ(Limited("0.29", 100), 29);
  EXPECT_EQ(Limited("0.01", 40), 1);
  EXPECT_EQ(Limited("25", 40), 25);
  EXPECT_EQ(Limited("50", 40), 40);
  EXPECT_EQ(Limited("0.5", 0), 0);
  EXPECT_TRUE(ParseBatchLimit("1.0")->all());
  EXPECT_FALSE(ParseBatchLimit("1")->all());
}

TEST(BatchLimitTest, TextReadsBackAsTheSameLimit) {
  for (const char* text : {"1", "25", "0.25", "1.0", "1e-5"}) {
    EXPECT_EQ(BatchLimitText(ParseBatchLimit(text).value()), text);
  }
  EXPECT_EQ(BatchLimitText({}), "1.0");
}

TEST(BatchLimitTest, RecordsShowTheNumber) {
  EXPECT_EQ(BatchLimitNumber(ParseBatchLimit("25").value()), SettingValue(int64_t{25}));
  EXPECT_EQ(BatchLimitNumber(ParseBatchLimit("0.25").value()), SettingValue(0.25));
}

TEST(BatchLimitTest, RefusesWhatIsNeither) {
  for (const char* text : {"", "0", "-1", "0.0", "1.5", "half", "nan", "-0.5", "10 batches"}) {
    EXPECT_THAT(ParseBatchLimit(text), ErrorNames(absl::StatusCode::kInvalidArgument, {"10", "0.1", "1.0"})) << text;
  }
  EXPECT_THAT(std::string(CheckBatchLimit("overfit_batches", {1.5, -1}).message()),
              HasSubstr("overfit_batches is 1.5"));
  EXPECT_THAT(std::string(CheckBatchLimit("overfit_batches", {1, 0}).message()), HasSubstr("overfit_batches is 0"));
  EXPECT_TRUE(CheckBatchLimit("overfit_batches", {}).ok());
}

}  // namespace
}  // namespace rutile
