#include "lib/graph/text/formats/kgx_nodes.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(KgxNodesTest, NamesOfEntities) {
  const std::string path = ::testing::TempDir() + "/nodes.jsonl";
  ASSERT_TRUE(WriteFileAtomically(path,
                                  "{\"id\":\"B\",\"name\":\"tab\\tand\\nline\",\"category\":[\"biolink:Gene\"]}\n\n"
                                  "{\"id\":\"A\",\"name\":null}\n{\"id\":\"none\",\"name\":\"x\"}\r\n"
                                  "{\"name\":\"no id\"}\n{\"id\":\"B\",\"name\":\"again\"}\n{\"id\":1}\n"
                                  "{\"id\":\"C\",\"name\":\"é\"}")
                  .ok());
  Vocabulary entities;
  for (const char* name : {"A", "B", "C"}) entities.Add(name);
  std::vector<std::string> labels = {"A", "B", "C"};
  Finding malformed;
  EntityTypesBuilder types;
  ASSERT_TRUE(ReadKgxNodes(path, entities, Handling::kDrop, &labels, &types, &malformed).ok());
  EXPECT_THAT(labels, ElementsAre("A", "tab and line", "é"));
  EXPECT_EQ(malformed.count, 2);
  EXPECT_THAT(malformed.first, HasSubstr("nodes.jsonl:5: a node without \"id\""));
  const absl::Status refused = ReadKgxNodes(path, entities, Handling::kRefuse, &labels, &types, &malformed);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("nodes.jsonl:5: a node without \"id\""));
  EXPECT_EQ(ReadKgxNodes("none", entities, Handling::kDrop, &labels, &types, &malformed).code(),
            absl::StatusCode::kNotFound);
}

TEST(KgxNodesTest, Tables) {
  const std::string path = ::testing::TempDir() + "/nodes.tsv";
  ASSERT_TRUE(WriteFileAtomically(path, "category\t#id\tname\nc\tA\twater\r\n\nc\tB\nc\t\tx\nc\tC\t\n").ok());
  Vocabulary entities;
  for (const char* name : {"A", "B", "C"}) entities.Add(name);
  std::vector<std::string> labels = {"A", "B", "C"};
  Finding malformed;
  EntityTypesBuilder types;
  ASSERT_TRUE(ReadKgxNodes(path, entities, Handling::kDrop, &labels, &types, &malformed).ok());
  EXPECT_THAT(labels, ElementsAre("water", "B", "C"));
  EXPECT_EQ(malformed.count, 2);
  EXPECT_THAT(malformed.first, HasSubstr("nodes.tsv:4: 2 fields in \"c\\tB\", expected 3"));
}

TEST(KgxNodesTest, Categories) {
  Vocabulary entities;
  for (const char* name : {"A", "B", "C", "D"}) entities.Add(name);
  const std::string lines =
      "{\"id\":\"A\",\"category\":[\"biolink:Gene\",\"biolink:Protein\"]}\n{\"id\":\"B\",\"category\":\"biolink:Gene\"}"
      "\n"
      "{\"id\":\"C\",\"category\":[]}\n{\"id\":\"C\",\"category\":null}\n{\"id\":\"other\",\"category\":[\"x\"]}\n"
      "{\"id\":\"D\",\"category\":[1]}\n{\"id\":\"D\",\"category\":{\"a\":\"b\"}}\n{\"id\":\"D\",\"category\":[\"x\","
      "null]}\n"
      "{\"id\":\"A\",\"name\":\"again\",\"category\":[\"biolink:\\tDrug\"]}\n";
  const std::string rows =
      "id\tcategory\nA\tbiolink:Protein|biolink:Gene\nB\t|biolink:Gene|\nC\t\nother\tx\nD\nD\nD\nA\tbiolink: Drug\n";
  for (const std::string& text : {lines, rows}) {
    const std::string path = ::testing::TempDir() + "/nodes";
    ASSERT_TRUE(WriteFileAtomically(path, text).ok());
    std::vector<std::string> labels(4);
    Finding malformed;
    EntityTypesBuilder builder;
    ASSERT_TRUE(ReadKgxNodes(path, entities, Handling::kDrop, &labels, &builder, &malformed).ok());
    EXPECT_EQ(malformed.count, 3) << malformed.first;
    const EntityTypes types = builder.Build(4);
    EXPECT_THAT(types.names, ElementsAre("biolink: Drug", "biolink:Gene", "biolink:Protein"));
    EXPECT_THAT(types.Of(0), ElementsAre(0, 1, 2));
    EXPECT_THAT(types.Of(1), ElementsAre(1));
    EXPECT_THAT(types.Of(2), ElementsAre());
    EXPECT_THAT(types.Of(3), ElementsAre());
  }
}

}  // namespace
}  // namespace rutile
