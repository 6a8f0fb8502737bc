#include "lib/testing/damaged_file.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

std::string Edited(const std::string& whole, std::vector<uint8_t> edit) { return Damaged(whole, edit); }

TEST(DamagedTest, EachOperation) {
  const std::string whole = "0123456789abcdef";
  EXPECT_EQ(Edited(whole, {}), whole);
  EXPECT_EQ(Edited(whole, {0, 0}), whole);                            // no whole edit
  EXPECT_EQ(Edited(whole, {0, 0x80, 0, 'X'}), "01234567X9abcdef");    // sets the byte in the middle
  EXPECT_EQ(Edited(whole, {1, 0, 0, 0}), "1123456789abcdef");         // flips a bit
  EXPECT_EQ(Edited(whole, {2, 0, 0, 10}), "2123456789abcdef");        // increases
  EXPECT_EQ(Edited(whole, {3, 0x40, 0, 0}), "0123");                  // cuts
  EXPECT_EQ(Edited(whole, {4, 0x40, 0, 3}), "012389abcdef");          // removes
  EXPECT_EQ(Edited(whole, {5, 0x40, 0, 'A'}), "0123AA456789abcdef");  // inserts
  EXPECT_EQ(Edited(whole, {6, 0, 0, 0}).substr(8), "89abcdef");       // an extreme number
  EXPECT_THAT(Edited(whole, {6, 0xff, 0xff, 1}), SizeIs(16));
  EXPECT_EQ(Edited(whole, {7, 0x40, 0, 1}), "012345456789abcdef");  // repeats
  EXPECT_EQ(Edited("{\"a\":12}xx", {8, 0, 0, 7}), "{\"a\":72}xx");  // a digit of the header
  EXPECT_EQ(Edited(whole, {3, 0, 0, 0, 0, 9, 9, 9}), "");           // nothing is left to edit
}

TEST(DamagedTest, ChecksumsAreRenamed) {
  EXPECT_EQ(WithoutChecksums("{\"crc32c.a\":\"1\",\"crc32c.b\":\"2\"}"), "{\"xxc32c.a\":\"1\",\"xxc32c.b\":\"2\"}");
}

TEST(ForEachDamageTest, MakesAFileForEachEdit) {
  std::vector<std::string> files;
  const auto read = [&](const std::string& path) { files.emplace_back(FileContents::Open(path)->data()); };
  ForEachDamage("abcd", nullptr, 0, read);
  EXPECT_THAT(files, ElementsAre("abcd"));
  files.clear();
  const uint8_t input[] = {0, 0, 0, 0, 'X', 1, 0, 0x80, 0, 'Y', 3, 0xc0, 0, 0, 0};
  ForEachDamage("abcd", input, sizeof(input), read);
  EXPECT_THAT(files, ElementsAre("Xbcd", "abY", "abcd"));  // the last has a count and no whole edit
}

TEST(CheckOutcomeDeathTest, WantsTheFileInOneLine) {
  CheckOutcome(absl::OkStatus(), "a.bin");
  CheckOutcome(absl::InvalidArgumentError("a.bin: is empty"), "a.bin");
  EXPECT_DEATH(CheckOutcome(absl::InvalidArgumentError("is empty"), "a.bin"), "no name of the file");
  EXPECT_DEATH(CheckOutcome(absl::InvalidArgumentError("a.bin: is\nempty"), "a.bin"), "several lines");
}

}  // namespace
}  // namespace rutile
