#include "lib/kge/new_entities/row_prior.h"

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "lib/kge/new_entities/new_entities_testing.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

// Returns L, whose columns are what unit vectors become.
std::vector<std::vector<double>> Columns(const RowPrior& prior) {
  std::vector<std::vector<double>> columns;
  for (int64_t k = 0; k < prior.size(); ++k) {
    std::vector<double> unit(prior.size(), 0.0);
    unit[k] = 1;
    columns.push_back(prior.FromStandard(unit));
    for (int64_t i = 0; i < prior.size(); ++i) columns.back()[i] -= prior.mean()[i];
  }
  return columns;
}

TEST(RowPriorTest, MeanAndShrunkCovarianceByPlainSums) {
  for (const KgeModel kind : {KgeModel::kDistMult, KgeModel::kConvE}) {  // without and with biases
    for (const int64_t num : {5, 1500}) {                                // fewer rows than numbers; two blocks
      const TrainedKge model = SmallModel(kind, KgeLoss::kOneVsAll, num, 2);
      ThreadPool pool(1);
      const RowPrior prior = RowPrior::Create(model.shape, model.parameters, &pool).value();
      const int64_t dim = model.shape.dim(), size = prior.size();
      ASSERT_EQ(size, kind == KgeModel::kConvE ? dim + 1 : dim);
      const absl::Span<const double> p = model.parameters.values<double>();
      const auto at = [&](int64_t e, int64_t k) {
        return k < dim ? p[model.shape.offsets().entity + e * dim + k] : p[model.shape.offsets().entity_bias + e];
      };
      std::vector<double> mean(size, 0.0), covariance(size * size, 0.0);
      for (int64_t k = 0; k < size; ++k) {
        for (int64_t e = 0; e < num; ++e) mean[k] += at(e, k) / static_cast<double>(num);
        EXPECT_NEAR(prior.mean()[k], mean[k], 1e-12);
      }
      double trace = 0;
      for (int64_t i = 0; i < size; ++i) {
        for (int64_t k = 0; k < size; ++k) {
          for (int64_t e = 0; e < num; ++e) {
            covariance[i * size + k] += (at(e, i) - mean[i]) * (at(e, k) - mean[k]) / static_cast<double>(num);
          }
        }
        trace += covariance[i * size + i];
      }
      const double share = static_cast<double>(size) / static_cast<double>(size + num);
      const std::vector<std::vector<double>> columns = Columns(prior);
      for (int64_t i = 0; i < size; ++i) {
        for (int64_t k = 0; k < size; ++k) {
          double product = 0;
          for (int64_t c = 0; c < size; ++c) product += columns[c][i] * columns[c][k];
          const double added = i == k ? share * trace / static_cast<double>(size) : 0;
          EXPECT_NEAR(product, (1 - share) * covariance[i * size + k] + added, 1e-12) << num << " " << i << " " << k;
        }
      }
    }
  }
}

TEST(RowPriorTest, ToStandardIsTheAdjointAndThreadsGiveEqualBits) {
  const TrainedKge model = SmallModel(KgeModel::kComplEx, KgeLoss::kOneVsAll, 40, 2, DType::kF32);
  ThreadPool one(1), two(2);
  const RowPrior prior = RowPrior::Create(model.shape, model.parameters, &one).value();
  const RowPrior again = RowPrior::Create(model.shape, model.parameters, &two).value();
  RandomStream random(1, "test");
  std::vector<double> z(prior.size()), g(prior.size());
  for (double& x : z) x = random.Normal();
  for (double& x : g) x = random.Normal();
  const std::vector<double> y = prior.FromStandard(z), back = prior.ToStandard(g);
  double left = 0, right = 0;
  for (int64_t k = 0; k < prior.size(); ++k) {
    left += g[k] * (y[k] - prior.mean()[k]);
    right += back[k] * z[k];
  }
  EXPECT_NEAR(left, right, 1e-12);
  EXPECT_EQ(again.FromStandard(z), y);
}

TEST(RowPriorTest, RowsThatAreAllEqualStay) {
  TrainedKge model = SmallModel(KgeModel::kDistMult, KgeLoss::kOneVsAll, 20, 1);
  for (double& x : model.parameters.mutable_values<double>()) x = 0.25;
  ThreadPool pool(1);
  const RowPrior prior = RowPrior::Create(model.shape, model.parameters, &pool).value();
  for (const double x : prior.FromStandard(std::vector<double>(12, 1.0))) EXPECT_NEAR(x, 0.25, 1e-6);
}

TEST(RowPriorTest, RowsWithoutAFiniteCovarianceAreRefused) {
  TrainedKge model = SmallModel(KgeModel::kDistMult, KgeLoss::kOneVsAll, 20, 1);
  for (double& x : model.parameters.mutable_values<double>()) x *= 1e200;
  ThreadPool pool(1);
  EXPECT_THAT(RowPrior::Create(model.shape, model.parameters, &pool).status(),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"embeddings", "variances", "inf"}));
}

}  // namespace
}  // namespace rutile
