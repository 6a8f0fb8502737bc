#include "lib/file/file_magic.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

std::string Bytes(const char* bytes, size_t size) { return std::string(bytes, size) + "\x80\x01 more"; }

TEST(FileMagicTest, CompressedFilesAreRefusedWithTheCommand) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {Bytes("\xfd"
             "7zXZ\0",
             6),
       {"d/e.jsonl.xz", "xz -dc d/e.jsonl.xz > e.jsonl", "xz -dc d/e.jsonl.xz |"}},
      {Bytes("\x28\xb5\x2f\xfd", 4), {"zstd -dc"}},
      {Bytes("BZh91AY&SY", 10), {"bzip2 -dc"}},
      {Bytes("BZh1\x17rE8P\x90", 10), {"bzip2 -dc"}},
      {Bytes("\x04\x22\x4d\x18", 4), {"lz4 -dc"}},
      {Bytes("LZIP\1", 5), {"lzip -dc"}},
      {Bytes("\x1f\x9d\x90", 3), {"compress", "gzip -dc"}},
      {Bytes("PK\3\4", 4), {"zip", "unzip"}},
      {Bytes("7z\xbc\xaf\x27\x1c", 6), {"7z x"}},
      {Bytes("\x89HDF", 4), {"HDF5", "convert"}},
      {Bytes("PAR1", 4), {"Parquet", "read_parquet"}},
      {std::string(257, 'x') + "ustar\0", {"tar -xf d/e.jsonl.xz"}},
  };
  for (const auto& [bytes, facts] : cases) {
    const absl::Status status = RefuseCompressed("d/e.jsonl.xz", bytes);
    EXPECT_THAT(status, ErrorNames(absl::StatusCode::kInvalidArgument, facts)) << status;
    for (const char c : status.message()) EXPECT_TRUE(c >= ' ' && c <= '~') << "a byte of the file in: " << status;
  }
  EXPECT_THAT(RefuseCompressed("standard input", Bytes("BZh91AY&SY", 10)), ErrorNames({"bzip2 -dc |"}));
  EXPECT_THAT(RefuseCompressed("plain", Bytes("BZh91AY&SY", 10)), ErrorNames({"bzip2 -dc plain > plain.txt"}));
}

TEST(FileMagicTest, TextIsNotRefused) {
  for (const char* text : {"", "a\tr\tb\n", "BZh\tis\tbzip2\n", "BZh9 is bzip2\n", "LZIPPER\tr\tb", "PK\tr\tb", "7z",
                           "\x1f\x8b gzip", "(1, 2)", "PAR\tr\tb"}) {
    EXPECT_TRUE(RefuseCompressed("t", text).ok()) << text;
  }
}

TEST(FileMagicTest, FewBytesAreUndecided) {
  EXPECT_TRUE(MayBeCompressed("BZ"));
  EXPECT_TRUE(MayBeCompressed("\xfd"));
  EXPECT_FALSE(MayBeCompressed("Ba"));
  EXPECT_FALSE(MayBeCompressed("a\tr\tb"));
}

}  // namespace
}  // namespace rutile
