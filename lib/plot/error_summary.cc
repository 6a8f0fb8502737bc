#include "lib/plot/error_summary.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"
#include "lib/base/random.h"

namespace rutile {

ErrorSummary SummarizeErrors(absl::Span<const double> error) {
  ErrorSummary summary;
  if (error.empty()) return summary;
  for (const double e : error) summary.largest = std::max(summary.largest, std::abs(e));
  const double unit = summary.largest > 0 ? summary.largest : 1;  // keeps squares of huge or tiny errors finite
  double square = 0;
  for (const double e : error) {
    summary.mean += e / unit;
    summary.mae += std::abs(e) / unit;
    square += (e / unit) * (e / unit);
  }
  const double n = static_cast<double>(error.size());
  summary.mean *= unit / n;
  summary.mae *= unit / n;
  summary.rmse = unit * std::sqrt(square / n);
  return summary;
}

std::vector<int64_t> ChoosePoints(absl::Span<const double> error, int max_points) {
  CHECK_GT(max_points, 0);
  const int64_t n = static_cast<int64_t>(error.size());
  std::vector<int64_t> index(n);
  std::iota(index.begin(), index.end(), int64_t{0});
  if (n <= max_points) return index;
  const int64_t num_largest = max_points / 50;
  const auto larger = [error](int64_t a, int64_t b) {
    const double ea = std::abs(error[a]), eb = std::abs(error[b]);
    return ea != eb ? ea > eb : a < b;
  };
  std::nth_element(index.begin(), index.begin() + num_largest, index.end(), larger);
  std::vector<int64_t> chosen(index.begin(), index.begin() + num_largest);
  std::vector<bool> taken(n, false);
  for (const int64_t i : chosen) taken[i] = true;
  for (const int64_t i : RandomPermutation(n, RandomStream(0, "points of a plot"))) {
    if (static_cast<int>(chosen.size()) == max_points) break;
    if (!taken[i]) chosen.push_back(i);
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

Grouping GroupByName(absl::Span<const std::string> group, int64_t n, int max_groups) {
  CHECK_GT(max_groups, 1);
  CHECK(group.empty() || static_cast<int64_t>(group.size()) == n) << group.size() << " vs. " << n;
  Grouping result;
  if (group.empty()) return {{""}, {n}, std::vector<int>(n, 0)};
  std::map<std::string, int64_t> count;
  for (const std::string& name : group) ++count[name];
  std::vector<std::pair<std::string, int64_t>> order(count.begin(), count.end());
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::map<std::string, int> id;
  const bool too_many = static_cast<int>(order.size()) > max_groups;
  const int own = too_many ? max_groups - 1 : static_cast<int>(order.size());
  for (int g = 0; g < static_cast<int>(order.size()); ++g) {
    id[order[g].first] = std::min(g, own);
    if (g < own) {
      result.name.push_back(order[g].first);
      result.size.push_back(order[g].second);
    } else if (g == own) {
      result.name.push_back(absl::StrCat(order.size() - own, " other groups"));
      result.size.push_back(order[g].second);
    } else {
      result.size.back() += order[g].second;
    }
  }
  for (const std::string& name : group) result.of.push_back(id[name]);
  return result;
}

}  // namespace rutile
