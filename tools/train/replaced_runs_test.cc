#include "tools/train/replaced_runs.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class OtherRunsTest : public ::testing::Test {
 protected:
  OtherRunsTest()
      : dir_(absl::StrCat(std::getenv("TEST_TMPDIR"), "/",
                          ::testing::UnitTest::GetInstance()->current_test_info()->name())) {}

  std::string Path(const std::string& name) const { return absl::StrCat(dir_, "/", name); }
  void Write(const std::string& name) const {
    std::filesystem::create_directories(std::filesystem::path(Path(name)).parent_path());
    std::ofstream(Path(name)) << name;
  }
  void WriteRun(const std::string& folder) const {
    for (const char* file : {"best.safetensors", "config.json", "flags.txt", "checkpoints/last.safetensors",
                             "checkpoints/epoch-00002.safetensors", "test_frames.txt", "energies-train.tsv"}) {
      Write(absl::StrCat(folder, file));
    }
  }
  std::string Message(int committee, RunMode mode) const {
    const auto others = OtherRuns(dir_, committee, mode);
    EXPECT_TRUE(absl::IsInvalidArgument(others.status()));
    return std::string(others.status().message());
  }

  const std::string dir_;
};

TEST_F(OtherRunsTest, NoneWhereThereIsNone) {
  for (const RunMode mode : {RunMode::kNew, RunMode::kResume, RunMode::kResumeOrNew, RunMode::kOverwrite}) {
    EXPECT_THAT(*OtherRuns(dir_, 1, mode), IsEmpty());
    EXPECT_THAT(*OtherRuns(dir_, 2, mode), IsEmpty());
  }
  Write("config.json");  // of another program
  Write("member-05/log.tsv");
  EXPECT_THAT(*OtherRuns(dir_, 1, RunMode::kOverwrite), IsEmpty());
  EXPECT_THAT(*OtherRuns(dir_, 2, RunMode::kOverwrite), IsEmpty());
}

TEST_F(OtherRunsTest, ARunOfOneModel) {
  WriteRun("");
  EXPECT_THAT(*OtherRuns(dir_, 1, RunMode::kNew), IsEmpty()) << "for RunDirectory to refuse";
  EXPECT_THAT(Message(2, RunMode::kNew), HasSubstr("holds a run of one model, which --committee=2 would leave beside"));
  EXPECT_THAT(Message(2, RunMode::kNew), HasSubstr("--overwrite"));
  EXPECT_THAT(Message(2, RunMode::kResumeOrNew), HasSubstr("remove it first"));
  EXPECT_THAT(*OtherRuns(dir_, 2, RunMode::kOverwrite), ElementsAre(dir_));
}

TEST_F(OtherRunsTest, Members) {
  for (const char* member : {"member-00/", "member-01/", "member-07/"}) WriteRun(member);
  EXPECT_THAT(Message(1, RunMode::kNew), HasSubstr("member-00 is of a committee"));
  EXPECT_THAT(Message(2, RunMode::kNew), HasSubstr("member-07 is left from a larger committee than --committee=2"));
  EXPECT_THAT(*OtherRuns(dir_, 8, RunMode::kNew), IsEmpty());
  EXPECT_THAT(*OtherRuns(dir_, 2, RunMode::kOverwrite), ElementsAre(Path("member-07")));
  EXPECT_THAT(*OtherRuns(dir_, 1, RunMode::kOverwrite),
              ElementsAre(Path("member-00"), Path("member-01"), Path("member-07")));
}

TEST_F(OtherRunsTest, OnlyWhatARunWroteIsRemoved) {
  WriteRun("member-00/");
  ASSERT_TRUE(RemoveOtherRun(Path("member-00"), {}).ok());
  EXPECT_FALSE(std::filesystem::exists(Path("member-00")));
  EXPECT_TRUE(std::filesystem::exists(dir_));

  WriteRun("member-01/");
  Write("member-01/notes.txt");
  Write("member-01/checkpoints/mine.safetensors");
  const std::string frames = Path("member-01/../member-01/test_frames.txt");
  ASSERT_TRUE(RemoveOtherRun(Path("member-01"), {"", "none", frames}).ok());
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(Path("member-01"))) {
    if (entry.is_regular_file()) left.push_back(entry.path().filename().string());
  }
  EXPECT_THAT(left, ::testing::UnorderedElementsAre("notes.txt", "mine.safetensors", "test_frames.txt"));
}

TEST_F(OtherRunsTest, OneInWhichAnotherProcessTrainsStays) {
  WriteRun("member-00/");
  const auto place = RunDirectory(Path("member-00")).Enter(RunMode::kOverwrite, "");
  ASSERT_TRUE(place.ok());
  EXPECT_THAT(Message(1, RunMode::kOverwrite), HasSubstr("another run is training here"));
  EXPECT_FALSE(RemoveOtherRun(Path("member-00"), {}).ok());
  EXPECT_TRUE(std::filesystem::exists(Path("member-00/best.safetensors")));
}

}  // namespace
}  // namespace rutile
