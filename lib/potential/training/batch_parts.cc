#include "lib/potential/training/batch_parts.h"

#include <algorithm>
#include <cmath>

namespace rutile {

void CutBatch(absl::Span<const double> num_atoms, int64_t most, std::vector<int64_t>* ends) {
  double all = 0, sum = 0;
  for (const double atoms : num_atoms) all += atoms;
  const double parts = std::max(1.0, std::ceil(all / static_cast<double>(most)));
  ends->clear();
  for (size_t e = 0; e < num_atoms.size(); ++e) {
    sum += num_atoms[e];
    const bool is_last = e + 1 == num_atoms.size();
    if (is_last || sum * parts >= all * static_cast<double>(ends->size() + 1)) {
      ends->push_back(static_cast<int64_t>(e) + 1);
    }
  }
}

}  // namespace rutile
