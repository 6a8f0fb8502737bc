#include "lib/train/train_log.h"

#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/file.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

std::string Path(const char* name) { return ::testing::TempDir() + "/" + name; }
std::string Contents(const std::string& path) { return std::string(FileContents::Open(path)->data()); }

TEST(TrainLogTest, ColumnsNameUnits) {
  EXPECT_EQ(LogColumn("epoch_time", "s"), "epoch_time[s]");
  EXPECT_EQ(LogColumn("step", ""), "step");
}

TEST(TrainLogTest, RowsAreSeenAtOnce) {
  const std::string path = Path("rows.tsv");
  absl::StatusOr<TrainLog> log = TrainLog::Open(path, {"epoch", "loss[eV]"}, 0);
  ASSERT_TRUE(log.ok()) << log.status();
  EXPECT_EQ(Contents(path), "epoch\tloss[eV]\n");
  ASSERT_TRUE(log->Append({1, 0.1}).ok());
  ASSERT_TRUE(log->Append({2, std::numeric_limits<double>::quiet_NaN()}).ok());
  ASSERT_TRUE(log->Append({123456789012, 1.23456789e-7}).ok());
  EXPECT_EQ(Contents(path), "epoch\tloss[eV]\n1\t0.1\n2\tnan\n123456789012\t1.23456789e-07\n");
}

TEST(TrainLogTest, ResumingDropsLaterRows) {
  const std::string path = Path("resume.tsv");
  ASSERT_TRUE(WriteFileAtomically(path, "epoch\tx\n1\t10\n2\t20\n3\t30\n4\t4").ok());  // the last was cut off
  {
    absl::StatusOr<TrainLog> log = TrainLog::Open(path, {"epoch", "x"}, 2);
    ASSERT_TRUE(log.ok()) << log.status();
    ASSERT_TRUE(log->Append({3, 31}).ok());
  }
  EXPECT_EQ(Contents(path), "epoch\tx\n1\t10\n2\t20\n3\t31\n");
  ASSERT_TRUE(TrainLog::Open(path, {"epoch", "x"}, 0).ok());  // a new run
  EXPECT_EQ(Contents(path), "epoch\tx\n");
}

TEST(TrainLogTest, ResumingWithoutAFileStartsOne) {
  ASSERT_TRUE(TrainLog::Open(Path("absent.tsv"), {"epoch"}, 5).ok());
  EXPECT_EQ(Contents(Path("absent.tsv")), "epoch\n");
}

TEST(TrainLogTest, RefusesAnotherTable) {
  const std::string path = Path("other.tsv");
  ASSERT_TRUE(WriteFileAtomically(path, "epoch\ty\n1\t10\n").ok());
  EXPECT_THAT(std::string(TrainLog::Open(path, {"epoch", "x"}, 1).status().message()),
              HasSubstr("expected \"epoch\tx\""));
  ASSERT_TRUE(WriteFileAtomically(path, "epoch\tx\n1\n").ok());
  EXPECT_THAT(std::string(TrainLog::Open(path, {"epoch", "x"}, 1).status().message()),
              HasSubstr("found the row \"1\""));
  EXPECT_FALSE(TrainLog::Open(Path("no/such/log.tsv"), {"epoch"}, 0).ok());
}

TEST(TrainLogTest, FullDeviceIsAnError) {
  absl::StatusOr<TrainLog> log = TrainLog::Open("/dev/full", {"epoch"}, 0);
  EXPECT_EQ(log.status().code(), absl::StatusCode::kResourceExhausted) << log.status();
}

}  // namespace
}  // namespace rutile
