#include "tools/common/run/flag_file.h"

#include <gflags/gflags.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"
#include "tools/common/run/flag_word.h"

DEFINE_double(cut_off, 6, "A number.");
DEFINE_string(label, "", "A text.");
DEFINE_bool(shuffle, true, "A choice.");
DEFINE_bool(notify, false, "Another, whose name begins with no.");
DEFINE_string(again, "", "A text that may be left out.");

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

std::string Write(const char* name, const std::string& text) {
  const std::string path = ::testing::TempDir() + "/" + name;
  EXPECT_TRUE(WriteFileAtomically(path, text).ok());
  return path;
}

std::vector<std::string> Expanded(const std::vector<std::string>& arguments) {
  const absl::StatusOr<std::vector<Argument>> expanded = ExpandFlagFiles(arguments);
  if (!expanded.ok()) return {std::string(expanded.status().message())};
  std::vector<std::string> texts;
  for (const Argument& argument : *expanded) texts.push_back(argument.text);
  return texts;
}

TEST(FlagFileTest, LinesStandWhereTheFileIsNamed) {
  const std::string path = Write(
      "lines", "# settings\n\n  --cut_off=5\n--label=a b \"c\" = d\n--noshuffle\r\n-notify\ninput 1.xsf\n-\n--label=");
  EXPECT_THAT(Expanded({"--cut_off=4", "--flagfile=" + path, "--shuffle", "x"}),
              ElementsAre("--cut_off=4", "--cut_off=5", "--label=a b \"c\" = d", "--noshuffle", "-notify",
                          "input 1.xsf", "-", "--label=", "--shuffle", "x"));
  EXPECT_THAT(Expanded({"-flagfile", Write("one", "x"), "y"}), ElementsAre("x", "y"));
  EXPECT_THAT(Expanded({"--flagfile=" + Write("outer", "a\n--flagfile=" + Write("inner", "b") + "\nc")}),
              ElementsAre("a", "b", "c"));
}

TEST(FlagFileTest, ValuesAndInputsAreLeftAlone) {
  const std::vector<std::string> value = {"--label", "--flagfile=none", "-", "--notify", "x"};
  EXPECT_EQ(Expanded(value), value);
  const std::vector<std::string> inputs = {"--", "--flagfile=none"};
  EXPECT_EQ(Expanded(inputs), inputs);
}

TEST(FlagFileTest, ErrorsNameTheLine) {
  // gflags itself silently skips such lines.
  EXPECT_THAT(Expanded({"--flagfile=" + Write("bad", "\n--cut_of=5")}),
              ElementsAre(HasSubstr("bad:2: no flag \"--cut_of=5\"")));
  EXPECT_THAT(Expanded({"--flagfile=" + Write("space", "--cut_off 5")}),
              ElementsAre(HasSubstr("no flag \"--cut_off 5\"")));
  EXPECT_THAT(Expanded({"--flagfile=" + Write("value", "--cut_off\n--label=x")}),
              ElementsAre(HasSubstr("value:1: --cut_off has no value")));
  EXPECT_THAT(Expanded({"--flagfile=no/such"}), ElementsAre(HasSubstr("no/such")));
  EXPECT_THAT(Expanded({"--flagfile"}), ElementsAre(HasSubstr("expected --flagfile=FILE")));
  const std::string circle = ::testing::TempDir() + "/circle";
  Write("circle", "--flagfile=" + circle);
  EXPECT_THAT(Expanded({"--flagfile=" + circle}), ElementsAre(HasSubstr("in a circle")));
}

TEST(FlagFileTest, OriginsAreThoseOfTheLast) {
  const std::string path = Write("origins", "--cut_off=5\n--noshuffle\n--label=x");
  const std::vector<Argument> arguments =
      ExpandFlagFiles({"--cut-off=4", "--flagfile=" + path, "--label", "--notify", "y", "--", "--notify"}).value();
  EXPECT_THAT(FlagOrigins(arguments),
              UnorderedElementsAre(Pair("cut_off", "flagfile " + path), Pair("shuffle", "flagfile " + path),
                                   Pair("label", "command line")));
}

TEST(FlagFileTest, TextComesBackTheSame) {
  const std::vector<std::pair<std::string, std::string>> flags = {
      {"label", " a \"b\" = # c "}, {"shuffle", "false"}, {"cut_off", "4.5"}};
  const absl::StatusOr<std::string> text = FlagFileText("of a run", flags, {"x y.xsf", "-", "-odd", "#odd", " odd"});
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(Expanded({"--flagfile=" + Write("text", *text)}),
              ElementsAre("--label= a \"b\" = # c ", "--shuffle=false", "--cut_off=4.5", "x y.xsf", "-", "./-odd",
                          "./#odd", "./ odd"));
  EXPECT_FALSE(FlagFileText("", {{"label", "a\nb"}}, {}).ok());
  EXPECT_FALSE(FlagFileText("", {{"label", "a\r"}}, {}).ok());
  EXPECT_FALSE(FlagFileText("", {}, {"a\nb"}).ok());
}

TEST(FlagFileTest, FlagsThatMayStandAlone) {
  static const bool declared = MayStandAlone("again");
  EXPECT_TRUE(declared);
  EXPECT_THAT(Expanded({"--again", "x"}), ElementsAre("--again=true", "x"));  // x is no value
  EXPECT_THAT(Expanded({"-again", "--noagain", "--again=auto"}),
              ElementsAre("--again=true", "--again=false", "--again=auto"));
  EXPECT_THAT(Expanded({"--label", "--again", "--", "--again"}), ElementsAre("--label", "--again", "--", "--again"));
  EXPECT_THAT(Expanded({"--flagfile=" + Write("alone", "--again\n--noagain\n")}),
              ElementsAre("--again=true", "--again=false"));
  EXPECT_THAT(FlagOrigins(ExpandFlagFiles({"--again", "x", "--label=y"}).value()),
              UnorderedElementsAre(Pair("again", "command line"), Pair("label", "command line")));
}

}  // namespace
}  // namespace rutile
