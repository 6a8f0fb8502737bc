#include "lib/graph/triples_file.h"

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/graph/entity_types.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/tensorfile/tensor_writer.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

KnowledgeGraph SmallGraph() {
  KnowledgeGraph graph;
  graph.entities = {"00260881", "Ti", "Émile"};
  graph.relations = {"_hypernym", "next to"};
  graph.train = {{0, 0, 1}, {2, 1, 0}};
  graph.valid = {{1, 1, 2}};
  return graph;
}

std::string Path(const std::string& name) { return ::testing::TempDir() + "/" + name; }

TEST(TriplesFileTest, RoundTrip) {
  for (const bool full : {false, true}) {
    KnowledgeGraph graph = SmallGraph();
    if (full) {
      graph.inverse_relations = false;
      graph.entity_labels = {"a word", "", "a word"};
      graph.relation_labels = {"is a", "next\tto"};
      graph.test = {{0, 0, 0}};
      EntityTypesBuilder types;
      types.Add(1, "element");
      types.Add(1, "metal");
      types.Add(2, "person");
      graph.entity_types = types.Build(3);
    }
    const std::string path = Path(absl::StrCat("round", full, ".safetensors"));
    ASSERT_TRUE(WriteTriples(path, graph, {{"tool", "test"}}).ok());
    const auto read = ReadTriples(path);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->entities, graph.entities);
    EXPECT_EQ(read->relations, graph.relations);
    EXPECT_EQ(read->entity_labels, graph.entity_labels);
    EXPECT_EQ(read->relation_labels, graph.relation_labels);
    EXPECT_EQ(read->inverse_relations, graph.inverse_relations);
    EXPECT_EQ(read->entity_types, graph.entity_types);
    EXPECT_EQ(read->num_query_relations(), full ? 2 : 4);
    EXPECT_EQ(read->train, graph.train);
    EXPECT_EQ(read->valid, graph.valid);
    EXPECT_EQ(read->test, graph.test);
    EXPECT_EQ(ReadTensorFile(path)->metadata.at("tool"), "test");
  }
}

TEST(TriplesFileTest, GraphsThatAreRefused) {
  const auto expect = [](const std::string& message, const std::function<void(KnowledgeGraph*)>& spoil) {
    KnowledgeGraph graph = SmallGraph();
    spoil(&graph);
    const std::string path = Path("refused.safetensors");
    const absl::Status status = WriteTriples(path, graph, {});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat(path, ": not written: ", message)));
  };
  expect("entity 2: the name \"Ti\" comes twice", [](auto* graph) { graph->entities[2] = "Ti"; });
  expect("relation 1 has an empty name", [](auto* graph) { graph->relations[1] = ""; });
  expect("entity \"a\\nb\" holds a line end", [](auto* graph) { graph->entities[1] = "a\nb"; });
  expect("entity \"\xff\" is not UTF-8", [](auto* graph) { graph->entities[1] = "\xff"; });
  expect("2 entity labels for 3 names", [](auto* graph) { graph->entity_labels = {"a", "b"}; });
  expect("relation label \"\\n\" holds", [](auto* graph) { graph->relation_labels = {"a", "\n"}; });
  expect("0 entries of entity_type_begin for 3 entities", [](auto* graph) { graph->entity_types.names = {"word"}; });
  expect("there is no training triple", [](auto* graph) { graph->train.clear(); });
  expect("train triple 1: tail 3 is not one of 0 .. 2", [](auto* graph) { graph->train[1].tail = 3; });
  expect("valid triple 0: head -1 is not one of 0 .. 2", [](auto* graph) { graph->valid[0].head = -1; });
  expect("valid triple 0: relation 2 is not one of 0 .. 1", [](auto* graph) { graph->valid[0].relation = 2; });
}

TEST(TriplesFileTest, FilesThatAreRefused) {
  const std::string path = Path("good.safetensors");
  ASSERT_TRUE(WriteTriples(path, SmallGraph(), {}).ok());
  const auto expect = [&](const std::string& message, const std::function<void(TensorFile*)>& spoil) {
    TensorFile file = *ReadTensorFile(path);
    spoil(&file);
    const std::string spoilt = Path("spoilt.safetensors");
    ASSERT_TRUE(WriteTensorFile(spoilt, file.metadata, file.tensors).ok());
    const auto read = ReadTriples(spoilt);
    EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(read.status().message()), HasSubstr(absl::StrCat(spoilt, ": ", message)));
  };
  const auto text = [](const std::string& text) { return Tensor::Of(std::vector<uint8_t>(text.begin(), text.end())); };
  expect("is a file of kind kg.known/1", [](auto* file) { file->metadata["kind"] = "kg.known/1"; });
  expect("metadata \"inverse_relations\" is \"yes\"", [](auto* file) { file->metadata["inverse_relations"] = "yes"; });
  expect("metadata \"num_entities\" is \"4\", but there are 3 names",
         [](auto* file) { file->metadata["num_entities"] = "4"; });
  expect("tensor \"relation_names\" does not end",
         [&](auto* file) { file->tensors.Set("relation_names", text("a\nb")); });
  expect("relation 1: the name \"a\" comes twice",
         [&](auto* file) { file->tensors.Set("relation_names", text("a\na\n")); });
  expect("1 relation labels for 2 names", [&](auto* file) { file->tensors.Set("relation_labels", text("a\n")); });
  expect("train triple 0: relation 9", [](auto* file) {
    file->tensors.Set("train", Tensor::Of<int32_t>({0, 9, 1}, {1, 3}));
  });
  expect("there is no training triple", [](auto* file) {
    file->tensors.Set("train", Tensor::Zeros(DType::kI32, {0, 3}));
  });
  expect("tensor \"test\" is I32 [0,2]", [](auto* file) {
    file->tensors.Set("test", Tensor::Zeros(DType::kI32, {0, 2}));
  });
  EXPECT_EQ(ReadTriples(Path("none.safetensors")).status().code(), absl::StatusCode::kNotFound);
}

// A label may be empty and still counts as a line.
TEST(TriplesFileTest, EmptyLabels) {
  KnowledgeGraph graph = SmallGraph();
  graph.entity_labels = {"", "", ""};
  const std::string path = Path("labels.safetensors");
  ASSERT_TRUE(WriteTriples(path, graph, {}).ok());
  EXPECT_THAT(ReadTriples(path)->entity_labels, ElementsAre("", "", ""));
}

TEST(TriplesFileTest, HashOfTriples) {
  const std::string hash = TriplesSha256(SmallGraph());
  EXPECT_EQ(TriplesSha256(SmallGraph()), hash);
  KnowledgeGraph graph = SmallGraph();
  graph.entities[0] = "another name";
  EXPECT_EQ(TriplesSha256(graph), hash);
  std::vector<std::string> others;
  const auto add = [&](const std::function<void(KnowledgeGraph*)>& change) {
    KnowledgeGraph other = SmallGraph();
    change(&other);
    others.push_back(TriplesSha256(other));
  };
  add([](auto* graph) { graph->train[0].tail = 2; });
  add([](auto* graph) { graph->inverse_relations = false; });
  add([](auto* graph) { graph->entities.push_back("one more"); });
  add([](auto* graph) { graph->test.swap(graph->valid); });
  add([](auto* graph) { graph->relations.push_back("one more"); });
  for (size_t i = 0; i < others.size(); ++i) {
    EXPECT_NE(others[i], hash) << i;
    for (size_t k = 0; k < i; ++k) EXPECT_NE(others[i], others[k]) << i << " " << k;
  }
}

// Two files that hold the same statements, in other lines and with other ids.
TEST(TriplesFileTest, HashOfASetOfTriplesIsByName) {
  const KnowledgeGraph graph = SmallGraph();
  const std::string hash = TripleSetSha256(graph, graph.train);
  EXPECT_EQ(TripleSetSha256(graph, {graph.train[1], graph.train[0], graph.train[1]}), hash);
  KnowledgeGraph other;
  other.entities = {"Émile", "00260881", "Ti"};
  other.relations = {"next to", "_hypernym"};
  EXPECT_EQ(TripleSetSha256(other, {{0, 0, 1}, {1, 1, 2}}), hash);
  EXPECT_NE(TripleSetSha256(other, {{0, 0, 1}, {1, 0, 2}}), hash);
  EXPECT_NE(TripleSetSha256(other, {{0, 0, 1}}), hash);
  other.entities[2] = "Zr";
  EXPECT_NE(TripleSetSha256(other, {{0, 0, 1}, {1, 1, 2}}), hash);
}

}  // namespace
}  // namespace rutile
