// Defines a triple, one fact of a knowledge graph: (head, relation, tail), as ids.

#ifndef RUTILE_LIB_GRAPH_TRIPLE_H_
#define RUTILE_LIB_GRAPH_TRIPLE_H_

#include <cstdint>
#include <tuple>
#include <utility>

namespace rutile {

// A triple of ids. Ids of entities are 0..N-1. Ids of relations are 0..R-1 in data; a query may also name R + r, the
// inverse of r: (tail, R + r) asks for the head of a triple.
struct Triple {
  int32_t head = 0;
  int32_t relation = 0;
  int32_t tail = 0;
};

inline bool operator==(const Triple& a, const Triple& b) {
  return a.head == b.head && a.relation == b.relation && a.tail == b.tail;
}
inline bool operator<(const Triple& a, const Triple& b) {
  return std::tie(a.head, a.relation, a.tail) < std::tie(b.head, b.relation, b.tail);
}
// Lets Abseil's hash tables hold triples.
template <typename H>
H AbslHashValue(H state, const Triple& triple) {
  return H::combine(std::move(state), triple.head, triple.relation, triple.tail);
}

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_TRIPLE_H_
