#include "lib/potential/data/atomic_labels.h"

#include <algorithm>

#include "lib/potential/data/atomic_data.h"

namespace rutile {

AtomicLabels LabelsOf(const AtomicData& data) {
  AtomicLabels labels;
  labels.force_offset.push_back(0);
  labels.stress.assign(9 * data.num_structures(), 0.0);
  for (int64_t s = 0; s < data.num_structures(); ++s) {
    labels.energy.push_back(data.energy(s));
    const absl::Span<const double> force = data.force(s);
    labels.force.insert(labels.force.end(), force.begin(), force.end());
    labels.force_offset.push_back(static_cast<int64_t>(labels.force.size()));
    const absl::Span<const double> stress = data.stress(s);
    std::copy(stress.begin(), stress.end(), labels.stress.begin() + 9 * s);
  }
  return labels;
}

}  // namespace rutile
