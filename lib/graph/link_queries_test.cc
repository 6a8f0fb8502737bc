#include "lib/graph/link_queries.h"

#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

KnowledgeGraph Graph() {
  KnowledgeGraph graph;
  graph.entities = {"Q1", "Q2", "Q3", "Q4"};
  graph.entity_labels = {"iron", "zinc", "lead", "lead"};
  graph.relations = {"P1", "P2"};
  return graph;
}

absl::StatusOr<std::vector<LinkQuery>> Read(const std::string& text) {
  const std::string path = ::testing::TempDir() + "/queries.tsv";
  std::ofstream(path) << text;
  return ReadLinkQueries(path, Graph());
}

TEST(LinkQueriesTest, TailsAndHeadsByNameOrLabel) {
  const auto queries = Read("Q1\tP2\t?\n\n?\tP1\tQ3\r\nzinc\tP1\n");
  ASSERT_TRUE(queries.ok()) << queries.status();
  ASSERT_EQ(queries->size(), 3);
  EXPECT_EQ((*queries)[0].entity, 0);
  EXPECT_EQ((*queries)[0].relation, 1);
  EXPECT_FALSE((*queries)[0].for_head);
  EXPECT_EQ((*queries)[1].entity, 2);
  EXPECT_TRUE((*queries)[1].for_head);
  EXPECT_EQ((*queries)[2].entity, 1);
  EXPECT_FALSE((*queries)[2].for_head);
}

TEST(LinkQueriesTest, ErrorsNameTheLine) {
  const auto message = [](const std::string& text) { return std::string(Read(text).status().message()); };
  EXPECT_THAT(message("Q1\tP1\t?\nQ9\tP1\t?\n"), HasSubstr("queries.tsv:2: no entity is called \"Q9\""));
  EXPECT_THAT(message("Q1\tP9\t?\n"), HasSubstr(":1: no relation is called \"P9\""));
  EXPECT_THAT(message("lead\tP1\t?\n"), HasSubstr("several entities have the label \"lead\""));
  EXPECT_THAT(message("Q1 P1 ?\n"), HasSubstr("1 column, expected"));
  EXPECT_THAT(message("Q1\tP1\tQ2\n"), HasSubstr("one question mark"));
  EXPECT_THAT(message("?\tP1\t?\n"), HasSubstr("one question mark"));
  EXPECT_THAT(message("?\tP1\n"), HasSubstr("one question mark"));
  EXPECT_THAT(message("\n"), HasSubstr("no queries"));
  EXPECT_EQ(ReadLinkQueries("none.tsv", Graph()).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace rutile
