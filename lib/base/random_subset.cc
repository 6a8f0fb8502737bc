#include "lib/base/random_subset.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "lib/base/logging.h"

namespace rutile {

std::vector<int64_t> RandomSubset(int64_t n, int64_t count, RandomStream stream) {
  CHECK(count >= 0 && count <= n) << count << " of " << n;
  absl::flat_hash_set<int64_t> drawn;
  drawn.reserve(count);
  for (int64_t last = n - count; last < n; ++last) {
    const auto at = static_cast<int64_t>(stream.Below(last + 1));
    if (!drawn.insert(at).second) drawn.insert(last);
  }
  std::vector<int64_t> subset(drawn.begin(), drawn.end());
  std::sort(subset.begin(), subset.end());
  return subset;
}

}  // namespace rutile
