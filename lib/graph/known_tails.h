// The tails that are known for each (head, relation): labels of 1-N training, and what filtered ranking leaves out.

#ifndef RUTILE_LIB_GRAPH_KNOWN_TAILS_H_
#define RUTILE_LIB_GRAPH_KNOWN_TAILS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "lib/graph/triple.h"

namespace rutile {

// CSR by key. A key is a distinct (head, relation), in ascending order; with inverse relations each triple (h, r, t)
// also gives the tail h to the key (t, R + r).
class KnownTails {
 public:
  KnownTails() = default;
  // Of all the triples together; a tail that is given twice counts once. Ids are 0 .. 2^31 - 1, relations below
  // num_relations; CHECK-fails otherwise, and when R + r does not fit.
  static KnownTails Build(absl::Span<const absl::Span<const Triple>> splits, int64_t num_relations,
                          bool inverse_relations);
  // Of arrays from a file (checked there): head, relation [K], offset [K + 1], tail [offset[K]]; keys ascend.
  static KnownTails FromArrays(std::vector<int32_t> head, std::vector<int32_t> relation, std::vector<int64_t> offset,
                               std::vector<int32_t> tail);

  // Of all keys together.
  int64_t num_tails() const { return static_cast<int64_t>(tail_.size()); }
  int64_t num_keys() const { return static_cast<int64_t>(head_.size()); }
  int32_t head(int64_t key) const { return head_[key]; }
  int32_t relation(int64_t key) const { return relation_[key]; }
  // Ascending.
  absl::Span<const int32_t> tails(int64_t key) const {
    return absl::MakeConstSpan(tail_).subspan(offset_[key], offset_[key + 1] - offset_[key]);
  }
  // -1: no triple has this head and relation.
  int64_t Find(int32_t head, int32_t relation) const;
  // Of the key; empty when there is none.
  absl::Span<const int32_t> Tails(int32_t head, int32_t relation) const;

  // The whole arrays, as FromArrays takes them.
  const std::vector<int32_t>& heads() const { return head_; }
  const std::vector<int32_t>& relations() const { return relation_; }
  const std::vector<int64_t>& offsets() const { return offset_; }
  const std::vector<int32_t>& all_tails() const { return tail_; }

 private:
  void IndexHeads();

  std::vector<int32_t> head_, relation_;  // [K]
  std::vector<int64_t> offset_ = {0};     // [K + 1]
  std::vector<int32_t> tail_;
  std::vector<int64_t> first_key_;  // [largest head + 2] the keys of head h are [first_key_[h], first_key_[h + 1])
};

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_KNOWN_TAILS_H_
