#include "lib/influence/datamodeling_score.h"

#include <algorithm>
#include <cmath>

#include "lib/base/logging.h"
#include "lib/base/random.h"
#include "lib/influence/rank_correlation.h"

namespace rutile {
namespace {

// Spearman's correlation, 0 where a side does not vary.
double Correlation(absl::Span<const double> a, absl::Span<const double> b) {
  const double correlation = SpearmanCorrelation(a, b);
  return std::isnan(correlation) ? 0 : correlation;
}

double Mean(absl::Span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// The quantile q of values, between the two nearest where it falls between them.
double Quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double place = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

ScoreInterval Interval(double value, const std::vector<double>& resampled) {
  if (resampled.empty()) return {value, value, value};
  return {value, Quantile(resampled, 0.025), Quantile(resampled, 0.975)};
}

}  // namespace

std::vector<double> PredictSubsets(absl::Span<const uint8_t> kept, absl::Span<const double> score, int64_t num_tests,
                                   int64_t num_subsets) {
  CHECK(num_tests > 0 && num_subsets > 0);
  const auto n = static_cast<int64_t>(kept.size()) / num_subsets;
  CHECK_EQ(static_cast<int64_t>(kept.size()), n * num_subsets);
  CHECK_EQ(static_cast<int64_t>(score.size()), n * num_tests);
  std::vector<double> yhat(num_tests * num_subsets);
  for (int64_t t = 0; t < num_tests; ++t) {
    for (int64_t m = 0; m < num_subsets; ++m) {
      double sum = 0;
      for (int64_t i = 0; i < n; ++i) {
        if (kept[m * n + i] != 0) sum += score[t * n + i];
      }
      yhat[t * num_subsets + m] = -sum;
    }
  }
  return yhat;
}

DatamodelingScore ScoreDatamodel(absl::Span<const double> yhat, absl::Span<const double> y, int64_t num_tests,
                                 const BootstrapOptions& options) {
  CHECK_GT(num_tests, 0);
  CHECK_EQ(yhat.size(), y.size());
  const auto num_subsets = static_cast<int64_t>(y.size()) / num_tests;
  CHECK(num_subsets >= 2 && num_subsets * num_tests == static_cast<int64_t>(y.size()));
  DatamodelingScore score;
  for (int64_t t = 0; t < num_tests; ++t) {
    score.of_test.push_back(
        Correlation(yhat.subspan(t * num_subsets, num_subsets), y.subspan(t * num_subsets, num_subsets)));
  }
  std::vector<double> means, medians, of_test(num_tests), left(num_subsets), right(num_subsets);
  std::vector<int64_t> drawn(num_subsets);
  for (int64_t draw = 0; draw < options.draws; ++draw) {
    RandomStream stream(options.seed, "bootstrap", draw);
    for (int64_t& m : drawn) m = static_cast<int64_t>(stream.Below(num_subsets));
    for (int64_t t = 0; t < num_tests; ++t) {
      for (int64_t i = 0; i < num_subsets; ++i) {
        left[i] = yhat[t * num_subsets + drawn[i]];
        right[i] = y[t * num_subsets + drawn[i]];
      }
      of_test[t] = Correlation(left, right);
    }
    means.push_back(Mean(of_test));
    medians.push_back(Quantile(of_test, 0.5));
  }
  score.mean = Interval(Mean(score.of_test), means);
  score.median = Interval(Quantile(score.of_test, 0.5), medians);
  return score;
}

double SeedAgreement(absl::Span<const std::vector<double>> y_of_seed, int64_t num_tests) {
  CHECK_GE(y_of_seed.size(), 2u);
  double sum = 0;
  int64_t count = 0;
  for (size_t a = 0; a < y_of_seed.size(); ++a) {
    for (size_t b = 0; b < a; ++b) {
      sum += Mean(ScoreDatamodel(y_of_seed[a], y_of_seed[b], num_tests, {/*draws=*/0}).of_test);
      ++count;
    }
  }
  return sum / static_cast<double>(count);
}

double ScoreCeiling(double agreement, int64_t num_seeds) {
  if (!(agreement > 0)) return 0;
  const auto k = static_cast<double>(num_seeds);
  return std::sqrt(k * agreement / (1 + (k - 1) * agreement));
}

}  // namespace rutile
