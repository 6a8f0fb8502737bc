#include "lib/train/files/train_log.h"

#include <unistd.h>

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"
#include "lib/testing/full_disk.h"
#include "lib/train/files/log_format.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

const std::vector<LogFormat> kTsv = {LogFormat::kTsv};

std::string Path(const char* name) { return ::testing::TempDir() + "/" + name; }
std::string Contents(const std::string& path) { return std::string(FileContents::Open(path)->data()); }

TEST(TrainLogTest, RowsAreSeenAtOnce) {
  const std::string stem = Path("rows");
  absl::StatusOr<TrainLog> log = TrainLog::Open(stem, {"epoch", "loss[eV]"}, AllLogFormats(), {});
  ASSERT_TRUE(log.ok()) << log.status();
  EXPECT_EQ(Contents(stem + ".tsv"), "epoch\tloss[eV]\n");
  ASSERT_TRUE(log->Append({1, 0.1}).ok());
  ASSERT_TRUE(log->Append({2, std::numeric_limits<double>::quiet_NaN()}).ok());
  ASSERT_TRUE(log->Append({123456789012, 1.23456789e-7}).ok());
  EXPECT_EQ(Contents(stem + ".tsv"), "epoch\tloss[eV]\n1\t0.1\n2\tnan\n123456789012\t1.23456789e-07\n");
  EXPECT_EQ(Contents(stem + ".jsonl"),
            "{\"epoch\":1,\"loss\":0.1}\n{\"epoch\":2,\"loss\":null}\n"
            "{\"epoch\":123456789012,\"loss\":1.23456789e-07}\n");
}

TEST(TrainLogTest, RowsThatMayWaitDoNotWaitLong) {
  const std::string stem = Path("soon"), header = "epoch\n";
  {
    TrainLog log = TrainLog::Open(stem, {"epoch"}, kTsv, {}).value();
    const absl::Time begin = absl::Now();
    ASSERT_TRUE(log.AppendSoon({1}).ok());
    EXPECT_EQ(Contents(stem + ".tsv"), header + "1\n");  // nothing was written before
    ASSERT_TRUE(log.AppendSoon({2}).ok());
    const std::string now = Contents(stem + ".tsv");
    if (absl::Now() - begin < absl::Milliseconds(90)) {
      EXPECT_EQ(now, header + "1\n");
    }
    ASSERT_TRUE(log.Flush().ok());
    EXPECT_EQ(Contents(stem + ".tsv"), header + "1\n2\n");
    ASSERT_TRUE(log.AppendSoon({3}).ok());
    absl::SleepFor(absl::Milliseconds(110));
    ASSERT_TRUE(log.AppendSoon({4}).ok());
    EXPECT_EQ(Contents(stem + ".tsv"), header + "1\n2\n3\n4\n");
    ASSERT_TRUE(log.AppendSoon({5}).ok());
    TrainLog moved = std::move(log);
    ASSERT_TRUE(moved.AppendSoon({6}).ok());
    ASSERT_TRUE(moved.Append({7}).ok());
    EXPECT_EQ(Contents(stem + ".tsv"), header + "1\n2\n3\n4\n5\n6\n7\n");
    ASSERT_TRUE(moved.AppendSoon({8}).ok());
  }
  EXPECT_EQ(Contents(stem + ".tsv"), header + "1\n2\n3\n4\n5\n6\n7\n8\n");  // the end of the log
}

TEST(TrainLogTest, RowsThatWaitGoWithTheirLog) {
  const std::string first = Path("first"), second = Path("second");
  {
    std::optional<TrainLog> log = TrainLog::Open(first, {"epoch", "x"}, AllLogFormats(), {}).value();
    ASSERT_TRUE(log->AppendSoon({1, 0.5}).ok());
    ASSERT_TRUE(log->AppendSoon({2, 0.25}).ok());
    log = TrainLog::Open(second, {"epoch"}, kTsv, {}).value();
    EXPECT_EQ(Contents(first + ".tsv"), "epoch\tx\n1\t0.5\n2\t0.25\n");
    EXPECT_THAT(Contents(first + ".jsonl"), HasSubstr("{\"epoch\":1,\"x\":0.5}\n{\"epoch\":2,\"x\":0.25}\n"));
    ASSERT_TRUE(log->AppendSoon({3}).ok());
    ASSERT_TRUE(log->AppendSoon({4}).ok());
  }
  EXPECT_EQ(Contents(second + ".tsv"), "epoch\n3\n4\n");
}

TEST(TrainLogDeathTest, AValueForEachColumnAtOnce) {
  TrainLog log = TrainLog::Open(Path("values"), {"epoch"}, kTsv, {}).value();
  ASSERT_TRUE(log.AppendSoon({1}).ok());
  EXPECT_DEATH(log.AppendSoon({2, 3}).IgnoreError(), "2 vs. 1");
}

TEST(TrainLogTest, OnlyTheFormsThatWereChosen) {
  ASSERT_TRUE(TrainLog::Open(Path("chosen"), {"epoch"}, {LogFormat::kJsonl}, {}).ok());
  EXPECT_TRUE(FileExists(Path("chosen.jsonl")));
  EXPECT_FALSE(FileExists(Path("chosen.tsv")));
  absl::StatusOr<TrainLog> none = TrainLog::Open(Path("nothing"), {"epoch"}, {}, {});
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_TRUE(none->Append({1}).ok());
  EXPECT_FALSE(FileExists(Path("nothing.tsv")));
}

TEST(TrainLogTest, ResumingDropsLaterRows) {
  const std::string stem = Path("resume");
  for (const LogFormat format : AllLogFormats()) {
    const std::vector<std::string> columns = {"epoch", "x"};
    std::string text = LogHeader(format, columns);
    for (double epoch = 1; epoch <= 3; ++epoch) text += LogRow(format, columns, {epoch, 10 * epoch}) + "\n";
    const std::string whole = text;
    text += LogRow(format, columns, {4, 44}).substr(0, 3);  // truncated row
    const std::string path = stem + std::string(LogFormatSuffix(format));
    ASSERT_TRUE(WriteFileAtomically(path, text).ok());
    absl::StatusOr<TrainLog> log = TrainLog::Open(stem, columns, {format}, {2, 0});
    ASSERT_TRUE(log.ok()) << log.status();
    ASSERT_TRUE(log->Append({3, 30}).ok());
    EXPECT_EQ(Contents(path), whole);
    ASSERT_TRUE(TrainLog::Open(stem, columns, {format}, {}).ok());  // a new run
    EXPECT_EQ(Contents(path), LogHeader(format, columns));
  }
}

TEST(TrainLogTest, ResumingALogOfAnOlderVersionDropsItsUnits) {
  const std::string stem = Path("older");
  ASSERT_TRUE(WriteFileAtomically(stem + ".jsonl",
                                  "{\"units\":{\"epoch\":\"\",\"x\":\"eV\"}}\n{\"epoch\":1,\"x\":2}\n"
                                  "{\"epoch\":2,\"x\":3}\n")
                  .ok());
  ASSERT_TRUE(TrainLog::Open(stem, {"epoch", "x[eV]"}, {LogFormat::kJsonl}, {1, 0}).ok());
  EXPECT_EQ(Contents(stem + ".jsonl"), "{\"epoch\":1,\"x\":2}\n");
  const absl::Status other = TrainLog::Open(stem, {"epoch", "y"}, {LogFormat::kJsonl}, {1, 0}).status();
  EXPECT_EQ(other.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(other.message()), HasSubstr("older.jsonl: found no \"y\""));
}

TEST(TrainLogTest, RowsStayByNumberOrByStep) {
  const std::string stem = Path("kept");
  const auto kept = [&](const KeptRows& rows) {
    EXPECT_TRUE(WriteFileAtomically(stem + ".tsv", "epoch\tstep\n1\t5\n1\t10\n2\t15\n2\t20\n").ok());
    EXPECT_TRUE(TrainLog::Open(stem, {"epoch", "step"}, kTsv, rows).ok());
    return Contents(stem + ".tsv");
  };
  EXPECT_EQ(kept({3, 0}), "epoch\tstep\n1\t5\n1\t10\n2\t15\n");
  EXPECT_EQ(kept({0, 14}), "epoch\tstep\n1\t5\n1\t10\n");
  EXPECT_EQ(kept({0, 4}), "epoch\tstep\n");
  EXPECT_EQ(kept({9, 0}), "epoch\tstep\n1\t5\n1\t10\n2\t15\n2\t20\n");
  EXPECT_EQ(kept({0, 0}), "epoch\tstep\n");
}

TEST(TrainLogTest, ResumingWithoutAFileStartsOne) {
  ASSERT_TRUE(TrainLog::Open(Path("absent"), {"epoch"}, kTsv, {5, 0}).ok());
  EXPECT_EQ(Contents(Path("absent.tsv")), "epoch\n");
}

TEST(TrainLogTest, RefusesAnotherTable) {
  const std::string stem = Path("other");
  ASSERT_TRUE(WriteFileAtomically(stem + ".tsv", "epoch\ty\n1\t10\n").ok());
  EXPECT_THAT(std::string(TrainLog::Open(stem, {"epoch", "x"}, kTsv, {1, 0}).status().message()),
              HasSubstr("expected \"epoch\tx\""));
  ASSERT_TRUE(WriteFileAtomically(stem + ".tsv", "epoch\tx\n1\n").ok());
  EXPECT_THAT(std::string(TrainLog::Open(stem, {"epoch", "x"}, kTsv, {1, 0}).status().message()),
              HasSubstr("found the row \"1\""));
  EXPECT_FALSE(TrainLog::Open(Path("no/such/log"), {"epoch"}, kTsv, {}).ok());
}

TEST(TrainLogTest, FullDeviceIsAnError) {
  ASSERT_EQ(::symlink("/dev/full", Path("full.tsv").c_str()), 0);
  absl::StatusOr<TrainLog> log = TrainLog::Open(Path("full"), {"epoch"}, kTsv, {});
  EXPECT_EQ(log.status().code(), absl::StatusCode::kResourceExhausted) << log.status();
}

TEST(TrainLogTest, WhatTheDiskHadNoRoomForComesLater) {
  const std::string stem = Path("later");
  TrainLog log = TrainLog::Open(stem, {"epoch"}, AllLogFormats(), {}).value();
  EXPECT_EQ(log.Flush(), absl::OkStatus());
  {
    const FullDisk full(Contents(stem + ".tsv").size() + 3);                  // one row and a half
    EXPECT_EQ(log.Append({1}).code(), absl::StatusCode::kResourceExhausted);  // the other form is longer
    EXPECT_FALSE(log.Append({2}).ok());
    EXPECT_FALSE(log.Flush().ok());
    EXPECT_EQ(Contents(stem + ".tsv"), "epoch\n1\n");
    EXPECT_EQ(Contents(stem + ".jsonl"), "");
  }
  EXPECT_EQ(log.Append({3}), absl::OkStatus());
  EXPECT_EQ(log.Sync(), absl::OkStatus());
  EXPECT_EQ(Contents(stem + ".tsv"), "epoch\n1\n2\n3\n");
  EXPECT_EQ(Contents(stem + ".jsonl"), "{\"epoch\":1}\n{\"epoch\":2}\n{\"epoch\":3}\n");
}

}  // namespace
}  // namespace rutile
