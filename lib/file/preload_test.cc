#include "lib/file/preload.h"

#include <dirent.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/file/file.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// Lists a directory without hidden files.
std::vector<std::string> Listing(const std::string& directory) {
  std::vector<std::string> names;
  DIR* const entries = ::opendir(directory.c_str());
  if (entries == nullptr) return names;
  while (const dirent* entry = ::readdir(entries)) {
    if (entry->d_name[0] != '.') names.push_back(entry->d_name);
  }
  ::closedir(entries);
  return names;
}

// A length above one thread's piece, and no multiple of it.
std::string LongText(char seed) {
  std::string text(40000001, '\0');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(seed + i * 31 + i / 4096);
  return text;
}

class PreloadTest : public ::testing::TestWithParam<Preload> {
 protected:
  PreloadTest() {
    std::string directory = ::testing::TempDir() + "/preload-XXXXXX";
    options_.shm_root = ::mkdtemp(directory.data());
    options_.preload = GetParam();
    options_.num_threads = 3;
    path_ = options_.shm_root + "/data";
  }

  std::string Write(const std::string& text) {
    EXPECT_TRUE(WriteFileAtomically(path_, text).ok());
    return text;
  }

  PreloadOptions options_;
  std::string path_;
};

TEST_P(PreloadTest, GivesTheBytesOfTheFileUnderItsName) {
  for (const std::string& text : {LongText('a'), std::string("b"), std::string()}) {
    Write(text);
    const absl::StatusOr<FileContents> file = OpenPreloaded(path_, options_);
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_TRUE(file->data() == text);
    EXPECT_EQ(file->path(), path_);
  }
}

TEST_P(PreloadTest, StaysAsItWasWhenTheFileIsReplaced) {
  const std::string first = Write(LongText('a'));
  const absl::StatusOr<FileContents> before = OpenPreloaded(path_, options_);
  const std::string second = Write(LongText('b'));
  const absl::StatusOr<FileContents> after = OpenPreloaded(path_, options_);
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_TRUE(before->data() == first);
  EXPECT_TRUE(after->data() == second);
}

TEST_P(PreloadTest, ErrorsAreThoseOfTheFile) {
  EXPECT_TRUE(absl::IsNotFound(OpenPreloaded(path_, options_).status()));
  EXPECT_THAT(std::string(OpenPreloaded(path_, options_).status().message()), HasSubstr(path_));
  EXPECT_TRUE(absl::IsInvalidArgument(OpenPreloaded(options_.shm_root, options_).status()));
}

INSTANTIATE_TEST_SUITE_P(All, PreloadTest, ::testing::Values(Preload::kNone, Preload::kRam, Preload::kShm),
                         [](const auto& info) { return std::string(kPreloadNames.Name(info.param)); });

class PreloadShmTest : public PreloadTest {};

TEST_P(PreloadShmTest, CopiesOnceAndReplacesWhatIsOld) {
  Write("first");
  const std::string directory = PreloadDirectory(options_);
  ASSERT_TRUE(OpenPreloaded(path_, options_).ok());
  struct stat info;
  ASSERT_EQ(::stat(directory.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  ASSERT_THAT(Listing(directory), SizeIs(1));
  const std::string copy = directory + "/" + Listing(directory)[0];
  ASSERT_EQ(::stat(copy.c_str(), &info), 0);
  const ino_t inode = info.st_ino;
  // The copy is also found under another spelling of its path, as by another process.
  ASSERT_TRUE(OpenPreloaded(options_.shm_root + "/./data", options_).ok());
  ASSERT_EQ(::stat(copy.c_str(), &info), 0);
  EXPECT_EQ(info.st_ino, inode);
  // A copy of another file stays when this one is replaced.
  ASSERT_TRUE(WriteFileAtomically(path_ + "2", "other").ok());
  ASSERT_TRUE(OpenPreloaded(path_ + "2", options_).ok());
  EXPECT_THAT(Listing(directory), SizeIs(2));
  Write("again");  // of the same size
  EXPECT_EQ(OpenPreloaded(path_, options_)->data(), "again");
  EXPECT_THAT(Listing(directory), SizeIs(2));
  EXPECT_NE(::stat(copy.c_str(), &info), 0);
  EXPECT_EQ(OpenPreloaded(path_ + "2", options_)->data(), "other");
}

TEST_P(PreloadShmTest, RemovesWhatKilledProcessesLeft) {
  Write("text");
  const std::string directory = PreloadDirectory(options_);
  ASSERT_TRUE(OpenPreloaded(path_, options_).ok());
  // One file of a living process, and one of a process that does not exist: process numbers are below 2^22.
  const std::string living = absl::StrCat(directory, "/0-0.tmp.", ::getpid());
  const std::string dead = absl::StrCat(directory, "/0-0.tmp.2000000000");
  ASSERT_TRUE(WriteFileAtomically(living, "x").ok() && WriteFileAtomically(dead, "x").ok());
  ASSERT_TRUE(OpenPreloaded(path_, options_).ok());
  EXPECT_TRUE(FileExists(living));
  EXPECT_FALSE(FileExists(dead));
}

TEST_P(PreloadShmTest, RefusesADirectoryThatOthersCanEnter) {
  Write("text");
  const std::string directory = PreloadDirectory(options_);
  ASSERT_EQ(::mkdir(directory.c_str(), 0700), 0);
  ASSERT_EQ(::chmod(directory.c_str(), 0755), 0);
  const absl::Status open = OpenPreloaded(path_, options_).status();
  EXPECT_TRUE(absl::IsPermissionDenied(open)) << open;
  EXPECT_THAT(std::string(open.message()), HasSubstr(directory));
  // A link to a directory is refused too, whoever owns the directory.
  ASSERT_EQ(::rmdir(directory.c_str()), 0);
  ASSERT_EQ(::mkdir((directory + ".real").c_str(), 0700), 0);
  ASSERT_EQ(::symlink((directory + ".real").c_str(), directory.c_str()), 0);
  EXPECT_TRUE(absl::IsPermissionDenied(OpenPreloaded(path_, options_).status()));
}

INSTANTIATE_TEST_SUITE_P(Shm, PreloadShmTest, ::testing::Values(Preload::kShm));

TEST_P(PreloadTest, RoomIsThatOfMemory) {
  Write("text");
  EXPECT_TRUE(CheckPreloadRoom({path_, path_ + ".none", "-"}, options_).ok());
  // A file of 2^43 bytes, all of them a hole.
  ASSERT_TRUE(WriteFileAtomically(path_ + ".huge", "").ok());
  if (::truncate((path_ + ".huge").c_str(), int64_t{1} << 43) != 0) GTEST_SKIP() << "no such large files here";
  const absl::Status status = CheckPreloadRoom({path_, path_ + ".huge"}, options_);
  if (GetParam() == Preload::kNone) {
    EXPECT_TRUE(status.ok());
    return;
  }
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("needs 8796093022212 bytes"));
}

}  // namespace
}  // namespace rutile
