#include "lib/ranking/rank_tables.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"

namespace rutile {
namespace {

using ::testing::StartsWith;

TEST(RankTablesTest, ARowForEachTriple) {
  KnowledgeGraph graph;
  graph.entities = {"a", "b\tc"};
  graph.relations = {"r"};
  graph.test = {{0, 0, 1}, {1, 0, 0}};
  TripleRanks ranks;
  ranks.tail.resize(2);
  ranks.tail[0].realistic = 1.5;
  ranks.tail[0].optimistic = 1;
  ranks.tail[0].pessimistic = 2;
  ranks.tail[1].realistic = ranks.tail[1].optimistic = ranks.tail[1].pessimistic = 14541;
  const std::string path = ::testing::TempDir() + "/ranks.tsv";
  ASSERT_TRUE(WriteRanksTsv(path, graph, graph.test, ranks).ok());
  EXPECT_EQ(FileContents::Open(path)->data(),
            "head\trelation\ttail\ttail_rank\ttail_optimistic\ttail_pessimistic\n"
            "a\tr\tb c\t1.5\t1\t2\nb c\tr\ta\t14541\t14541\t14541\n");

  graph.entity_labels = {"A", "B"};
  ranks.head = ranks.tail;
  ASSERT_TRUE(WriteRanksTsv(path, graph, graph.test, ranks).ok());
  EXPECT_THAT(std::string(FileContents::Open(path)->data()),
              StartsWith("head\trelation\ttail\thead_label\trelation_label\ttail_label\ttail_rank\ttail_optimistic\t"
                         "tail_pessimistic\thead_rank\thead_optimistic\thead_pessimistic\n"
                         "a\tr\tb c\tA\t\tB\t1.5\t1\t2\t1.5\t1\t2\nb"));
  ranks.head_among = ranks.head;
  ranks.head_among[1].outside = true;
  ASSERT_TRUE(WriteRanksTsv(path, graph, graph.test, ranks).ok());
  const std::string among(FileContents::Open(path)->data());
  EXPECT_THAT(among, ::testing::HasSubstr("\thead_pessimistic\thead_rank_among\n"));
  EXPECT_THAT(among, ::testing::HasSubstr("\t1.5\t1\t2\t1.5\n"));
  EXPECT_THAT(among, ::testing::EndsWith("\t14541\t\n"));
  EXPECT_FALSE(WriteRanksTsv("/none/ranks.tsv", graph, graph.test, ranks).ok());
}

}  // namespace
}  // namespace rutile
