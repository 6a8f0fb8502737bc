// A set of entities that score kernels can read: a bit for each.

#ifndef RUTILE_LIB_RANKING_ENTITY_SET_H_
#define RUTILE_LIB_RANKING_ENTITY_SET_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace rutile {

// A set of the entities 0 .. N - 1; N / 8 bytes.
class EntitySet {
 public:
  // The entities must be below num_entities; one that comes twice counts once.
  EntitySet(int64_t num_entities, absl::Span<const int32_t> entities) : bits_(num_entities / 64 + 2) {
    for (const int32_t entity : entities) {
      if (Has(entity)) continue;
      bits_[entity / 64] |= uint64_t{1} << (entity % 64);
      ++size_;
    }
  }

  bool Has(int32_t entity) const { return (bits_[entity / 64] >> (entity % 64) & 1) != 0; }
  int64_t size() const { return size_; }
  // Entity e is bit e % 64 of bits()[e / 64]. A word follows that of entity N - 1, so that a kernel may read 64 bits
  // from any entity on.
  const uint64_t* bits() const { return bits_.data(); }

 private:
  std::vector<uint64_t> bits_;
  int64_t size_ = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_RANKING_ENTITY_SET_H_
