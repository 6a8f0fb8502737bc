#include "lib/distributed/work_share.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace rutile {

std::vector<int64_t> WorkShare(const Task& task, absl::Span<const int64_t> examples, int rank, int size) {
  std::vector<double> cost;
  cost.reserve(examples.size());
  for (const int64_t example : examples) cost.push_back(task.ExampleCost(example));
  std::vector<size_t> order(examples.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return cost[a] > cost[b]; });
  std::vector<double> load(size);
  std::vector<size_t> own;
  for (const size_t e : order) {
    const auto least = std::min_element(load.begin(), load.end());
    *least += cost[e];
    if (least - load.begin() == rank) own.push_back(e);
  }
  std::sort(own.begin(), own.end());
  std::vector<int64_t> share;
  share.reserve(own.size());
  for (const size_t e : own) share.push_back(examples[e]);
  return share;
}

}  // namespace rutile
