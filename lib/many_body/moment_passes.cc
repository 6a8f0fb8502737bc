#include "lib/many_body/moment_passes.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/many_body/moment_passes.cc"
#include "hwy/foreach_target.h"
// The order matters: foreach_target.h includes this file again for each target.
#include <algorithm>

#include "lib/machine/simd.h"
#include "lib/many_body/channel_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int kRows = 6;  // with 4 vectors of channels, 24 of AVX-512's 32 registers hold sums

// ---- A = C x: R rows (atom, m) of one l and V vectors of channels at a time

template <typename T>
struct MomentTiles {
  const MomentSizes& sizes;
  int l;
  const T* c;  // [N, K] of this l
  const T* const* x;
  T* a;

  template <int V>
  struct Channels {
    const MomentTiles& tiles;
    int k;

    template <int R>
    HWY_INLINE void Run(int first) const {
      const hn::ScalableTag<T> d;
      const int64_t lanes = hn::Lanes(d);
      const int l = tiles.l, width = 2 * l + 1, q = tiles.sizes.num_components(), channels = tiles.sizes.channels;
      const T* in[R];
      T* out[R];
      for (int r = 0; r < R; ++r) {
        const int atom = (first + r) / width, component = l * l + (first + r) % width;
        in[r] = tiles.x[atom] + component;
        out[r] = tiles.a + (int64_t{atom} * q + component) * channels + k;
      }
      VecOf<T> sum[R][V];
      for (int r = 0; r < R; ++r) {
        for (int v = 0; v < V; ++v) sum[r][v] = hn::Zero(d);
      }
      const T* c = tiles.c + k;
      for (int64_t row = 0; row < tiles.sizes.num_rows; ++row, c += channels) {
        VecOf<T> factor[V];
        LoadVectors<T, V>(c, factor);
        for (int r = 0; r < R; ++r) {
          const auto value = hn::Set(d, in[r][row * q]);
          for (int v = 0; v < V; ++v) sum[r][v] = hn::MulAdd(value, factor[v], sum[r][v]);
        }
      }
      for (int r = 0; r < R; ++r) {
        for (int v = 0; v < V; ++v) hn::Store(sum[r][v], d, out[r] + v * lanes);
      }
    }
  };
  int count;  // rows

  template <int V>
  HWY_INLINE void Run(int k) const {
    ForRows<kRows>(count, Channels<V>{*this, k});
  }
};

template <typename T>
void Moments(const MomentSizes& sizes, const T* c, int n, const T* const* x, T* a) {
  for (int l = 0; l <= sizes.max_l; ++l) {
    const T* const of_l = c + int64_t{l} * sizes.num_rows * sizes.channels;
    ForVectors<T, MostVectors<T>(false)>(sizes.channels, MomentTiles<T>{sizes, l, of_l, x, a, n * (2 * l + 1)});
  }
}

// ---- x_gradients = C^T A_bar: lanes are rows of the features

template <typename T>
struct FeatureTiles {
  const MomentSizes& sizes;
  int l;
  const T* c;  // [K, padded_rows] of this l
  const T* bar;
  T* x_gradients;
  int count;

  template <int V>
  struct Rows {
    const FeatureTiles& tiles;
    int row;

    template <int R>
    HWY_INLINE void Run(int first) const {
      const hn::ScalableTag<T> d;
      constexpr int kMost = V * static_cast<int>(hn::MaxLanes(hn::ScalableTag<T>()));
      const int lanes = hn::Lanes(d);
      const MomentSizes& sizes = tiles.sizes;
      const int l = tiles.l, width = 2 * l + 1, q = sizes.num_components();
      const T* in[R];
      T* out[R];
      for (int r = 0; r < R; ++r) {
        const int64_t atom = (first + r) / width, component = l * l + (first + r) % width;
        in[r] = tiles.bar + (atom * q + component) * sizes.channels;
        out[r] = tiles.x_gradients + atom * q * sizes.num_rows + component + int64_t{row} * q;
      }
      VecOf<T> sum[R][V];
      for (int r = 0; r < R; ++r) {
        for (int v = 0; v < V; ++v) sum[r][v] = hn::Zero(d);
      }
      const T* c = tiles.c + row;
      for (int64_t k = 0; k < sizes.channels; ++k, c += sizes.padded_rows) {
        VecOf<T> factor[V];
        LoadVectors<T, V>(c, factor);
        for (int r = 0; r < R; ++r) {
          const auto value = hn::Set(d, in[r][k]);
          for (int v = 0; v < V; ++v) sum[r][v] = hn::MulAdd(value, factor[v], sum[r][v]);
        }
      }
      const int rows = std::min(V * lanes, sizes.num_rows - row);
      for (int r = 0; r < R; ++r) {
        alignas(64) T numbers[kMost];
        for (int v = 0; v < V; ++v) hn::Store(sum[r][v], d, numbers + v * lanes);
        for (int64_t i = 0; i < rows; ++i) out[r][i * q] = numbers[i];
      }
    }
  };

  template <int V>
  HWY_INLINE void Run(int row) const {
    if (row < sizes.num_rows) ForRows<kRows>(count, Rows<V>{*this, row});
  }
};

template <typename T>
void FeatureSlopes(const MomentSizes& sizes, const T* c, int n, const T* bar, T* x_gradients) {
  for (int l = 0; l <= sizes.max_l; ++l) {
    const T* const of_l = c + int64_t{l} * sizes.channels * sizes.padded_rows;
    ForVectors<T, 2>(sizes.padded_rows, FeatureTiles<T>{sizes, l, of_l, bar, x_gradients, n * (2 * l + 1)});
  }
}

// ---- gradients of C: R rows of the features and V vectors of channels at a time, over all atoms and m

template <typename T, bool kDual>
struct GradientTiles {
  const MomentSizes& sizes;
  int l, n;
  const T* const* x;
  const T* const* x_dot;
  WithTangent<const T> bar;
  T* gradients;  // [N, K] of this l

  template <int V>
  struct Channels {
    const GradientTiles& tiles;
    int k;

    template <int R>
    HWY_INLINE void Run(int first) const {
      const hn::ScalableTag<T> d;
      const int64_t lanes = hn::Lanes(d);
      const int l = tiles.l, q = tiles.sizes.num_components(), channels = tiles.sizes.channels;
      T* const out = tiles.gradients + int64_t{first} * channels + k;
      VecOf<T> sum[R][V];
      for (int r = 0; r < R; ++r) {
        for (int v = 0; v < V; ++v) sum[r][v] = hn::Load(d, out + r * channels + v * lanes);
      }
      for (int64_t atom = 0; atom < tiles.n; ++atom) {
        const T* const x = tiles.x[atom] + int64_t{first} * q;
        const T* const x_dot = kDual ? tiles.x_dot[atom] + int64_t{first} * q : nullptr;
        for (int64_t i = l * l; i < (l + 1) * (l + 1); ++i) {
          Numbers<T, V, kDual> slope;
          slope.Load(tiles.bar, (atom * q + i) * channels + k);
          for (int r = 0; r < R; ++r) {
            const auto value = hn::Set(d, x[r * q + i]);
            for (int v = 0; v < V; ++v) {
              if constexpr (kDual) {
                sum[r][v] = hn::MulAdd(value, slope.dot[v], sum[r][v]);
              } else {
                sum[r][v] = hn::MulAdd(value, slope.value[v], sum[r][v]);
              }
            }
            if constexpr (kDual) {
              const auto dot = hn::Set(d, x_dot[r * q + i]);
              for (int v = 0; v < V; ++v) sum[r][v] = hn::MulAdd(dot, slope.value[v], sum[r][v]);
            }
          }
        }
      }
      for (int r = 0; r < R; ++r) {
        for (int v = 0; v < V; ++v) hn::Store(sum[r][v], d, out + r * channels + v * lanes);
      }
    }
  };

  template <int V>
  HWY_INLINE void Run(int k) const {
    ForRows<kRows>(sizes.num_rows, Channels<V>{*this, k});
  }
};

template <typename T>
void CoefficientGradients(const MomentSizes& sizes, int n, const T* const* x, const T* const* x_dot,
                          WithTangent<const T> bar, T* gradients) {
  for (int l = 0; l <= sizes.max_l; ++l) {
    T* const of_l = gradients + int64_t{l} * sizes.num_rows * sizes.channels;
    if (x_dot == nullptr) {
      ForVectors<T, MostVectors<T>(false)>(sizes.channels, GradientTiles<T, false>{sizes, l, n, x, x_dot, bar, of_l});
    } else {
      ForVectors<T, 2>(sizes.channels, GradientTiles<T, true>{sizes, l, n, x, x_dot, bar, of_l});
    }
  }
}

void MomentsF32(const MomentSizes& sizes, const float* c, int n, const float* const* x, float* a) {
  Moments(sizes, c, n, x, a);
}
void MomentsF64(const MomentSizes& sizes, const double* c, int n, const double* const* x, double* a) {
  Moments(sizes, c, n, x, a);
}
void FeaturesF32(const MomentSizes& sizes, const float* c, int n, const float* bar, float* x_gradients) {
  FeatureSlopes(sizes, c, n, bar, x_gradients);
}
void FeaturesF64(const MomentSizes& sizes, const double* c, int n, const double* bar, double* x_gradients) {
  FeatureSlopes(sizes, c, n, bar, x_gradients);
}
void CoefficientsF32(const MomentSizes& sizes, int n, const float* const* x, const float* const* x_dot,
                     WithTangent<const float> bar, float* gradients) {
  CoefficientGradients(sizes, n, x, x_dot, bar, gradients);
}
void CoefficientsF64(const MomentSizes& sizes, int n, const double* const* x, const double* const* x_dot,
                     WithTangent<const double> bar, double* gradients) {
  CoefficientGradients(sizes, n, x, x_dot, bar, gradients);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rutile {

HWY_EXPORT(MomentsF32);
HWY_EXPORT(MomentsF64);
HWY_EXPORT(FeaturesF32);
HWY_EXPORT(FeaturesF64);
HWY_EXPORT(CoefficientsF32);
HWY_EXPORT(CoefficientsF64);

void MomentsOfBlock(const MomentSizes& sizes, const float* c, int n, const float* const* x, float* a) {
  HWY_DYNAMIC_DISPATCH(MomentsF32)(sizes, c, n, x, a);
}
void MomentsOfBlock(const MomentSizes& sizes, const double* c, int n, const double* const* x, double* a) {
  HWY_DYNAMIC_DISPATCH(MomentsF64)(sizes, c, n, x, a);
}
void FeatureSlopesOfBlock(const MomentSizes& sizes, const float* c, int n, const float* bar, float* x_gradients) {
  HWY_DYNAMIC_DISPATCH(FeaturesF32)(sizes, c, n, bar, x_gradients);
}
void FeatureSlopesOfBlock(const MomentSizes& sizes, const double* c, int n, const double* bar, double* x_gradients) {
  HWY_DYNAMIC_DISPATCH(FeaturesF64)(sizes, c, n, bar, x_gradients);
}
void AddCoefficientGradients(const MomentSizes& sizes, int n, const float* const* x, const float* const* x_dot,
                             WithTangent<const float> bar, float* gradients) {
  HWY_DYNAMIC_DISPATCH(CoefficientsF32)(sizes, n, x, x_dot, bar, gradients);
}
void AddCoefficientGradients(const MomentSizes& sizes, int n, const double* const* x, const double* const* x_dot,
                             WithTangent<const double> bar, double* gradients) {
  HWY_DYNAMIC_DISPATCH(CoefficientsF64)(sizes, n, x, x_dot, bar, gradients);
}

}  // namespace rutile
#endif  // HWY_ONCE
