#include "tools/common/run/help.h"

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<HelpFlag>& Flags() {
  static const auto* const flags = new std::vector<HelpFlag>{
      {"seed", "int64", "0", "Random seed. The same seed gives the same bits, e.g. of parameters.", "Training"},
      {"ema_decay", "double", "0.999", "Weight of the past.", "Averages"},
      {"data_cache", "string", "", std::string(40, 'x') + " " + std::string(60, 'y') + " end.", "Training"},
  };
  return *flags;
}

std::string Text(absl::Span<const char* const> essential, absl::string_view topic) {
  const absl::StatusOr<std::string> text = HelpText("tool", Flags(), essential, topic);
  EXPECT_TRUE(text.ok()) << text.status();
  return text.ok() ? *text : "";
}

TEST(HelpTextTest, ShortFormHasOneLineForEachEssentialFlag) {
  const std::string text = Text({"ema_decay", "seed"}, "");
  EXPECT_THAT(text, HasSubstr("prints all 3 flags"));
  EXPECT_THAT(text, HasSubstr("\nAverages\n  --ema_decay=0.999                Weight of the past.\n"));
  EXPECT_THAT(text, HasSubstr("\nTraining\n  --seed=0                         Random seed.\n"));
  EXPECT_THAT(text, Not(HasSubstr("data_cache")));
}

TEST(HelpTextTest, LongSentencesAreCutBetweenWords) {
  const std::string text = Text({"data_cache"}, "");
  EXPECT_THAT(text, HasSubstr(std::string(40, 'x') + " ...\n"));
  for (const absl::string_view line : absl::StrSplit(text, '\n')) EXPECT_LE(line.size(), 100u) << line;
}

TEST(HelpTextTest, WithoutEssentialFlagsAllAreShown) {
  EXPECT_EQ(Text({}, ""), Text({}, "all"));
  EXPECT_EQ(Text({"seed"}, "all"), Text({}, "all"));
  EXPECT_THAT(Text({}, "all"), HasSubstr("  --seed=0 (int64)\n      Random seed. The same seed gives"));
  EXPECT_THAT(Text({}, "all"), HasSubstr("  --data_cache=\"\" (string)\n"));
  EXPECT_THAT(Text({}, "all"), HasSubstr("  --flagfile=\"\" (string)\n"));
}

TEST(HelpTextTest, WordsAreLookedForInNamesHeadingsAndHelp) {
  EXPECT_THAT(Text({}, "EMA"), HasSubstr("--ema_decay"));
  EXPECT_THAT(Text({}, "past"), HasSubstr("--ema_decay"));
  EXPECT_THAT(Text({}, "training"), HasSubstr("--seed"));
  EXPECT_THAT(Text({}, "ema"), Not(HasSubstr("--seed")));
  const absl::Status status = HelpText("tool", Flags(), {}, "warp").status();
  EXPECT_THAT(status.message(), HasSubstr("\"warp\""));
  EXPECT_THAT(status.message(), HasSubstr("tool --help=all"));
}

TEST(HelpTextDeathTest, EssentialFlagsExist) {
  EXPECT_DEATH((void)HelpText("tool", Flags(), {"sede"}, ""), "sede is no flag of tool");
}

}  // namespace
}  // namespace rutile
