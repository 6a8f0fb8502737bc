// Known tails of each (head, relation): the labels of 1-N training, and the entities that filtered ranking leaves out.

#ifndef RUTILE_LIB_GRAPH_KNOWN_TAILS_H_
#define RUTILE_LIB_GRAPH_KNOWN_TAILS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "lib/graph/triple.h"

namespace rutile {

// The known tails in CSR form. A key is a distinct (head, relation); keys ascend. With inverse relations each triple
// (h, r, t) also gives the tail h to the key (t, R + r).
//
//   const KnownTails known =
//       KnownTails::Build({graph.train, graph.valid}, graph.num_relations(), graph.inverse_relations);
//   for (const int32_t tail : known.Tails(head, relation)) Use(tail);
class KnownTails {
 public:
  KnownTails() = default;
  // Collects the tails of all the triples; a repeated tail counts once. CHECK-fails unless ids are in 0 .. 2^31 - 1,
  // relations are below num_relations, and R + r fits.
  static KnownTails Build(absl::Span<const absl::Span<const Triple>> splits, int64_t num_relations,
                          bool inverse_relations);
  // Takes arrays from a file (which were checked there): head, relation [K], offset [K + 1], tail [offset[K]]; keys
  // ascend.
  static KnownTails FromArrays(std::vector<int32_t> head, std::vector<int32_t> relation, std::vector<int64_t> offset,
                               std::vector<int32_t> tail);

  // Number of tails of all keys together.
  int64_t num_tails() const { return static_cast<int64_t>(tail_.size()); }
  int64_t num_keys() const { return static_cast<int64_t>(head_.size()); }
  int32_t head(int64_t key) const { return head_[key]; }
  int32_t relation(int64_t key) const { return relation_[key]; }
  // The tails of a key, ascending.
  absl::Span<const int32_t> tails(int64_t key) const {
    return absl::MakeConstSpan(tail_).subspan(offset_[key], offset_[key + 1] - offset_[key]);
  }
  // Returns the key of (head, relation), or -1 if no triple has them.
  int64_t Find(int32_t head, int32_t relation) const;
  // Returns the tails of (head, relation); empty if there are none.
  absl::Span<const int32_t> Tails(int32_t head, int32_t relation) const;

  // The complete arrays, in the form of FromArrays.
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
