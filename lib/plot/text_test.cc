#include "lib/plot/text.h"

#include <string>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

TEST(CleanTextTest, KeepsWhatIsValid) {
  for (const char* text : {"", "plain", "\xC3\x85 \xE2\x80\xA6 \xF0\x9F\x92\x8E", "\xED\x9F\xBF", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_EQ(CleanText(text), text);
  }
}

TEST(CleanTextTest, ReplacesInvalidBytesOneByOne) {
  EXPECT_EQ(CleanText("a\xFF"), "a\xEF\xBF\xBD");
  EXPECT_EQ(CleanText("\xC3"), "\xEF\xBF\xBD");                                       // cut off
  EXPECT_EQ(CleanText("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD");                       // overlong "/"
  EXPECT_EQ(CleanText("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");       // surrogate
  EXPECT_EQ(CleanText("\xF4\x90\x80\x80").substr(0, 6), "\xEF\xBF\xBD\xEF\xBF\xBD");  // above 10FFFF
  EXPECT_EQ(CleanText("\xC3(x"), "\xEF\xBF\xBD(x");
}

TEST(CleanTextTest, DropsControlCharacters) {
  EXPECT_EQ(CleanText(absl::string_view("a\0b\x1B\n\t", 6)), "a b   ");
  EXPECT_EQ(CleanText("a\nb\tc\r", true), "a\nb\tc ");
  EXPECT_EQ(CleanText("\xC2\x85|\xEF\xBF\xBF"), " | ");  // U+0085 and U+FFFF
}

TEST(ShortTextTest, CountsCharactersNotBytes) {
  EXPECT_EQ(ShortText("rutile", 6), "rutile");
  EXPECT_EQ(ShortText("rutile", 5), "ruti\xE2\x80\xA6");
  EXPECT_EQ(ShortText("\xC3\x85\xC3\x85\xC3\x85", 3), "\xC3\x85\xC3\x85\xC3\x85");
  EXPECT_EQ(ShortText("\xC3\x85\xC3\x85\xC3\x85", 2), "\xC3\x85\xE2\x80\xA6");
  EXPECT_EQ(ShortText("ab", 1), "\xE2\x80\xA6");
}

TEST(EscapeXmlTest, EscapesTheFive) {
  EXPECT_EQ(EscapeXml("<a href=\"x\" b='y'>&amp;"), "&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;amp;");
  EXPECT_EQ(EscapeXml("a\nb"), "a b");
  EXPECT_EQ(EscapeXml("a\nb", true), "a\nb");
}

}  // namespace
}  // namespace rutile
