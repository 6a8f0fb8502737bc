#include "lib/graph/json_line.h"

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

}  // namespace
}  // namespace rutile
