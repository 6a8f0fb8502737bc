#include "lib/kge/training/touched_rows.h"

#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lib/kge/training/sampled_testing.h"

namespace rutile {
namespace {

// Returns the gradient with zeros where it has no range.
std::vector<double> Whole(const RowGradient& gradient, int64_t size) {
  std::vector<double> whole(size);
  const std::vector<double> values = gradient.values.ToDoubles();
  int64_t end = 0;
  for (const RowGradient::Range& range : gradient.ranges) {
    EXPECT_GE(range.begin, end);
    end = range.begin + range.size;
    for (int64_t i = 0; i < range.size; ++i) whole[range.begin + i] = values[range.at + i];
  }
  EXPECT_LE(end, size);
  return whole;
}

void ExpectEqualBits(const KgeShape& shape) {
  const Tensor parameters = SampledParameters(shape);
  ThreadPool pool(2);
  TouchedRows rows(shape, &pool, FactorRounding::kNone);
  ConveKernel kernel(shape, &pool);
  // Batches that need more room than the first, and less.
  for (const int64_t queries : {3, 30, 2}) {
    const SampledBatch batch(shape, queries, 5, shape.options.loss == KgeLoss::kKvsAll, /*seed=*/queries);
    Tensor expected = Tensor::Zeros(parameters.dtype(), parameters.shape());
    double loss = 0, of_rows = 0;
    BatchStatistics statistics, statistics_of_rows;
    ASSERT_TRUE(kernel.AccumulateGradients(parameters, batch.View(), &expected, &loss, &statistics).ok());
    RowGradient gradient;
    ASSERT_TRUE(rows.ComputeRows(parameters, batch.View(), &gradient, &of_rows, &statistics_of_rows).ok());
    EXPECT_EQ(of_rows, loss);
    EXPECT_EQ(Whole(gradient, parameters.num_elements()), expected.ToDoubles());
    EXPECT_EQ(statistics_of_rows.bn1.mean, statistics.bn1.mean);
  }
}

TEST(TouchedRowsTest, EqualTheGradientOfAllParameters) {
  for (const DType precision : {DType::kF64, DType::kF32}) {
    for (const KgeModel model : {KgeModel::kConvE, KgeModel::kDistMult, KgeModel::kComplEx, KgeModel::kRescal,
                                 KgeModel::kCp, KgeModel::kSimple, KgeModel::kTransE, KgeModel::kRotatE}) {
      SCOPED_TRACE(std::string(kKgeModelNames.Name(model)));
      ExpectEqualBits(SampledShape(model, KgeLoss::kKvsAll, precision));
    }
  }
}

TEST(TouchedRowsTest, EqualItBesideOtherTerms) {
  for (const KgeRegularizer regularizer : {KgeRegularizer::kN3, KgeRegularizer::kF2, KgeRegularizer::kDura}) {
    KgeShape shape = SampledShape(KgeModel::kComplEx, KgeLoss::kOneVsAll, DType::kF64);
    shape.options.regularizer = regularizer;
    ExpectEqualBits(shape);
    shape.options.relation_prediction = 0.5;
    ExpectEqualBits(shape);
  }
}

// A batch touches its heads, tails, negatives and relations, and no other row.
TEST(TouchedRowsTest, AreThoseOfTheBatchAlone) {
  KgeShape shape = SampledShape(KgeModel::kDistMult, KgeLoss::kOneVsAll, DType::kF32);
  shape.num_entities = 1000;
  const SampledBatch batch(shape, 4, 6, false);
  TouchedRows rows(shape, nullptr, FactorRounding::kNone);
  RowGradient gradient;
  double loss = 0;
  ASSERT_TRUE(rows.ComputeRows(SampledParameters(shape), batch.View(), &gradient, &loss, nullptr).ok());
  std::set<int64_t> expected;
  for (const int32_t entity : batch.head) expected.insert(12 * entity);
  for (const int32_t entity : batch.positive) expected.insert(12 * entity);
  for (const int32_t entity : batch.negative) expected.insert(12 * entity);
  for (const int32_t relation : batch.relation) expected.insert(12 * (1000 + relation));
  std::set<int64_t> touched;
  for (const RowGradient::Range& range : gradient.ranges) {
    EXPECT_EQ(range.size, 12);
    touched.insert(range.begin);
  }
  EXPECT_EQ(touched, expected);
  EXPECT_LT(gradient.values.num_elements(), 500);  // 20 rows at most, and room for more
}

}  // namespace
}  // namespace rutile
