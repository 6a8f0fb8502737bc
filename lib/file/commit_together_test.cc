#include "lib/file/commit_together.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class CommitTogetherTest : public ::testing::Test {
 protected:
  CommitTogetherTest() {
    static int counter = 0;
    directory_ = absl::StrCat(::testing::TempDir(), "/together", ::getpid(), ".", counter++);
    EXPECT_TRUE(MakeDirectories(directory_).ok());
  }

  std::string Path(const std::string& name) const { return absl::StrCat(directory_, "/", name); }

  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    DIR* const folder = ::opendir(directory_.c_str());
    while (const dirent* const entry = ::readdir(folder)) {
      if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
    }
    ::closedir(folder);
    return names;
  }

  std::string Contents(const std::string& name) const {
    return std::string(FileContents::Open(Path(name)).value().data());
  }

  std::string directory_;
};

TEST_F(CommitTogetherTest, AllTakeTheirNamesAtTheEnd) {
  ASSERT_TRUE(WriteFileAtomically(Path("a"), "old").ok());
  {
    CommitTogether together;
    ASSERT_TRUE(WriteFileAtomically(Path("a"), "new").ok());
    ASSERT_TRUE(WriteFileAtomically(Path("b"), "b").ok());
    EXPECT_EQ(Contents("a"), "old");
    EXPECT_FALSE(FileExists(Path("b")));
    ASSERT_TRUE(together.Commit().ok());
    EXPECT_THAT(Files(), UnorderedElementsAre("a", "b"));
  }
  EXPECT_EQ(Contents("a"), "new");
  EXPECT_EQ(Contents("b"), "b");
  ASSERT_TRUE(WriteFileAtomically(Path("c"), "c").ok());  // as ever
  EXPECT_EQ(Contents("c"), "c");
}

TEST_F(CommitTogetherTest, NothingIsLeftWithoutCommit) {
  ASSERT_TRUE(WriteFileAtomically(Path("a"), "old").ok());
  {
    CommitTogether together;
    ASSERT_TRUE(WriteFileAtomically(Path("a"), "new").ok());
    EXPECT_FALSE(WriteFileAtomically(Path("no/such"), "b").ok());
  }
  EXPECT_THAT(Files(), ElementsAre("a"));
  EXPECT_EQ(Contents("a"), "old");
}

TEST_F(CommitTogetherTest, AFileThatCannotBeNamedIsNamedInTheError) {
  CommitTogether together;
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(WriteFileAtomically(Path(name), name).ok());
  ASSERT_EQ(::mkdir(Path("b").c_str(), 0777), 0);  // while the files were written
  EXPECT_FALSE(together.Commit().ok());
  EXPECT_THAT(std::string(together.Commit().message()), ::testing::HasSubstr(Path("b")));
  EXPECT_EQ(Contents("a"), "a");
  EXPECT_FALSE(FileExists(Path("c")));
}

TEST_F(CommitTogetherTest, WhatIsNoRegularFileIsWrittenAtOnce) {
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  const int reader = ::open(Path("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  CommitTogether together;
  ASSERT_TRUE(WriteFileAtomically(Path("pipe"), "now").ok());
  char bytes[4] = {};
  EXPECT_EQ(::read(reader, bytes, sizeof(bytes)), 3);
  EXPECT_EQ(std::string(bytes), "now");
  ::close(reader);
}

// The files of a killed process are temporary files like any other: who writes the same names later removes them, but
// not while they are being written.
TEST_F(CommitTogetherTest, WhatAKilledProcessLeftIsRemoved) {
  const pid_t child = ::fork();
  if (child == 0) {
    CommitTogether together;
    if (!WriteFileAtomically(Path("a"), "a").ok() || !WriteFileAtomically(Path("b"), "b").ok()) ::_exit(1);
    ::_exit(0);  // as kill -9: nothing is cleaned up
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  const std::vector<std::string> left = Files();
  EXPECT_THAT(left, ::testing::SizeIs(2));
  for (const std::string& name : left) {
    EXPECT_TRUE(absl::StrContains(name, absl::StrCat(".tmp.", child, "."))) << name;
    const timespec past[2] = {{::time(nullptr) - 4000, 0}, {::time(nullptr) - 4000, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, Path(name).c_str(), past, 0), 0);
  }
  {
    CommitTogether together;
    ASSERT_TRUE(WriteFileAtomically(Path("a"), "a").ok());
    ASSERT_TRUE(WriteFileAtomically(Path("b"), "b").ok());
    ASSERT_TRUE(together.Commit().ok());
  }
  EXPECT_THAT(Files(), UnorderedElementsAre("a", "b"));
}

TEST_F(CommitTogetherTest, OneAtATime) {
  CommitTogether together;
  EXPECT_DEATH(CommitTogether(), "committed together already");
}

}  // namespace
}  // namespace rutile
