#include "lib/ranking/ranks_file.h"

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"
#include "lib/file/sha256.h"
#include "lib/graph/triple_sample.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/part_set.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/tensorfile/tensor_writer.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

constexpr int kTriples = 7;

KnowledgeGraph Graph() {
  KnowledgeGraph graph;
  graph.entities = {"a", "b", "c"};
  graph.relations = {"r", "s"};
  graph.train = {{0, 0, 1}};
  for (int32_t i = 0; i < kTriples; ++i) graph.test.push_back({i % 3, i % 2, (i + 1) % 3});
  return graph;
}

std::string Model(const std::string& content = "weights") {
  const std::string path = absl::StrCat(::testing::TempDir(), "/", content);
  EXPECT_TRUE(WriteFileAtomically(path, content).ok());
  return path;
}

RankValues Values(int64_t i, double more) {
  const double rank = static_cast<double>(i) + more;
  return {rank + 1, rank + 1.5, rank + 2, rank + 40, i % 3 == 0};
}

void ExpectSame(const RankValues& a, const RankValues& b) {
  EXPECT_EQ(a.realistic, b.realistic);
  EXPECT_EQ(a.optimistic, b.optimistic);
  EXPECT_EQ(a.pessimistic, b.pessimistic);
  EXPECT_EQ(a.expected, b.expected);
  EXPECT_EQ(a.nan, b.nan);
}

// Ranks of shard i of n; 0 of 1 are all ranks without a shard number.
std::string Write(int shard, int num_shards, bool heads = true, RankTriplesOptions options = {}, bool among = false,
                  const std::string& sets = "sets") {
  const KnowledgeGraph graph = Graph();
  Metadata metadata = {{"inputs", absl::StrCat("{\"m\":\"", Sha256Hex("weights"), "\"}")}};
  if (shard > 0) {
    options.triples = RankShard(graph.test, shard, num_shards);
    metadata["shard"] = PartText(shard, num_shards);
  }
  TripleRanks ranks;
  for (int64_t i = 0; i < kTriples; ++i) {
    if (shard > 0 && std::find(options.triples->begin(), options.triples->end(), i) == options.triples->end()) continue;
    ranks.tail.push_back(Values(i, 0));
    if (heads) ranks.head.push_back(Values(i, 0.5));
    if (!among) continue;
    ranks.tail_among.push_back(Values(i, 0.25));
    ranks.tail_among.back().outside = i % 2 == 0;
    ranks.candidates = "tails among some";
    ranks.candidates_sha256 = Sha256Hex(sets);
  }
  const std::string path = absl::StrCat(::testing::TempDir(), "/ranks-", shard);
  EXPECT_EQ(WriteRanks(path, graph, options, ranks, metadata), absl::OkStatus());
  return path;
}

TEST(RanksFileTest, RanksAmongCandidates) {
  const auto read = ReadRanks({Write(2, 2, true, {}, true), Write(1, 2, true, {}, true)}, Graph(), {Model()});
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->ranks.tail_among.size(), kTriples);
  for (int64_t i = 0; i < kTriples; ++i) {
    ExpectSame(read->ranks.tail[i], Values(i, 0));
    ExpectSame(read->ranks.tail_among[i], Values(i, 0.25));
    EXPECT_EQ(read->ranks.tail_among[i].outside, i % 2 == 0);
  }
  EXPECT_TRUE(read->ranks.head_among.empty());
  EXPECT_EQ(read->ranks.candidates, "tails among some");
  EXPECT_EQ(read->ranks.candidates_sha256, Sha256Hex("sets"));
  // Parts with other candidates, or some without.
  const auto other =
      ReadRanks({Write(1, 2, true, {}, true), Write(2, 2, true, {}, true, "others")}, Graph(), {Model()});
  EXPECT_THAT(std::string(other.status().message()), HasSubstr("candidates_sha256"));
  const auto without = ReadRanks({Write(1, 2, true, {}, true), Write(2, 2)}, Graph(), {Model()});
  EXPECT_THAT(std::string(without.status().message()), HasSubstr("candidates"));
}

// Ranks of a sample come back with the triples that they are of.
TEST(RanksFileTest, ASampleIsReadBack) {
  const KnowledgeGraph graph = Graph();
  const Metadata metadata = {{"inputs", absl::StrCat("{\"m\":\"", Sha256Hex("weights"), "\"}")}};
  const std::string path = absl::StrCat(::testing::TempDir(), "/sample");
  RankTriplesOptions options;
  options.triples = SampleOfTriples(kTriples, 3);
  TripleRanks ranks;
  for (const int64_t i : *options.triples) {
    ranks.tail.push_back(Values(i, 0));
    ranks.head.push_back(Values(i, 0.5));
  }
  ASSERT_EQ(WriteRanks(path, graph, options, ranks, metadata), absl::OkStatus());
  const auto read = ReadRanks({path}, graph, {Model()});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->options.triples, options.triples);
  ASSERT_EQ(read->ranks.tail.size(), 3);
  ASSERT_EQ(read->ranks.head.size(), 3);
  for (size_t i = 0; i < 3; ++i) {
    ExpectSame(read->ranks.tail[i], ranks.tail[i]);
    ExpectSame(read->ranks.head[i], ranks.head[i]);
  }
  // Other triples than those that the sample has.
  options.triples = std::vector<int64_t>{0, 1, 2};
  if (*options.triples == SampleOfTriples(kTriples, 3)) options.triples = std::vector<int64_t>{0, 1, 3};
  ASSERT_EQ(WriteRanks(path, graph, options, ranks, metadata), absl::OkStatus());
  EXPECT_THAT(ReadRanks({path}, graph, {Model()}).status(),
              ErrorNames(absl::StatusCode::kInvalidArgument, {path, "\"triple\"", "sample of 3"}));
}

TEST(RanksFileTest, PartsAreReadBackToTheBit) {
  RankTriplesOptions options;
  options.filter = RankingFilter::kTrain;
  for (const bool heads : {true, false}) {
    for (const std::vector<std::string>& paths :
         {std::vector<std::string>{Write(0, 1, heads, options)},
          {Write(3, 3, heads, options), Write(1, 3, heads, options), Write(2, 3, heads, options)}}) {
      const auto stored = ReadRanks(paths, Graph(), {Model()});
      ASSERT_TRUE(stored.ok()) << stored.status();
      EXPECT_EQ(stored->options.filter, RankingFilter::kTrain);
      EXPECT_EQ(stored->options.split, GraphSplit::kTest);
      ASSERT_EQ(stored->ranks.tail.size(), kTriples);
      ASSERT_EQ(stored->ranks.head.size(), heads ? kTriples : 0);
      for (int64_t i = 0; i < kTriples; ++i) {
        ExpectSame(stored->ranks.tail[i], Values(i, 0));
        if (heads) ExpectSame(stored->ranks.head[i], Values(i, 0.5));
      }
    }
  }
}

TEST(RanksFileTest, SaysWhatDoesNotFit) {
  const auto error = [](const std::vector<std::string>& paths, const KnowledgeGraph& graph, const std::string& model) {
    const auto stored = ReadRanks(paths, graph, {model});
    EXPECT_EQ(stored.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(stored.status().message());
  };
  EXPECT_THAT(error({Write(1, 2)}, Graph(), {Model()}), HasSubstr("shard 2/2"));
  EXPECT_THAT(error({Write(0, 1)}, Graph(), Model("other")), HasSubstr("was not made from the model"));
  KnowledgeGraph other = Graph();
  other.test.pop_back();
  EXPECT_THAT(error({Write(0, 1)}, other, Model()), HasSubstr("has ranks of other triples"));
  EXPECT_THAT(error({Write(1, 2), Write(2, 2, /*heads=*/false)}, Graph(), {Model()}),
              HasSubstr("heads are ranked in some"));
  RankTriplesOptions options;
  options.filter = RankingFilter::kTrain;
  EXPECT_THAT(error({Write(1, 2), Write(2, 2, true, options)}, Graph(), {Model()}),
              HasSubstr("has filter \"train\", but"));
}

TEST(RanksFileTest, RefusesDamage) {
  const auto refused = [](const std::function<void(TensorFile*)>& damage) {
    TensorFile file = ReadTensorFile(Write(0, 1)).value();
    damage(&file);
    const std::string path = ::testing::TempDir() + "/damaged";
    EXPECT_EQ(WriteTensorFile(path, file.metadata, file.tensors), absl::OkStatus());
    const auto stored = ReadRanks({path}, Graph(), {Model()});
    EXPECT_EQ(stored.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(stored.status().message());
  };
  const auto triples = [&](std::vector<int64_t> values) {
    return refused([&](TensorFile* file) { file->tensors.Set("triple", Tensor::Of(values)); });
  };
  EXPECT_THAT(triples({0, 1, 2, 3, 4, 5, 7}), HasSubstr("7 is no triple of the test split"));
  EXPECT_THAT(triples({0, 1, 2, 3, 4, 5, 5}), HasSubstr("5 is no triple of the test split, or ranked twice"));
  EXPECT_THAT(triples({-1, 1, 2, 3, 4, 5, 6}), HasSubstr("-1 is no triple"));
  EXPECT_THAT(triples({0, 1}), HasSubstr("\"tail_rank\""));
  EXPECT_THAT(refused([](TensorFile* file) { file->metadata["split"] = "dev"; }), HasSubstr("damaged: metadata: "));
  EXPECT_THAT(refused([](TensorFile* file) { file->metadata.erase("filter"); }), HasSubstr("filter"));
  EXPECT_THAT(refused([](TensorFile* file) {
                NamedTensors kept;
                for (const auto& [name, tensor] : file->tensors) {
                  if (name != "head_expected") kept.Set(name, tensor);
                }
                file->tensors = kept;
              }),
              HasSubstr("\"head_expected\" and \"head_nan\" are there together"));
}

}  // namespace
}  // namespace rutile
