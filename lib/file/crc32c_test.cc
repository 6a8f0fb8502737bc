#include "lib/file/crc32c.h"

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"

namespace rutile {
namespace {

std::string RandomBytes(size_t size) {
  RandomStream random(1, "crc32c test");
  std::string bytes(size, 0);
  for (char& c : bytes) c = static_cast<char>(random.Next());
  return bytes;
}

// RFC 3720 B.4 and the check value that catalogs of checksums list.
TEST(Crc32cTest, KnownVectors) {
  std::string ascending, descending;
  for (int i = 0; i < 32; ++i) ascending += static_cast<char>(i);
  for (int i = 31; i >= 0; --i) descending += static_cast<char>(i);
  for (const auto function : {ExtendCrc32c, ExtendCrc32cReference}) {
    EXPECT_EQ(function(0, ""), 0u);
    EXPECT_EQ(function(0, "123456789"), 0xe3069283u);
    EXPECT_EQ(function(0, std::string(32, '\0')), 0x8a9136aau);
    EXPECT_EQ(function(0, std::string(32, '\xff')), 0x62a8ab43u);
    EXPECT_EQ(function(0, ascending), 0x46dd794eu);
    EXPECT_EQ(function(0, descending), 0x113fdb5cu);
  }
}

// Lengths around one word, around one round of three stretches, and of several rounds; every alignment.
TEST(Crc32cTest, AgreesWithTheReference) {
  const std::string bytes = RandomBytes(40000);
  const absl::string_view all = bytes;
  for (const size_t size : {0, 1, 7, 8, 9, 63, 2048, 6143, 6144, 6145, 6151, 12288, 12289, 39990}) {
    for (size_t offset = 0; offset < 9; ++offset) {
      const absl::string_view part = all.substr(offset, size);
      EXPECT_EQ(Crc32c(part), ExtendCrc32cReference(0, part)) << size << " bytes at " << offset;
    }
  }
}

TEST(Crc32cTest, PiecesEqualTheWhole) {
  const std::string bytes = RandomBytes(20000);
  const absl::string_view all = bytes;
  for (const size_t cut : {0, 1, 5, 4096, 6144, 7001, 20000}) {
    EXPECT_EQ(ExtendCrc32c(Crc32c(all.substr(0, cut)), all.substr(cut)), Crc32c(all)) << cut;
  }
}

}  // namespace
}  // namespace rutile
