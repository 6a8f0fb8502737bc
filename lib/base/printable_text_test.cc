#include "lib/base/printable_text.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/tsv_cell.h"

namespace rutile {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(EscapeControlsTest, LeavesTextAsItIs) {
  for (const char* text : {"", "plain text, 'quoted' \"twice\" \\n", "\u00c5 \u2212 \u4e2d \U0001F600"}) {
    EXPECT_EQ(EscapeControls(text), text);
  }
}

TEST(EscapeControlsTest, EscapesWhatATerminalObeys) {
  EXPECT_EQ(EscapeControls("\x1b[31mX\x1b]0;title\x07"), "\\x1b[31mX\\x1b]0;title\\x07");
  EXPECT_EQ(EscapeControls(absl::string_view("a\0b\x7f\b", 5)), "a\\x00b\\x7f\\x08");
  EXPECT_EQ(EscapeControls("two\nlines\r\n\tand a tab"), "two\\nlines\\r\\n\\tand a tab");
  EXPECT_EQ(EscapeControls("\u009b31m"), "\\xc2\\x9b31m");               // CSI as one character
  EXPECT_EQ(EscapeControls("abc\u202e.xyz"), "abc\\xe2\\x80\\xae.xyz");  // shows a name backward
}

TEST(EscapeControlsTest, EscapesWhatIsNotUtf8) {
  EXPECT_EQ(EscapeControls("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(EscapeControls("cut \xe2\x80"), "cut \\xe2\\x80");
  EXPECT_EQ(EscapeControls("\xc0\xaf"), "\\xc0\\xaf");           // overlong
  EXPECT_EQ(EscapeControls("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
}

TEST(PrintableTextTest, CutsTheMiddle) {
  const std::string text(kLongestShownText, 'a');
  EXPECT_EQ(PrintableText(text), text);
  const std::string path = absl::StrCat("/start/", std::string(100000, 'x'), "/end.xyz");
  EXPECT_EQ(PrintableText(path).size(), kLongestShownText);
  EXPECT_THAT(PrintableText(path),
              ::testing::AllOf(StartsWith("/start/xx"), HasSubstr("xx...xx"), EndsWith("/end.xyz")));
  // Characters of several bytes are not cut in two.
  for (size_t length = 190; length < 215; ++length) {
    std::string umlauts(length % 3, 'a');
    while (umlauts.size() < length + 50) umlauts += "\u4e2d";
    EXPECT_EQ(EscapeControls(PrintableText(umlauts)), PrintableText(umlauts)) << length;
  }
}

TEST(PrintableMessageTest, IsOneLineOfBoundedLength) {
  EXPECT_EQ(PrintableMessage("a.xyz:7: 'X' is not an element"), "a.xyz:7: 'X' is not an element");
  EXPECT_EQ(PrintableMessage("a\n  b "), "a\\n  b ");
  const std::string word = PrintableMessage(absl::StrCat("kind is ", std::string(100000, 'k'), ", expected kge/1"));
  EXPECT_LT(word.size(), 250u);
  EXPECT_THAT(word, ::testing::AllOf(StartsWith("kind is kkk"), EndsWith(", expected kge/1")));
  std::string words = "begin";
  for (int i = 0; i < 100000; ++i) absl::StrAppend(&words, " w", i);
  EXPECT_EQ(PrintableMessage(words).size(), kLongestMessage);
  EXPECT_THAT(PrintableMessage(words), EndsWith(" w99999"));
}

TEST(TsvCellTest, KeepsColumnsAndTerminalsSafe) {
  EXPECT_EQ(TsvCell("a\tb\nc\rd"), "a b c d");
  EXPECT_EQ(TsvCell("\x1b[2J"), "\\x1b[2J");
  EXPECT_EQ(TsvCell(std::string(5000, 'n')).size(), 5000u);  // names in tables are looked up, and stay whole
}

}  // namespace
}  // namespace rutile
