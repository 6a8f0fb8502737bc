// Bodies of regularizers: RowPenalty and DuraPenalty of lib/kge/training, which have the formulas.

#ifndef RUTILE_LIB_KGE_GPU_BODIES_PENALTY_BODIES_INL_H_
#define RUTILE_LIB_KGE_GPU_BODIES_PENALTY_BODIES_INL_H_

#include <cmath>
#include <cstdint>

#include "lib/gpu/device_function.h"
#include "lib/kge/gpu/bodies/row_bodies-inl.h"
#include "lib/kge/gpu/kge_step_shape.h"

namespace rutile {

// Computes sum[i], what row i of the list adds to the loss. For each row of the list.
template <typename T>
struct RowPenaltySumBody {
  static constexpr int kThreads = 64;
  RowPenaltyKind kind;
  const T* table;
  int64_t d;
  const int32_t* row;
  const double* weight;
  double* sum;

  RUTILE_DEVICE void operator()(int64_t i) const {
    const T* const x = table + row[i] * d;
    const bool moduli = kind == RowPenaltyKind::kModuliCubed;
    const int64_t numbers = moduli ? d / 2 : d;
    double all = 0;
    for (int64_t k = 0; k < numbers; ++k) {
      const double re = static_cast<double>(x[k]), im = moduli ? static_cast<double>(x[k + numbers]) : 0.0;
      const double square = re * re + im * im;
      all += kind == RowPenaltyKind::kSquares ? square : square * sqrt(square);
    }
    sum[i] = weight[i] * all;
  }
};

// Adds the gradients of these. For each number, real or complex, of the rows of the list.
template <typename T>
struct RowPenaltySlopeBody {
  static constexpr int kThreads = 256;
  RowPenaltyKind kind;
  const T* table;
  int64_t d;
  const int32_t* row;
  const double* weight;
  T* gradient;

  RUTILE_DEVICE void operator()(int64_t i) const {
    const bool moduli = kind == RowPenaltyKind::kModuliCubed;
    const int64_t numbers = moduli ? d / 2 : d, at = row[i / numbers] * d + i % numbers;
    const double w = weight[i / numbers];
    if (kind == RowPenaltyKind::kSquares) {
      gradient[at] += static_cast<T>(2 * w) * table[at];
      return;
    }
    const T thrice = static_cast<T>(3 * w), re = table[at];
    if (!moduli) {
      gradient[at] += thrice * fabs(re) * re;
      return;
    }
    const T im = table[at + numbers], slope = thrice * sqrt(re * re + im * im);
    gradient[at] += slope * re;
    gradient[at + numbers] += slope * im;
  }
};

// Pairs of rows, on the device.
template <typename T>
struct DevicePairs {
  const int32_t *entity, *relation;
  const double* weight;
  const T *entities, *relations;
  int64_t d, half;  // half: the distance from real to imaginary parts, 0 for real numbers

  RUTILE_DEVICE int64_t numbers() const { return half > 0 ? half : d; }
  RUTILE_DEVICE T Square(const T* x, int64_t k) const {
    return half > 0 ? x[k] * x[k] + x[k + half] * x[k + half] : x[k] * x[k];
  }
};

// Computes sum[i], what pair i adds to the loss. For each pair.
template <typename T>
struct PairPenaltySumBody {
  static constexpr int kThreads = 64;
  DevicePairs<T> pairs;
  double* sum;

  RUTILE_DEVICE void operator()(int64_t i) const {
    const T *const e = pairs.entities + pairs.entity[i] * pairs.d, *const w =
                                                                       pairs.relations + pairs.relation[i] * pairs.d;
    double psi = 0;
    for (int64_t k = 0; k < pairs.numbers(); ++k) {
      psi += static_cast<double>(pairs.Square(e, k)) * (0.5 + 1.5 * static_cast<double>(pairs.Square(w, k)));
    }
    sum[i] = pairs.weight[i] * psi;
  }
};

// Adds the gradients of entities, or of relations. For each number, real or complex, of the rows of `groups`, which are
// rows of that table with their pairs.
template <typename T, bool kOfEntities>
struct PairSlopeBody {
  static constexpr int kThreads = 256;
  DevicePairs<T> pairs;
  DeviceRowGroups groups;
  T* gradient;

  RUTILE_DEVICE void operator()(int64_t i) const {
    const int64_t u = i / pairs.numbers(), k = i % pairs.numbers(), at = groups.row[u] * pairs.d + k;
    const T* const table = kOfEntities ? pairs.entities : pairs.relations;
    T slope = 0;
    for (int64_t m = groups.offset[u]; m < groups.offset[u + 1]; ++m) slope += SlopeOf(groups.item[m], k);
    gradient[at] += slope * table[at];
    if (pairs.half > 0) gradient[at + pairs.half] += slope * table[at + pairs.half];
  }

  // Returns what number k of the row is multiplied with.
  RUTILE_DEVICE T SlopeOf(int64_t pair, int64_t k) const {
    if (kOfEntities) {
      const T* const w = pairs.relations + pairs.relation[pair] * pairs.d;
      return static_cast<T>(pairs.weight[pair]) * (1 + 3 * pairs.Square(w, k));
    }
    const T* const e = pairs.entities + pairs.entity[pair] * pairs.d;
    return static_cast<T>(3 * pairs.weight[pair]) * pairs.Square(e, k);
  }
};

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_GPU_BODIES_PENALTY_BODIES_INL_H_
