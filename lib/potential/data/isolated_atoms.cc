#include "lib/potential/data/isolated_atoms.h"

#include <vector>

#include "lib/base/status_macros.h"
#include "lib/structure/label_filter.h"

namespace rutile {

bool LearnedIsolatedAtoms(const Metadata& model) {
  const auto found = model.find(kIsolatedAtomsKey);
  return found != model.end() && found->second == kLearnsIsolatedAtoms;
}

absl::StatusOr<bool> IsIsolated(int64_t num_atoms, absl::string_view config_type,
                                absl::FunctionRef<absl::StatusOr<int64_t>()> num_pairs) {
  if (num_atoms != 1) return false;
  if (IsIsolatedAtom(1, config_type)) return true;
  ASSIGN_OR_RETURN(const int64_t pairs, num_pairs());
  return pairs == 0;
}

absl::StatusOr<bool> IsIsolated(const AtomicData& data, int64_t s) {
  return IsIsolated(data.num_atoms(s), data.config_type(s), [&]() -> absl::StatusOr<int64_t> {
    if (data.has_pairs()) return data.pairs(s).num_pairs();
    std::vector<int64_t> offset;
    std::vector<int32_t> j;
    std::vector<int16_t> shift;
    RETURN_IF_ERROR(data.FindPairs(s, &offset, &j, &shift));
    return static_cast<int64_t>(j.size());
  });
}

}  // namespace rutile
