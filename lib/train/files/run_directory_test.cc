#include "lib/train/files/run_directory.h"

#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
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

TEST(RunDirectoryTest, FinishedSaysWhyAndGoesFirst) {
  const RunDirectory run = Fresh("finished");
  ASSERT_TRUE(run.Open(RunMode::kNew).ok());
  EXPECT_TRUE(run.RemoveFinished().ok());  // there is none
  ASSERT_TRUE(run.WriteFinished("max_epochs=30", 30, 120).ok());
  EXPECT_EQ(FileContents::Open(run.finished())->data(), "reason\tepochs\tsteps\nmax_epochs=30\t30\t120\n");
  ASSERT_TRUE(run.RemoveFinished().ok());
  EXPECT_FALSE(FileExists(run.finished()));
  ASSERT_TRUE(run.WriteFinished("max_epochs=30", 30, 120).ok());
  ASSERT_TRUE(run.RemoveRun().ok());
  EXPECT_FALSE(FileExists(run.finished()));
}

TEST(RunDirectoryTest, TwoGenerations) {
  const RunDirectory run = Fresh("generations");
  ASSERT_FALSE(run.Open(RunMode::kNew).value());
  ASSERT_TRUE(MakeDirectories(run.path() + "/recovery").ok());
  const auto content = [](const std::string& path) { return std::string(FileContents::Open(path).value().data()); };
  for (const char* text : {"1", "2", "3"}) {
    ASSERT_TRUE(WriteFileAtomically(run.next(), text).ok());
    ASSERT_EQ(run.Promote(), absl::OkStatus());
  }
  EXPECT_EQ(content(run.checkpoint()), "3");
  EXPECT_EQ(content(run.previous()), "2");
  ASSERT_TRUE(WriteFileAtomically(run.next(), "4").ok());
  ASSERT_EQ(run.Replace(), absl::OkStatus());
  EXPECT_EQ(content(run.checkpoint()), "4");
  EXPECT_EQ(content(run.previous()), "2");
  EXPECT_EQ(content(run.replaced()), "3");
  // The previous one is enough to resume.
  ASSERT_EQ(std::remove(run.checkpoint().c_str()), 0);
  EXPECT_TRUE(run.HoldsRun());
  EXPECT_TRUE(run.Open(RunMode::kResume).value());
  ASSERT_TRUE(run.RemoveRun().ok());
  EXPECT_FALSE(FileExists(run.path() + "/recovery"));
}

TEST(RunDirectoryTest, OneRunAtATime) {
  const RunDirectory run = Fresh("one");
  EXPECT_EQ(run.CheckUsable(), absl::OkStatus());
  {
    const absl::StatusOr<RunPlace> place = run.Enter(RunMode::kNew, "");
    ASSERT_TRUE(place.ok()) << place.status();
    EXPECT_FALSE(place->resume);
    for (const absl::Status& status : {run.CheckUsable(), run.Enter(RunMode::kResumeOrNew, "").status()}) {
      EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
      EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat("another run is training here (", run.lock(),
                                                                        ": held by process ", ::getpid())));
    }
  }
  EXPECT_EQ(run.CheckUsable(), absl::OkStatus());
  EXPECT_FALSE(FileExists(run.lock()));
  EXPECT_FALSE(run.HoldsRun());
}

TEST(RunDirectoryTest, WhatWasKilledLeavesNothing) {
  const RunDirectory run = Fresh("killed");
  ASSERT_TRUE(MakeDirectories(run.path() + "/checkpoints").ok());
  ASSERT_TRUE(MakeDirectories(run.path() + "/recovery").ok());
  const std::vector<std::string> left = {run.best() + ".tmp.123.4", run.next() + ".tmp.5.67",
                                         run.step_checkpoint(7) + ".tmp.1.1", run.previous() + ".link"};
  const std::vector<std::string> stay = {run.path() + "/notes.tmp.txt", run.path() + "/x.tmp.1",
                                         run.step_checkpoint(7)};
  for (const std::string& path : left) Touch(path);
  for (const std::string& path : stay) Touch(path);
  ASSERT_TRUE(run.Enter(RunMode::kNew, "").ok());
  for (const std::string& path : left) EXPECT_FALSE(FileExists(path)) << path;
  for (const std::string& path : stay) EXPECT_TRUE(FileExists(path)) << path;
}

TEST(RunDirectoryTest, FinishesRemovals) {
  const RunDirectory run = Fresh("removals");
  ASSERT_TRUE(MakeDirectories(run.path() + "/checkpoints").ok());
  ASSERT_TRUE(MakeDirectories(run.path() + "/recovery").ok());
  EXPECT_EQ(run.RemoveNamed({}), absl::OkStatus());
  for (const char* name : {"top-a.safetensors", "top-b.safetensors", "mine"}) Touch(run.named_checkpoint(name));
  Touch(run.best());
  ASSERT_TRUE(WriteFileAtomically(run.to_remove(),
                                  "top-a.safetensors\ntop-b.safetensors\nmine\ntop-gone.safetensors\n"
                                  "top-/../../best.safetensors\n")
                  .ok());
  EXPECT_EQ(run.RemoveNamed({"top-b.safetensors"}), absl::OkStatus());
  EXPECT_FALSE(FileExists(run.named_checkpoint("top-a.safetensors")));
  EXPECT_TRUE(FileExists(run.named_checkpoint("top-b.safetensors")));
  EXPECT_TRUE(FileExists(run.named_checkpoint("mine")));
  EXPECT_TRUE(FileExists(run.best()));
  EXPECT_FALSE(FileExists(run.to_remove()));
}

TEST(RunDirectoryTest, LogsAside) {
  const RunDirectory run = Fresh("aside");
  ASSERT_TRUE(run.Open(RunMode::kNew).ok());
  Touch(run.log());
  Touch(run.step_log_stem() + ".jsonl");
  ASSERT_EQ(run.SetLogsAside(), absl::OkStatus());
  ASSERT_EQ(run.SetLogsAside(), absl::OkStatus());
  EXPECT_FALSE(FileExists(run.log()));
  EXPECT_TRUE(FileExists(run.path() + "/recovery/log.tsv") && FileExists(run.path() + "/recovery/steps.jsonl"));
  ASSERT_EQ(run.RemoveRun(), absl::OkStatus());
  EXPECT_FALSE(FileExists(run.path() + "/recovery"));
}

TEST(RunDirectoryTest, CheckpointsOfThisRunAndOfOthers) {
  const RunDirectory run = Fresh("mine"), other = Fresh("other");
  ASSERT_TRUE(run.Open(RunMode::kNew).ok() && other.Open(RunMode::kNew).ok());
  Touch(run.epoch_checkpoint(3));
  EXPECT_TRUE(run.Holds(run.epoch_checkpoint(3)));
  EXPECT_TRUE(run.Holds(run.path() + "/../mine/checkpoints/x"));
  EXPECT_FALSE(other.Holds(run.epoch_checkpoint(3)));
  EXPECT_FALSE(run.Holds("x.safetensors"));
  EXPECT_THAT(run.NumberedCheckpoints(), ElementsAre(run.epoch_checkpoint(3)));
  EXPECT_TRUE(run.Open(RunMode::kResume, run.epoch_checkpoint(3)).value());
  EXPECT_TRUE(other.Open(RunMode::kResume, run.epoch_checkpoint(3)).value());
  Touch(other.log());
  EXPECT_EQ(other.Open(RunMode::kResume, run.epoch_checkpoint(3)).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(run.Open(RunMode::kResume, run.epoch_checkpoint(4)).status().code(), absl::StatusCode::kNotFound);
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
