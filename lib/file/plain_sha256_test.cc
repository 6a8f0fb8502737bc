#include "lib/file/plain_sha256.h"

#include <string>

#include "gtest/gtest.h"
#include "lib/file/sha256.h"

namespace rutile {
namespace {

TEST(PlainSha256Test, HasTheDigestsOfTheStandard) {
  PlainSha256 hash;
  EXPECT_EQ(hash.HexDigest(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  hash.Update("ab");
  hash.Update("c");
  EXPECT_EQ(hash.HexDigest(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(PlainSha256Test, HasThoseOfOpenSslForAnyLength) {
  std::string text;
  PlainSha256 pieces;
  for (int length = 0; length < 300; ++length) {
    PlainSha256 whole;
    whole.Update(text);
    EXPECT_EQ(whole.HexDigest(), Sha256Hex(text)) << length;
    EXPECT_EQ(pieces.HexDigest(), Sha256Hex(text)) << length;
    const char next = static_cast<char>(length * 37 + 11);
    text.push_back(next);
    pieces.Update(absl::string_view(&next, 1));
  }
}

}  // namespace
}  // namespace rutile
