#include "lib/kge/influence/conve_evaluation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "lib/base/random.h"
#include "lib/kge/influence/kge_part_plan.h"
#include "lib/kge/model/kge_init.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/machine/parallel_for.h"

namespace rutile {
namespace {

// A model with three groups of channels, of which the last has 5.
KgeShape Shape() {
  KgeShape shape;
  shape.options.embedding_dim = 144;
  shape.options.embedding_height = 9;
  shape.options.embedding_width = 16;
  shape.options.output_channels = 21;
  shape.num_entities = 7;
  shape.num_relations = 3;
  return shape;
}

const std::vector<int32_t> kHead = {0, 1, 1, 6, 5}, kRelation = {0, 0, 2, 1, 1}, kKey = {0, 0, 1, 2, 2, 2, 3, 4};

struct Passes {
  // without_maps: do not store maps, if that is possible.
  Passes(const KgeShape& shape, bool bf16, ThreadPool* pool, bool without_maps = false)
      : maps(kHead.size() * shape.num_features()),
        v(kHead.size() * shape.dim()),
        d_fc(kKey.size() * shape.dim()),
        small(kKey.size() * SmallColumns(shape).size),
        d_head(kKey.size() * shape.dim()),
        d_relation(kKey.size() * shape.dim()) {
    const std::vector<double> initial = InitialKgeParameters(shape, /*seed=*/1);
    const std::vector<float> parameters(initial.begin(), initial.end());
    RandomStream random(1, "d_v");
    std::vector<float> d_v(d_fc.size());
    for (float& x : d_v) x = static_cast<float>(random.Normal());
    ConveEvaluation<float> evaluation(shape, parameters.data(), bf16, pool);
    without_maps = without_maps && evaluation.HasForwardWithoutMaps();
    if (without_maps) {
      std::vector<float> maps_of_tests(2 * shape.num_features());
      for (float& x : maps_of_tests) x = static_cast<float>(random.Normal());
      evaluation.SetTestMaps(maps_of_tests.data(), 2);
      squares.resize(kHead.size());
      products.resize(kHead.size() * 2);
      evaluation.ForwardWithoutMaps(kHead, kRelation, v.data(), squares.data(), products.data());
    } else {
      evaluation.Forward(kHead, kRelation, maps.data(), v.data());
    }
    ConveGradients<float> gradients;
    gradients.d_fc = d_fc.data();
    gradients.small = small.data();
    gradients.d_head = d_head.data();
    gradients.d_relation = d_relation.data();
    evaluation.Backward(kKey, without_maps ? nullptr : maps.data(), v.data(), d_v.data(), gradients);
  }

  std::vector<float> maps, v, d_fc, small, d_head, d_relation, squares, products;
};

// Returns |a - b| / |b|.
double Distance(const std::vector<float>& a, const std::vector<float>& b) {
  double of_difference = 0, of_b = 0;
  for (size_t i = 0; i < b.size(); ++i) {
    of_difference += std::pow(static_cast<double>(a[i]) - b[i], 2);
    of_b += std::pow(static_cast<double>(b[i]), 2);
  }
  return std::sqrt(of_difference / of_b);
}

// The forward pass is not rounded: maps and hidden vectors have the same bits, and so zeros in the same places.
TEST(ConveEvaluationTest, RoundsTheBackwardPassAlone) {
  const KgeShape shape = Shape();
  const Passes exact(shape, /*bf16=*/false, nullptr), rounded(shape, /*bf16=*/true, nullptr);
  EXPECT_EQ(rounded.maps, exact.maps);
  EXPECT_EQ(rounded.v, exact.v);
  EXPECT_EQ(rounded.d_fc, exact.d_fc);
  // Both factors are rounded to 8 bits: at most 2^-8 of each term, whose errors have either sign.
  for (const auto& pair :
       {std::make_pair(&rounded.d_head, &exact.d_head), std::make_pair(&rounded.d_relation, &exact.d_relation)}) {
    const double distance = Distance(*pair.first, *pair.second);
    EXPECT_LT(distance, 1.0 / 256);
    EXPECT_GT(distance, 1e-5);
  }
  EXPECT_LT(Distance(rounded.small, exact.small), 1.0 / 256);
}

// With AMX, the forward pass has errors of 2^-16.
TEST(ConveEvaluationTest, DoesWithoutMaps) {
  const KgeShape shape = Shape();
  const Passes exact(shape, /*bf16=*/false, nullptr), rounded(shape, /*bf16=*/true, nullptr, /*without_maps=*/true);
  if (rounded.squares.empty()) GTEST_SKIP() << "no AMX";
  EXPECT_LT(Distance(rounded.v, exact.v), 1e-5);
  EXPECT_LT(Distance(rounded.d_fc, exact.d_fc), 1e-5);
  EXPECT_LT(Distance(rounded.d_head, exact.d_head), 1.0 / 256);
  EXPECT_LT(Distance(rounded.d_relation, exact.d_relation), 1.0 / 256);
  EXPECT_LT(Distance(rounded.small, exact.small), 1.0 / 256);
  for (size_t k = 0; k < kHead.size(); ++k) {
    double square = 0;
    for (int64_t i = 0; i < shape.num_features(); ++i) {
      square += std::pow(static_cast<double>(exact.maps[k * shape.num_features() + i]), 2);
    }
    EXPECT_NEAR(rounded.squares[k], square, 1e-5 * square);
  }
}

TEST(ConveEvaluationTest, ThreadsDoNotChangeBits) {
  ThreadPool pool(2);
  for (const int form : {0, 1, 2}) {
    const bool bf16 = form > 0, without_maps = form == 2;
    const Passes one(Shape(), bf16, nullptr, without_maps), two(Shape(), bf16, &pool, without_maps);
    EXPECT_EQ(one.squares, two.squares);
    EXPECT_EQ(one.products, two.products);
    EXPECT_EQ(one.v, two.v);
    EXPECT_EQ(one.d_head, two.d_head);
    EXPECT_EQ(one.d_relation, two.d_relation);
    EXPECT_EQ(one.small, two.small);
  }
}

}  // namespace
}  // namespace rutile
