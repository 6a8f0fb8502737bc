#include "lib/graph/text/build_graph.h"

#include <csignal>
#include <numeric>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/interrupt.h"
#include "lib/graph/text/graph_testing.h"
#include "lib/graph/triples_file.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(BuildGraphTest, IdsInOrderOfAppearance) {
  const auto built = BuildGraph(OptionsOf("b\tr\ta\na\ts\tc\n", "c\tr\tb\n", "a\tr\tc\n"));
  ASSERT_TRUE(built.ok()) << built.status();
  const KnowledgeGraph& graph = built->graph;
  EXPECT_THAT(graph.entities, ElementsAre("b", "a", "c"));
  EXPECT_THAT(graph.relations, ElementsAre("r", "s"));
  EXPECT_THAT(graph.train, ElementsAre(Triple{0, 0, 1}, Triple{1, 1, 2}));
  EXPECT_THAT(graph.valid, ElementsAre(Triple{2, 0, 0}));
  EXPECT_THAT(graph.test, ElementsAre(Triple{1, 0, 2}));
  EXPECT_TRUE(graph.inverse_relations);
  EXPECT_THAT(graph.entity_labels, IsEmpty());
  EXPECT_THAT(graph.relation_labels, IsEmpty());
  EXPECT_TRUE(CheckGraph(graph).ok());
  EXPECT_EQ(built->report.splits[0].triples, 2);
  EXPECT_EQ(built->report.unseen_entities, 0);
}

TEST(BuildGraphTest, StopsWhenASignalCame) {
  const BuildGraphOptions options = OptionsOf("b\tr\ta\n");
  SetInterruptForTest(SIGTERM);
  EXPECT_EQ(BuildGraph(options).status().code(), absl::StatusCode::kCancelled);
  SetInterruptForTest(0);
  EXPECT_TRUE(BuildGraph(options).ok());
}

TEST(BuildGraphTest, TellsHowManyLinesAreRead) {
  std::string many;
  for (int k = 0; k < 40000; ++k) absl::StrAppend(&many, "a", k, "\tr\tb", k, "\n");
  BuildGraphOptions options = OptionsOf(many, "a1\tr\tb2\nno triple\n");
  options.malformed = Handling::kDrop;
  std::vector<int64_t> told;
  options.on_progress = [&](int64_t lines) { told.push_back(lines); };
  const absl::StatusOr<BuiltGraph> built = BuildGraph(options);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_GT(told.size(), 4);  // progress is also reported on the way
  EXPECT_EQ(std::accumulate(told.begin(), told.end(), int64_t{0}), 40002);
}

TEST(BuildGraphTest, IdsInOrderOfNames) {
  BuildGraphOptions options = OptionsOf("b\ts\ta\na\tr\tc\n", "c\ts\tb\n");
  options.sort_names = true;
  options.inverse_relations = false;
  const auto built = BuildGraph(options);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_THAT(built->graph.entities, ElementsAre("a", "b", "c"));
  EXPECT_THAT(built->graph.relations, ElementsAre("r", "s"));
  EXPECT_THAT(built->graph.train, ElementsAre(Triple{1, 1, 0}, Triple{0, 0, 2}));
  EXPECT_THAT(built->graph.valid, ElementsAre(Triple{2, 1, 1}));
  EXPECT_FALSE(built->graph.inverse_relations);
}

TEST(BuildGraphTest, GivenIds) {
  BuildGraphOptions options = OptionsOf("b\tr\ta\n");
  options.entity_to_id = WriteText("entities", "a\t0\nb\t1\nc\t2\n");
  options.relation_to_id = WriteText("relations", "0\ts\n1\tr\n");
  options.node_name_dict = WriteText("names", "Alpha\t0\nBeta\t1\n");
  const auto built = BuildGraph(options);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_THAT(built->graph.entities, ElementsAre("a", "b", "c"));
  EXPECT_THAT(built->graph.entity_labels, ElementsAre("Alpha", "Beta", "c"));
  EXPECT_THAT(built->graph.train, ElementsAre(Triple{1, 1, 0}));
  EXPECT_EQ(built->report.unlabeled, 1);
  EXPECT_EQ(built->report.unused_entities, 1);
  EXPECT_EQ(built->report.unused_relations, 1);
  EXPECT_THAT(built->report.formats, ElementsAre(EndsWith("entities: 3 names, name and index"),
                                                 EndsWith("relations: 2 names, index and name")));
}

// One kind of names is given, the other is built and sorted.
TEST(BuildGraphTest, GivenRelationsAlone) {
  BuildGraphOptions options = OptionsOf("b\tr\ta\n");
  options.relation_to_id = WriteText("relations", "s\t0\nr\t1\n");
  options.sort_names = true;
  const auto built = BuildGraph(options);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_THAT(built->graph.entities, ElementsAre("a", "b"));
  EXPECT_THAT(built->graph.relations, ElementsAre("s", "r"));
  EXPECT_THAT(built->graph.train, ElementsAre(Triple{1, 1, 0}));
}

TEST(BuildGraphTest, CountedIds) {
  BuildGraphOptions options = OptionsOf("2\n1 0 1\n0 1 0\n", "1\n1 1 0\n");
  options.entity_to_id = WriteText("entity2id.txt", "2\na\t0\nb\t1\n");
  options.relation_to_id = WriteText("relation2id.txt", "2\nr\t0\ns\t1\n");
  const auto built = BuildGraph(options);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_THAT(built->graph.train, ElementsAre(Triple{1, 1, 0}, Triple{0, 0, 1}));  // the relation comes last in files
  EXPECT_THAT(built->graph.valid, ElementsAre(Triple{1, 0, 1}));
  EXPECT_THAT(built->report.formats[2],
              EndsWith("train.txt: a count and then ids of head, tail and relation (as OpenKE writes)"));
  options.entity_to_id.clear();
  EXPECT_THAT(BuildError(options), ErrorNames({"--entity_to_id", "--relation_to_id", "train.txt", "ids"}));
  options = OptionsOf("1\n1 2 0\n");
  options.entity_to_id = WriteText("entity2id.txt", "2\na\t0\nb\t1\n");
  options.relation_to_id = WriteText("relation2id.txt", "1\nr\t0\n");
  options.unknown_names = Handling::kDrop;  // not a name, but a wrong number
  EXPECT_THAT(BuildError(options), ErrorNames({"train.txt:2", "2", "0", "1", "entity", "range"}));
  options.train = {WriteText("train.txt", "1\n1 0 99999999999999999999\n")};
  EXPECT_THAT(BuildError(options), ErrorNames({"train.txt:2", "99999999999999999999", "0", "relation", "range"}));
}

TEST(BuildGraphTest, Malformed) {
  BuildGraphOptions options = OptionsOf("a\tr\tb\na\tr\n\nb\tr\ta\nx\n");
  EXPECT_THAT(BuildError(options), ErrorNames({"\"a\\tr\"", "train.txt:2", "2", "fields"}));
  options.malformed = Handling::kDrop;
  const auto built = BuildGraph(options);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_EQ(built->graph.train.size(), 2);
  EXPECT_EQ(built->report.splits[0].malformed.count, 2);
  EXPECT_THAT(built->report.splits[0].malformed.first, HasSubstr("train.txt:2: 2 fields"));
}

TEST(BuildGraphTest, UnknownNames) {
  BuildGraphOptions options = OptionsOf("a\tr\tb\na\tr\tx\nb\tq\ta\n", "y\tr\ta\nb\tr\ta\n");
  options.entity_to_id = WriteText("entities", "a\t0\nb\t1\n");
  EXPECT_THAT(BuildError(options), ErrorNames({"\"x\"", "train.txt:2", "entity"}));
  options.unknown_names = Handling::kDrop;
  auto built = BuildGraph(options);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_EQ(built->report.splits[0].unknown.count, 1);
  EXPECT_EQ(built->report.splits[1].unknown.count, 1);
  EXPECT_THAT(built->report.splits[1].unknown.first, HasSubstr("valid.txt:1: the entity \"y\" has no id in"));
  EXPECT_THAT(built->graph.relations, ElementsAre("r", "q"));
  options.relation_to_id = WriteText("relations", "r\t0\n");
  built = BuildGraph(options);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_EQ(built->report.splits[0].unknown.count, 2);
  EXPECT_EQ(built->graph.train.size(), 1);
}

TEST(BuildGraphTest, DuplicatesAndLeaks) {
  BuildGraphOptions options =
      OptionsOf("a\tr\tb\nb\tr\tc\na\tr\tb\n", "a\tr\tb\nb\tr\ta\nb\tr\ta\n", "a\tr\tc\nb\tr\ta\na\tr\tb\n");
  auto built = BuildGraph(options);
  ASSERT_TRUE(built.ok()) << built.status();
  const auto& splits = built->report.splits;
  EXPECT_EQ(built->graph.train.size(), 2);
  EXPECT_EQ(splits[0].duplicates.count, 1);
  EXPECT_THAT(splits[0].duplicates.first, HasSubstr("train.txt:3: \"a\" \"r\" \"b\" comes twice"));
  EXPECT_THAT(built->graph.valid, ElementsAre(Triple{1, 0, 0}));
  EXPECT_EQ(splits[1].duplicates.count, 1);
  EXPECT_EQ(splits[1].leaked.count, 1);
  EXPECT_THAT(splits[1].leaked.first, HasSubstr("valid.txt:1: \"a\" \"r\" \"b\" is in train, too"));
  EXPECT_THAT(built->graph.test, ElementsAre(Triple{0, 0, 2}));
  EXPECT_EQ(splits[2].leaked.count, 2);
  EXPECT_THAT(splits[2].leaked.first, HasSubstr("test.txt:2: \"b\" \"r\" \"a\" is in valid, too"));

  options.leaked = Handling::kKeep;
  built = BuildGraph(options);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_EQ(built->graph.valid.size(), 2);
  EXPECT_EQ(built->graph.test.size(), 3);
  EXPECT_EQ(built->report.splits[2].leaked.count, 2);  // counted although kept
  options.leaked = Handling::kRefuse;
  EXPECT_THAT(BuildError(options), ErrorNames({"\"a\"", "\"r\"", "\"b\"", "valid.txt:1", "train"}));
  options.duplicates = Handling::kRefuse;
  EXPECT_THAT(BuildError(options), ErrorNames({"\"a\"", "\"r\"", "\"b\"", "train.txt:3", "twice"}));
}

TEST(BuildGraphTest, Unseen) {
  BuildGraphOptions options = OptionsOf("a\tr\tb\n", "b\tr\tx\n", "a\tq\tb\nx\tq\ty\nb\tr\ta\n");
  auto built = BuildGraph(options);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_EQ(built->graph.valid.size(), 1);
  EXPECT_EQ(built->graph.test.size(), 3);
  EXPECT_THAT(built->graph.entities, ElementsAre("a", "b", "x", "y"));
  EXPECT_EQ(built->report.unseen_entities, 2);
  EXPECT_EQ(built->report.unseen_relations, 1);
  EXPECT_THAT(built->report.unseen_relation_names, ElementsAre("q"));
  EXPECT_EQ(built->report.splits[1].unseen.count, 1);
  EXPECT_EQ(built->report.splits[2].unseen.count, 2);
  EXPECT_THAT(built->report.splits[2].unseen.first,
              HasSubstr("test.txt:1: the relation \"q\" is in no training triple"));

  options.unseen = Handling::kDrop;
  options.valid.clear();
  built = BuildGraph(options);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_THAT(built->graph.test, ElementsAre(Triple{1, 0, 0}));
  EXPECT_THAT(built->graph.entities, ElementsAre("a", "b"));  // names that are left out get no ids
  EXPECT_THAT(built->graph.relations, ElementsAre("r"));
  EXPECT_EQ(built->report.unseen_entities, 2);
  options.unseen = Handling::kRefuse;
  EXPECT_THAT(BuildError(options), ErrorNames({"\"q\"", "test.txt:1", "relation", "triple"}));
  // With ids given, an entity may have one and yet be unseen.
  options.entity_to_id = WriteText("entities", "a\t0\nb\t1\nx\t2\ny\t3\n");
  options.test = {WriteText("test.txt", "b\tr\tx\n")};
  EXPECT_THAT(BuildError(options), ErrorNames({"\"x\"", "test.txt:1", "entity", "triple"}));
}

TEST(BuildGraphTest, EmptySplits) {
  EXPECT_THAT(BuildError(OptionsOf("\n")), ErrorNames({"train.txt", "triple", "train"}));
  EXPECT_THAT(BuildError(OptionsOf("a\tr\tb\n", "\n")), ErrorNames({"valid.txt", "triple", "valid"}));
  EXPECT_THAT(BuildError(OptionsOf("a\tr\tb\n", "", "a\tr\tb\n")), ErrorNames({"test.txt", "triple", "test"}));
  EXPECT_THAT(BuildError(BuildGraphOptions()), HasSubstr("train: no file"));
}

TEST(BuildGraphTest, TooManyNames) {
  BuildGraphOptions options = OptionsOf("a\tr\tb\na\ts\tb\na\tt\tc\n");
  options.max_names = 4;
  EXPECT_THAT(BuildError(options), ErrorNames({"\"t\"", "train.txt:3", "2", "32", "relation", "ids"}));
  options.inverse_relations = false;
  EXPECT_TRUE(BuildGraph(options).ok());
  options.max_names = 3;
  EXPECT_TRUE(BuildGraph(options).ok());
  options.train = {WriteText("train.txt", "a\tr\tb\na\tr\tc\nd\tr\ta\n")};
  EXPECT_THAT(BuildError(options), ErrorNames({"\"d\"", "train.txt:3", "3", "32", "entity", "ids"}));
}

TEST(BuildGraphTest, Kgx) {
  BuildGraphOptions options;
  options.train = {
      WriteText("edges.jsonl",
                "{\"subject\":\"C:1\",\"predicate\":\"biolink:treats\",\"object\":\"D:1\"}\n"
                "{\"subject\":\"C:2\",\"predicate\":\"biolink:affects\",\"object_aspect_qualifier\":\"activity\","
                "\"object\":\"G:1\"}\n")};
  options.nodes =
      WriteText("nodes.jsonl", "{\"id\":\"C:1\",\"name\":\"aspirin\"}\n{\"id\":\"D:1\",\"name\":\"pain\"}\n");
  auto built = BuildGraph(options);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_THAT(built->graph.entities, ElementsAre("C:1", "D:1", "C:2", "G:1"));
  EXPECT_THAT(built->graph.entity_labels, ElementsAre("aspirin", "pain", "C:2", "G:1"));
  EXPECT_EQ(built->report.unlabeled, 2);
  EXPECT_THAT(built->graph.relations, ElementsAre("predicate:0", "predicate:1"));
  EXPECT_THAT(built->graph.relation_labels, ElementsAre("biolink:treats", "biolink:affects (object_aspect activity)"));
  EXPECT_EQ(built->edge_map.size(), 2);
  EXPECT_THAT(built->report.formats, ElementsAre(EndsWith("edges.jsonl: KGX edges")));

  // The map of that graph, read again, names the relations of TSV, too.
  options.train = {WriteText("rotorobo.txt", "C:1\tpredicate:1\tG:1\nC:1\tother\tG:1\n")};
  options.edge_map = WriteText("edge_map.json", built->edge_map.ToJson());
  options.nodes.clear();
  built = BuildGraph(options);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_THAT(built->graph.relation_labels, ElementsAre("biolink:affects (object_aspect activity)", "other"));

  options.train = {WriteText("edges.jsonl",
                             "{\"subject\":\"C:1\",\"predicate\":\"biolink:new\",\"object\":\"D:1\"}\n"
                             "{\"subject\":\"C:1\",\"predicate\":\"biolink:treats\",\"object\":\"D:1\"}\n")};
  EXPECT_THAT(BuildError(options), ErrorNames({"edges.jsonl:1", "predicate=biolink:new"}));
  options.unknown_names = Handling::kDrop;
  built = BuildGraph(options);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_EQ(built->report.splits[0].unknown.count, 1);
  EXPECT_THAT(built->graph.relations, ElementsAre("predicate:0"));
}

TEST(BuildGraphTest, SeveralFilesOfASplit) {
  BuildGraphOptions options = OptionsOf("a\tr\tb\n");
  options.train.push_back(WriteText("more.txt", "b\tr\ta\na\tr\tb\n"));
  const auto built = BuildGraph(options);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_EQ(built->graph.train.size(), 2);
  EXPECT_THAT(built->report.splits[0].duplicates.first, HasSubstr("more.txt:2"));
}

TEST(BuildGraphTest, OptionsThatContradict) {
  BuildGraphOptions options = OptionsOf("a\tr\tb\n");
  options.node_name_dict = "names";
  EXPECT_THAT(BuildError(options), ErrorNames({"--node_name_dict", "--entity_to_id"}));
  options.entity_to_id = "entities";
  options.nodes = "nodes";
  EXPECT_THAT(BuildError(options), ErrorNames({"--node_name_dict", "--nodes"}));
  options.nodes.clear();
  options.relation_to_id = "relations";
  options.sort_names = true;
  EXPECT_THAT(BuildError(options), ErrorNames({"sorted", "names"}));
  options = OptionsOf("a\tr\tb\n");
  options.malformed = Handling::kKeep;
  EXPECT_THAT(BuildError(options), HasSubstr("malformed cannot be kept"));
  options = OptionsOf("a\tr\tb\n");
  options.edge_map = "map";
  options.negated = Handling::kKeep;
  EXPECT_THAT(BuildError(options), ErrorNames({"--negated=relation", "--edge_map"}));
  options.negated = Handling::kDrop;
  options.qualifiers.emplace();
  EXPECT_THAT(BuildError(options), ErrorNames({"--qualifiers", "--edge_map"}));
  options = OptionsOf("a\tr\tb\n");
  options.table.columns = {"1"};
  EXPECT_THAT(BuildError(options), ErrorNames({"--columns=1"}));
}

}  // namespace
}  // namespace rutile
