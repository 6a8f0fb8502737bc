#include "lib/file/sha256.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"

namespace rutile {
namespace {

// FIPS 180-2, appendix B, and the digest of nothing.
TEST(Sha256Test, KnownVectors) {
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(Sha256Hex(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256Test, PiecesEqualTheWholeAndADigestEndsNothing) {
  const std::string text = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
  Sha256 sha256;
  for (size_t i = 0; i < text.size(); ++i) {
    EXPECT_EQ(sha256.HexDigest(), Sha256Hex(text.substr(0, i)));
    sha256.Update(absl::string_view(text).substr(i, 1));
  }
  EXPECT_EQ(sha256.HexDigest(), Sha256Hex(text));
}

TEST(Sha256Test, OfFile) {
  const std::string path = ::testing::TempDir() + "/abc.txt";
  ASSERT_TRUE(WriteFileAtomically(path, "abc").ok());
  EXPECT_EQ(Sha256HexOfFile(path).value(), Sha256Hex("abc"));
  EXPECT_EQ(Sha256HexOfFile(path + ".none").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Sha256HexOfFile("-").status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace rutile
