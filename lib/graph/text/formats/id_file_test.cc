#include "lib/graph/text/formats/id_file.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

std::string Write(const std::string& text) {
  const std::string path = ::testing::TempDir() + "/ids";
  EXPECT_TRUE(WriteFileAtomically(path, text).ok());
  return path;
}

std::string Error(const std::string& text) {
  const auto file = ReadIdFile(Write(text));
  EXPECT_EQ(file.status().code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(file.status().message());
}

TEST(IdFileTest, Forms) {
  for (const char* text : {"b\t1\r\na c\t0\r\n\r\nd\t2", "1\tb\n0\ta c\n2\td\n", "label\tid\nb\t1\na c\t0\nd\t2\n",
                           "id\tlabel\n1\tb\n0\ta c\n2\td\n", "3\nb\t1\na c\t0\nd\t2\n"}) {
    const auto file = ReadIdFile(Write(text));
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_THAT(file->names, ElementsAre("a c", "b", "d"));
  }
  const auto spaces = ReadIdFile(Write("2\n/m/1 1\n/m/0 0\n"));
  ASSERT_TRUE(spaces.ok()) << spaces.status();
  EXPECT_THAT(spaces->names, ElementsAre("/m/0", "/m/1"));
  EXPECT_EQ(spaces->Describe("e.txt"), "e.txt: 2 names, a count and then name and index (as OpenKE writes)");
  EXPECT_EQ(ReadIdFile(Write("0\ta\n"))->Describe("e"), "e: 1 names, index and name");
}

// With names of digits, the column that contains 0 .. n - 1 is the index, and the second if both do.
TEST(IdFileTest, NamesOfDigits) {
  EXPECT_THAT(ReadIdFile(Write("00260881\t1\n00000002\t0\n"))->names, ElementsAre("00000002", "00260881"));
  EXPECT_THAT(ReadIdFile(Write("1\t00260881\n0\t00000002\n"))->names, ElementsAre("00000002", "00260881"));
  EXPECT_THAT(ReadIdFile(Write("1\t2\n2\t0\n0\t1\n"))->names, ElementsAre("2", "0", "1"));
}

TEST(IdFileTest, Errors) {
  EXPECT_THAT(Error("a\t0\nb\t0\n"), HasSubstr("ids:2: index 0 is used twice: line 1 gives it to \"a\""));
  EXPECT_THAT(Error("a\t0\nb\t2\n"), EndsWith("ids:2: index 2 of 2 names, expected 0 .. 1, each once; no line has 1"));
  EXPECT_THAT(Error("a\t1\nb\t2\n"), EndsWith("ids:2: index 2 of 2 names, expected 0 .. 1, each once; no line has 0"));
  EXPECT_THAT(Error("a\t0\na\t1\n"), HasSubstr("ids:2: the name \"a\" comes twice: line 1 has it"));
  EXPECT_THAT(Error("a\t0\nb\t-1\n"), HasSubstr("ids:2: \"-1\" is no index, expected a name and an index"));
  EXPECT_THAT(Error("a\t0\nb\tx\n"), HasSubstr("ids:2: \"x\" is no index"));
  EXPECT_THAT(Error("0\ta\nx\tb\n"), HasSubstr("ids:2: \"x\" is no index"));
  EXPECT_THAT(Error("a\t0\nb\t99999999999999999999\n"), HasSubstr("ids:2: \"99999999999999999999\" is no index"));
  EXPECT_THAT(Error("a\t0\nb 1\n"), HasSubstr("ids:2: \"b 1\", expected a name and an index with a tab between"));
  EXPECT_THAT(Error("a\t0\n\t1\n"), HasSubstr("ids:2: \"\\t1\", expected"));
  EXPECT_THAT(Error("a\t0\nb\t\n"), HasSubstr("ids:2: \"b\\t\", expected"));
  EXPECT_THAT(Error("a\t0\nb\tc\t1\n"), HasSubstr("ids:2: more than two fields in \"b\\tc\\t1\""));
  EXPECT_THAT(Error("a\t0\n\xff\t1\n"), HasSubstr("ids:2: text that is not UTF-8"));
  EXPECT_THAT(Error("3\na\t0\nb\t1\n"), HasSubstr("ids: its first line counts 3 names, but 2 lines follow"));
  EXPECT_THAT(Error(""), HasSubstr("ids: has no names"));
  EXPECT_THAT(Error("0\n"), HasSubstr("ids: has no names"));
  EXPECT_EQ(ReadIdFile("none").status().code(), absl::StatusCode::kNotFound);
}

TEST(IdFileTest, Labels) {
  const auto labels = ReadLabelFile(Write("water\t2\nwater\t0\na\tb\t3\n"), 5);
  ASSERT_TRUE(labels.ok()) << labels.status();
  EXPECT_THAT(labels->names, ElementsAre("water", "", "water", "a\tb", ""));
  EXPECT_THAT(ReadLabelFile(Write("0\twater\n1\ta\tb\n"), 2)->names, ElementsAre("water", "a\tb"));
  EXPECT_THAT(std::string(ReadLabelFile(Write("water\t2\n"), 2).status().message()),
              HasSubstr("ids:1: index 2, but there are 2 entities, 0 .. 1"));
  EXPECT_THAT(std::string(ReadLabelFile(Write("water\t1\nfire\t1\n"), 2).status().message()),
              HasSubstr("ids:2: index 1 is used twice: line 1 gives it to \"water\""));
}

}  // namespace
}  // namespace rutile
