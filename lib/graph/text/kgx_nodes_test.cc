#include "lib/graph/text/kgx_nodes.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/file.h"

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
  ASSERT_TRUE(ReadKgxNodes(path, entities, Handling::kDrop, &labels, &malformed).ok());
  EXPECT_THAT(labels, ElementsAre("A", "tab and line", "é"));
  EXPECT_EQ(malformed.count, 2);
  EXPECT_THAT(malformed.first, HasSubstr("nodes.jsonl:5: a node without \"id\""));
  const absl::Status refused = ReadKgxNodes(path, entities, Handling::kRefuse, &labels, &malformed);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("nodes.jsonl:5: a node without \"id\""));
  EXPECT_EQ(ReadKgxNodes("none", entities, Handling::kDrop, &labels, &malformed).code(), absl::StatusCode::kNotFound);
}

TEST(KgxNodesTest, Tables) {
  const std::string path = ::testing::TempDir() + "/nodes.tsv";
  ASSERT_TRUE(WriteFileAtomically(path, "category\t#id\tname\nc\tA\twater\r\n\nc\tB\nc\t\tx\nc\tC\t\n").ok());
  Vocabulary entities;
  for (const char* name : {"A", "B", "C"}) entities.Add(name);
  std::vector<std::string> labels = {"A", "B", "C"};
  Finding malformed;
  ASSERT_TRUE(ReadKgxNodes(path, entities, Handling::kDrop, &labels, &malformed).ok());
  EXPECT_THAT(labels, ElementsAre("water", "B", "C"));
  EXPECT_EQ(malformed.count, 2);
  EXPECT_THAT(malformed.first, HasSubstr("nodes.tsv:4: 2 fields in \"c\\tB\", expected 3"));
}

}  // namespace
}  // namespace rutile
