#include "lib/task/loss_terms.h"

#include <cstddef>

#include "lib/base/logging.h"

namespace rutile {

void TermSums::Add(const TermSums& other) {
  CHECK_EQ(sum.size(), other.sum.size());
  for (size_t t = 0; t < sum.size(); ++t) {
    sum[t] += other.sum[t];
    count[t] += other.count[t];
  }
}

}  // namespace rutile
