#include "lib/kge/training/model_scorer.h"

#include "lib/base/logging.h"

// Keeps the line above first.
#include <ATen/ATen.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/kge/layers/conve/golden_conve_testing.h"
#include "lib/kge/model/kge_init.h"
#include "lib/kge/training/kge_reference.h"
#include "lib/ranking/rank_triples.h"
#include "lib/tensorfile/tensorfile_torch.h"

namespace rutile {
namespace {

template <typename T>
std::vector<T> HiddenOf(const KgeScorer& scorer, const std::vector<int32_t>& heads,
                        const std::vector<int32_t>& relations) {
  std::vector<T> hidden(heads.size() * scorer.dim());
  CHECK(FillHidden<T>(scorer, heads, relations, absl::MakeSpan(hidden)).ok());
  return hidden;
}

TEST(ModelScorerTest, GoldenHiddenVectorsAndScores) {
  for (const char* variant : {"dettmers", "tiepin"}) {
    const GoldenConve golden(variant);
    const KgeScorer scorer = MakeScorer(golden.shape(), golden.Flat("param."), 1);
    std::vector<int32_t> heads, relations;
    for (const Triple& t : golden.Triples("batch")) {
      heads.push_back(t.head);
      relations.push_back(t.relation);
    }
    const std::vector<double> hidden = HiddenOf<double>(scorer, heads, relations);
    const Tensor expected = golden.Array("eval.hidden"), scores = golden.Array("eval.scores");
    ASSERT_EQ(hidden.size(), expected.num_elements());
    for (size_t i = 0; i < hidden.size(); ++i) EXPECT_NEAR(hidden[i], expected.values<double>()[i], 1e-12) << variant;
    ThreadPool pool(1);
    SweepScores<double>(EntityTable<double>(scorer), hidden, &pool,
                        [&](int64_t q, int64_t first, absl::Span<const double> row, int) {
                          for (size_t e = 0; e < row.size(); ++e) {
                            EXPECT_NEAR(row[e], scores.values<double>()[q * 12 + first + e], 1e-12) << variant;
                          }
                        });
  }
}

// Computes from parameters to ranks in both types, including ties of two equal entities.
TEST(ModelScorerTest, GoldenRanks) {
  for (const char* variant : {"dettmers", "tiepin"}) {
    const GoldenConve golden(variant);
    KnowledgeGraph graph;
    graph.inverse_relations = false;
    graph.entities.resize(golden.shape().num_entities);
    graph.relations.resize(golden.shape().num_relations);
    graph.train = golden.Triples("train");
    graph.valid = golden.Triples("valid");
    graph.test = golden.Triples("test");
    const Tensor parameters = golden.Flat("param.");
    Tensor single = Tensor::Zeros(DType::kF32, parameters.shape());
    std::copy(parameters.values<double>().begin(), parameters.values<double>().end(),
              single.mutable_values<float>().begin());
    for (const Tensor& p : {parameters, single}) {
      const auto ranks = RankTriples(MakeScorer(golden.shape(), p, 1), graph, nullptr, RankTriplesOptions());
      ASSERT_TRUE(ranks.ok()) << ranks.status();
      for (size_t i = 0; i < graph.test.size(); ++i) {
        const GoldenRank& expected = golden.ranks()[i];
        EXPECT_EQ(ranks->tail[i].realistic, expected.realistic) << variant << i;
        EXPECT_EQ(ranks->tail[i].optimistic, expected.optimistic) << variant << i;
        EXPECT_EQ(ranks->tail[i].pessimistic, expected.pessimistic) << variant << i;
      }
    }
  }
}

// Compares with LibTorch's modules: all models and variants, awkward sizes, norms that have moved, both types. Threads
// and the number of queries change no bit.
TEST(ModelScorerTest, AgreesWithTheReference) {
  std::vector<KgeOptions> all;
  for (const ConveVariant variant : {ConveVariant::kDettmers, ConveVariant::kTiepin, ConveVariant::kLibkge}) {
    KgeOptions options;
    options.variant = variant;
    options.embedding_dim = 42;
    options.embedding_height = 6;
    options.embedding_width = 7;
    options.output_channels = 5;
    options.kernel_height = 3;
    options.kernel_width = 2;
    all.push_back(options);
  }
  for (const KgeModel model : {KgeModel::kDistMult, KgeModel::kComplEx, KgeModel::kRescal, KgeModel::kCp,
                               KgeModel::kSimple, KgeModel::kTransE, KgeModel::kRotatE, KgeModel::kTucker}) {
    KgeOptions options;
    options.model = model;
    options.embedding_dim = 42;
    options.relation_embedding_dim = 9;
    all.push_back(options);
  }
  for (const KgeOptions& options : all) {
    KgeShape shape;
    shape.options = options;
    shape.num_entities = 30;
    shape.num_relations = 6;
    std::vector<double> values = InitialKgeParameters(shape, 3);
    RandomStream stream(4, "norms");
    for (const ParameterSlice& slice : shape.Slices()) {  // all norms and biases off their first values
      if (slice.shape.size() != 1) continue;
      for (int64_t i = 0; i < slice.shape[0]; ++i) values[slice.offset + i] = stream.Uniform(0.3, 1.7);
    }
    OwnedKgeBatch batch = RandomKgeBatch(shape, 700, 1, 5);
    for (const bool fp64 : {true, false}) {
      Tensor parameters = Tensor::Of<double>(values);
      if (!fp64) parameters = Tensor::Of<float>(std::vector<float>(values.begin(), values.end()));
      const at::Tensor expected =
          ReferenceHidden(shape, ToTorch(parameters), batch.View(false)).v.to(at::kDouble).contiguous();
      const double tolerance = (fp64 ? 1e-12 : 1e-5) * expected.abs().max().item<double>();
      for (const int threads : {1, 2}) {
        const KgeScorer scorer = MakeScorer(shape, parameters, threads);
        EXPECT_EQ(scorer.bias.num_elements(), shape.has_entity_bias() ? 30 : 0);
        std::vector<double> hidden;
        if (fp64) {
          hidden = HiddenOf<double>(scorer, batch.head, batch.relation);
          EXPECT_EQ(HiddenOf<double>(scorer, {batch.head[9]}, {batch.relation[9]}),
                    std::vector<double>(hidden.begin() + 9 * 42, hidden.begin() + 10 * 42));
        } else {
          const std::vector<float> single = HiddenOf<float>(scorer, batch.head, batch.relation);
          hidden.assign(single.begin(), single.end());
        }
        for (size_t i = 0; i < hidden.size(); ++i) ASSERT_NEAR(hidden[i], expected.data_ptr<double>()[i], tolerance);
      }
    }
  }
}

// A model that is broken stays broken: relu does not turn NaN into 0.
TEST(ModelScorerTest, NanGoesThrough) {
  const GoldenConve golden("tiepin");
  for (const char* name : {"conv.weight", "fc.weight", "bn1.running_var"}) {
    Tensor parameters = golden.Flat("param.");
    for (const ParameterSlice& slice : golden.shape().Slices()) {
      if (slice.name == name) parameters.mutable_values<double>()[slice.offset] = std::nan("");
    }
    const std::vector<double> hidden = HiddenOf<double>(MakeScorer(golden.shape(), parameters, 1), {1}, {1});
    EXPECT_TRUE(std::isnan(hidden[0])) << name;
  }
}

}  // namespace
}  // namespace rutile
