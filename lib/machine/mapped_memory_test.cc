#include "lib/machine/mapped_memory.h"

#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

class MappedMemoryTest : public ::testing::Test {
 protected:
  ~MappedMemoryTest() override { EXPECT_TRUE(MapLargeArrays("").ok()); }
  // False where temporary files are in memory.
  static bool HasDisk() { return MapLargeArrays(::testing::TempDir()).ok(); }
};

TEST_F(MappedMemoryTest, NothingIsMappedUnlessAskedFor) { EXPECT_EQ(MappedZeros(kLeastMappedBytes), nullptr); }

TEST_F(MappedMemoryTest, LargeArraysAreZerosThatKeepWhatIsWritten) {
  if (!HasDisk()) GTEST_SKIP();
  ASSERT_TRUE(MapLargeArrays(::testing::TempDir(), 5000).ok());
  EXPECT_EQ(MappedZeros(4999), nullptr);
  const std::shared_ptr<void> memory = MappedZeros(10001);
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.get()) % 64, 0u);
  auto* const bytes = static_cast<unsigned char*>(memory.get());
  for (int64_t i = 0; i < 10001; ++i) ASSERT_EQ(bytes[i], 0);
  std::memset(bytes, 7, 10001);
  const std::shared_ptr<void> other = MappedZeros(10001);
  EXPECT_EQ(static_cast<unsigned char*>(other.get())[10000], 0);
  EXPECT_EQ(bytes[10000], 7);
}

TEST_F(MappedMemoryTest, FoldersThatTakeNoFilesAreRefused) {
  const absl::Status missing = MapLargeArrays(::testing::TempDir() + "/missing");
  EXPECT_EQ(missing.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(missing.message()), ::testing::HasSubstr("/missing: no file can be made there"));
  EXPECT_EQ(MappedZeros(kLeastMappedBytes), nullptr);
}

// No disk has room for as much.
TEST_F(MappedMemoryTest, WithoutRoomThereIsNoArray) {
  if (!HasDisk()) GTEST_SKIP();
  ASSERT_TRUE(MapLargeArrays(::testing::TempDir(), 1).ok());
  EXPECT_THROW(MappedZeros(int64_t{1} << 60), std::bad_alloc);
}

TEST_F(MappedMemoryTest, FoldersInMemoryAreRefused) {
  if (::access("/dev/shm", W_OK) != 0) GTEST_SKIP();
  EXPECT_THAT(std::string(MapLargeArrays("/dev/shm").message()), ::testing::HasSubstr("files there are in memory"));
}

}  // namespace
}  // namespace rutile
