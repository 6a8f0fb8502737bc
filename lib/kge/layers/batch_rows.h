// Embeddings that a batch names, apart from the tables: where the tables are spread over processes.

#ifndef RUTILE_LIB_KGE_LAYERS_BATCH_ROWS_H_
#define RUTILE_LIB_KGE_LAYERS_BATCH_ROWS_H_

#include <cstdint>

namespace rutile {

// Of each query, [B, d] each. Null: they are in the tables.
template <typename T>
struct BatchRows {
  const T* heads = nullptr;
  const T* relations = nullptr;
};

// What belongs to the gradients of these rows is added, [B, d] each. Null: to the tables' gradient.
template <typename T>
struct BatchRowGradients {
  T* heads = nullptr;
  T* relations = nullptr;
};

// Of query e, which names `id`: where rows lie apart, else in the table; d numbers each.
template <typename T>
T* RowOf(T* apart, int64_t e, T* table, int64_t id, int64_t d) {
  return apart != nullptr ? apart + e * d : table + id * d;
}

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_LAYERS_BATCH_ROWS_H_
