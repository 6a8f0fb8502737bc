#include "lib/potential/influence/structure_choice.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "lib/base/logging.h"
#include "lib/matrix/dense_products.h"
#include "lib/matrix/matrix_view.h"

namespace rutile {
namespace {

constexpr int64_t kRows = 64;  // that one thread computes at a time

// Returns the scalar products of rows: a [n, size] with b [m, size], [n, m].
std::vector<double> Products(int64_t size, absl::Span<const double> a, absl::Span<const double> b, ThreadPool* pool) {
  const auto n = static_cast<int64_t>(a.size()) / size, m = static_cast<int64_t>(b.size()) / size;
  const MatrixView<double> left{a.data(), n, size, size, false}, right{b.data(), m, size, size, false};
  std::vector<double> out(n * m);
  pool->For(n, kRows, [&](int64_t begin, int64_t end, int) {
    MultiplyDense(left.Rows(begin, end), right.Transposed(), /*add=*/false, &out[begin * m], m);
  });
  return out;
}

}  // namespace

absl::StatusOr<std::vector<Choice>> ChooseByVariance(int64_t size, absl::Span<const double> candidates,
                                                     absl::Span<const double> targets, double noise, int64_t count,
                                                     int64_t memory_limit, ThreadPool* pool) {
  const auto n = static_cast<int64_t>(candidates.size()) / size, m = static_cast<int64_t>(targets.size()) / size;
  CHECK_LE(count, n);
  CHECK_GT(noise, 0);
  const double bytes = 8.0 * static_cast<double>(n + m) * static_cast<double>(n);
  if (memory_limit > 0 && bytes > static_cast<double>(memory_limit)) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "covariances of %d structures to choose from, with each other and with %d more, take %.1f GB, and %.1f GB are "
        "allowed: choose from a smaller pool",
        n, m, bytes / 1e9, static_cast<double>(memory_limit) / 1e9));
  }
  // Covariances of candidates with each other [n, n], and with the targets [n, m].
  std::vector<double> among = Products(size, candidates, candidates, pool);
  std::vector<double> with = m > 0 ? Products(size, candidates, targets, pool) : std::vector<double>();
  std::vector<double> reduction(n);
  std::vector<bool> is_chosen(n, false);
  std::vector<Choice> choices;
  while (static_cast<int64_t>(choices.size()) < count) {
    pool->For(n, kRows, [&](int64_t begin, int64_t end, int) {
      for (int64_t j = begin; j < end; ++j) {
        const double* const row = m > 0 ? &with[j * m] : &among[j * n];
        double sum = 0;
        for (int64_t t = 0; t < (m > 0 ? m : n); ++t) sum += row[t] * row[t];
        reduction[j] = sum / (noise + among[j * n + j]);
      }
    });
    int64_t best = -1;
    for (int64_t j = 0; j < n; ++j) {
      if (!is_chosen[j] && (best < 0 || reduction[j] > reduction[best])) best = j;
    }
    is_chosen[best] = true;
    choices.push_back({best, reduction[best]});
    // The rows of the choice, before they change themselves.
    const std::vector<double> column(among.begin() + best * n, among.begin() + (best + 1) * n);
    const std::vector<double> target(with.begin() + best * m, with.begin() + (best + 1) * m);
    const double inverse = 1 / (noise + column[best]);
    pool->For(n, kRows, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        const double share = column[i] * inverse;
        for (int64_t j = 0; j < n; ++j) among[i * n + j] -= share * column[j];
        for (int64_t t = 0; t < m; ++t) with[i * m + t] -= share * target[t];
      }
    });
  }
  return choices;
}

std::vector<Choice> ChooseFarthest(int64_t size, absl::Span<const double> points, int64_t count) {
  const auto n = static_cast<int64_t>(points.size()) / size;
  CHECK_LE(count, n);
  std::vector<double> nearest(n, 0.0);  // squares of distances
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t k = 0; k < size; ++k) nearest[i] += points[i * size + k] * points[i * size + k];
  }
  std::vector<bool> is_chosen(n, false);
  std::vector<Choice> choices;
  while (static_cast<int64_t>(choices.size()) < count) {
    int64_t best = -1;
    for (int64_t i = 0; i < n; ++i) {
      if (!is_chosen[i] && (best < 0 || nearest[i] > nearest[best])) best = i;
    }
    is_chosen[best] = true;
    choices.push_back({best, std::sqrt(nearest[best])});
    for (int64_t i = 0; i < n; ++i) {
      double square = 0;
      for (int64_t k = 0; k < size; ++k) {
        const double difference = points[i * size + k] - points[best * size + k];
        square += difference * difference;
      }
      nearest[i] = std::min(nearest[i], square);
    }
  }
  return choices;
}

std::vector<Choice> ChooseLargest(absl::Span<const double> scores, int64_t count) {
  const auto order = [&](int64_t i) {
    return std::isnan(scores[i]) ? std::numeric_limits<double>::infinity() : scores[i];
  };
  std::vector<int64_t> indices(scores.size());
  std::iota(indices.begin(), indices.end(), 0);
  std::stable_sort(indices.begin(), indices.end(), [&](int64_t a, int64_t b) { return order(a) > order(b); });
  std::vector<Choice> choices;
  for (const int64_t i : indices) {
    if (static_cast<int64_t>(choices.size()) == count || !(order(i) > 0)) break;
    choices.push_back({i, scores[i]});
  }
  return choices;
}

}  // namespace rutile
