#include "lib/machine/memory.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "gtest/gtest.h"
#include "lib/file/file.h"

namespace rutile {
namespace {

TEST(MemoryTest, LimitIsThatOfTheMachineOrLess) {
  const int64_t machine = int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
  EXPECT_GT(MemoryLimit(), 1 << 20);
  EXPECT_LE(MemoryLimit(), machine);
}

TEST(MemoryTest, WhatIsAvailableIsWithinTheLimit) {
  EXPECT_GT(AvailableMemory(), 0);
  EXPECT_LE(AvailableMemory(), MemoryLimit());
}

TEST(MemoryTest, ALimitOfTheProcessCounts) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the memory of sanitizers counts, too, and exceeds any limit";
#endif
  struct rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_DATA, &before), 0);
  struct rlimit lower = before;
  lower.rlim_cur = rlim_t{1} << 30;
  const int64_t limit = MemoryLimit();
  ASSERT_EQ(::setrlimit(RLIMIT_DATA, &lower), 0);
  EXPECT_EQ(MemoryLimit(), std::min(limit, int64_t{1} << 30));
  EXPECT_LT(AvailableMemory(), int64_t{1} << 30);  // this process has some of it already
  ASSERT_EQ(::setrlimit(RLIMIT_DATA, &before), 0);
  EXPECT_EQ(MemoryLimit(), limit);
}

TEST(MemoryTest, AdviceChangesNoBytes) {
  const std::string path = ::testing::TempDir() + "/mapped";
  std::string text(1 << 20, 'x');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 31);
  ASSERT_TRUE(WriteFileAtomically(path, text).ok());
  const absl::StatusOr<FileContents> file = FileContents::Open(path);
  ASSERT_TRUE(file.ok());
  AdviseRandomAccess(file->data().data(), file->data().size());
  Prefetch(file->data().data() + 12345, 67890);
  Prefetch(file->data().data(), 0);
  EXPECT_EQ(file->data(), text);
  Prefetch(text.data(), text.size());  // not mapped
  EXPECT_EQ(file->data(), text);
}

}  // namespace
}  // namespace rutile
