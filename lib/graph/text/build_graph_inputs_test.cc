// What users of knowledge graphs stumble over when their files are read.

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/graph/text/build_graph.h"
#include "lib/graph/text/graph_testing.h"
#include "lib/graph/triples_file.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(BuildGraphInputsTest, NegatedStatements) {
  const std::string edges =
      R"({"id":"e1","subject":"CHEBI:1","predicate":"biolink:treats","object":"MONDO:1","negated":false}
{"id":"e2","subject":"CHEBI:2","predicate":"biolink:treats","object":"MONDO:1","negated":true}
{"id":"e3","subject":"CHEBI:3","predicate":"biolink:treats","object":"MONDO:2"}
{"id":"e4","subject":"CHEBI:3","predicate":"biolink:treats","object":"MONDO:1","negated":"True"}
)";
  BuildGraphOptions options;
  options.train = {WriteText("neg.jsonl", edges)};
  auto built = BuildGraph(options);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_EQ(built->graph.train.size(), 2);
  EXPECT_THAT(built->graph.entities, ElementsAre("CHEBI:1", "MONDO:1", "CHEBI:3", "MONDO:2"));
  EXPECT_EQ(built->report.splits[0].negated.count, 2);
  EXPECT_THAT(built->report.splits[0].negated.first, HasSubstr("neg.jsonl:2: "));
  options.negated = Handling::kKeep;
  built = BuildGraph(options);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_EQ(built->graph.train.size(), 4);
  EXPECT_THAT(built->graph.relation_labels, ElementsAre("biolink:treats", "biolink:treats (negated)"));
  // The map that this makes, read again, gives the same graph without the option.
  options.negated = Handling::kDrop;
  options.edge_map = WriteText("negated_map.json", built->edge_map.ToJson());
  const auto again = BuildGraph(options);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->graph.train, built->graph.train);
  EXPECT_EQ(again->graph.relation_labels, built->graph.relation_labels);
  options.edge_map.clear();
  options.negated = Handling::kRefuse;
  EXPECT_THAT(BuildError(options), ErrorNames({"neg.jsonl:2"}));
  // A column of a table, too.
  options = BuildGraphOptions();
  options.table.columns = {"s", "p", "o"};
  options.train = {WriteText("neg.tsv", "s\tp\to\tnegated\na\tr\tb\tFalse\na\tr\tc\tTrue\n")};
  built = BuildGraph(options);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_EQ(built->graph.train.size(), 1);
  options.negated = Handling::kKeep;
  built = BuildGraph(options);
  EXPECT_THAT(built->graph.relations, ElementsAre("r", "r (negated)"));
}

TEST(BuildGraphInputsTest, Qualifiers) {
  BuildGraphOptions options;
  options.train = {
      WriteText("kg2.jsonl",
                R"({"subject":"C:1","predicate":"affects","qualified_object_direction":"increased","object":"G:1"}
{"subject":"C:1","predicate":"affects","qualified_object_direction":"decreased","object":"G:1"}
)")};
  auto built = BuildGraph(options);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_EQ(built->graph.train.size(), 2);
  EXPECT_THAT(built->report.formats,
              ElementsAre(HasSubstr("KGX edges"), HasSubstr("qualified_object_direction (2 values)")));
  EXPECT_THAT(built->report.unused_qualifiers, IsEmpty());
  options.qualifiers.emplace();
  built = BuildGraph(options);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_EQ(built->graph.train.size(), 1);
  EXPECT_EQ(built->report.unused_qualifiers.at("qualified_object_direction").count, 2);
  EXPECT_THAT(built->report.unused_qualifiers.at("qualified_object_direction").first, HasSubstr("kg2.jsonl:1"));
  options.qualifiers.reset();
  options.edge_map = WriteText("plain_map.json", R"({"{\"predicate\":\"affects\"}":"affects"})");
  options.unknown_names = Handling::kRefuse;
  EXPECT_THAT(BuildError(options), ErrorNames({"kg2.jsonl:1", "qualified_object_direction"}));
}

// Without an edge map, relations of KGX edges are numbered by appearance: a file of ids would give them other meanings.
TEST(BuildGraphInputsTest, IdsOfRelationsOfEdgesNeedTheirMap) {
  BuildGraphOptions options;
  options.train = {WriteText("edges.jsonl", R"({"subject":"a","predicate":"affects","object":"b"})"
                                            "\n")};
  options.relation_to_id = WriteText("relations.txt", "predicate:0\t0\n");
  EXPECT_THAT(BuildError(options), AllOf(HasSubstr("edges.jsonl"), HasSubstr("--edge_map")));
  options.edge_map = WriteText("map.json", R"({"{\"predicate\":\"affects\"}":"predicate:0"})");
  EXPECT_TRUE(BuildGraph(options).ok());
}

TEST(BuildGraphInputsTest, HeadersAreRefusedByEvidence) {
  const std::string rows = "a\tr\tb\nb\tr\tc\n";
  BuildGraphOptions options = OptionsOf("source\tmetakind\ttarget\n" + rows, "source\tmetakind\ttarget\na\tr\tc\n");
  EXPECT_THAT(BuildError(options),
              ErrorNames({"\"source\"", "\"metakind\"", "\"target\"", "train.txt:1", "names", "--header=yes"}));
  options.table.header = TableOptions::Header::kYes;
  auto built = BuildGraph(options);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_THAT(built->graph.train, ElementsAre(Triple{0, 0, 1}, Triple{1, 0, 2}));
  EXPECT_THAT(built->graph.valid, ElementsAre(Triple{0, 0, 2}));
  options.table.header = TableOptions::Header::kNo;
  built = BuildGraph(options);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_EQ(built->graph.train.size(), 3);
  // With ids from a file, the title has none.
  options = OptionsOf("h\tr\tt\n" + rows);
  options.entity_to_id = WriteText("entities", "a\t0\nb\t1\nc\t2\n");
  EXPECT_THAT(BuildError(options), ErrorNames({"\"h\"", "train.txt:1", "entity", "--header=yes"}));
}

TEST(BuildGraphInputsTest, ColumnsInAnotherOrder) {
  BuildGraphOptions options = OptionsOf("a\tb\tr\nb\tc\tr\nc\td\ts\nd\ta\ts\n");
  EXPECT_THAT(BuildError(options), ErrorNames({"train.txt", "4", "2", "--columns=1,3,2"}));
  options.table.columns = {"1", "3", "2"};
  auto built = BuildGraph(options);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_THAT(built->graph.relations, ElementsAre("r", "s"));
  options.table.columns = {"1", "2", "3"};
  EXPECT_TRUE(BuildGraph(options).ok());
  options = OptionsOf("Paris\tFrance\tcapital_of\nLyon\tFrance\tin\nNice\tFrance\tin\nRome\tItaly\tin\n");
  built = BuildGraph(options);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_THAT(built->report.doubts, ElementsAre(HasSubstr("--columns=1,3,2")));
}

// LibKGE and DGL-KE write ids without a count.
TEST(BuildGraphInputsTest, IdsInTables) {
  BuildGraphOptions options = OptionsOf("0\t0\t1\n2\t1\t1\n", "2\t1\t0\n");
  options.entity_to_id = WriteText("entity_ids.del", "0\tParis\n1\tFrance\n2\tLyon\n");
  options.relation_to_id = WriteText("relation_ids.del", "0\tcapital_of\n1\tin\n");
  auto built = BuildGraph(options);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_THAT(built->graph.train, ElementsAre(Triple{0, 0, 1}, Triple{2, 1, 1}));
  EXPECT_THAT(built->report.formats, Contains(HasSubstr("train.txt: ids of entities and relations")));
  options.content = TripleContent::kNames;
  EXPECT_THAT(BuildError(options), ErrorNames({"\"0\"", "train.txt:1", "entity"}));
  options.content = TripleContent::kAuto;
  options.train = {WriteText("train.txt", "0\t2\t1\n")};
  EXPECT_THAT(BuildError(options), ErrorNames({"train.txt:1", "2", "relation", "range", "--columns=1,3,2"}));
  // Names that are numbers stay names, unless the user says otherwise.
  options.train = {WriteText("train.txt", "0\t0\t7\n")};
  options.valid.clear();
  options.entity_to_id = WriteText("numbers", "7\t0\n0\t1\n");
  built = BuildGraph(options);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_THAT(built->graph.train, ElementsAre(Triple{1, 0, 0}));
  options.train = {WriteText("train.txt", "0\t0\t1\n")};
  EXPECT_THAT(BuildError(options), ErrorNames({"--triples_hold=ids"}));
  options.content = TripleContent::kIds;
  built = BuildGraph(options);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_THAT(built->graph.train, ElementsAre(Triple{0, 0, 1}));
  options.entity_to_id.clear();
  options.relation_to_id.clear();
  EXPECT_THAT(BuildError(options), ErrorNames({"--triples_hold=ids", "--entity_to_id"}));
}

TEST(BuildGraphInputsTest, TablesAndNTriples) {
  BuildGraphOptions options;
  options.train = {WriteText("s.nt", "# comment\n<a> <r> <b> .\n<a> <r> \"text\"@en .\n")};
  auto built = BuildGraph(options);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_THAT(built->graph.entities, ElementsAre("a", "b", "\"text\"@en"));
  EXPECT_EQ(built->report.splits[0].literals.count, 1);
  options.literals = Handling::kDrop;
  EXPECT_EQ(BuildGraph(options)->graph.train.size(), 1);
  options.literals = Handling::kRefuse;
  EXPECT_THAT(BuildError(options), ErrorNames({"s.nt:3"}));

  // KGX's two forms give the same graph.
  options = BuildGraphOptions();
  options.train = {WriteText("edges.tsv",
                             "id\tsubject\tpredicate\tobject\tobject_aspect_qualifier\n1\ta\tp\tb\t\n"
                             "2\ta\tp\tb\tactivity\n")};
  options.nodes = WriteText("nodes.tsv", "id\tcategory\tname\na\tc\tAnna\nb\tc\t\n");
  built = BuildGraph(options);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_THAT(built->graph.relation_labels, ElementsAre("p", "p (object_aspect activity)"));
  EXPECT_THAT(built->graph.entity_labels, ElementsAre("Anna", "b"));
  options.nodes = WriteText("nodes.tsv", "id\tname\na\n");
  EXPECT_THAT(BuildError(options), ErrorNames({"nodes.tsv:2", "1", "fields"}));

  // Weights and signs of false statements are not read as they stand.
  options = OptionsOf("a\tr\tb\t1\nb\tr\tc\t-1\n");
  EXPECT_THAT(BuildError(options), ErrorNames({"train.txt:1", "4", "fields", "--columns=1,2,3"}));
  options.table.columns = {"1", "2", "3"};
  built = BuildGraph(options);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_THAT(built->report.doubts, ElementsAre(HasSubstr("train.txt:2: column 4 holds 1 and -1 alone")));
}

TEST(BuildGraphInputsTest, SplitOfOneFile) {
  std::string lines;
  for (int i = 0; i < 100; ++i) absl::StrAppend(&lines, "e", i % 10, "\tr", i % 3, "\te", (i * 7 + i / 10) % 11, "\n");
  BuildGraphOptions options = OptionsOf(lines);
  options.split = {0.1, 0.2, 3};
  const auto built = BuildGraph(options);
  ASSERT_TRUE(built.ok()) << built.status();
  const auto& splits = built->report.splits;
  EXPECT_EQ(splits[1].triples, built->report.split.valid);
  EXPECT_EQ(splits[2].triples, built->report.split.test);
  EXPECT_GT(splits[2].triples, splits[1].triples);
  EXPECT_EQ(splits[0].triples, static_cast<int64_t>(built->graph.train.size()));
  EXPECT_TRUE(CheckGraph(built->graph).ok());
  options.test = {WriteText("test.txt", "e1\tr1\te2\n")};
  EXPECT_THAT(BuildError(options), ErrorNames({"--split", "--test"}));
}

// Types follow the names whatever the order of ids; those of nodes and of a file are united.
TEST(BuildGraphInputsTest, Types) {
  BuildGraphOptions options = OptionsOf("d\tr\tb\nb\tr\tc\nc\ts\ta\n");
  options.nodes = WriteText("nodes.tsv", "id\tcategory\na\tDrug\nb\tGene\nz\tGene\n");
  options.entity_types = WriteText("types.tsv", "b\tProtein\nd\tDrug\nz\tDrug\n");
  for (const bool sorted : {false, true}) {
    options.sort_names = sorted;
    const auto built = BuildGraph(options);
    ASSERT_TRUE(built.ok()) << built.status();
    const EntityTypes& types = built->graph.entity_types;
    EXPECT_THAT(types.names, ElementsAre("Drug", "Gene", "Protein"));
    for (int32_t e = 0; e < 4; ++e) {
      std::vector<std::string> of;
      for (const int32_t type : types.Of(e)) of.push_back(types.names[type]);
      const std::string& name = built->graph.entities[e];
      using Names = std::vector<std::string>;
      EXPECT_EQ(of, name == "b" ? Names({"Gene", "Protein"}) : name == "c" ? Names() : Names({"Drug"})) << name;
    }
    EXPECT_EQ(built->report.untyped, 1);
    EXPECT_THAT(built->report.untyped_names, ElementsAre("c"));
    EXPECT_EQ(built->report.unknown_types.count, 1);
  }
  options.entity_types = WriteText("types.tsv", "b\n");
  EXPECT_THAT(BuildError(options), ErrorNames({"\"b\"", "types.tsv:1"}));
  options.entity_types = WriteText("types.tsv", "x\tDrug\n");
  EXPECT_THAT(BuildError(options), ErrorNames({"types.tsv", "names", "entity"}));
}

TEST(BuildGraphInputsTest, ReversedTriples) {
  BuildGraphOptions options = OptionsOf("a\tr\tb\nb\tr\tc\nc\ts\ta\na\tr\ta\nd\tr\ta\n", "", "b\tr_inv\ta\na\tr\tc\n");
  options.sort_names = true;
  auto built = BuildGraph(options);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_EQ(built->report.splits[2].reversed.count, 1);
  EXPECT_THAT(DescribeLeaks(built->report.splits[2].reversed, built->graph, 5),
              HasSubstr("\"r_inv\" as the inverse of \"r\""));
  options.reversed = Handling::kDrop;
  built = BuildGraph(options);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_EQ(built->graph.test.size(), 1);
  EXPECT_EQ(built->report.splits[2].triples, 1);
  options.reversed = Handling::kRefuse;
  EXPECT_THAT(BuildError(options), ErrorNames({"1", "2", "test", "triples", "train"}));
  options.test = {WriteText("test.txt", "b\tr_inv\ta\n")};
  options.reversed = Handling::kDrop;
  EXPECT_THAT(BuildError(options), ErrorNames({"triple", "test"}));
}

}  // namespace
}  // namespace rutile
