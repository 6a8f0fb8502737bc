// Embeddings of a batch's queries as arrays of their own, for models whose tables are sharded over processes.

#ifndef RUTILE_LIB_KGE_LAYERS_BATCH_ROWS_H_
#define RUTILE_LIB_KGE_LAYERS_BATCH_ROWS_H_

#include <cstdint>

namespace rutile {

// The embeddings of each query, [B, d] and [B, D]. Null: they are read from the tables.
template <typename T>
struct BatchRows {
  const T* heads = nullptr;
  const T* relations = nullptr;
};

// Where gradients of these embeddings are added, [B, d] and [B, D]. Null: they are added to the tables' gradient.
template <typename T>
struct BatchRowGradients {
  T* heads = nullptr;
  T* relations = nullptr;
};

// Returns the row of query e, whose entity or relation is `id`: row e of `apart` if that is given, else row `id` of the
// table. A row has d numbers.
template <typename T>
T* RowOf(T* apart, int64_t e, T* table, int64_t id, int64_t d) {
  return apart != nullptr ? apart + e * d : table + id * d;
}

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_LAYERS_BATCH_ROWS_H_
