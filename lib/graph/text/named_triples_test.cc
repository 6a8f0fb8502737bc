#include "lib/graph/text/named_triples.h"

#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<std::vector<Triple>> Read(const std::string& text) {
  KnowledgeGraph names;
  names.entities = {"Q1", "Q2", "Q3"};
  names.entity_labels = {"iron", "zinc", "zinc"};
  names.relations = {"P1", "P2"};
  const std::string path = ::testing::TempDir() + "/triples.tsv";
  std::ofstream(path) << text;
  EdgeMap edges;
  return ReadNamedTriples(path, names, &edges);
}

std::string ErrorOf(const std::string& text) { return std::string(Read(text).status().message()); }

TEST(NamedTriplesTest, NamesAndLabelsInOrder) {
  const auto triples = Read("Q3\tP2\tQ1\n\niron\tP1\tQ2\r\nQ3\tP2\tQ1");
  ASSERT_TRUE(triples.ok()) << triples.status();
  EXPECT_THAT(*triples, ElementsAre(Triple{2, 1, 0}, Triple{0, 0, 1}, Triple{2, 1, 0}));
}

TEST(NamedTriplesTest, CountedIds) {
  const auto triples = Read("2\n0 1 1\n2 0 0\n");  // OpenKE: head, tail, relation
  ASSERT_TRUE(triples.ok()) << triples.status();
  EXPECT_THAT(*triples, ElementsAre(Triple{0, 1, 1}, Triple{2, 0, 0}));
  EXPECT_THAT(ErrorOf("2\n0 1 1\n3 0 0\n"), HasSubstr("triples.tsv:3: no entity has the id 3: there are 3"));
}

// The first relation of these edges is the second of the graph.
TEST(NamedTriplesTest, EdgesGoByWhatTheySay) {
  KnowledgeGraph names;
  names.entities = {"a", "b"};
  names.relations = {"predicate:0", "predicate:1"};
  const std::string path = ::testing::TempDir() + "/edges.jsonl";
  std::ofstream(path) << R"({"subject":"a","predicate":"inhibits","object":"b"})"
                      << "\n"
                      << R"({"subject":"b","predicate":"activates","object":"a"})"
                      << "\n";
  const auto read = [&](EdgeMap edges) { return ReadNamedTriples(path, names, &edges); };
  EXPECT_THAT(std::string(read({}).status().message()), HasSubstr("--edge_map"));
  names.relation_labels = {"activates", "inhibits"};
  auto triples = read({});
  ASSERT_TRUE(triples.ok()) << triples.status();
  EXPECT_THAT(*triples, ElementsAre(Triple{0, 1, 1}, Triple{1, 0, 0}));
  triples = read(*EdgeMap::Parse(R"json({"{\"predicate\":\"inhibits\"}":"predicate:1",
                                         "{\"predicate\":\"activates\"}":"predicate:0"})json",
                                 "m"));
  ASSERT_TRUE(triples.ok()) << triples.status();
  EXPECT_THAT(*triples, ElementsAre(Triple{0, 1, 1}, Triple{1, 0, 0}));
  names.relation_labels = {"activates", "binds"};
  EXPECT_THAT(std::string(read({}).status().message()), HasSubstr("edges.jsonl:1: no relation is called \"inhibits\""));
}

TEST(NamedTriplesTest, ErrorsNameTheLine) {
  EXPECT_THAT(ErrorOf("Q1\tP1\tQ2\nQ1\tP1\tQ9\n"), HasSubstr("triples.tsv:2: no entity is called \"Q9\""));
  EXPECT_THAT(ErrorOf("Q1\tP7\tQ2\n"), HasSubstr("triples.tsv:1: no relation is called \"P7\""));
  EXPECT_THAT(ErrorOf("Q1\tP1\tzinc\n"), HasSubstr("triples.tsv:1: several entities have the label \"zinc\""));
  EXPECT_THAT(ErrorOf("Q1\tP1\tQ2\nQ1\tP1\n"), HasSubstr("triples.tsv:2: "));
  EXPECT_THAT(ErrorOf(""), HasSubstr("no triples in it"));
}

}  // namespace
}  // namespace rutile
