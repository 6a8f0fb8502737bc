#include "lib/kge/layers/conve/golden_conve_testing.h"

#include "gtest/gtest.h"

namespace rutile {
namespace {

TEST(GoldenConveTest, ReadsSizesArraysAndBatches) {
  const GoldenConve golden("tiepin");
  EXPECT_EQ(golden.shape().num_entities, 12);
  EXPECT_EQ(golden.shape().num_features(), golden.Scalar("F"));
  EXPECT_EQ(golden.Array("eval.scores").shape(), (std::vector<int64_t>{6, 12}));
  EXPECT_EQ(golden.Triples("train").size(), 24);

  ASSERT_EQ(golden.ranks().size(), 16);
  EXPECT_EQ(golden.ranks()[0].triple.head, golden.Triples("test")[0].head);
  EXPECT_EQ(golden.ranks()[0].filtered, (std::vector<int32_t>{3, 8}));
  EXPECT_EQ(golden.Metric("metrics.pessimistic", "hits@1"), 0);
  EXPECT_EQ(golden.learning_rates(), (std::vector<double>{0.003, 0.002}));
  EXPECT_EQ(golden.gradient_order()[3], "bn0.bias");

  const Tensor flat = golden.Flat("param.");
  const KgeShape::Offsets at = golden.shape().offsets();
  EXPECT_EQ(flat.values<double>()[at.relation], golden.Array("param.rel").values<double>()[0]);
  EXPECT_EQ(flat.values<double>()[at.bn2_variance], golden.Array("param.bn2.running_var").values<double>()[0]);
}

TEST(GoldenConveTest, TailsOfTheBatchAreThoseOfItsLabels) {
  const GoldenConve golden("dettmers");
  const OwnedKgeBatch batch = golden.Batch(/*own_tail_alone=*/false);
  std::vector<double> labels(6 * 12, 0.0);
  for (size_t b = 0; b < batch.head.size(); ++b) {
    for (int64_t k = batch.positive_offset[b]; k < batch.positive_offset[b + 1]; ++k) {
      labels[b * 12 + batch.positive[k]] = 1;
    }
  }
  EXPECT_EQ(labels, golden.Array("labels.multihot").ToDoubles());
  EXPECT_EQ(golden.Batch(/*own_tail_alone=*/true).positive.size(), 6);
}

TEST(RandomKgeBatchTest, HasDistinctAscendingTailsInRange) {
  KgeShape shape;
  shape.num_entities = 9;
  shape.num_relations = 2;
  const OwnedKgeBatch batch = RandomKgeBatch(shape, /*size=*/20, /*max_positives=*/4, /*seed=*/3);
  ASSERT_EQ(batch.View(true).size(), 20);
  for (size_t b = 0; b < 20; ++b) {
    const int64_t begin = batch.positive_offset[b], end = batch.positive_offset[b + 1];
    EXPECT_GE(end - begin, 1);
    EXPECT_LE(end - begin, 4);
    for (int64_t k = begin + 1; k < end; ++k) EXPECT_LT(batch.positive[k - 1], batch.positive[k]);
    EXPECT_LT(batch.positive[end - 1], 9);
    EXPECT_LT(batch.relation[b], 2);
  }
}

}  // namespace
}  // namespace rutile
