#include "lib/machine/mapped_memory.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

class MappedMemoryTest : public ::testing::Test {
 protected:
  ~MappedMemoryTest() override { EXPECT_TRUE(MapLargeArrays("").ok()); }
};

TEST_F(MappedMemoryTest, NothingIsMappedUnlessAskedFor) { EXPECT_EQ(MappedZeros(kLeastMappedBytes), nullptr); }

TEST_F(MappedMemoryTest, LargeArraysAreZerosThatKeepWhatIsWritten) {
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

// No disk has room for as much: the array is then in memory, where the caller finds that out as ever.
TEST_F(MappedMemoryTest, WithoutRoomNothingIsMapped) {
  ASSERT_TRUE(MapLargeArrays(::testing::TempDir(), 1).ok());
  EXPECT_EQ(MappedZeros(int64_t{1} << 60), nullptr);
}

}  // namespace
}  // namespace rutile
