#include "lib/file/file_lock.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"

namespace rutile {
namespace {

std::string Path() {
  return absl::StrCat(::testing::TempDir(), "/", ::testing::UnitTest::GetInstance()->current_test_info()->name());
}

TEST(FileLockTest, OneHolderAtATime) {
  const std::string path = Path();
  EXPECT_EQ(FileLock::CheckFree(path), absl::OkStatus());
  EXPECT_FALSE(FileExists(path));
  absl::StatusOr<FileLock> first = FileLock::Acquire(path);
  ASSERT_TRUE(first.ok()) << first.status();
  const std::string message = absl::StrCat(path, ": held by process ", ::getpid());
  const absl::StatusOr<FileLock> second = FileLock::Acquire(path);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(second.status().message(), message);
  EXPECT_EQ(FileLock::CheckFree(path).message(), message);
  FileLock moved = *std::move(first);
  EXPECT_FALSE(FileLock::Acquire(path).ok());
  moved.Release();
  EXPECT_FALSE(FileExists(path));
  EXPECT_EQ(FileLock::CheckFree(path), absl::OkStatus());
  EXPECT_TRUE(FileLock::Acquire(path).ok());
  EXPECT_FALSE(FileExists(path));
}

TEST(FileLockTest, AssignmentLetsGo) {
  const std::string path = Path();
  FileLock lock = FileLock::Acquire(path).value();
  lock = FileLock();
  EXPECT_TRUE(FileLock::Acquire(path).ok());
}

// After kill -9 the file stays, but the lock does not.
TEST(FileLockTest, EndsWithItsProcess) {
  const std::string path = Path();
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const absl::StatusOr<FileLock> lock = FileLock::Acquire(path);
    const char result = lock.ok() ? 'y' : 'n';
    if (::write(ready[1], &result, 1) != 1) ::_exit(1);
    ::pause();
  }
  char result = 0;
  ASSERT_EQ(::read(ready[0], &result, 1), 1);
  ASSERT_EQ(result, 'y');
  EXPECT_EQ(FileLock::Acquire(path).status().message(), absl::StrCat(path, ": held by process ", child));
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(FileExists(path));
  EXPECT_EQ(FileLock::CheckFree(path), absl::OkStatus());
  EXPECT_TRUE(FileLock::Acquire(path).ok());
  for (const int fd : ready) ::close(fd);
}

TEST(FileLockTest, NoDirectory) {
  EXPECT_EQ(FileLock::Acquire(Path() + "/none/lock").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace rutile
