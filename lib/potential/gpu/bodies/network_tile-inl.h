// Products of the networks' layers for a tile of rows, computed by one block of threads of a GPU.
//
// A tile is a matrix [neurons, TileStride], the numbers of its rows next to each other. In products each thread
// computes 4 neurons by 4 rows, or 4 by 4 weights, in registers, and 32 threads that follow each other 4 by 8 such
// squares, since these read few different words of shared memory. All functions leave it to the caller to Sync before
// and after.

#ifndef RUTILE_LIB_POTENTIAL_GPU_BODIES_NETWORK_TILE_INL_H_
#define RUTILE_LIB_POTENTIAL_GPU_BODIES_NETWORK_TILE_INL_H_

#include <cmath>
#include <cstdint>

#include "lib/gpu/block.h"
#include "lib/gpu/device_function.h"
#include "lib/potential/gpu/network_layout.h"

// Keeps a loop with a long body from being unrolled.
#ifdef __CUDA_ARCH__
#define RUTILE_NO_UNROLL _Pragma("unroll 1")
#else
#define RUTILE_NO_UNROLL
#endif

namespace rutile {

// 4 numbers that are loaded and stored at once.
template <typename T>
struct alignas(16) Four {
  T v[4];
};

template <typename T>
RUTILE_DEVICE inline Four<T> LoadFour(const T* from) {
  return *reinterpret_cast<const Four<T>*>(from);
}
// nvcc 13 splits most stores of float4 into 4, which then meet in the same banks, so that stores are spelled out.
template <typename T>
RUTILE_DEVICE inline void StoreFour(const Four<T>& four, T* to) {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(T) == sizeof(float)) {
    asm volatile("st.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(four.v[0]), "f"(four.v[1]), "f"(four.v[2]),
                 "f"(four.v[3])
                 : "memory");
  } else {
    asm volatile("st.v2.f64 [%0], {%1, %2}; st.v2.f64 [%0 + 16], {%3, %4};" ::"l"(to), "d"(four.v[0]), "d"(four.v[1]),
                 "d"(four.v[2]), "d"(four.v[3])
                 : "memory");
  }
#else
  *reinterpret_cast<Four<T>*>(to) = four;
#endif
}
template <typename T>
RUTILE_DEVICE inline Four<T> AllOf(T value) {
  return {{value, value, value, value}};
}

// Numbers from one neuron to the next: a multiple of 4, and 4 more than one of 32, so that columns of a tile can be
// accessed, too, without two threads in one bank.
template <int kRows>
RUTILE_DEVICE constexpr int TileStride() {
  return kRows + 4;
}

// An activation, and its derivative where that is a polynomial of the value: f' = c0 + c1 y + c2 y^2, so that f'' =
// (c1 + 2 c2 y) f'. See activation-inl.h.
template <typename T>
struct Activator {
  // curvatures: f'' is needed, and kept where f' is.
  RUTILE_DEVICE Activator(const NetworkLayout& layout, bool curvatures)
      : kind(layout.activation),
        keeps_slopes(layout.keeps_slopes),
        keeps_curvatures(layout.keeps_slopes && curvatures),
        c0(1),
        c1(0),
        c2(0) {
    constexpr double kScale = 1.7159;
    if (kind == kPlainTanh) c2 = T(-1);
    if (kind == kPlainSigmoid) c0 = T(0), c1 = T(1), c2 = T(-1);
    if (kind == kPlainMtanh) c0 = T(kScale * 2 / 3), c2 = T(-2 / (3 * kScale));
  }

  // Replaces a by f(a). Where slopes are kept also sets those and the curvatures f''.
  RUTILE_DEVICE void Apply(Four<T>* a, Four<T>* slope, Four<T>* curvature) const {
    if (kind == kPlainLinear) return;
    const bool halves = kind == kPlainSigmoid || kind == kPlainSilu;
    const T inner = kind == kPlainTanh ? T(1) : halves ? T(0.5) : T(2.0 / 3);
    constexpr T kScale = T(1.7159), kSteep = T(1.7159 * 2 / 3);
    RUTILE_UNROLL
    for (int r = 0; r < 4; ++r) {
      const T z = a->v[r], t = std::tanh(inner * z), rest = T(1) - t * t, s = T(0.5) * t + T(0.5);
      switch (kind) {
        case kPlainTanh:
          a->v[r] = t;
          break;
        case kPlainSigmoid:
          a->v[r] = s;
          break;
        case kPlainMtanh:
          a->v[r] = kScale * t;
          break;
        case kPlainTwist:
          a->v[r] = kScale * t + T(0.1) * z;
          slope->v[r] = kSteep * rest + T(0.1);
          curvature->v[r] = T(-4.0 / 3) * t * (kSteep * rest);
          break;
        default:  // silu
          a->v[r] = z * s;
          slope->v[r] = z * s * (T(1) - s) + s;
          curvature->v[r] = s * (T(1) - s) * (T(2) + z * (T(1) - T(2) * s));
          break;
      }
    }
  }

  RUTILE_DEVICE T Slope(T y) const { return (c2 * y + c1) * y + c0; }
  // Returns f'' / f'.
  RUTILE_DEVICE T Bend(T y) const { return T(2) * c2 * y + c1; }

  int kind;
  bool keeps_slopes, keeps_curvatures;
  T c0, c1, c2;
};

// The `across` by `down` squares that a block computes, in patches of 8 by 4 for 32 threads; some lie outside.
struct Squares {
  RUTILE_DEVICE Squares(int across, int down) : patches((across + 7) / 8), count(patches * ((down + 3) / 4) * 32) {}
  RUTILE_DEVICE int Across(int item) const { return (item >> 5) % patches * 8 + (item & 7); }
  RUTILE_DEVICE int Down(int item) const { return (item >> 5) / patches * 4 + ((item >> 3) & 3); }

  int patches, count;
};

// Computes bias + W in for `outputs` neurons. in: the tile's rows of the layer's `inputs` neurons; both are multiples
// of 4. Calls end(first neuron, step, first row, sums), where sums[k] are those of neuron first + k step.
template <int kRows, bool kBias, typename T, typename End>
RUTILE_DEVICE inline void MultiplyOnward(const Block& block, const T* weights, int stride, const T* bias, const T* in,
                                         int inputs, int outputs, const End& end) {
  constexpr int kStride = TileStride<kRows>();
  const int step = outputs / 4;
  const Squares squares(kRows / 4, step);
  for (int item = block.thread; item < squares.count; item += block.threads) {
    const int o = squares.Down(item), r = 4 * squares.Across(item);
    if (o >= step) continue;
    Four<T> sums[4];
    RUTILE_UNROLL
    for (int k = 0; k < 4; ++k) sums[k] = AllOf(kBias ? bias[o + k * step] : T(0));
    const T* w = weights + int64_t{o} * stride;
    const T* z = in + r;
    for (int i = 0; i < inputs; i += 4, w += 4, z += 4 * kStride) {
      Four<T> values[4];
      RUTILE_UNROLL
      for (int j = 0; j < 4; ++j) values[j] = LoadFour(z + j * kStride);
      RUTILE_UNROLL
      for (int k = 0; k < 4; ++k) {
        const Four<T> row = LoadFour(w + int64_t{k} * step * stride);
        RUTILE_UNROLL
        for (int j = 0; j < 4; ++j) {
          RUTILE_UNROLL
          for (int n = 0; n < 4; ++n) sums[k].v[n] += row.v[j] * values[j].v[n];
        }
      }
    }
    end(o, step, r, sums);
  }
}

// Computes W^T in for `inputs` neurons, where `in` are the tile's rows of the layer's `outputs`. Calls `end` as above.
template <int kRows, typename T, typename End>
RUTILE_DEVICE inline void MultiplyBack(const Block& block, const T* weights, int stride, const T* in, int outputs,
                                       int inputs, const End& end) {
  constexpr int kStride = TileStride<kRows>();
  const Squares squares(kRows / 4, inputs / 4);
  for (int item = block.thread; item < squares.count; item += block.threads) {
    const int i = 4 * squares.Down(item), r = 4 * squares.Across(item);
    if (i >= inputs) continue;
    Four<T> sums[4];
    RUTILE_UNROLL
    for (int k = 0; k < 4; ++k) sums[k] = AllOf(T(0));
    const T* w = weights + i;
    const T* d = in + r;
    for (int o = 0; o < outputs; o += 4, d += 4 * kStride) {
      RUTILE_UNROLL
      for (int j = 0; j < 4; ++j, w += stride) {
        const Four<T> row = LoadFour(w), values = LoadFour(d + j * kStride);
        RUTILE_UNROLL
        for (int k = 0; k < 4; ++k) {
          RUTILE_UNROLL
          for (int n = 0; n < 4; ++n) sums[k].v[n] += row.v[k] * values.v[n];
        }
      }
    }
    end(i, 1, r, sums);
  }
}

// What MultiplyOnward and MultiplyBack do with their sums. Pointers are to the first neuron of the result's layer.
template <int kRows, typename T>
struct PlainEnd {
  RUTILE_DEVICE void operator()(int first, int step, int r, const Four<T> (&sums)[4]) const {
    RUTILE_UNROLL
    for (int k = 0; k < 4; ++k) StoreFour(sums[k], out + int64_t{first + k * step} * TileStride<kRows>() + r);
  }

  T* out;
};

// y = f(sums), and f' and f'' where they are kept.
template <int kRows, typename T>
struct ActivateEnd {
  RUTILE_DEVICE void operator()(int first, int step, int r, const Four<T> (&sums)[4]) const {
    PlainEnd<kRows, T>{values}(first, step, r, sums);
    // The code of an activation is long, and registers cannot be indexed in a loop.
    RUTILE_NO_UNROLL
    for (int k = 0; k < 4; ++k) {
      const int64_t at = int64_t{first + k * step} * TileStride<kRows>() + r;
      Four<T> y = LoadFour(values + at), slope, curvature;
      activator.Apply(&y, &slope, &curvature);
      StoreFour(y, values + at);
      if (!activator.keeps_slopes) continue;
      StoreFour(slope, slopes + at);
      if (activator.keeps_curvatures) StoreFour(curvature, curvatures + at);
    }
  }

  Activator<T> activator;
  T *values, *slopes, *curvatures;
};

// Returns f' of 4 rows, at offset `at` of the layer.
template <typename T>
RUTILE_DEVICE inline Four<T> SlopesAt(const Activator<T>& activator, const T* values, const T* slopes, int64_t at) {
  if (activator.keeps_slopes) return LoadFour(slopes + at);
  Four<T> result = LoadFour(values + at);
  RUTILE_UNROLL
  for (int n = 0; n < 4; ++n) result.v[n] = activator.Slope(result.v[n]);
  return result;
}

// d = f' u, where u are the sums; and turns curvatures from f'' into f'' u. d may lie where the values do.
template <int kRows, typename T>
struct DeltaEnd {
  RUTILE_DEVICE void One(int64_t at, const Four<T>& u) const {
    Four<T> d = SlopesAt(activator, values, slopes, at);
    RUTILE_UNROLL
    for (int n = 0; n < 4; ++n) d.v[n] *= u.v[n];
    StoreFour(d, deltas + at);
    if (!activator.keeps_curvatures) return;
    Four<T> c = LoadFour(curvatures + at);
    RUTILE_UNROLL
    for (int n = 0; n < 4; ++n) c.v[n] *= u.v[n];
    StoreFour(c, curvatures + at);
  }
  RUTILE_DEVICE void operator()(int first, int step, int r, const Four<T> (&sums)[4]) const {
    RUTILE_UNROLL
    for (int k = 0; k < 4; ++k) One(int64_t{first + k * step} * TileStride<kRows>() + r, sums[k]);
  }

  Activator<T> activator;
  const T *values, *slopes;
  T *deltas, *curvatures;
};

// From adot, the sums: zdot = f' adot and mu = f'' u adot.
template <int kRows, typename T>
struct TangentEnd {
  RUTILE_DEVICE void operator()(int first, int step, int r, const Four<T> (&sums)[4]) const {
    RUTILE_UNROLL
    for (int k = 0; k < 4; ++k) {
      const int64_t at = int64_t{first + k * step} * TileStride<kRows>() + r;
      Four<T> slope = SlopesAt(activator, values, slopes, at), curvature;
      if (activator.keeps_slopes) {
        curvature = LoadFour(curvatures + at);
      } else {
        curvature = LoadFour(deltas + at);
        const Four<T> y = LoadFour(values + at);
        RUTILE_UNROLL
        for (int n = 0; n < 4; ++n) curvature.v[n] *= activator.Bend(y.v[n]);
      }
      RUTILE_UNROLL
      for (int n = 0; n < 4; ++n) {
        slope.v[n] *= sums[k].v[n];
        curvature.v[n] *= sums[k].v[n];
      }
      StoreFour(slope, zdot + at);
      StoreFour(curvature, mu + at);
    }
  }

  Activator<T> activator;
  const T *values, *slopes, *deltas, *curvatures;
  T *zdot, *mu;
};

// Adds f' times the sums to mu.
template <int kRows, typename T>
struct ReverseEnd {
  RUTILE_DEVICE void operator()(int first, int step, int r, const Four<T> (&sums)[4]) const {
    RUTILE_UNROLL
    for (int k = 0; k < 4; ++k) {
      const int64_t at = int64_t{first + k * step} * TileStride<kRows>() + r;
      const Four<T> slope = SlopesAt(activator, values, slopes, at);
      Four<T> sum = LoadFour(mu + at);
      RUTILE_UNROLL
      for (int n = 0; n < 4; ++n) sum.v[n] += slope.v[n] * sums[k].v[n];
      StoreFour(sum, mu + at);
    }
  }

  Activator<T> activator;
  const T *values, *slopes;
  T* mu;
};

// Adds sum_r a[o][r] b[i][r] to sums[o][i]: squares of 4 by 4 weights that are `down` and `across` neurons apart.
template <int kRows, typename T>
RUTILE_DEVICE inline void AddSquare(const T* a, int down, const T* b, int across, Four<T> (&sums)[4]) {
  constexpr int kStride = TileStride<kRows>();
  for (int r = 0; r < kRows; r += 4) {
    Four<T> columns[4];
    RUTILE_UNROLL
    for (int j = 0; j < 4; ++j) columns[j] = LoadFour(b + int64_t{j} * across * kStride + r);
    RUTILE_UNROLL
    for (int k = 0; k < 4; ++k) {
      const Four<T> row = LoadFour(a + int64_t{k} * down * kStride + r);
      RUTILE_UNROLL
      for (int j = 0; j < 4; ++j) {
        RUTILE_UNROLL
        for (int n = 0; n < 4; ++n) sums[k].v[j] += row.v[n] * columns[j].v[n];
      }
    }
  }
}

// Adds sum_r mu[o][r] z[i][r] and, with kTangents, sum_r deltas[o][r] zdot[i][r] to the gradient [outputs, stride] of
// packed weights; sets it if `first`. Each thread has the same elements in each call with the same `skipped`, which is
// how many squares of other layers came before: threads that have none there go first here. Returns it for the next.
template <int kRows, bool kTangents, typename T>
RUTILE_DEVICE inline int AddOuterProducts(const Block& block, int skipped, const T* mu, const T* z, const T* deltas,
                                          const T* zdot, int outputs, int inputs, bool first, T* gradient, int stride) {
  constexpr int kStride = TileStride<kRows>();
  const int down = outputs / 4, across = inputs / 4;
  const Squares squares(across, down);
  const int begin = (block.thread + block.threads - skipped % block.threads) % block.threads;
  for (int item = begin; item < squares.count; item += block.threads) {
    const int o = squares.Down(item), i = squares.Across(item);
    if (o >= down || i >= across) continue;
    Four<T> sums[4];
    RUTILE_UNROLL
    for (int k = 0; k < 4; ++k) sums[k] = AllOf(T(0));
    const int64_t a = int64_t{o} * kStride, b = int64_t{i} * kStride;
    AddSquare<kRows>(mu + a, down, z + b, across, sums);
    if (kTangents) AddSquare<kRows>(deltas + a, down, zdot + b, across, sums);
    T* const to = gradient + int64_t{o} * stride + i;
    if (!first) {
      RUTILE_UNROLL
      for (int k = 0; k < 4; ++k) {
        RUTILE_UNROLL
        for (int j = 0; j < 4; ++j) sums[k].v[j] += to[int64_t{k} * down * stride + j * across];
      }
    }
    RUTILE_UNROLL
    for (int k = 0; k < 4; ++k) {
      RUTILE_UNROLL
      for (int j = 0; j < 4; ++j) to[int64_t{k} * down * stride + j * across] = sums[k].v[j];
    }
  }
  return skipped + squares.count;
}

// Adds the sum over rows of a neuron to *to, or sets *to if `first`. factors: [rows], or null.
template <int kRows, typename T>
RUTILE_DEVICE inline void AddRowSum(const T* row, const T* factors, bool first, T* to) {
  Four<T> sum = AllOf(T(0));
  for (int r = 0; r < kRows; r += 4) {
    const Four<T> each = LoadFour(row + r), factor = factors == nullptr ? AllOf(T(1)) : LoadFour(factors + r);
    RUTILE_UNROLL
    for (int n = 0; n < 4; ++n) sum.v[n] += each.v[n] * factor.v[n];
  }
  const T total = (sum.v[0] + sum.v[1]) + (sum.v[2] + sum.v[3]);
  *to = first ? total : *to + total;
}

// Calls body(r, f) for all rows and the first `features` neurons of a tile so that threads which follow each other read
// 8 numbers in a row of a matrix [rows, F] and are in different banks of a tile.
template <int kRows, typename Body>
RUTILE_DEVICE inline void ForTransposed(const Block& block, int features, const Body& body) {
  const int count = (features + 7) / 8 * 8 * kRows;
  for (int item = block.thread; item < count; item += block.threads) {
    const int patch = item >> 5;
    const int r = patch % (kRows / 4) * 4 + (item & 3), f = patch / (kRows / 4) * 8 + ((item >> 2) & 7);
    if (f < features) body(r, f);
  }
}

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_GPU_BODIES_NETWORK_TILE_INL_H_
