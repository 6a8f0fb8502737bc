// Bodies that add up rows of tables.

#ifndef RUTILE_LIB_KGE_GPU_BODIES_ROW_BODIES_INL_H_
#define RUTILE_LIB_KGE_GPU_BODIES_ROW_BODIES_INL_H_

#include <cstdint>

#include "lib/gpu/device_function.h"

namespace rutile {

// RowGroups on the device.
struct DeviceRowGroups {
  const int32_t* row;
  const int64_t* offset;
  const int32_t* item;
  int64_t size;  // U
};

// Adds items [.., d] to their rows, in order. For each number of the U rows.
template <typename T>
struct AddItemsBody {
  static constexpr int kThreads = 256;
  DeviceRowGroups groups;
  int64_t d;
  const T* items;
  T* table;

  RUTILE_DEVICE void operator()(int64_t i) const {
    const int64_t u = i / d, k = i % d;
    T* const to = table + groups.row[u] * d + k;
    T sum = *to;
    for (int64_t m = groups.offset[u]; m < groups.offset[u + 1]; ++m) sum += items[groups.item[m] * d + k];
    *to = sum;
  }
};

// Copies numbers.
struct CopyBody {
  static constexpr int kThreads = 256;
  const double* from;
  double* to;

  RUTILE_DEVICE void operator()(int64_t i) const { to[i] = from[i]; }
};

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_GPU_BODIES_ROW_BODIES_INL_H_
