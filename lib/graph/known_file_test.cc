#include "lib/graph/known_file.h"

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/tensorfile/tensor_writer.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

KnowledgeGraph SmallGraph() {
  KnowledgeGraph graph;
  graph.entities = {"a", "b", "c"};
  graph.relations = {"r", "s"};
  graph.train = {{0, 0, 1}, {2, 1, 0}};
  graph.valid = {{0, 0, 2}};
  graph.test = {{0, 0, 0}};
  return graph;
}

std::string Path(const std::string& name) { return ::testing::TempDir() + "/" + name; }

TEST(KnownFileTest, RoundTrip) {
  for (const bool inverse : {false, true}) {
    KnowledgeGraph graph = SmallGraph();
    graph.inverse_relations = inverse;
    const KnownTails known = AllKnownTails(graph);
    EXPECT_THAT(known.Tails(0, 0), ElementsAre(0, 1, 2));
    EXPECT_EQ(known.num_keys(), inverse ? 6 : 2);
    const std::string path = Path("known.safetensors");
    ASSERT_TRUE(WriteKnownTails(path, graph, known, {{"tool", "test"}}).ok());
    const auto read = ReadKnownTails(path, graph);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->heads(), known.heads());
    EXPECT_EQ(read->relations(), known.relations());
    EXPECT_EQ(read->offsets(), known.offsets());
    EXPECT_EQ(read->all_tails(), known.all_tails());
  }
}

TEST(KnownFileTest, OtherTriplesAreRefused) {
  const std::string path = Path("pair.safetensors");
  ASSERT_TRUE(WriteKnownTails(path, SmallGraph(), AllKnownTails(SmallGraph()), {}).ok());
  KnowledgeGraph other = SmallGraph();
  other.test[0].tail = 1;
  EXPECT_THAT(std::string(ReadKnownTails(path, other).status().message()), HasSubstr("was made of other triples"));
}

// The file's hash is right, but its arrays are wrong.
TEST(KnownFileTest, DamagedFilesAreRefused) {
  const std::string path = Path("good.safetensors");
  ASSERT_TRUE(WriteKnownTails(path, SmallGraph(), AllKnownTails(SmallGraph()), {}).ok());
  // head 0 0 0 1 2 2, relation 0 2 3 2 1 2, offset 0 3 4 5 6 7 8, tail 0 1 2 | 0 | 2 | 0 | 0 | 0
  const auto expect = [&](const std::string& message, absl::string_view tensor, int at, int64_t value) {
    TensorFile file = *ReadTensorFile(path);
    if (tensor == "offset") {
      const auto old = file.tensors.At(tensor).values<int64_t>();
      std::vector<int64_t> values(old.begin(), old.end());
      values[at] = value;
      file.tensors.Set(tensor, Tensor::Of(values));
    } else {
      const auto old = file.tensors.At(tensor).values<int32_t>();
      std::vector<int32_t> values(old.begin(), old.end());
      values[at] = static_cast<int32_t>(value);
      file.tensors.Set(tensor, Tensor::Of(values));
    }
    const std::string spoilt = Path("spoilt.safetensors");
    ASSERT_TRUE(WriteTensorFile(spoilt, file.metadata, file.tensors).ok());
    EXPECT_THAT(std::string(ReadKnownTails(spoilt, SmallGraph()).status().message()),
                HasSubstr(absl::StrCat(spoilt, ": tensor \"", tensor, "\": entry ", at, " ", message)));
  };
  expect("is no entity's id", "head", 5, 3);
  expect("is no entity's id", "head", 0, -1);
  expect("is no relation's id", "relation", 2, 4);
  expect("and its relation do not follow", "head", 3, 0);
  expect("is not 0", "offset", 0, 1);
  expect("is not above the one before", "offset", 2, 3);
  expect("is not above the one before, or above", "offset", 2, 99);
  expect("is not above the one before, or above", "offset", 1, INT64_MIN);
  expect("is no entity's id", "tail", 7, 3);
  expect("is not above the one before", "tail", 1, 0);
  TensorFile file = *ReadTensorFile(path);
  file.tensors.Set("tail", Tensor::Of<int32_t>({0, 1, 2, 0, 2, 0, 0, 0, 1}, {9}));
  ASSERT_TRUE(WriteTensorFile(Path("longer.safetensors"), file.metadata, file.tensors).ok());
  EXPECT_THAT(std::string(ReadKnownTails(Path("longer.safetensors"), SmallGraph()).status().message()),
              HasSubstr("\"offset\": entry 6 is not the number of tails"));
}

}  // namespace
}  // namespace rutile
