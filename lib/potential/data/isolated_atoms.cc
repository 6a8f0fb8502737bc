#include "lib/potential/data/isolated_atoms.h"

#include <vector>

#include "lib/base/status_macros.h"
#include "lib/structure/label_filter.h"

namespace rutile {

bool LearnedIsolatedAtoms(const Metadata& model) {
  const auto found = model.find(kIsolatedAtomsKey);
  return found != model.end() && found->second == kLearnsIsolatedAtoms;
}

absl::StatusOr<bool> IsIsolated(const AtomicData& data, int64_t s) {
  if (data.num_atoms(s) != 1) return false;
  if (IsIsolatedAtom(1, data.config_type(s))) return true;
  if (data.has_pairs()) return data.pairs(s).num_pairs() == 0;
  std::vector<int64_t> offset;
  std::vector<int32_t> j;
  std::vector<int16_t> shift;
  RETURN_IF_ERROR(data.FindPairs(s, &offset, &j, &shift));
  return j.empty();
}

}  // namespace rutile
