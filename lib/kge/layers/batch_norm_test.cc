#include "lib/kge/layers/batch_norm.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "lib/base/random.h"

namespace rutile {
namespace {

constexpr int64_t kRows = 5, kColumns = 6;

std::vector<double> Values(int64_t n, const char* purpose) {
  RandomStream stream(1, purpose);
  std::vector<double> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(stream.Normal());
  return values;
}

// The parameter is the number of channels: one for each column, or one for all.
class BatchNormTest : public ::testing::TestWithParam<int64_t> {
 protected:
  int64_t channels() const { return GetParam(); }
  double n() const { return static_cast<double>(kRows * kColumns / channels()); }
  int64_t ChannelOf(int64_t i) const { return channels() == 1 ? 0 : i % kColumns; }

  const std::vector<double> x_ = Values(kRows * kColumns, "x"), dy_ = Values(kRows * kColumns, "dy");
  const std::vector<double> weight_ = Values(kColumns, "weight"), bias_ = Values(kColumns, "bias");
};

TEST_P(BatchNormTest, NormsWithStatisticsOfTheBatch) {
  BatchNorm<double> norm(kColumns, channels());
  norm.UseBatch(x_.data(), kRows, weight_.data(), bias_.data());
  std::vector<double> y(x_.size());
  norm.Forward(x_.data(), kRows, y.data());
  std::vector<double> mean(channels(), 0), variance(channels(), 0);
  for (size_t i = 0; i < x_.size(); ++i) mean[ChannelOf(i)] += x_[i] / n();
  for (size_t i = 0; i < x_.size(); ++i) variance[ChannelOf(i)] += std::pow(x_[i] - mean[ChannelOf(i)], 2) / n();
  for (size_t i = 0; i < x_.size(); ++i) {
    const int64_t c = ChannelOf(i);
    EXPECT_NEAR(y[i], (x_[i] - mean[c]) / std::sqrt(variance[c] + 1e-5) * weight_[c] + bias_[c], 1e-13);
  }
  const BatchStatistics::Norm statistics = norm.Statistics();
  ASSERT_EQ(statistics.mean.size(), channels());
  for (int64_t c = 0; c < channels(); ++c) {
    EXPECT_NEAR(statistics.mean[c], mean[c], 1e-14);
    EXPECT_NEAR(statistics.variance[c], variance[c] * n() / (n() - 1), 1e-14);
  }
}

double Objective(const BatchNorm<double>& norm, const std::vector<double>& x, const std::vector<double>& dy) {
  std::vector<double> y(x.size());
  norm.Forward(x.data(), kRows, y.data());
  double sum = 0;
  for (size_t i = 0; i < y.size(); ++i) sum += y[i] * dy[i];
  return sum;
}

// Compares with central differences, in which the batch's statistics change too.
TEST_P(BatchNormTest, BackwardIsTheDerivative) {
  const std::vector<double> running_mean = Values(kColumns, "mean"), running_variance(kColumns, 1.7);
  for (const bool of_batch : {true, false}) {
    const auto at = [&](const std::vector<double>& x, const std::vector<double>& weight,
                        const std::vector<double>& bias) {
      BatchNorm<double> norm(kColumns, channels());
      if (of_batch) {
        norm.UseBatch(x.data(), kRows, weight.data(), bias.data());
      } else {
        norm.UseRunning(running_mean.data(), running_variance.data(), weight.data(), bias.data());
        EXPECT_TRUE(norm.Statistics().mean.empty());
      }
      return norm;
    };
    std::vector<double> dx = dy_, d_weight(channels(), 3), d_bias(channels(), 4);
    at(x_, weight_, bias_).Backward(x_.data(), dx.data(), kRows, d_weight.data(), d_bias.data(), dx.data());
    const auto slope = [&](int which, size_t i) {
      double difference = 0;
      for (const double step : {1e-6, -1e-6}) {
        std::vector<double> values[3] = {x_, weight_, bias_};
        values[which][i] += step;
        difference += Objective(at(values[0], values[1], values[2]), values[0], dy_) / (2 * step);
      }
      return difference;
    };
    for (size_t i = 0; i < x_.size(); ++i) EXPECT_NEAR(dx[i], slope(0, i), 1e-8);
    for (int64_t c = 0; c < channels(); ++c) {
      EXPECT_NEAR(d_weight[c] - 3, slope(1, c), 1e-8);
      EXPECT_NEAR(d_bias[c] - 4, slope(2, c), 1e-8);
    }
  }
}

TEST_P(BatchNormTest, WithoutWeightAndBias) {
  const std::vector<double> ones(kColumns, 1), zeros(kColumns, 0);
  BatchNorm<double> plain(kColumns, channels()), norm(kColumns, channels());
  plain.UseBatch(x_.data(), kRows, nullptr, nullptr);
  norm.UseBatch(x_.data(), kRows, ones.data(), zeros.data());
  EXPECT_EQ(Objective(plain, x_, dy_), Objective(norm, x_, dy_));
  std::vector<double> dx(x_.size());
  plain.Backward(x_.data(), dy_.data(), kRows, nullptr, nullptr, dx.data());
  EXPECT_NE(dx[0], 0);
}

INSTANTIATE_TEST_SUITE_P(Channels, BatchNormTest, ::testing::Values(1, kColumns));

TEST(BatchNormOfOneValueTest, IsTheBias) {
  const std::vector<double> x = {5}, bias = {0.25};
  BatchNorm<double> norm(1, 1);
  norm.UseBatch(x.data(), 1, nullptr, bias.data());
  double y = 0, dx = 7;
  norm.Forward(x.data(), 1, &y);
  EXPECT_EQ(y, 0.25);
  norm.Backward(x.data(), &dx, 1, nullptr, nullptr, &dx);
  EXPECT_EQ(dx, 0);
  EXPECT_TRUE(norm.Statistics().variance.empty());
}

}  // namespace
}  // namespace rutile
