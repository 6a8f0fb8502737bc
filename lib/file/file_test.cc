#include "lib/file/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// Makes a new directory for the running test.
std::string TestDirectory() {
  std::string path = absl::StrCat(::testing::TempDir(), "/",
                                  ::testing::UnitTest::GetInstance()->current_test_info()->name(), ".XXXXXX");
  EXPECT_NE(::mkdtemp(path.data()), nullptr);
  return path;
}

std::vector<std::string> FilesIn(const std::string& directory) {
  std::vector<std::string> names;
  DIR* const handle = ::opendir(directory.c_str());
  while (const dirent* const entry = ::readdir(handle)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  ::closedir(handle);
  return names;
}

std::string Contents(const std::string& path) {
  const auto contents = FileContents::Open(path);
  EXPECT_TRUE(contents.ok()) << contents.status();
  return contents.ok() ? std::string(contents->data()) : "";
}

TEST(FileContentsTest, MapsARegularFile) {
  const std::string path = TestDirectory() + "/x";
  const std::string text(100000, 'x');
  ASSERT_TRUE(WriteFileAtomically(path, text).ok());
  auto contents = FileContents::Open(path);
  ASSERT_TRUE(contents.ok()) << contents.status();
  EXPECT_EQ(contents->path(), path);
  EXPECT_TRUE(contents->data() == text);
  // The bytes outlive the object, and the file's name.
  const std::shared_ptr<const void> owner = contents->owner();
  const absl::string_view data = contents->data();
  contents = absl::CancelledError();
  ::unlink(path.c_str());
  EXPECT_TRUE(data == text);
}

TEST(FileContentsTest, EmptyAndDevice) {
  const std::string path = TestDirectory() + "/x";
  ASSERT_TRUE(WriteFileAtomically(path, "").ok());
  EXPECT_EQ(Contents(path), "");
  EXPECT_EQ(Contents("/dev/null"), "");
}

TEST(FileContentsTest, ReadsAPipeToItsEnd) {
  const std::string path = TestDirectory() + "/pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::string text(3000000, 'x');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 7);
  std::thread writer([&] { EXPECT_TRUE(WriteFileAtomically(path, text).ok()); });
  EXPECT_TRUE(Contents(path) == text);
  writer.join();
}

TEST(FileContentsTest, ReadsStandardInput) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "hello", 5), 5);
  ::close(ends[1]);
  const int saved = ::dup(STDIN_FILENO);
  ::dup2(ends[0], STDIN_FILENO);
  const auto contents = FileContents::Open("-");
  ::dup2(saved, STDIN_FILENO);
  for (const int fd : {saved, ends[0]}) ::close(fd);
  ASSERT_TRUE(contents.ok()) << contents.status();
  EXPECT_EQ(contents->data(), "hello");
  EXPECT_EQ(contents->path(), "standard input");
}

// The bytes are returned once; then the stream is read again.
TEST(FileContentsTest, StandardInputMayBePutBack) {
  const auto bytes = std::make_shared<const std::string>("hello");
  UnreadStandardInput(FileContents("standard input", *bytes, bytes));
  const auto contents = FileContents::Open("-");
  ASSERT_TRUE(contents.ok()) << contents.status();
  EXPECT_EQ(contents->data(), "hello");
  EXPECT_EQ(contents->path(), "standard input");
  const int saved = ::dup(STDIN_FILENO), null = ::open("/dev/null", O_RDONLY);
  ::dup2(null, STDIN_FILENO);
  const auto rest = FileContents::Open("-");
  ::dup2(saved, STDIN_FILENO);
  for (const int fd : {saved, null}) ::close(fd);
  ASSERT_TRUE(rest.ok()) << rest.status();
  EXPECT_EQ(rest->data(), "");
}

TEST(FileContentsTest, Errors) {
  const std::string directory = TestDirectory();
  const absl::Status missing = FileContents::Open(directory + "/none").status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(missing.message(), directory + "/none: No such file or directory");
  EXPECT_EQ(FileContents::Open(directory).status().message(), directory + ": is a directory, expected a file");
  EXPECT_EQ(FileContents::Open("").status().code(), absl::StatusCode::kNotFound);
}

// Runs `body` as a user to whom file modes apply; root may do everything.
class UnprivilegedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) return;
    // The directories above belong to root, some for root alone.
    ASSERT_EQ(::chdir(TestDirectory().c_str()), 0);
    ASSERT_EQ(::chmod(".", 0777), 0);
    became_nobody_ = ::seteuid(65534) == 0;
    ASSERT_TRUE(became_nobody_);
  }
  void TearDown() override { ASSERT_TRUE(!became_nobody_ || ::seteuid(0) == 0); }
  bool became_nobody_ = false;
};

TEST_F(UnprivilegedTest, ReadOnly) {
  ASSERT_EQ(::mkdir("directory", 0755), 0);
  ASSERT_TRUE(WriteFileAtomically("directory/x", "old").ok());
  ASSERT_EQ(::chmod("directory/x", 0), 0);
  EXPECT_EQ(FileContents::Open("directory/x").status().code(), absl::StatusCode::kPermissionDenied);
  ASSERT_EQ(::chmod("directory/x", 0644), 0);
  ASSERT_EQ(::chmod("directory", 0555), 0);
  for (const char* const name : {"directory/x", "directory/new"}) {
    const absl::Status status = AtomicFile::Create(name).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
    EXPECT_EQ(status.message(), absl::StrCat("cannot write ", name, ": Permission denied"));
  }
  EXPECT_EQ(MakeDirectories("directory/a/b").code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(Contents("directory/x"), "old");
  ASSERT_EQ(::chmod("directory", 0755), 0);
}

TEST(AtomicFileTest, AppearsWithCommit) {
  const std::string directory = TestDirectory();
  const std::string path = directory + "/x";
  auto file = AtomicFile::Create(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->path(), path);
  ASSERT_TRUE(file->Append("one ").ok());
  ASSERT_TRUE(file->Append("").ok());
  ASSERT_TRUE(file->Append("two").ok());
  EXPECT_FALSE(FileExists(path));
  ASSERT_TRUE(file->Commit().ok());
  EXPECT_EQ(Contents(path), "one two");
  EXPECT_THAT(FilesIn(directory), ElementsAre("x"));
}

TEST(AtomicFileTest, WithoutCommitTheOldFileStays) {
  const std::string directory = TestDirectory();
  const std::string path = directory + "/x";
  ASSERT_TRUE(WriteFileAtomically(path, "old").ok());
  {
    auto file = AtomicFile::Create(path);
    ASSERT_TRUE(file.ok());
    AtomicFile moved = *std::move(file);
    ASSERT_TRUE(moved.Append("new").ok());
    EXPECT_EQ(FilesIn(directory).size(), 2u);
  }
  EXPECT_EQ(Contents(path), "old");
  EXPECT_THAT(FilesIn(directory), ElementsAre("x"));
}

TEST(AtomicFileTest, AReaderOfTheOldFileKeepsIt) {
  const std::string path = TestDirectory() + "/x";
  ASSERT_TRUE(WriteFileAtomically(path, "old").ok());
  const auto old = FileContents::Open(path);
  ASSERT_TRUE(old.ok());
  ASSERT_TRUE(WriteFileAtomically(path, "new").ok());
  EXPECT_EQ(old->data(), "old");
  EXPECT_EQ(Contents(path), "new");
}

TEST(AtomicFileTest, TwoWritersOfOneName) {
  const std::string directory = TestDirectory();
  auto a = AtomicFile::Create(directory + "/x"), b = AtomicFile::Create(directory + "/x");
  ASSERT_TRUE(a.ok() && b.ok());
  ASSERT_TRUE(a->Append("a").ok() && b->Append("b").ok());
  ASSERT_TRUE(b->Commit().ok() && a->Commit().ok());
  EXPECT_EQ(Contents(directory + "/x"), "a");
  EXPECT_THAT(FilesIn(directory), ElementsAre("x"));
}

// What a killed process left goes when the file is written again. What is being written, is new, or only looks alike
// stays.
TEST(AtomicFileTest, RemovesWhatAKilledProcessLeft) {
  const std::string directory = TestDirectory();
  const auto make = [&](const std::string& name, int age) {
    const std::string path = directory + "/" + name;
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT, 0666);
    const timespec times[2] = {{::time(nullptr) - age, 0}, {::time(nullptr) - age, 0}};
    EXPECT_EQ(::futimens(fd, times), 0);
    return fd;
  };
  ::close(make("x.tmp.1.0", 4000));
  ::close(make("x.tmp.77.12", 4000));
  ::close(make("x.tmp.2.0", 1000));
  ::close(make("x.tmp.notes", 4000));
  ::close(make("y.tmp.1.0", 4000));
  for (const char* others : {"x.tmp.1", "x.tmp.", "x.tmp.2024.11.3"}) ::close(make(others, 4000));
  const int written = make("x.tmp.3.0", 4000);
  ASSERT_EQ(::flock(written, LOCK_EX | LOCK_NB), 0);
  ASSERT_TRUE(WriteFileAtomically(directory + "/x", "new").ok());
  EXPECT_THAT(FilesIn(directory), UnorderedElementsAre("x", "x.tmp.2.0", "x.tmp.notes", "y.tmp.1.0", "x.tmp.3.0",
                                                       "x.tmp.1", "x.tmp.", "x.tmp.2024.11.3"));
  ::close(written);
}

TEST(AtomicFileTest, AKilledProcessOfTheSameNumberIsNotInTheWay) {
  const std::string directory = TestDirectory();
  for (int k = 0; k < 300; ++k) {
    ::close(::open(absl::StrCat(directory, "/x.tmp.", ::getpid(), ".", k).c_str(), O_WRONLY | O_CREAT, 0666));
  }
  EXPECT_TRUE(WriteFileAtomically(directory + "/x", "new").ok());
}

TEST(AtomicFileTest, AppendFileFromItsStart) {
  const std::string directory = TestDirectory();
  std::string text(3000000, '\0');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i % 251);
  ASSERT_TRUE(WriteFileAtomically(directory + "/from", text).ok());
  const int fd = ::open((directory + "/from").c_str(), O_RDONLY);
  ASSERT_EQ(::lseek(fd, 1000, SEEK_SET), 1000) << "and not from where it stands";
  auto file = AtomicFile::Create(directory + "/to");
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->Append("start").ok());
  ASSERT_TRUE(file->AppendFile(fd, text.size()).ok());
  ASSERT_TRUE(file->AppendFile(fd, 0).ok());
  ASSERT_TRUE(file->AppendFile(fd, 3).ok());
  ASSERT_TRUE(file->Append("end").ok());
  ASSERT_TRUE(file->Commit().ok());
  EXPECT_TRUE(Contents(directory + "/to") == absl::StrCat("start", text, text.substr(0, 3), "end"));
  auto too_much = AtomicFile::Create(directory + "/too_much");
  EXPECT_THAT(std::string(too_much->AppendFile(fd, text.size() + 1).message()), HasSubstr("cannot read back"));
  ::close(fd);
}

TEST(AtomicFileTest, AppendFileThatIsDrained) {
  const std::string directory = TestDirectory();
  std::string text(3000000, '\0');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i % 251);
  for (const char* to : {"/to", "/dev/null"}) {  // inside the kernel, and not
    ASSERT_TRUE(WriteFileAtomically(directory + "/from", text).ok());
    const int fd = ::open((directory + "/from").c_str(), O_RDWR);
    const bool is_file = std::string(to) == "/to";
    auto file = AtomicFile::Create(is_file ? directory + to : std::string(to));
    ASSERT_TRUE(file.ok() && file->AppendFile(fd, text.size(), /*drain=*/true).ok() && file->Commit().ok());
    if (is_file) {
      EXPECT_TRUE(Contents(directory + to) == text);
    }
    struct stat info;
    ASSERT_EQ(::fstat(fd, &info), 0);
    EXPECT_EQ(info.st_size, static_cast<off_t>(text.size()));
    // Not every file system can make holes; at most the last, partial block is left where it can.
    if (::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 1) == 0) {
      EXPECT_LE(512 * info.st_blocks, 3 * info.st_blksize) << "its space is given back";
    }
    ::close(fd);
  }
}

TEST(AtomicFileTest, AppendFileIntoAPipe) {
  const std::string directory = TestDirectory();
  ASSERT_TRUE(WriteFileAtomically(directory + "/from", std::string(200000, 'x')).ok());
  ASSERT_EQ(::mkfifo((directory + "/pipe").c_str(), 0600), 0);
  std::thread writer([&] {
    const int fd = ::open((directory + "/from").c_str(), O_RDONLY);
    auto file = AtomicFile::Create(directory + "/pipe");
    EXPECT_TRUE(file.ok() && file->AppendFile(fd, 200000).ok() && file->Commit().ok());
    ::close(fd);
  });
  EXPECT_EQ(Contents(directory + "/pipe").size(), 200000u);
  writer.join();
  EXPECT_EQ(FilesIn(directory).size(), 2u) << "the pipe is written, not replaced";
}

TEST(AtomicFileTest, StandardOutput) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const int saved = ::dup(STDOUT_FILENO);
  ::dup2(ends[1], STDOUT_FILENO);
  const absl::Status status = WriteFileAtomically("-", "hello");
  ::dup2(saved, STDOUT_FILENO);
  for (const int fd : {saved, ends[1]}) ::close(fd);
  EXPECT_TRUE(status.ok()) << status;
  char buffer[10];
  EXPECT_EQ(::read(ends[0], buffer, sizeof(buffer)), 5);
  ::close(ends[0]);
}

TEST(AtomicFileTest, AFullDevice) {
  auto file = AtomicFile::Create("/dev/full");
  ASSERT_TRUE(file.ok()) << file.status();
  const absl::Status status = file->Append("x");
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(), "cannot write /dev/full: No space left on device");
}

TEST(AtomicFileTest, Errors) {
  const std::string directory = TestDirectory();
  EXPECT_EQ(AtomicFile::Create("").status().message(), "the output has no name");
  EXPECT_EQ(AtomicFile::Create(directory).status().message(),
            directory + ": is a directory, expected the name of a file to write");
  const absl::Status status = AtomicFile::Create(directory + "/none/x").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(), absl::StrCat("cannot write ", directory, "/none/x: No such file or directory"));
  EXPECT_THAT(FilesIn(directory), IsEmpty());
}

TEST(ReplaceFileTest, KeepsTheFormerFile) {
  const std::string directory = TestDirectory(), path = directory + "/last", former = directory + "/former";
  const std::string next = directory + "/next";
  ASSERT_TRUE(WriteFileAtomically(next, "1").ok());
  ASSERT_EQ(ReplaceFile(next, path, former), absl::OkStatus());
  EXPECT_EQ(Contents(path), "1");
  EXPECT_THAT(FilesIn(directory), ElementsAre("last"));
  for (const char* text : {"2", "3"}) {
    ASSERT_TRUE(WriteFileAtomically(next, text).ok());
    ASSERT_EQ(ReplaceFile(next, path, former), absl::OkStatus());
    EXPECT_EQ(Contents(path), text);
    EXPECT_EQ(Contents(former), std::string(1, text[0] - 1));
    EXPECT_THAT(FilesIn(directory), UnorderedElementsAre("former", "last"));
  }
}

// A process may have died between two renames, when both names are of the same file.
TEST(ReplaceFileTest, GoesOnAfterAnInterruption) {
  const std::string directory = TestDirectory(), path = directory + "/last", former = directory + "/former";
  ASSERT_TRUE(WriteFileAtomically(path, "1").ok());
  ASSERT_EQ(::link(path.c_str(), former.c_str()), 0);
  ASSERT_EQ(::link(path.c_str(), (former + ".link").c_str()), 0);
  ASSERT_TRUE(WriteFileAtomically(directory + "/next", "2").ok());
  ASSERT_EQ(ReplaceFile(directory + "/next", path, former), absl::OkStatus());
  EXPECT_THAT(FilesIn(directory), UnorderedElementsAre("former", "last"));
  EXPECT_EQ(FileContents::Open(former)->data(), "1");
  EXPECT_EQ(FileContents::Open(path)->data(), "2");
  EXPECT_EQ(ReplaceFile(directory + "/none", path, former).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(FileContents::Open(path)->data(), "2");
}

TEST(CheckWritableDirectoryTest, LooksAtTheFirstThatThereIs) {
  const std::string directory = TestDirectory();
  EXPECT_EQ(CheckWritableDirectory(directory), absl::OkStatus());
  EXPECT_EQ(CheckWritableDirectory(directory + "/a/b"), absl::OkStatus());
  EXPECT_EQ(CheckWritableDirectory("name_alone"), absl::OkStatus());
  EXPECT_THAT(FilesIn(directory), IsEmpty());
  ASSERT_TRUE(WriteFileAtomically(directory + "/file", "").ok());
  EXPECT_EQ(CheckWritableDirectory(directory + "/file").message(),
            directory + "/file: is a file, expected a directory");
  EXPECT_FALSE(CheckWritableDirectory(directory + "/file/x").ok());
}

TEST(CheckWritableDirectoryDeathTest, ReadOnly) {
  const std::string directory = TestDirectory();
  ASSERT_EQ(::chmod(directory.c_str(), 0555), 0);
  EXPECT_EXIT(
      {
        // Root may write everywhere.
        if (::geteuid() == 0 && ::setuid(65534) != 0) std::_Exit(0);
        const absl::Status status = CheckWritableDirectory(directory + "/run");
        std::fprintf(stderr, "%s", std::string(status.message()).c_str());
        std::_Exit(absl::IsPermissionDenied(status) ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
  ::chmod(directory.c_str(), 0755);
}

TEST(MakeDirectoriesTest, MakesParentsAndAcceptsWhatExists) {
  const std::string directory = TestDirectory();
  EXPECT_TRUE(MakeDirectories(directory + "/a/b/c").ok());
  EXPECT_TRUE(MakeDirectories(directory + "/a/b/c").ok());
  EXPECT_TRUE(MakeDirectories(directory + "/a//d/").ok());
  EXPECT_TRUE(FileExists(directory + "/a/b/c"));
  EXPECT_TRUE(FileExists(directory + "/a/d"));
  ASSERT_TRUE(WriteFileAtomically(directory + "/file", "").ok());
  EXPECT_EQ(MakeDirectories(directory + "/file").message(), directory + "/file: is a file, expected a directory");
  EXPECT_FALSE(MakeDirectories(directory + "/file/x").ok());
  EXPECT_TRUE(MakeDirectories("/").ok());
}

TEST(FileExistsTest, FilesAndDirectories) {
  EXPECT_TRUE(FileExists("/dev/null"));
  EXPECT_TRUE(FileExists(TestDirectory()));
  EXPECT_FALSE(FileExists(TestDirectory() + "/none"));
}

TEST(ErrnoStatusTest, Codes) {
  EXPECT_EQ(ErrnoStatus(ENOENT, "x").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ErrnoStatus(EROFS, "x").code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(ErrnoStatus(EDQUOT, "x").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ErrnoStatus(EISDIR, "x").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ErrnoStatus(EPIPE, "x").code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(ErrnoStatus(ENOSPC, "x").message(), "x: No space left on device");
}

}  // namespace
}  // namespace rutile
