#include "lib/train/files/log_format.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
const std::vector<std::string> kColumns = {"epoch", "step", "loss[eV/\u00c5]"};

TEST(LogFormatTest, Names) {
  EXPECT_THAT(ParseLogFormats("tsv,jsonl").value(), ElementsAre(LogFormat::kTsv, LogFormat::kJsonl));
  EXPECT_THAT(ParseLogFormats("jsonl,jsonl").value(), ElementsAre(LogFormat::kJsonl));
  EXPECT_THAT(ParseLogFormats("none").value(), IsEmpty());
  for (const char* text : {"", "csv", "tsv,", "none,tsv", "tsv jsonl"}) {
    EXPECT_EQ(ParseLogFormats(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
  EXPECT_THAT(std::string(ParseLogFormats("tsv,csv").status().message()), HasSubstr("found \"csv\""));
  EXPECT_EQ(LogFormatsName(AllLogFormats()), "tsv,jsonl");
  EXPECT_EQ(LogFormatsName({}), "none");
}

TEST(LogFormatTest, ColumnsNameUnits) {
  EXPECT_EQ(LogColumn("epoch_time", "s"), "epoch_time[s]");
  EXPECT_EQ(LogColumn("step", ""), "step");
  EXPECT_EQ(LogHeader(LogFormat::kTsv, kColumns), "epoch\tstep\tloss[eV/\u00c5]\n");
  EXPECT_EQ(LogHeader(LogFormat::kJsonl, kColumns), "") << "each line is a row, as pandas wants it";
  EXPECT_EQ(LogUnits(kColumns), "{\"epoch\":\"\",\"step\":\"\",\"loss\":\"eV/\u00c5\"}");
}

TEST(LogFormatTest, KnowsTheFirstLineOfOlderVersions) {
  EXPECT_TRUE(IsUnitsLine(LogFormat::kJsonl, "{\"units\":{\"epoch\":\"\"}}"));
  EXPECT_FALSE(IsUnitsLine(LogFormat::kJsonl, "{\"epoch\":1}"));
  EXPECT_FALSE(IsUnitsLine(LogFormat::kTsv, "{\"units\":{\"epoch\":\"\"}}"));
}

TEST(LogFormatTest, BothShowTheSameDigits) {
  const std::vector<double> row = {2, 123456789012, 1.0 / 3};
  EXPECT_EQ(LogRow(LogFormat::kTsv, kColumns, row), "2\t123456789012\t0.333333333");
  EXPECT_EQ(LogRow(LogFormat::kJsonl, kColumns, row), "{\"epoch\":2,\"step\":123456789012,\"loss\":0.333333333}");
}

TEST(LogFormatTest, DigitsAreThoseOfPrintf) {
  RandomStream random(1, "log_format_test");
  for (int i = 0; i < 20000; ++i) {
    double value = (random.Uniform() - 0.5) * std::pow(10, 40 * random.Uniform() - 20);
    if (i % 8 == 0) value = std::round(1e3 * value) / 1e3;  // ties and short numbers
    if (i == 1) value = std::numeric_limits<double>::denorm_min();
    if (i == 2) value = std::numeric_limits<double>::max();
    if (value == std::floor(value) && std::abs(value) < 1e15) continue;
    EXPECT_EQ(LogRow(LogFormat::kTsv, {"x"}, {value}), absl::StrFormat("%.9g", value));
  }
  EXPECT_EQ(LogRow(LogFormat::kTsv, {"x"}, {-kInfinity}), "-inf");
}

TEST(LogFormatTest, WhatIsNotANumber) {
  EXPECT_EQ(LogRow(LogFormat::kTsv, kColumns, {1, 2, kNan}), "1\t2\tnan");
  for (const double value : {kNan, kInfinity, -kInfinity}) {  // JSON has neither
    EXPECT_TRUE(nlohmann::json::parse(LogRow(LogFormat::kJsonl, kColumns, {1, 2, value}))["loss"].is_null());
  }
}

TEST(LogFormatTest, JsonOfAwkwardNamesAndValues) {
  const std::vector<std::string> columns = {"a\"b\\", "c\xff", "tiny"};
  const auto units = nlohmann::json::parse(LogUnits(columns));
  EXPECT_EQ(units.size(), 3);
  const auto row = nlohmann::json::parse(LogRow(LogFormat::kJsonl, columns, {1e300, -0.0, 4.9e-324}));
  EXPECT_EQ(row["a\"b\\"], 1e300);
  EXPECT_EQ(row["tiny"], 4.9e-324);
  EXPECT_EQ(LogRow(LogFormat::kJsonl, {}, {}), "{}");
}

TEST(LogFormatTest, StepOfARow) {
  for (const LogFormat format : AllLogFormats()) {
    EXPECT_EQ(ParseLogStep(format, kColumns, LogRow(format, kColumns, {3, 40, kNan})).value(), 40);
    EXPECT_EQ(ParseLogStep(format, {"epoch"}, LogRow(format, {"epoch"}, {3})).value(), -1);
  }
  const auto message = [](LogFormat format, const char* line) {
    return std::string(ParseLogStep(format, kColumns, line).status().message());
  };
  EXPECT_THAT(message(LogFormat::kTsv, "1\ttwo\t3"), HasSubstr("found \"two\" in column step"));
  EXPECT_THAT(message(LogFormat::kTsv, "1\t2"), HasSubstr("a value for each column"));
  EXPECT_THAT(message(LogFormat::kJsonl, "1\t2\t3"), HasSubstr("a value for each column"));
  EXPECT_THAT(message(LogFormat::kJsonl, "{\"epoch\":1}"), HasSubstr("a value for each column"));
  EXPECT_THAT(message(LogFormat::kJsonl, "{\"epoch\":1,\"step\":\"x\",\"loss\":2}"), HasSubstr("found \"\"x\"\""));
  EXPECT_THAT(message(LogFormat::kJsonl, "{\"epoch\":1,\"step\":2,\"gain\":3}"), HasSubstr("no \"loss\" in the row"));
  EXPECT_THAT(message(LogFormat::kJsonl, "{\"epoch\":1,"), HasSubstr("a value for each column"));
}

TEST(LogFormatDeathTest, AValueForEachColumn) { EXPECT_DEATH(LogRow(LogFormat::kTsv, kColumns, {1, 2}), "2 vs. 3"); }

}  // namespace
}  // namespace rutile
