#include "lib/kge/new_entities/fold_in.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "lib/kge/layers/product_query.h"
#include "lib/kge/model/kge_options.h"
#include "lib/kge/new_entities/grown_graph.h"
#include "lib/kge/new_entities/new_entities_testing.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

struct Data {
  Data(KgeModel kind, KgeLoss loss) : model(SmallModel(kind, loss, 40, 2, DType::kF32)), graph(model.names) {
    for (int32_t e = 0; e < 40; ++e) graph.train.push_back({e, e % 2, (7 * e + 1) % 40});
    added = {"new.tsv", {"x", "y"}, {{40, 0, 3}, {5, 1, 40}, {40, 1, 8}, {41, 1, 2}}, 0};
    grown = GrowGraph(model.names, graph, added).value();
  }

  TrainedKge model;
  KnowledgeGraph graph, grown;
  NewTriples added;
};

TEST(FoldInTest, RowsDoNotDependOnThreadsNorOnOtherNewEntities) {
  for (const KgeModel kind :
       {KgeModel::kComplEx, KgeModel::kRescal, KgeModel::kCp, KgeModel::kTucker, KgeModel::kConvE}) {
    Data data(kind, KgeLoss::kKvsAll);
    const FoldedRows one = FoldIn(data.model, data.added, data.grown, 1).value();
    const FoldedRows two = FoldIn(data.model, data.added, data.grown, 2).value();
    ASSERT_EQ(one.rows.size(), 2);
    EXPECT_EQ(one.rows, two.rows);
    EXPECT_LE(kind == KgeModel::kConvE ? 0 : one.largest_gradient, 1e-9);  // ConvE has kinks
    const NewTriples alone = {"new.tsv", {"y"}, {{40, 1, 2}}, 0};
    const KnowledgeGraph grown = GrowGraph(data.model.names, data.graph, alone).value();
    EXPECT_EQ(FoldIn(data.model, alone, grown, 1).value().rows[0], one.rows[1]);
    const TrainedKge model = GrowModel(data.model, data.added, data.grown, one.rows);
    EXPECT_EQ(model.parameters.dtype(), DType::kF32);
    EXPECT_TRUE(CheckSameVocabulary(model, data.grown).ok());
  }
}

// Gives the inverse of each relation, R + r, the scores of r with head and tail exchanged.
void TieInverses(TrainedKge* model) {
  const int64_t num = model->shape.num_relations / 2, dim = model->shape.dim(), size = model->shape.relation_dim();
  double* const rows = model->parameters.mutable_values<double>().data() + model->shape.offsets().relation;
  for (int64_t r = 0; r < num; ++r) {
    for (int64_t k = 0; k < size; ++k) {
      int64_t from = k;
      if (model->shape.options.model == KgeModel::kRescal) from = k % dim * dim + k / dim;
      if (model->shape.options.model == KgeModel::kSimple) from = (k + dim / 2) % dim;
      rows[(num + r) * size + k] = rows[r * size + from];
    }
  }
}

// In a graph whose triples are what the model scores highest, a new entity with the triples of entity 5 gets a row like
// that of entity 5.
TEST(FoldInTest, TheTriplesOfAKnownEntityGiveARowLikeItsOwn) {
  for (const KgeModel kind : {KgeModel::kDistMult, KgeModel::kRescal, KgeModel::kSimple}) {
    TrainedKge model = SmallModel(kind, KgeLoss::kOneVsAll, 40, 6);
    const absl::Span<double> p = model.parameters.mutable_values<double>();
    for (double& x : p) x *= 2;
    TieInverses(&model);
    const auto score = [&](int32_t head, int32_t relation, int32_t tail) {
      std::vector<double> v(12);
      const double* const r = p.data() + model.shape.offsets().relation + relation * model.shape.relation_dim();
      ProductQuery(model.shape, p.data() + 12 * head, r, v.data());
      double sum = 0;
      for (int k = 0; k < 12; ++k) sum += v[k] * p[12 * tail + k];
      return sum;
    };
    EXPECT_NEAR(score(3, 1, 7), score(7, 7, 3), 1e-9);
    KnowledgeGraph graph = model.names;
    NewTriples added = {"new.tsv", {"x"}, {}, 0};
    for (int32_t head = 0; head < 40; ++head) {
      for (int32_t relation = 0; relation < 6; ++relation) {
        int32_t best = head == 0 ? 1 : 0;
        for (int32_t tail = 0; tail < 40; ++tail) {
          if (tail != head && score(head, relation, tail) > score(head, relation, best)) best = tail;
        }
        graph.train.push_back({head, relation, best});
        if (head == 5) added.triples.push_back({40, relation, best});
      }
    }
    const KnowledgeGraph grown = GrowGraph(model.names, graph, added).value();
    const std::vector<double> row = FoldIn(model, added, grown, 1).value().rows[0];
    std::vector<double> cosines;
    for (int e = 0; e < 40; ++e) {
      double product = 0, of_row = 0, of_entity = 0;
      for (int k = 0; k < 12; ++k) {
        product += row[k] * p[12 * e + k];
        of_row += row[k] * row[k];
        of_entity += p[12 * e + k] * p[12 * e + k];
      }
      cosines.push_back(product / std::sqrt(of_row * of_entity));
    }
    EXPECT_EQ(std::max_element(cosines.begin(), cosines.end()) - cosines.begin(), 5)
        << kKgeModelNames.Name(kind) << " " << cosines[5];
    EXPECT_GT(cosines[5], 0.6) << kKgeModelNames.Name(kind);
  }
}

TEST(FoldInTest, RefusesDistances) {
  for (const KgeModel kind : {KgeModel::kTransE, KgeModel::kRotatE}) {
    const Data data(kind, KgeLoss::kOneVsAll);
    EXPECT_THAT(FoldIn(data.model, data.added, data.grown, 1).status(),
                ErrorNames(absl::StatusCode::kInvalidArgument, {std::string(kKgeModelNames.Name(kind)), "distances"}));
  }
}

TEST(FoldInTest, RefusesAModelThatIsNotFinite) {
  Data data(KgeModel::kDistMult, KgeLoss::kOneVsAll);
  data.model.parameters.mutable_values<float>()[data.model.shape.offsets().relation] =
      std::numeric_limits<float>::infinity();
  EXPECT_THAT(FoldIn(data.model, data.added, data.grown, 1).status(),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"\"x\"", "not finite"}));
}

}  // namespace
}  // namespace rutile
