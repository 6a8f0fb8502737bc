#include "lib/graph/text/formats/id_file.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;

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
  EXPECT_THAT(Error("a\t0\nb\t0\n"), ErrorNames({"\"a\"", "ids:2", "0", "1", "twice"}));
  EXPECT_THAT(Error("a\t0\nb\t2\n"), EndsWith("ids:2: index 2 of 2 names, expected 0 .. 1, each once; no line has 1"));
  EXPECT_THAT(Error("a\t1\nb\t2\n"), EndsWith("ids:2: index 2 of 2 names, expected 0 .. 1, each once; no line has 0"));
  EXPECT_THAT(Error("a\t0\na\t1\n"), ErrorNames({"\"a\"", "ids:2", "1", "twice"}));
  EXPECT_THAT(Error("a\t0\nb\t-1\n"), ErrorNames({"\"-1\"", "ids:2"}));
  EXPECT_THAT(Error("a\t0\nb\tx\n"), ErrorNames({"\"x\"", "ids:2"}));
  EXPECT_THAT(Error("0\ta\nx\tb\n"), ErrorNames({"\"x\"", "ids:2"}));
  EXPECT_THAT(Error("a\t0\nb\t99999999999999999999\n"), ErrorNames({"\"99999999999999999999\"", "ids:2"}));
  EXPECT_THAT(Error("a\t0\nb 1\n"), ErrorNames({"\"b 1\"", "ids:2"}));
  EXPECT_THAT(Error("a\t0\n\t1\n"), ErrorNames({"\"\\t1\"", "ids:2"}));
  EXPECT_THAT(Error("a\t0\nb\t\n"), ErrorNames({"\"b\\t\"", "ids:2"}));
  EXPECT_THAT(Error("a\t0\nb\tc\t1\n"), ErrorNames({"\"b\\tc\\t1\"", "ids:2", "fields"}));
  EXPECT_THAT(Error("a\t0\n\xff\t1\n"), ErrorNames({"ids:2", "8", "text"}));
  EXPECT_THAT(Error("3\na\t0\nb\t1\n"), ErrorNames({"3", "2", "ids", "names"}));
  EXPECT_THAT(Error(""), ErrorNames({"ids", "names"}));
  EXPECT_THAT(Error("0\n"), ErrorNames({"ids", "names"}));
  EXPECT_EQ(ReadIdFile("none").status().code(), absl::StatusCode::kNotFound);
}

TEST(IdFileTest, Labels) {
  const auto labels = ReadLabelFile(Write("water\t2\nwater\t0\na\tb\t3\n"), 5);
  ASSERT_TRUE(labels.ok()) << labels.status();
  EXPECT_THAT(labels->names, ElementsAre("water", "", "water", "a\tb", ""));
  EXPECT_THAT(ReadLabelFile(Write("0\twater\n1\ta\tb\n"), 2)->names, ElementsAre("water", "a\tb"));
  EXPECT_THAT(std::string(ReadLabelFile(Write("water\t2\n"), 2).status().message()),
              ErrorNames({"2 entities, 0 .. 1", "ids:1", "2"}));
  EXPECT_THAT(std::string(ReadLabelFile(Write("water\t1\nfire\t1\n"), 2).status().message()),
              ErrorNames({"\"water\"", "ids:2", "1", "twice"}));
}

}  // namespace
}  // namespace rutile
