#include "tools/profile/pages/profile_page.h"

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/profile/record_testing.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

CommandProfile MakeRun() {
  CommandProfile run;
  run.command = {"train", "data"};
  run.wall_s = 2.05;
  run.cpu_s = 3.6;
  run.records = {TrainRecord()};
  return run;
}

TEST(ProfilePageTest, SaysWhatWasRunAndWhereTimeWent) {
  CommandProfile run = MakeRun();
  for (ProfileStage& stage : run.records[0].data.stages) {
    if (stage.path == "step/network") stage.allocations = 700;
  }
  const std::string page = ProfilePage(run, PlainPeaks(), 12);
  EXPECT_THAT(page, HasSubstr("command: train data\n"));
  EXPECT_THAT(page, HasSubstr("machine: a processor, 2 of 2 processors, AVX2, 8 GB\n"));
  EXPECT_THAT(page,
              HasSubstr("  step/network                       50.0 %       1 s       100        7       4  50 % mem"));
  EXPECT_THAT(page, HasSubstr("stages add up to 100.0 % of the wall time, 15.0 % of it in no scope"));
  EXPECT_THAT(page, HasSubstr("beside it, 2 worker threads"));
  EXPECT_THAT(page, HasSubstr("bottleneck: train spends 50 %"));
  EXPECT_THAT(page, HasSubstr("50 ms, 2.4 %"));
  EXPECT_THAT(page, Not(HasSubstr("do not trust")));
}

TEST(ProfilePageTest, SharesInAdviceSayWhatTheyAreOf) {
  CommandProfile run = MakeRun();
  ProfileRecord& record = run.records[0];
  SetSelfTime("wait_for_data", 0.12, &record);
  EXPECT_THAT(ProfilePage(run, PlainPeaks(), 12), Not(HasSubstr("shares are")));
  SetSelfTime("startup", 2.5, &record);
  record.data.stages[0].self_s += 2.5;
  record.data.wall_s += 2.5;
  EXPECT_THAT(ProfilePage(run, PlainPeaks(), 12),
              HasSubstr("  advice; shares are of the 2 s between startup and exit:\n  - "));
}

TEST(ProfilePageTest, StagesThatDoNotAddUpAreToldOf) {
  CommandProfile run = MakeRun();
  run.records[0].data.wall_s = 2.2;
  run.cut = true;
  run.notes = {"a note"};
  run.records[0].operators = {{"aten::mm", 12, 0.5}, {"aten::add", 3, 0.001}};
  const std::string page = ProfilePage(run, MachinePeaks(), 12);
  EXPECT_THAT(page, HasSubstr("do not trust"));
  EXPECT_THAT(page, HasSubstr("cut short by --max_time"));
  EXPECT_THAT(page, HasSubstr("a note\n"));
  EXPECT_THAT(page, HasSubstr("aten::mm 500 ms (12), aten::add 1 ms (3)\n"));
  EXPECT_THAT(page, Not(HasSubstr("peaks:")));
}

TEST(ProfilePageTest, SmallStagesAreOneLine) {
  const std::string page = ProfilePage(MakeRun(), PlainPeaks(), 2);
  EXPECT_THAT(page, HasSubstr("4 smaller stages"));
  EXPECT_THAT(page, Not(HasSubstr("  optimizer")));
}

TEST(ProfilePageTest, OfManyProcessesTheLongest) {
  CommandProfile run = MakeRun();
  for (int i = 1; i <= 20; ++i) {
    run.records.push_back(TrainRecord());
    run.records.back().data.wall_s = 0.01 * i;
    run.records.back().pid = 100 + i;
  }
  const std::string page = ProfilePage(run, PlainPeaks(), 12);
  EXPECT_THAT(page, HasSubstr("train (42)"));
  EXPECT_THAT(page, HasSubstr("train (114)"));
  EXPECT_THAT(page, Not(HasSubstr("train (113)")));
  EXPECT_THAT(page, HasSubstr("13 shorter processes, 910 ms together"));
}

TEST(ProfilePageTest, TsvIsATable) {
  CommandProfile run = MakeRun();
  run.records[0].tool = "tr\tain";
  const std::vector<std::string> lines = absl::StrSplit(StagesTsv(run, PlainPeaks()), '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 9);  // a header, six stages of the main thread, one of loader, one of workers
  const size_t columns = std::vector<std::string>(absl::StrSplit(lines[0], '\t')).size();
  EXPECT_EQ(columns, 23);
  for (const std::string& line : lines) {
    EXPECT_EQ(std::vector<std::string>(absl::StrSplit(line, '\t')).size(), columns) << line;
  }
  EXPECT_THAT(lines[1], HasSubstr("\tmain\tstep/network\t100\t1.000000\t1.000000\t50.000\t"));
}

TEST(ProfilePageTest, CommandsAreCutBetweenCharacters) {
  EXPECT_EQ(CommandText({"a", "b"}, 10), "a b");
  EXPECT_EQ(CommandText({"a\nb"}, 10), "a b");
  EXPECT_EQ(CommandText({"12345678901"}, 10), "1234567...");
  EXPECT_EQ(CommandText({"123456\u00e9\u00e9\u00e9"}, 10), "123456...");
}

}  // namespace
}  // namespace rutile
