#include "lib/kge/layers/product_query.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <iterator>
#include <utility>
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

constexpr KgeModel kModels[] = {KgeModel::kDistMult, KgeModel::kComplEx, KgeModel::kRescal, KgeModel::kCp,
                                KgeModel::kSimple};
// Their scores are distances.
constexpr KgeModel kTranslations[] = {KgeModel::kTransE, KgeModel::kRotatE};

KgeShape Shape(KgeModel model, int64_t dim) {
  KgeShape shape;
  shape.options.model = model;
  shape.options.embedding_dim = dim;
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

// The score of a triple as its paper has it.
double Score(KgeModel model, int64_t d, const double* h, const double* r, const double* t) {
  const int64_t half = d / 2;
  const auto product = [](int64_t n, const double* a, const double* b, const double* c) {
    double sum = 0;
    for (int64_t k = 0; k < n; ++k) sum += a[k] * b[k] * c[k];
    return sum;
  };
  switch (model) {
    case KgeModel::kConvE:
    case KgeModel::kTucker:  // tucker_layers_test.cc
      break;
    case KgeModel::kDistMult:
      return product(d, h, r, t);
    case KgeModel::kComplEx:  // Trouillon et al., equation 11
      return product(half, r, h, t) + product(half, r, h + half, t + half) + product(half, r + half, h, t + half) -
             product(half, r + half, h + half, t);
    case KgeModel::kRescal: {
      double sum = 0;
      for (int64_t i = 0; i < d; ++i) {
        for (int64_t j = 0; j < d; ++j) sum += h[i] * r[i * d + j] * t[j];
      }
      return sum;
    }
    case KgeModel::kCp:
      return product(half, h, r, t + half);
    case KgeModel::kSimple:
      return (product(half, h, r, t + half) + product(half, t, r + half, h + half)) / 2;
    case KgeModel::kTransE:
    case KgeModel::kRotatE:
      break;
  }
  return std::nan("");
}

TEST(ProductQueryTest, ScoresAreThoseOfThePapers) {
  for (const KgeModel model : kModels) {
    for (const int64_t dim : {2, 6, 34}) {
      const KgeShape shape = Shape(model, dim);
      const std::vector<double> h = Random(dim, "h"), r = Random(shape.relation_dim(), "r"), t = Random(dim, "t");
      std::vector<double> v(dim);
      ProductQuery(shape, h.data(), r.data(), v.data());
      double score = 0;
      for (int64_t k = 0; k < dim; ++k) score += v[k] * t[k];
      const double expected = Score(model, dim, h.data(), r.data(), t.data());
      EXPECT_NEAR(score, expected, 1e-12 * (1 + std::abs(expected))) << kKgeModelNames.Name(model) << " " << dim;
      const std::vector<float> h_float(h.begin(), h.end()), r_float(r.begin(), r.end());
      std::vector<float> v_float(dim);
      ProductQuery(shape, h_float.data(), r_float.data(), v_float.data());
      for (int64_t k = 0; k < dim; ++k) EXPECT_NEAR(v_float[k], v[k], 1e-5 * (1 + std::abs(v[k])));
    }
  }
}

// A score is linear in each of its rows, so that a difference over a step of 1 is the derivative.
TEST(ProductQueryTest, GradientsAreDifferencesAndAreAdded) {
  for (const KgeModel model : kModels) {
    const int64_t dim = 6;
    const KgeShape shape = Shape(model, dim);
    std::vector<double> h = Random(dim, "h"), r = Random(shape.relation_dim(), "r");
    const std::vector<double> t = Random(dim, "t");
    std::vector<double> d_h(dim, 1.0), d_r(r.size(), 1.0);
    AddProductGradients(shape, h.data(), r.data(), t.data(), d_h.data(), d_r.data());
    const auto score = [&] { return Score(model, dim, h.data(), r.data(), t.data()); };
    const double before = score();
    for (auto [row, slopes] : {std::pair(&h, &d_h), std::pair(&r, &d_r)}) {
      for (size_t k = 0; k < row->size(); ++k) {
        (*row)[k] += 1;
        EXPECT_NEAR((*slopes)[k], 1 + score() - before, 1e-12) << kKgeModelNames.Name(model) << " " << k;
        (*row)[k] -= 1;
      }
    }
  }
}

// TransE adds, RotatE multiplies complex numbers by those of modulus 1.
TEST(ProductQueryTest, TranslationsAndRotations) {
  const std::vector<double> h = Random(6, "h"), r = Random(6, "r");
  std::vector<double> v(6);
  ProductQuery(Shape(KgeModel::kTransE, 6), h.data(), r.data(), v.data());
  for (int k = 0; k < 6; ++k) EXPECT_EQ(v[k], h[k] + r[k]);
  ProductQuery(Shape(KgeModel::kRotatE, 6), h.data(), r.data(), v.data());
  for (int k = 0; k < 3; ++k) {
    const std::complex<double> rotated = std::complex<double>(h[k], h[3 + k]) * std::polar(1.0, r[k]);
    EXPECT_NEAR(v[k], rotated.real(), 1e-14);
    EXPECT_NEAR(v[3 + k], rotated.imag(), 1e-14);
  }
}

TEST(ProductQueryTest, GradientsOfTranslationsAreDifferencesAndAreAdded) {
  for (const KgeModel model : kTranslations) {
    const int64_t dim = 6;
    const KgeShape shape = Shape(model, dim);
    std::vector<double> h = Random(dim, "h"), r = Random(shape.relation_dim(), "r"), v(dim);
    const std::vector<double> d_v = Random(dim, "t");
    std::vector<double> d_h(dim, 1.0), d_r(r.size(), 1.0);
    AddProductGradients(shape, h.data(), r.data(), d_v.data(), d_h.data(), d_r.data());
    const auto product = [&] {
      ProductQuery(shape, h.data(), r.data(), v.data());
      double sum = 0;
      for (int64_t k = 0; k < dim; ++k) sum += d_v[k] * v[k];
      return sum;
    };
    const double step = 1e-6;
    for (auto [row, slopes] : {std::pair(&h, &d_h), std::pair(&r, &d_r)}) {
      for (size_t k = 0; k < row->size(); ++k) {
        const double at = (*row)[k];
        (*row)[k] = at + step;
        const double above = product();
        (*row)[k] = at - step;
        EXPECT_NEAR((*slopes)[k], 1 + (above - product()) / (2 * step), 1e-8) << kKgeModelNames.Name(model) << " " << k;
        (*row)[k] = at;
      }
    }
  }
}

// The layers of a batch are the formula of each query with its masks, for any number of threads. With RESCAL, queries
// are grouped by relation, or each has a matrix of its own where relations are dropped.
TEST(ProductLayersTest, BatchesAreTheFormulaOfEachQuery) {
  struct Rates {
    double input, entity, relation;
  };
  std::vector<KgeModel> models(std::begin(kModels), std::end(kModels));
  models.insert(models.end(), std::begin(kTranslations), std::end(kTranslations));
  for (const KgeModel model : models) {
    for (const Rates& rates : {Rates{0, 0, 0}, Rates{0.3, 0, 0}, Rates{0, 0.3, 0}, Rates{0, 0, 0.3}}) {
      KgeShape shape = Shape(model, 10);
      shape.options.input_dropout = rates.input;
      shape.options.entity_dropout = rates.entity;
      shape.options.relation_dropout = rates.relation;
      const KgeShape::Offsets at = shape.offsets();
      const int64_t d = shape.dim(), of_relation = shape.relation_dim();
      const OwnedKgeBatch owned = RandomKgeBatch(shape, 23, 1, 4);
      const KgeBatch batch = owned.View(/*training=*/true, /*epoch=*/2);
      const std::vector<double> p = Random(at.size, "parameters"), d_v = Random(batch.size() * d, "slopes");
      std::vector<double> v(batch.size() * d), gradient(at.size, 0.5), expected_gradient(at.size, 0.5);
      ProductLayers<double> layers(shape);
      layers.Forward(p.data(), batch, v.data());
      layers.Backward(p.data(), batch, d_v.data(), gradient.data());
      for (int64_t e = 0; e < batch.size(); ++e) {
        std::vector<double> masks(d + of_relation, 1.0);
        const auto fill = [&](DropoutLayer layer, double rate, absl::Span<double> part) {
          if (rate > 0) FillDropout(shape.options.seed, batch.epoch, batch.example[e], layer, rate, part);
        };
        fill(DropoutLayer::kInput, rates.input, absl::MakeSpan(masks));
        fill(DropoutLayer::kHead, rates.entity, absl::MakeSpan(masks).first(d));
        fill(DropoutLayer::kRelation, rates.relation, absl::MakeSpan(masks).subspan(d));
        const int64_t head = at.entity + batch.head[e] * d, relation = at.relation + batch.relation[e] * of_relation;
        std::vector<double> h(d), r(of_relation), expected(d), d_h(d, 0.0), d_r(of_relation, 0.0);
        for (int64_t j = 0; j < d; ++j) h[j] = p[head + j] * masks[j];
        for (int64_t j = 0; j < of_relation; ++j) r[j] = p[relation + j] * masks[d + j];
        ProductQuery(shape, h.data(), r.data(), expected.data());
        for (int64_t j = 0; j < d; ++j) EXPECT_NEAR(v[e * d + j], expected[j], 1e-12);
        AddProductGradients(shape, h.data(), r.data(), &d_v[e * d], d_h.data(), d_r.data());
        for (int64_t j = 0; j < d; ++j) expected_gradient[head + j] += masks[j] * d_h[j];
        for (int64_t j = 0; j < of_relation; ++j) expected_gradient[relation + j] += masks[d + j] * d_r[j];
      }
      for (int64_t k = 0; k < at.size; ++k) EXPECT_NEAR(gradient[k], expected_gradient[k], 1e-11) << k;
      ThreadPool pool(2);
      ProductLayers<double> of_two(shape, &pool);
      std::vector<double> same_v(v.size()), same_gradient(at.size, 0.5);
      of_two.Forward(p.data(), batch, same_v.data());
      of_two.Backward(p.data(), batch, d_v.data(), same_gradient.data());
      EXPECT_EQ(same_v, v);
      EXPECT_EQ(same_gradient, gradient);
    }
  }
}

TEST(ProductQueryDeathTest, ConvEHasLayers) {
  const std::vector<double> row(200, 0.0);
  std::vector<double> v(200);
  EXPECT_DEATH(ProductQuery(Shape(KgeModel::kConvE, 200), row.data(), row.data(), v.data()), "weights");
}

}  // namespace
}  // namespace rutile
