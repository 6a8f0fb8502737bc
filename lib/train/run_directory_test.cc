#include "lib/train/run_directory.h"

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/file.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

RunDirectory Fresh(const char* name) { return RunDirectory(::testing::TempDir() + "/run_directory/" + name); }

void Touch(const std::string& path) { ASSERT_TRUE(WriteFileAtomically(path, "x").ok()); }

TEST(RunDirectoryTest, NewRunNeedsAnEmptyPlace) {
  const RunDirectory run = Fresh("new/deep");
  ASSERT_FALSE(run.Open(RunMode::kNew).value());  // made, not resumed
  ASSERT_FALSE(run.Open(RunMode::kNew).value());  // still holds nothing
  Touch(run.log());
  const absl::Status status = run.Open(RunMode::kNew).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(status.message()), HasSubstr("holds a run already"));
}

TEST(RunDirectoryTest, ResumesWhereThereIsACheckpoint) {
  const RunDirectory run = Fresh("resume");
  EXPECT_EQ(run.Open(RunMode::kResume).status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(run.Open(RunMode::kResumeOrNew).value());
  Touch(run.checkpoint());
  EXPECT_TRUE(run.Open(RunMode::kResume).value());
  EXPECT_TRUE(run.Open(RunMode::kResumeOrNew).value());
  EXPECT_FALSE(run.Open(RunMode::kOverwrite).value());
  EXPECT_TRUE(FileExists(run.checkpoint()));  // nothing is removed before it is known that the run can start
}

TEST(RunDirectoryTest, RemovesItsOwnFilesOnly) {
  const RunDirectory run = Fresh("remove");
  ASSERT_TRUE(run.Open(RunMode::kNew).ok());
  const std::string notes = run.path() + "/notes.txt", mine = run.path() + "/checkpoints/mine.safetensors";
  for (const std::string& path :
       {run.best(), run.last(), run.log(), run.config(), run.checkpoint(), run.epoch_checkpoint(12), notes, mine,
        run.log_stem() + ".jsonl", run.step_log_stem() + ".tsv", run.flags(), run.learning_curve(),
        run.failed_batch()}) {
    Touch(path);
  }
  EXPECT_TRUE(run.HoldsRun());
  ASSERT_TRUE(run.RemoveRun().ok());
  EXPECT_FALSE(run.HoldsRun());
  for (const std::string& path : {run.epoch_checkpoint(12), run.log_stem() + ".jsonl", run.step_log_stem() + ".tsv",
                                  run.flags(), run.learning_curve(), run.failed_batch()}) {
    EXPECT_FALSE(FileExists(path)) << path;
  }
  EXPECT_TRUE(FileExists(notes));
  EXPECT_TRUE(FileExists(mine));
}

TEST(RunDirectoryTest, EpochCheckpointsSortByName) {
  EXPECT_EQ(RunDirectory("r").epoch_checkpoint(12), "r/checkpoints/epoch-00012.safetensors");
}

TEST(RunDirectoryTest, FileInTheWay) {
  const std::string path = ::testing::TempDir() + "/file";
  Touch(path);
  EXPECT_FALSE(RunDirectory(path).Open(RunMode::kNew).ok());
}

}  // namespace
}  // namespace rutile
