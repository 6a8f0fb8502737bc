// Weights of triples and known-false triples in text files.

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/graph/text/build_graph.h"
#include "lib/graph/text/graph_testing.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

BuildGraphOptions Weighted(const std::string& column, const std::string& train, const std::string& valid = "") {
  BuildGraphOptions options = OptionsOf(train, valid);
  options.table.weight_column = column;
  return options;
}

TEST(BuildGraphWeightsTest, AColumnByNumberOrName) {
  const std::string lines = "a\tr\tb\t0.5\nb\tr\tc\t2\nb\tr\tc\t2\nc\tr\td\t0\n";
  const std::pair<const char*, std::string> files[] = {{"4", lines},
                                                       {"confidence", "h\trel\tt\tconfidence\n" + lines},
                                                       {"1", "0.5\ta\tr\tb\n2\tb\tr\tc\n2\tb\tr\tc\n0\tc\tr\td\n"},
                                                       {"4", "a,r,b,0.5\nb,r,c,2\nb,r,c,2\nc,r,d,0\n"}};
  for (const auto& [column, text] : files) {
    BuildGraphOptions options = Weighted(column, text);
    if (column == std::string("confidence")) options.table.columns = {"h", "rel", "t"};
    const auto built = BuildGraph(options);
    ASSERT_TRUE(built.ok()) << built.status();
    EXPECT_THAT(built->graph.train, ElementsAre(Triple{0, 0, 1}, Triple{1, 0, 2}, Triple{2, 0, 3}));
    EXPECT_THAT(built->graph.train_weights, ElementsAre(0.5, 2, 0));
    EXPECT_THAT(built->graph.valid_weights, IsEmpty());
    EXPECT_EQ(built->report.splits[0].duplicates.count, 1);
  }
}

// A triple of weight 0 is known, and not learned: its names are as unseen as if it were not there.
TEST(BuildGraphWeightsTest, NamesOfWeightZeroAloneAreUnseen) {
  const std::string train = "a\tr\tb\t1\nb\tr\tc\t0\na\ts\tb\t0\nd\tr\ta\t0\nd\tr\tb\t2\n";
  const auto built = BuildGraph(Weighted("4", train, "a\tr\tc\t1\nd\tr\ta\t1\nd\ts\tb\t1\n"));
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_EQ(built->report.unseen_entities, 1);
  EXPECT_EQ(built->report.unseen_relations, 1);
  EXPECT_THAT(built->report.unseen_relation_names, ElementsAre("s"));
  EXPECT_THAT(built->report.splits[1].unseen.first,
              HasSubstr("the entity \"c\" is in no training triple of a weight above 0"));
}

TEST(BuildGraphWeightsTest, FieldsOfKgxEdges) {
  const auto edge = [](const char* weight) {
    return absl::StrCat(R"({"subject": "a", "predicate": "p", "object": "b", "score": )", weight, "}\n");
  };
  for (const std::string& lines :
       {edge("0.25"), edge("\"0.25\""), std::string("id\tsubject\tpredicate\tobject\tscore\n1\ta\tp\tb\t0.25\n")}) {
    const auto built = BuildGraph(Weighted("score", lines));
    ASSERT_TRUE(built.ok()) << built.status();
    EXPECT_THAT(built->graph.train_weights, ElementsAre(0.25)) << lines;
  }
  EXPECT_THAT(BuildError(Weighted("score", edge("-3"))), AllOf(HasSubstr("train.txt:1"), HasSubstr("-3")));
  EXPECT_THAT(BuildError(Weighted("evidence", edge("1"))), AllOf(HasSubstr("train.txt:1"), HasSubstr("evidence")));
  EXPECT_THAT(BuildError(Weighted("4", edge("1"))), ErrorNames({"--weight_column=4"}));
}

TEST(BuildGraphWeightsTest, WrongWeightsAreRefusedWithTheirLine) {
  for (const char* weight : {"-1", "nan", "inf", "much", "", "1e-31", "1e31"}) {
    const std::string lines = absl::StrCat("a\tr\tb\t1\nb\tr\tc\t", weight, "\n");
    EXPECT_THAT(BuildError(Weighted("4", lines)), AllOf(HasSubstr("train.txt:2"), HasSubstr("weight")));
  }
  EXPECT_THAT(BuildError(Weighted("4", "a\tr\tb\t1\nb\tr\tc\t1\na\tr\tb\t2\n")),
              ErrorNames({"train.txt:3", "1", "2", "weights"}));
  EXPECT_THAT(BuildError(Weighted("4", "a\tr\tb\t0\n")), ErrorNames({"1", "0", "train", "triples"}));
  EXPECT_THAT(BuildError(Weighted("4", "a\tr\tb\n")), ErrorNames({"train.txt:1", "--weight_column"}));
  EXPECT_THAT(BuildError(Weighted("4", "a\tr\tb\t1\t2\n")), ErrorNames({"--columns"}));
  EXPECT_THAT(BuildError(Weighted("w", "a\tr\tb\t1\n")), ErrorNames({"\"w\"", "--weight_column"}));
  EXPECT_THAT(BuildError(Weighted("0", "a\tr\tb\t1\n")), ErrorNames({"--weight_column=0"}));
  BuildGraphOptions options = Weighted("2", "a\tr\tb\t1\n");
  options.table.columns = {"1", "2", "3"};
  EXPECT_THAT(BuildError(options), ErrorNames({"--weight_column", "2"}));
  options = Weighted("w", "a\tr\tb\t1\n");
  options.table.header = TableOptions::Header::kNo;
  EXPECT_THAT(BuildError(options), ErrorNames({"--header=no"}));
  EXPECT_THAT(BuildError(Weighted("4", "<a> <r> <b> .\n")), ErrorNames({"--weight_column=4"}));
}

TEST(BuildGraphWeightsTest, TheSameTripleInTwoSplitsMayHaveTwoWeights) {
  BuildGraphOptions options = Weighted("4", "a\tr\tb\t1\nb\tr\ta\t1\n", "a\tr\tb\t3\nb\tr\tb\t5\n");
  options.leaked = Handling::kKeep;
  const auto built = BuildGraph(options);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_THAT(built->graph.valid_weights, ElementsAre(3, 5));
}

BuildGraphOptions WithNegatives(const std::string& negatives) {
  BuildGraphOptions options = OptionsOf("b\tr\ta\na\ts\tc\n", "c\tr\tb\n");
  options.negatives = {WriteText("negatives.txt", negatives)};
  return options;
}

TEST(BuildGraphWeightsTest, NegativesWithoutTheColumnHaveWeightOne) {
  for (const char* column : {"4", "w"}) {
    BuildGraphOptions options = Weighted(column, "h\trel\tt\tw\na\tr\tb\t0.5\nb\tr\tc\t2\n");
    options.table.header = TableOptions::Header::kYes;
    options.negatives = {WriteText("plain.txt", "h\trel\tt\nb\tr\ta\n"),
                         WriteText("weighted.txt", "h\trel\tt\tw\na\tr\tc\t3\n"),
                         WriteText("false.nt", "<c> <r> <c> .\n")};
    const auto built = BuildGraph(options);
    ASSERT_TRUE(built.ok()) << built.status();
    EXPECT_THAT(built->graph.train_weights, ElementsAre(0.5, 2));
    EXPECT_THAT(built->graph.negative_weights, ElementsAre(1, 3, 1)) << column;
    EXPECT_THAT(built->report.formats, ::testing::Contains(AllOf(HasSubstr("plain.txt"), HasSubstr("weight 1"))));
  }
  BuildGraphOptions options = Weighted("w", "h\trel\tt\tw\na\tr\tb\t0.5\nb\tr\tc\t2\n");
  options.valid = {WriteText("valid.txt", "a\tr\tc\n")};
  EXPECT_THAT(BuildError(options), ErrorNames({"valid.txt:1", "--weight_column"}));
}

TEST(BuildGraphWeightsTest, KnownFalseTriples) {
  for (const bool sorted : {false, true}) {
    BuildGraphOptions options = WithNegatives("a\tr\tb\nb\ts\tb\na\tr\tb\n");
    options.sort_names = sorted;
    const auto built = BuildGraph(options);
    ASSERT_TRUE(built.ok()) << built.status();
    const KnowledgeGraph& graph = built->graph;
    std::vector<std::string> names;
    for (const Triple& t : graph.negatives) {
      names.push_back(graph.entities[t.head] + graph.relations[t.relation] + graph.entities[t.tail]);
    }
    EXPECT_THAT(names, ElementsAre("arb", "bsb"));
    EXPECT_EQ(built->report.negatives.duplicates.count, 1);
    EXPECT_EQ(built->report.negatives.triples, 2);
    EXPECT_EQ(built->report.splits[0].triples, 2);
    EXPECT_THAT(graph.negative_weights, IsEmpty());
  }
}

// A negated statement is the natural form of a known-false triple, whatever negated statements of splits are.
TEST(BuildGraphWeightsTest, NegatedStatementsAreKnownFalse) {
  const auto edge = [](const char* object, const char* rest) {
    return absl::StrCat(R"({"subject": "a", "predicate": "p", "object": ")", object, "\"", rest, "}\n");
  };
  const std::string negated = R"(, "negated": true)", affirmed = R"(, "negated": false)";
  for (const Handling handling : {Handling::kDrop, Handling::kKeep, Handling::kRefuse}) {
    BuildGraphOptions options;
    options.train = {WriteText("train.jsonl", edge("b", "") + edge("c", ""))};
    options.negatives = {WriteText("false.jsonl", edge("a", negated.c_str()))};
    options.negated = handling;
    const auto built = BuildGraph(options);
    ASSERT_TRUE(built.ok()) << built.status();
    EXPECT_EQ(built->graph.num_relations(), 1);
    EXPECT_THAT(built->graph.negatives, ElementsAre(Triple{0, 0, 0}));
    EXPECT_EQ(built->report.negatives.negated.count, 1);
    options.negatives = {WriteText("false.jsonl", edge("a", negated.c_str()) + edge("a", affirmed.c_str()))};
    EXPECT_THAT(BuildError(options),
                AllOf(HasSubstr("false.jsonl: 1 of 2"), HasSubstr("false.jsonl:1"), HasSubstr("false.jsonl:2")));
    options.negatives = {WriteText("false.jsonl", edge("a", affirmed.c_str()))};  // false, as all of such a file
    EXPECT_TRUE(BuildGraph(options).ok());
  }
  // A column of a table, too.
  BuildGraphOptions options = OptionsOf("s\tp\to\nb\tr\ta\n");
  options.table.columns = {"s", "p", "o"};
  options.negatives = {WriteText("false.tsv", "s\tp\to\tnegated\na\tr\tb\ttrue\n")};
  const auto built = BuildGraph(options);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_EQ(built->graph.negatives.size(), 1);
}

TEST(BuildGraphWeightsTest, ATripleIsTrueOrFalse) {
  EXPECT_THAT(BuildError(WithNegatives("a\tr\tb\na\ts\tc\n")), AllOf(HasSubstr("negatives.txt:2"), HasSubstr("train")));
  EXPECT_THAT(BuildError(WithNegatives("c\tr\tb\n")), AllOf(HasSubstr("negatives.txt:1"), HasSubstr("valid")));
  EXPECT_THAT(BuildError(WithNegatives("c\tr\tx\n")), AllOf(HasSubstr("negatives.txt:1"), HasSubstr("\"x\"")));
  BuildGraphOptions options = WithNegatives("c\tr\tx\na\tr\tb\n");
  options.unknown_names = Handling::kDrop;
  const auto built = BuildGraph(options);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_THAT(built->graph.negatives, ElementsAre(Triple{1, 0, 0}));
  EXPECT_EQ(built->report.negatives.unknown.count, 1);
}

}  // namespace
}  // namespace rutile
