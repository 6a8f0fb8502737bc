#include "lib/influence/rank_correlation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "lib/base/logging.h"

namespace rutile {
namespace {

// Returns the indices of the k highest values, ascending.
std::vector<int64_t> Highest(absl::Span<const double> values, int64_t k) {
  std::vector<int64_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + k, order.end(),
                    [values](int64_t a, int64_t b) { return values[a] != values[b] ? values[a] > values[b] : a < b; });
  order.resize(k);
  std::sort(order.begin(), order.end());
  return order;
}

}  // namespace

std::vector<double> AverageRanks(absl::Span<const double> values) {
  for (const double value : values) CHECK(!std::isnan(value));
  std::vector<int64_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [values](int64_t a, int64_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t first = 0, last = 0; first < order.size(); first = last) {
    while (last < order.size() && values[order[last]] == values[order[first]]) ++last;
    for (size_t i = first; i < last; ++i) ranks[order[i]] = (static_cast<double>(first + 1 + last)) / 2;
  }
  return ranks;
}

double PearsonCorrelation(absl::Span<const double> a, absl::Span<const double> b) {
  CHECK_EQ(a.size(), b.size());
  const double n = static_cast<double>(a.size());
  const double mean_a = std::accumulate(a.begin(), a.end(), 0.0) / n;
  const double mean_b = std::accumulate(b.begin(), b.end(), 0.0) / n;
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  if (aa == 0 || bb == 0 || a.empty()) return std::numeric_limits<double>::quiet_NaN();
  return std::clamp(ab / std::sqrt(aa) / std::sqrt(bb), -1.0, 1.0);
}

double SpearmanCorrelation(absl::Span<const double> a, absl::Span<const double> b) {
  CHECK_EQ(a.size(), b.size());
  return PearsonCorrelation(AverageRanks(a), AverageRanks(b));
}

double TopOverlap(absl::Span<const double> exact, absl::Span<const double> approximate, int64_t k) {
  CHECK_EQ(exact.size(), approximate.size());
  CHECK(0 <= k && k <= static_cast<int64_t>(exact.size())) << k << " of " << exact.size();
  if (k == 0) return 1;
  const std::vector<int64_t> a = Highest(exact, k), b = Highest(approximate, k);
  std::vector<int64_t> common;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(common));
  return static_cast<double>(common.size()) / static_cast<double>(k);
}

double RelativeError(absl::Span<const double> exact, absl::Span<const double> approximate) {
  CHECK_EQ(exact.size(), approximate.size());
  double square = 0, error = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    square += exact[i] * exact[i];
    error += (approximate[i] - exact[i]) * (approximate[i] - exact[i]);
  }
  if (error == 0) return 0;
  return std::sqrt(error / square);
}

}  // namespace rutile
