#include "lib/kge/layers/tucker_layers.h"

#include <cmath>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/kge/layers/conve/golden_conve_testing.h"
#include "lib/kge/layers/dropout.h"
#include "lib/kge/layers/product_layers.h"
#include "lib/kge/model/kge_options.h"
#include "lib/machine/parallel_for.h"

namespace rutile {
namespace {

KgeShape Shape(int64_t dim, int64_t relation_dim) {
  KgeShape shape;
  shape.options.model = KgeModel::kTucker;
  shape.options.embedding_dim = dim;
  shape.options.relation_embedding_dim = relation_dim;
  shape.options.input_dropout = 0;
  shape.options.seed = 5;
  shape.num_entities = 9;
  shape.num_relations = 3;
  return shape;
}

std::vector<double> Random(int64_t size, const char* name) {
  RandomStream stream(3, name);
  std::vector<double> values(size);
  for (double& value : values) value = stream.Normal();
  return values;
}

// Equation 3 of the paper, W x_1 e_s x_2 w_r x_3 e_o, with the modes of W in the order tail, relation, head.
double Score(const KgeShape& shape, const double* core, const double* h, const double* r, const double* t) {
  const int64_t d = shape.dim(), of_relation = shape.relation_dim();
  double sum = 0;
  for (int64_t j = 0; j < d; ++j) {
    for (int64_t k = 0; k < of_relation; ++k) {
      for (int64_t i = 0; i < d; ++i) sum += core[(j * of_relation + k) * d + i] * h[i] * r[k] * t[j];
    }
  }
  return sum;
}

std::vector<double> Masks(const KgeShape& shape, const KgeBatch& batch, int64_t e) {
  const KgeOptions& options = shape.options;
  const int64_t d = shape.dim();
  std::vector<double> masks(d + shape.relation_dim(), 1.0);
  const auto fill = [&](DropoutLayer layer, double rate, absl::Span<double> part) {
    if (rate > 0) FillDropout(options.seed, batch.epoch, batch.example[e], layer, rate, part);
  };
  fill(DropoutLayer::kInput, options.input_dropout, absl::MakeSpan(masks));
  fill(DropoutLayer::kHead, options.entity_dropout, absl::MakeSpan(masks).first(d));
  fill(DropoutLayer::kRelation, options.relation_dropout, absl::MakeSpan(masks).subspan(d));
  return masks;
}

// Checks v and the gradient of <d_v, v> of a batch: a score is linear in each row and in the core, so that the
// derivatives by one of them are scores of unit vectors in its place.
void ExpectTheFormula(const KgeShape& shape, int64_t queries) {
  const KgeShape::Offsets at = shape.offsets();
  const int64_t d = shape.dim(), of_relation = shape.relation_dim();
  const OwnedKgeBatch owned = RandomKgeBatch(shape, queries, 1, 4);
  const KgeBatch batch = owned.View(/*training=*/true, /*epoch=*/2);
  const std::vector<double> p = Random(at.size, "parameters"), d_v = Random(queries * d, "slopes");
  std::vector<double> v(queries * d), gradient(at.size, 0.5), expected(at.size, 0.5);
  ProductLayers<double> layers(shape);
  layers.Forward(p.data(), batch, v.data());
  layers.Backward(p.data(), batch, d_v.data(), gradient.data());
  const double* const core = &p[at.fc_weight];
  const auto unit = [](int64_t size, int64_t one) {
    std::vector<double> row(size, 0.0);
    row[one] = 1;
    return row;
  };
  for (int64_t e = 0; e < queries; ++e) {
    const std::vector<double> masks = Masks(shape, batch, e);
    const int64_t head = at.entity + batch.head[e] * d, relation = at.relation + batch.relation[e] * of_relation;
    std::vector<double> h(d), r(of_relation);
    for (int64_t i = 0; i < d; ++i) h[i] = p[head + i] * masks[i];
    for (int64_t k = 0; k < of_relation; ++k) r[k] = p[relation + k] * masks[d + k];
    const double* const t = &d_v[e * d];
    for (int64_t j = 0; j < d; ++j) {
      EXPECT_NEAR(v[e * d + j], Score(shape, core, h.data(), r.data(), unit(d, j).data()), 1e-12 * d * of_relation);
      for (int64_t k = 0; k < of_relation; ++k) {
        for (int64_t i = 0; i < d; ++i) expected[at.fc_weight + (j * of_relation + k) * d + i] += t[j] * r[k] * h[i];
      }
    }
    for (int64_t i = 0; i < d; ++i) expected[head + i] += masks[i] * Score(shape, core, unit(d, i).data(), r.data(), t);
    for (int64_t k = 0; k < of_relation; ++k) {
      expected[relation + k] += masks[d + k] * Score(shape, core, h.data(), unit(of_relation, k).data(), t);
    }
  }
  for (int64_t k = 0; k < at.size; ++k) ASSERT_NEAR(gradient[k], expected[k], 1e-11 * (1 + queries)) << k;

  ThreadPool pool(2);
  ProductLayers<double> of_two(shape, &pool);
  std::vector<double> same_v(v.size()), same_gradient(at.size, 0.5);
  of_two.Forward(p.data(), batch, same_v.data());
  of_two.Backward(p.data(), batch, d_v.data(), same_gradient.data());
  EXPECT_EQ(same_v, v);
  EXPECT_EQ(same_gradient, gradient);

  const std::vector<float> p_float(p.begin(), p.end());
  std::vector<float> v_float(v.size());
  ProductLayers<float> in_float(shape, &pool);
  in_float.Forward(p_float.data(), batch, v_float.data());
  for (size_t k = 0; k < v.size(); ++k) EXPECT_NEAR(v_float[k], v[k], 1e-5 * (d * of_relation + std::abs(v[k])));
}

TEST(TuckerLayersTest, BatchesAreTheFormulaOfThePaper) {
  struct Sizes {
    int64_t dim, relation_dim, queries;
  };
  for (const Sizes& sizes : {Sizes{1, 1, 1}, Sizes{2, 5, 3}, Sizes{7, 3, 23}, Sizes{17, 1, 4}, Sizes{10, 16, 9}}) {
    ExpectTheFormula(Shape(sizes.dim, sizes.relation_dim), sizes.queries);
  }
}

TEST(TuckerLayersTest, RowsAreMultipliedByTheirMasks) {
  KgeShape shape = Shape(10, 4);
  shape.options.input_dropout = 0.3;
  ExpectTheFormula(shape, 23);
  shape.options.input_dropout = 0;
  shape.options.entity_dropout = 0.3;
  ExpectTheFormula(shape, 23);
  shape.options.relation_dropout = 0.4;
  ExpectTheFormula(shape, 23);
}

// Features of a large model are computed some queries at a time, here 4 of 9.
TEST(TuckerLayersTest, LargeModelsAreComputedInPieces) {
  const int64_t d = 4, of_relation = int64_t{1} << 18, queries = 9;
  const KgeShape shape = Shape(d, of_relation);
  const KgeShape::Offsets at = shape.offsets();
  const OwnedKgeBatch owned = RandomKgeBatch(shape, queries, 1, 4);
  const KgeBatch batch = owned.View(/*training=*/false);
  std::vector<float> p(at.size, 0.0F);
  RandomStream stream(3, "parameters");
  for (int64_t k = 0; k < at.fc_weight; ++k) p[k] = static_cast<float>(stream.Normal());
  // The core has one number for each tail: v_j = w_r,1000j e_h,3-j.
  for (int64_t j = 0; j < d; ++j) p[at.fc_weight + (j * of_relation + 1000 * j) * d + (d - 1 - j)] = 1;
  std::vector<float> v(queries * d), gradient(at.size, 0.0F), d_v(queries * d, 1.0F);
  TuckerLayers<float> layers(shape, nullptr);
  layers.Forward(p.data(), batch, v.data());
  layers.Backward(p.data(), batch, d_v.data(), gradient.data());
  std::vector<float> of_heads(at.relation, 0.0F);
  for (int64_t e = 0; e < queries; ++e) {
    const float* const h = &p[at.entity + batch.head[e] * d];
    const float* const r = &p[at.relation + batch.relation[e] * of_relation];
    for (int64_t j = 0; j < d; ++j) {
      EXPECT_FLOAT_EQ(v[e * d + j], r[1000 * j] * h[d - 1 - j]);
      of_heads[batch.head[e] * d + d - 1 - j] += r[1000 * j];
    }
  }
  for (int64_t k = 0; k < at.relation; ++k) EXPECT_NEAR(gradient[k], of_heads[k], 1e-5);
}

}  // namespace
}  // namespace rutile
