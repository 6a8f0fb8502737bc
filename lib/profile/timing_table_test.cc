#include "lib/profile/timing_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "lib/profile/record.h"
#include "lib/profile/session.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

ProfileStage MakeStage(const std::string& path, int thread, int64_t calls, double self_s, double total_s) {
  ProfileStage stage;
  stage.path = path;
  stage.name = path.substr(path.rfind('/') + 1);
  stage.thread = thread, stage.calls = calls, stage.self_s = self_s, stage.total_s = total_s;
  return stage;
}

TEST(TimingTableTest, OneLineForEachPlace) {
  ProfileRecord record;
  record.cpu_s = 3.5;
  record.peak_rss_bytes = 301000000;
  record.data.wall_s = 2;
  record.data.threads = {{0, "main"}, {1, "loader"}};
  record.data.stages = {MakeStage("other", 0, 1, 0.5, 2), MakeStage("validation", 0, 2, 0.25, 1.5),
                        MakeStage("validation/forward", 0, 1200, 1.25, 1.25),
                        MakeStage("make_batch", 1, 6, 0.02, 0.02)};
  record.data.stages[1].allocations = 6001, record.data.stages[2].allocations = 300;
  record.data.stages[2].counters[static_cast<int>(Counter::kAtoms)] = 1500000;
  record.data.stages[2].counters[static_cast<int>(Counter::kFlop)] = 4000000000;
  record.data.stages[3].device_s = 0.0125;
  record.operators = {{"aten::mm", 9, 0.1}};
  record.machine.warnings = {"reference BLAS"};
  const std::string table = TimingTable(record);
  const std::vector<std::string> lines = absl::StrSplit(table, '\n');
  EXPECT_EQ(lines[0], "timing: 2.000 s wall, 3.500 s processor, 301 MB at most");
  EXPECT_EQ(lines[1], "main                            share         self     calls  new/call");
  EXPECT_EQ(lines[2], "  other                        25.0 %      0.500 s         1");
  EXPECT_EQ(lines[3], "  validation                   12.5 %      0.250 s         2       3 k");
  EXPECT_EQ(lines[4],
            "    forward                    62.5 %      1.250 s      1200     0.25   1.2 Matoms/s  3.2 Gflop/s");
  EXPECT_EQ(lines[5], "  sum                         100.0 %      2.000 s");
  EXPECT_EQ(lines[6], "loader                          share         self     calls  new/call");
  EXPECT_EQ(lines[7], "  make_batch                    1.0 %      0.020 s         6            0.013 s on device");
  EXPECT_THAT(table, HasSubstr("  aten::mm                      5.0 %      0.100 s         9"));
  EXPECT_THAT(table, HasSubstr("warning: reference BLAS\n"));
}

}  // namespace
}  // namespace rutile
