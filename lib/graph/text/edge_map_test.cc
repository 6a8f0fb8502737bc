#include "lib/graph/text/edge_map.h"

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
using ::testing::HasSubstr;

// A file as Python writes it: json.dump({json.dumps({...}, sort_keys=True): "predicate:0", ...}, f, indent=2), and a
// line end.
constexpr char kFile[] = R"json({
  "{\"object_aspect_qualifier\": \"\", \"object_direction_qualifier\": \"\", \"predicate\": \"biolink:treats\", \"subject_aspect_qualifier\": \"\", \"subject_direction_qualifier\": \"\"}": "predicate:0",
  "{\"object_aspect_qualifier\": \"activity\", \"object_direction_qualifier\": \"increased\", \"predicate\": \"biolink:affects\", \"subject_aspect_qualifier\": \"\", \"subject_direction_qualifier\": \"\"}": "predicate:1"
}
)json";

TEST(EdgeMapTest, Grows) {
  EdgeMap map;
  EXPECT_TRUE(map.grows());
  EXPECT_THAT(map.fields(), ElementsAre("object_aspect_qualifier", "object_direction_qualifier", "predicate",
                                        "subject_aspect_qualifier", "subject_direction_qualifier"));
  EXPECT_EQ(map.Find({"", "", "biolink:treats", "", ""}), "predicate:0");
  EXPECT_EQ(map.Find({"activity", "increased", "biolink:affects", "", ""}), "predicate:1");
  EXPECT_EQ(map.Find({"", "", "biolink:treats", "", ""}), "predicate:0");
  EXPECT_EQ(map.size(), 2);
  EXPECT_EQ(map.ToJson(), kFile);
  const auto labels = map.Labels();
  EXPECT_EQ(labels.at("predicate:0"), "biolink:treats");
  EXPECT_EQ(labels.at("predicate:1"), "biolink:affects (object_aspect activity, object_direction increased)");
}

TEST(EdgeMapTest, ReadsWhatItWrites) {
  const std::string path = ::testing::TempDir() + "/edge_map.json";
  ASSERT_TRUE(WriteFileAtomically(path, kFile).ok());
  auto map = EdgeMap::Read(path);
  ASSERT_TRUE(map.ok()) << map.status();
  EXPECT_FALSE(map->grows());
  EXPECT_EQ(map->Find({"activity", "increased", "biolink:affects", "", ""}), "predicate:1");
  EXPECT_EQ(map->Find({"", "", "biolink:new", "", ""}), "");
  EXPECT_EQ(map->size(), 2);
  EXPECT_EQ(map->ToJson(), kFile);
  EXPECT_EQ(map->Describe({"activity", "", "biolink:affects", "", ""}),
            "object_aspect_qualifier=activity predicate=biolink:affects");
  EXPECT_EQ(EdgeMap::Read("none.json").status().code(), absl::StatusCode::kNotFound);
}

// The map ignores order, spaces, missing fields, and fields that it does not have.
TEST(EdgeMapTest, KeysAreCompared) {
  auto map =
      EdgeMap::Parse(R"json({"{\"predicate\":\"p\"}":"x","{\"species\":\"9606\",\"predicate\":\"p\"}":"y"})json", "m");
  ASSERT_TRUE(map.ok()) << map.status();
  EXPECT_THAT(map->fields(), ElementsAre("predicate", "species"));
  EXPECT_EQ(map->Find({"p", ""}), "x");
  EXPECT_EQ(map->Find({"p", "9606"}), "y");
  EXPECT_EQ(map->Labels().at("y"), "p (species 9606)");
}

// Fields that are added later change no name, and the text has all fields in all keys.
TEST(EdgeMapTest, AddedFields) {
  EdgeMap map;
  EXPECT_EQ(map.Find({"", "", "p", "", ""}), "predicate:0");
  const int field = map.AddField("a_qualifier");
  EXPECT_EQ(map.FieldIndex("a_qualifier"), field);
  EXPECT_EQ(map.FieldIndex("b_qualifier"), -1);
  EXPECT_EQ(map.Find({"", "", "p", "", "", "x"}), "predicate:1");
  EXPECT_EQ(map.Find({"", "", "p", "", "", ""}), "predicate:0");
  EXPECT_EQ(map.NumValues(field), 1);
  EXPECT_EQ(map.Labels().at("predicate:1"), "p (a x)");
  EXPECT_EQ(map.Describe({"", "", "p", "", "", "x"}), "predicate=p a_qualifier=x");
  EXPECT_THAT(map.ToJson(), HasSubstr(R"("{\"a_qualifier\": \"\", \"object_aspect_qualifier\")"));
  auto again = EdgeMap::Parse(map.ToJson(), "m");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->ToJson(), map.ToJson());
  EXPECT_EQ(again->size(), 2);
}

TEST(EdgeMapTest, Booleans) {
  auto map = EdgeMap::Parse(
      R"json({"{\"predicate\":\"p\",\"negated\":true}":"n","{\"predicate\":\"p\",\"negated\":false}":"p","{\"predicate\":\"p\",\"direct\":false}":"d"})json",
      "m");
  ASSERT_TRUE(map.ok()) << map.status();
  EXPECT_THAT(map->fields(), ElementsAre("direct", "negated", "predicate"));
  EXPECT_EQ(map->Find({"", "true", "p"}), "n");
  EXPECT_EQ(map->Find({"", "", "p"}), "p");
  EXPECT_EQ(map->Find({"false", "", "p"}), "d");
  EXPECT_EQ(map->Labels().at("n"), "p (negated)");
  bool negated = true;
  EXPECT_TRUE(ParseNegated("False", &negated));
  EXPECT_FALSE(negated);
  EXPECT_TRUE(ParseNegated("TRUE", &negated));
  EXPECT_TRUE(negated);
  EXPECT_FALSE(ParseNegated("perhaps", &negated));
}

TEST(EdgeMapTest, Unicode) {
  EdgeMap map;
  map.Find({"", "", "é\"\\", "", ""});
  EXPECT_THAT(map.ToJson(), HasSubstr(R"(\\u00e9\\\"\\\\)"));
  auto again = EdgeMap::Parse(map.ToJson(), "m");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->Find({"", "", "é\"\\", "", ""}), "predicate:0");
}

TEST(EdgeMapTest, Errors) {
  const auto expect = [](const std::string& json, const std::string& message) {
    const auto map = EdgeMap::Parse(json, "m.json");
    EXPECT_EQ(map.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(map.status().message()), HasSubstr(absl::StrCat("m.json: ", message)));
    EXPECT_THAT(std::string(map.status().message()), HasSubstr("expected an edge map"));
  };
  expect("", "no JSON object");
  expect("{}", "no JSON object with entries");
  expect("[1]", "no JSON object");
  expect(R"({"biolink:treats":"predicate:0"})", "the key \"biolink:treats\" is no JSON object");
  expect(R"({"{\"predicate\":\"p\"}":0})", "the name of \"{\\\"predicate\\\":\\\"p\\\"}\" is not a text");
  expect(R"({"{\"predicate\":true}":"x"})", "\"predicate\" in the key");
  expect(R"({"{\"predicate\":\"p\",\"negated\":\"perhaps\"}":"x"})", "\"negated\" in the key");
  expect(R"({"{\"predicate\":\"p\"}":"a\tb"})", "the name of");
  expect(R"({"{\"predicate\":\"p\"}":""})", "the name of");
  expect(R"({"{\"predicate\":1}":"x"})", "\"predicate\" in the key");
  expect(R"({"{\"other\":\"p\"}":"x"})", "no key has a predicate");
  expect(R"({"{\"predicate\":\"p\"}":"x","{\"predicate\":\"p\"}":"x"})",
         "the key \"{\\\"predicate\\\":\\\"p\\\"}\" comes twice");
  expect(R"({"{\"predicate\":\"p\"}":"x","{\"predicate\":\"p\",\"q\":\"\"}":"y"})",
         "the key \"predicate=p\" comes twice");
}

}  // namespace
}  // namespace rutile
