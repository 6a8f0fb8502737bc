#include "lib/graph/text/formats/json_line.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;

TEST(JsonLineTest, Texts) {
  std::vector<std::string> values = {"old"};
  ASSERT_TRUE(
      ParseJsonTexts(R"({"b":"B\té","x":[1,{"a":"no"}],"o":{"b":"no"},"n":1.5,"t":true})", {"a", "b"}, &values).ok());
  EXPECT_THAT(values, ElementsAre("", "B\té"));
  ASSERT_TRUE(ParseJsonTexts(R"({"a":null,"b":""})", {"a", "b"}, &values).ok());
  EXPECT_THAT(values, ElementsAre("", ""));
}

TEST(JsonLineTest, Errors) {
  std::vector<std::string> values;
  const auto message = [&](const std::string& json) {
    return std::string(ParseJsonTexts(json, {"a"}, &values).message());
  };
  EXPECT_EQ(message(R"({"a":1})"), "\"a\" is a number, expected a text");
  EXPECT_EQ(message(R"({"a":["b"]})"), "\"a\" is a list, expected a text");
  EXPECT_EQ(message(R"({"a":{}})"), "\"a\" is an object, expected a text");
  EXPECT_EQ(message(R"({"a":false})"), "\"a\" is true or false, expected a text");
  EXPECT_EQ(message(R"({"a":"","a":""})"), "\"a\" comes twice");
  EXPECT_EQ(message("[]"), "a list, expected a JSON object");
  EXPECT_EQ(message("null"), "null, expected a JSON object");
  EXPECT_EQ(message("\"a\""), "a text, expected a JSON object");
  EXPECT_EQ(message("7"), "a number, expected a JSON object");
  EXPECT_THAT(message(R"({"a":"b")"), ::testing::StartsWith("not valid JSON at byte 9"));
  EXPECT_THAT(message(""), ::testing::StartsWith("not valid JSON"));
  EXPECT_THAT(message("{} {}"), ::testing::StartsWith("not valid JSON"));
  EXPECT_THAT(message("{\"a\":\"\xff\"}"), ::testing::HasSubstr("not UTF-8"));
}

// The parser has its own stack, so depth costs memory and not the program's stack.
TEST(JsonLineTest, DepthIsNoHarm) {
  const int depth = 1000000;
  std::vector<std::string> values;
  const std::string json = "{\"x\":" + std::string(depth, '[') + std::string(depth, ']') + ",\"a\":\"found\"}";
  ASSERT_TRUE(ParseJsonTexts(json, {"a"}, &values).ok());
  EXPECT_THAT(values, ElementsAre("found"));
}

TEST(JsonLineTest, OtherFields) {
  const std::vector<std::string> fields = {"a"};
  std::vector<std::string> values;
  std::vector<JsonField> others;
  const auto wants = [](absl::string_view name) { return name[0] == 'x'; };
  const std::string json =
      R"({"x1":"t","y":"no","x2":true,"a":"v","x3":-5,"x4":2.50,"x5":null,"x6":[1,{"x7":2}],"x8":{"x9":"n"}})";
  ASSERT_TRUE(ParseJsonTexts(json, fields, wants, &values, &others).ok());
  EXPECT_EQ(values[0], "v");
  std::string all;
  for (const JsonField& field : others) all += field.name + "=" + field.value + (field.is_nested ? "*;" : ";");
  EXPECT_EQ(all, "x1=t;x2=true;x3=-5;x4=2.50;x6=*;x8=*;");
  ASSERT_TRUE(ParseJsonTexts(R"({"x1":["t","u"],"x2":[],"x3":["t",1],"x4":["t",null],"x5":["t",["u"]],"x6":{"t":"u"}})",
                             fields, wants, &values, &others)
                  .ok());
  ASSERT_EQ(others.size(), 6);
  EXPECT_THAT(others[0].texts, ElementsAre("t", "u"));
  EXPECT_THAT(others[1].texts, ElementsAre());
  for (int i = 0; i < 6; ++i) EXPECT_EQ(others[i].is_list_of_texts, i < 2) << i;
  EXPECT_FALSE(ParseJsonTexts(R"({"x1":"t","x1":"u"})", fields, wants, &values, &others).ok());
  std::string many = "{\"a\":\"v\"";
  for (int i = 0; i < 300; ++i) many += ",\"x" + std::to_string(i) + "\":1";
  EXPECT_FALSE(ParseJsonTexts(many + "}", fields, wants, &values, &others).ok());
}

}  // namespace
}  // namespace rutile
