#include "lib/graph/known_tails.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "lib/base/logging.h"

namespace rutile {
namespace {

constexpr int64_t kMaxId = std::numeric_limits<int32_t>::max();

// Packs a relation and a tail into one number that sorts like the pair.
uint64_t Pack(int64_t relation, int32_t tail) { return static_cast<uint64_t>(relation) << 32 | tail; }

template <typename Function>
void ForEachTail(absl::Span<const absl::Span<const Triple>> splits, int64_t num_relations, bool inverse_relations,
                 Function function) {
  for (const absl::Span<const Triple> split : splits) {
    for (const Triple& triple : split) {
      function(triple.head, triple.relation, triple.tail);
      if (inverse_relations) function(triple.tail, num_relations + triple.relation, triple.head);
    }
  }
}

}  // namespace

KnownTails KnownTails::Build(absl::Span<const absl::Span<const Triple>> splits, int64_t num_relations,
                             bool inverse_relations) {
  CHECK(num_relations >= 0 && num_relations <= (inverse_relations ? kMaxId / 2 : kMaxId)) << num_relations;
  int32_t max_entity = -1;
  for (const absl::Span<const Triple> split : splits) {
    for (const Triple& triple : split) {
      CHECK(triple.head >= 0 && triple.tail >= 0 && triple.relation >= 0 && triple.relation < num_relations)
          << triple.head << " " << triple.relation << " " << triple.tail;
      max_entity = std::max({max_entity, triple.head, triple.tail});
    }
  }
  // Triples are put into buckets by head, and each bucket, most of which are small, is sorted.
  std::vector<int64_t> begin(static_cast<size_t>(max_entity) + 2, 0);
  ForEachTail(splits, num_relations, inverse_relations, [&](int32_t head, int64_t, int32_t) { ++begin[head + 1]; });
  for (size_t h = 1; h < begin.size(); ++h) begin[h] += begin[h - 1];
  std::vector<uint64_t> packed(begin.back());
  std::vector<int64_t> next(begin.begin(), begin.end() - 1);
  ForEachTail(splits, num_relations, inverse_relations,
              [&](int32_t head, int64_t relation, int32_t tail) { packed[next[head]++] = Pack(relation, tail); });

  KnownTails result;
  result.offset_.clear();
  result.tail_.reserve(packed.size());
  for (int64_t head = 0; head <= max_entity; ++head) {
    const auto first = packed.begin() + begin[head], last = packed.begin() + begin[head + 1];
    std::sort(first, last);
    for (auto at = first; at != last; ++at) {
      const int32_t relation = static_cast<int32_t>(*at >> 32);
      if (at != first && at[0] == at[-1]) continue;
      if (at == first || relation != static_cast<int32_t>(at[-1] >> 32)) {
        result.head_.push_back(static_cast<int32_t>(head));
        result.relation_.push_back(relation);
        result.offset_.push_back(static_cast<int64_t>(result.tail_.size()));
      }
      result.tail_.push_back(static_cast<int32_t>(*at & 0xffffffff));
    }
  }
  result.offset_.push_back(static_cast<int64_t>(result.tail_.size()));
  result.tail_.shrink_to_fit();
  result.IndexHeads();
  return result;
}

KnownTails KnownTails::FromArrays(std::vector<int32_t> head, std::vector<int32_t> relation, std::vector<int64_t> offset,
                                  std::vector<int32_t> tail) {
  CHECK(head.size() == relation.size() && head.size() + 1 == offset.size() &&
        offset.back() == static_cast<int64_t>(tail.size()));
  KnownTails result;
  result.head_ = std::move(head);
  result.relation_ = std::move(relation);
  result.offset_ = std::move(offset);
  result.tail_ = std::move(tail);
  result.IndexHeads();
  return result;
}

void KnownTails::IndexHeads() {
  first_key_.assign(head_.empty() ? 1 : static_cast<size_t>(head_.back()) + 2, 0);
  for (const int32_t head : head_) ++first_key_[static_cast<size_t>(head) + 1];
  for (size_t h = 1; h < first_key_.size(); ++h) first_key_[h] += first_key_[h - 1];
}

int64_t KnownTails::Find(int32_t head, int32_t relation) const {
  if (head < 0 || static_cast<size_t>(head) + 1 >= first_key_.size()) return -1;
  const auto first = relation_.begin() + first_key_[head], last = relation_.begin() + first_key_[head + 1];
  const auto found = std::lower_bound(first, last, relation);
  return found != last && *found == relation ? found - relation_.begin() : -1;
}

absl::Span<const int32_t> KnownTails::Tails(int32_t head, int32_t relation) const {
  const int64_t key = Find(head, relation);
  return key < 0 ? absl::Span<const int32_t>() : tails(key);
}

}  // namespace rutile
