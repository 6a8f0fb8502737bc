#include "lib/graph/text/formats/table_evidence.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/graph/vocabulary.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

// Makes a graph of lines "a r b".
class TestGraph {
 public:
  Triple Add(const std::string& line, std::vector<Triple> KnowledgeGraph::*split = &KnowledgeGraph::train) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    const Triple triple = {entities_.Add(words[0]), relations_.Add(words[1]), entities_.Add(words[2])};
    (graph_.*split).push_back(triple);
    return triple;
  }
  const KnowledgeGraph& graph() {
    graph_.entities = entities_.Names();
    graph_.relations = relations_.Names();
    return graph_;
  }

 private:
  Vocabulary entities_, relations_;
  KnowledgeGraph graph_;
};

// Judges the first line of a training split.
TableJudgment JudgeFirst(const std::vector<std::string>& lines) {
  TestGraph test;
  for (const std::string& line : lines) test.Add(line);
  const KnowledgeGraph& graph = test.graph();
  return JudgeFirstLines(graph, {{"train.txt:1", lines[0], graph.train[0]}})[0];
}

TEST(TableEvidenceTest, TitlesStandAlone) {
  for (const char* header : {"source metaedge target", "x:START_ID y:TYPE z:END_ID", "Kopf Beziehung Schwanz"}) {
    EXPECT_EQ(JudgeFirst({header, "a r b", "b r c"}).evidence, Evidence::kStrong) << header;
  }
  EXPECT_THAT(JudgeFirst({"source metaedge target", "a r b", "b r c"}).reason,
              HasSubstr("relation and both entities are in no other line"));
  // The relation's title may be a relation, too, which is less sure; small graphs are loose by chance.
  std::vector<std::string> lines = {"foo r bar", "a r b", "b r c"};
  EXPECT_EQ(JudgeFirst(lines).evidence, Evidence::kNone);
  for (int i = 0; i < 20; ++i) lines.push_back(absl::StrCat("a r c", i));
  EXPECT_EQ(JudgeFirst(lines).evidence, Evidence::kSome);
}

TEST(TableEvidenceTest, UsualTitlesNeedLess) {
  for (const char* header :
       {"h r t", "s p o", "S P O", "#subject predicate object", "node1 relation node2",
        "Head_Entity Relation Tail_Entity", "from rel to", "src rel dst", "e1 rel e2", ":START_ID :TYPE :END_ID"}) {
    EXPECT_EQ(JudgeFirst({header, "A r B"}).evidence, Evidence::kStrong) << header;
  }
  // An entity of that name elsewhere is one.
  EXPECT_EQ(JudgeFirst({"h r t", "t r h", "h r x"}).evidence, Evidence::kNone);
}

TEST(TableEvidenceTest, TriplesAreNotTitles) {
  EXPECT_EQ(JudgeFirst({"a r b"}).evidence, Evidence::kNone);
  EXPECT_EQ(JudgeFirst({"a r b", "c s d"}).evidence, Evidence::kNone);
  EXPECT_EQ(JudgeFirst({"a r b", "b s d", "d s e"}).evidence, Evidence::kNone);
  // Where many triples stand alone, the first one may, too.
  std::vector<std::string> lines = {"x y z"};
  for (int i = 0; i < 100; ++i) lines.push_back(absl::StrCat("a", i, " r", i, " b", i));
  EXPECT_EQ(JudgeFirst(lines).evidence, Evidence::kNone);
  lines.resize(4);
  for (int i = 0; i < 50; ++i) lines.push_back(absl::StrCat("a r c", i));
  EXPECT_EQ(JudgeFirst(lines).evidence, Evidence::kSome);
}

TEST(TableEvidenceTest, ATitleInEachSplitCountsOnce) {
  TestGraph test;
  const Triple header = test.Add("source metaedge target");
  test.Add("a r b");
  test.Add("b r c");
  test.Add("source metaedge target", &KnowledgeGraph::test);
  test.Add("a r c", &KnowledgeGraph::test);
  const auto judgments = JudgeFirstLines(test.graph(), {{"train:1", "", header}, {"test:1", "", header}});
  EXPECT_EQ(judgments[0].evidence, Evidence::kStrong);
  EXPECT_EQ(judgments[1].evidence, Evidence::kStrong);
}

TableJudgment JudgeOrder(const std::vector<std::string>& lines) {
  TestGraph test;
  for (const std::string& line : lines) test.Add(line);
  return JudgeColumnOrder(test.graph());
}

TEST(TableEvidenceTest, HeadTailRelationIsNoticed) {
  const TableJudgment few =
      JudgeOrder({"Paris France capital_of", "Lyon France in", "Nice France in", "Rome Italy in"});
  EXPECT_EQ(few.evidence, Evidence::kSome);
  EXPECT_THAT(few.reason, HasSubstr("2 relations, but 2 tails, and no tail is a head"));
  EXPECT_THAT(few.reason, HasSubstr("--columns=1,3,2"));
  const TableJudgment sure = JudgeOrder({"a b r", "b c r", "c d s", "d a s"});
  EXPECT_EQ(sure.evidence, Evidence::kStrong);
  EXPECT_THAT(sure.reason, HasSubstr("4 names are both a relation and an entity"));
  const TableJudgment first = JudgeOrder({"r a b", "r b c", "s c d", "s d a"});
  EXPECT_EQ(first.evidence, Evidence::kStrong);
  EXPECT_THAT(first.reason, HasSubstr("--columns=2,1,3"));
  // More relations than entities, as between nations: the shared names decide.
  const TableJudgment many = JudgeOrder({"a b r", "b a s", "a b t", "b a u"});
  EXPECT_EQ(many.evidence, Evidence::kStrong);
  EXPECT_THAT(many.reason, HasSubstr("2 relations, 4 tails, and no tail is a head; 2 names"));
  EXPECT_THAT(many.reason, HasSubstr("head, tail, relation; then give --columns=1,3,2"));
  const TableJudgment many_first = JudgeOrder({"r a b", "s b a", "t a b", "u b a"});
  EXPECT_EQ(many_first.evidence, Evidence::kStrong);
  EXPECT_THAT(many_first.reason, HasSubstr("relation, head, tail; then give --columns=2,1,3"));
}

TEST(TableEvidenceTest, ARelationForEachTripleIsNoticed) {
  std::vector<std::string> lines;
  for (int i = 0; i < 30; ++i) lines.push_back(absl::StrCat("e", i % 10, " edge", i, " e", (3 * i + 1) % 10));
  const TableJudgment judgment = JudgeOrder(lines);
  EXPECT_EQ(judgment.evidence, Evidence::kSome);
  EXPECT_THAT(judgment.reason,
              HasSubstr("30 relations are more than the 10 entities, and 30 of them have one triple each"));
  EXPECT_THAT(judgment.reason, HasSubstr("--columns=1,2,3"));
  // Where most relations have two triples, an average below two does not say that relations are rare.
  std::vector<std::string> pairs = lines;
  for (int i = 0; i < 14; ++i) pairs.push_back(absl::StrCat("e", (i + 5) % 10, " edge", i, " e", (7 * i + 2) % 10));
  const TableJudgment most = JudgeOrder(pairs);
  EXPECT_EQ(most.evidence, Evidence::kSome);
  EXPECT_THAT(most.reason, HasSubstr("and 16 of them have one triple each"));
  pairs.push_back("e0 edge14 e5");
  EXPECT_EQ(JudgeOrder(pairs).evidence, Evidence::kNone) << "15 of 30 have one triple each, 45 triples in all";
  // Nations have more relations than entities, and many triples for each.
  for (int i = 0; i < 30; ++i) lines.push_back(absl::StrCat("e", (i + 5) % 10, " edge", i, " e", (7 * i + 2) % 10));
  EXPECT_EQ(JudgeOrder(lines).evidence, Evidence::kNone);
}

TEST(TableEvidenceTest, HeadRelationTailIsPlausible) {
  EXPECT_EQ(JudgeOrder({"a r b", "b r c", "c s d", "d s a"}).evidence, Evidence::kNone);
  // More relations than entities, as between nations.
  EXPECT_EQ(JudgeOrder({"a r b", "b s a", "a t b", "b u a", "a v b"}).evidence, Evidence::kNone);
  // Two kinds of entities, and few relations.
  EXPECT_EQ(JudgeOrder({"d1 treats x1", "d2 treats x2", "d1 causes x3", "d3 causes x4"}).evidence, Evidence::kNone);
  EXPECT_EQ(JudgeOrder({"a b r"}).evidence, Evidence::kNone);
}

}  // namespace
}  // namespace rutile
