#include "lib/train/step/bucketing.h"

#include <algorithm>
#include <utility>

#include "lib/base/logging.h"

namespace rutile {

void BucketByCost(const Task& task, int64_t batch_size, int64_t window, RandomStream stream,
                  std::vector<int64_t>* examples) {
  CHECK(batch_size >= 1 && window >= 1) << batch_size << " and " << window;
  const int64_t num_batches = static_cast<int64_t>(examples->size()) / batch_size;
  const int64_t in_batches = num_batches * batch_size;
  const int64_t in_window = window < num_batches ? window * batch_size : std::max<int64_t>(in_batches, 1);
  std::vector<std::pair<double, int64_t>> sorted;  // cost and example
  sorted.reserve(in_batches);
  for (int64_t i = 0; i < in_batches; ++i) sorted.emplace_back(task.ExampleCost((*examples)[i]), (*examples)[i]);
  for (int64_t begin = 0; begin < in_batches; begin += in_window) {
    std::stable_sort(sorted.begin() + begin, sorted.begin() + std::min(begin + in_window, in_batches),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
  }
  auto to = examples->begin();
  for (const int64_t batch : RandomPermutation(num_batches, stream)) {
    for (int64_t i = 0; i < batch_size; ++i) *to++ = sorted[batch * batch_size + i].second;
  }
}

}  // namespace rutile
