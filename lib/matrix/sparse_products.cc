#include "lib/matrix/sparse_products.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/matrix/sparse_products.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>

#include <algorithm>

#include "lib/base/round_up.h"
#include "lib/machine/simd.h"
#include "lib/matrix/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Number of vectors in a panel: 200 rows of it stay in the first-level cache.
constexpr int64_t kPanelVecs = 2;
// Number of independent sums per number of the result, whatever other rows are multiplied; they hide the latency of
// multiply-adds.
constexpr int kUnroll = 2;
// Number of elements of the left factor at a time; the rows of the right one for them stay in the first-level cache.
constexpr int64_t kBlock = 32;
// Largest number of vectors of sums in registers; TileVecs chooses among fewer.
constexpr int64_t kMostVecs = 13;

template <typename T>
int64_t Lanes() {
  return static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
}
template <typename T>
int64_t PanelColumns() {
  return kPanelVecs * Lanes<T>();
}

template <typename T>
void PackPanels(const T* w, int64_t rows, int64_t columns, int64_t stride, T* panels) {
  const int64_t width = PanelColumns<T>();
  for (int64_t c = 0; c < columns; c += width) {
    const int64_t here = std::min(width, columns - c);
    for (int64_t r = 0; r < rows; ++r, panels += width) {
      std::copy_n(w + r * stride + c, here, panels);
      std::fill(panels + here, panels + width, T(0));
    }
  }
}

template <int R, typename T>
HWY_INLINE void PanelRows(const T* HWY_RESTRICT panel, const int32_t* HWY_RESTRICT place, int64_t n,
                          const T* HWY_RESTRICT value, T* HWY_RESTRICT out, int64_t stride) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = Lanes<T>(), width = PanelColumns<T>();
  VecOf<T> sum[kUnroll][R][kPanelVecs];
  for (int u = 0; u < kUnroll; ++u) {
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < kPanelVecs; ++v) sum[u][r][v] = hn::Zero(d);
    }
  }
  const auto add = [&](int u, int64_t i) {
    const T* const row = panel + place[i] * width;
    VecOf<T> x[kPanelVecs];
    for (int v = 0; v < kPanelVecs; ++v) x[v] = hn::LoadU(d, row + v * lanes);
    for (int r = 0; r < R; ++r) {
      const auto a = hn::Set(d, value[r * n + i]);
      for (int v = 0; v < kPanelVecs; ++v) sum[u][r][v] = hn::MulAdd(a, x[v], sum[u][r][v]);
    }
  };
  int64_t i = 0;
  for (; i + kUnroll <= n; i += kUnroll) {
    for (int u = 0; u < kUnroll; ++u) add(u, i + u);
  }
  for (; i < n; ++i) add(0, i);
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < kPanelVecs; ++v) {
      auto all = sum[0][r][v];
      for (int u = 1; u < kUnroll; ++u) all = hn::Add(all, sum[u][r][v]);
      hn::StoreU(all, d, out + r * stride + v * lanes);
    }
  }
}

template <typename T>
void Multiply(const SparseRows<T>& a, const T* panels, int64_t depth, int64_t first, int64_t last, T* out,
              int64_t stride) {
  const int64_t width = PanelColumns<T>();
  for (int64_t p = first; p < last; ++p) {
    const T* const panel = panels + p * depth * width;
    for (const typename SparseRows<T>::Group& group : a.groups) {
      const int32_t* const place = a.place.data() + group.begin;
      const int64_t n = group.end - group.begin;
      const T* value = a.value.data() + group.values;
      T* to = out + group.first_row * stride + p * width;
      int64_t r = 0;
      for (; r + 4 <= group.rows; r += 4) PanelRows<4>(panel, place, n, value + r * n, to + r * stride, stride);
      for (; r + 2 <= group.rows; r += 2) PanelRows<2>(panel, place, n, value + r * n, to + r * stride, stride);
      for (; r < group.rows; ++r) PanelRows<1>(panel, place, n, value + r * n, to + r * stride, stride);
    }
  }
}

// Returns the number of vectors in a tile of columns.
template <typename T>
int64_t TileVecs(int64_t columns) {
  const int64_t vecs = (columns + Lanes<T>() - 1) / Lanes<T>(), tiles = (vecs + kMostVecs - 1) / kMostVecs;
  const int64_t needed = std::max<int64_t>(1, (vecs + tiles - 1) / std::max<int64_t>(tiles, 1));
  for (const int64_t choice : {1, 2, 4, 7, 8}) {
    if (needed <= choice) return choice;
  }
  return kMostVecs;
}
template <typename T>
int64_t PaddedColumns(int64_t columns) {
  const int64_t tile = TileVecs<T>(columns) * Lanes<T>();
  return RoundUp(columns, tile);
}

template <typename T>
void PackTiles(const T* w, int64_t columns, int64_t depth, int64_t stride, T* packed) {
  const int64_t tile = TileVecs<T>(columns) * Lanes<T>();
  for (int64_t first = 0; first < columns; first += tile, packed += depth * tile) {
    for (int64_t c = 0; c < tile; ++c) {
      const T* const row = first + c < columns ? w + (first + c) * stride : nullptr;
      for (int64_t i = 0; i < depth; ++i) packed[i * tile + c] = row == nullptr ? T(0) : row[i];
    }
  }
}

// Returns a bit for each number that is not 0. The bit of NaN is set.
template <typename T>
HWY_INLINE uint32_t BitsOfVector(const T* a) {
  const hn::ScalableTag<T> d;
  uint8_t some[8] = {};
  hn::StoreMaskBits(d, hn::Ne(hn::LoadU(d, a), hn::Zero(d)), some);
  return static_cast<uint32_t>(some[0]) | static_cast<uint32_t>(some[1]) << 8;
}
template <typename T>
HWY_INLINE uint32_t BitsOf(const T* a, int64_t n) {
  const int64_t lanes = Lanes<T>();
  uint32_t bits = 0;
  if (n == kBlock) {  // the usual case; without a remainder the compiler makes no branches
    for (int64_t i = 0; i < kBlock; i += lanes) bits |= BitsOfVector(a + i) << i;
    return bits;
  }
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) bits |= BitsOfVector(a + i) << i;
  for (; i < n; ++i) bits |= static_cast<uint32_t>(a[i] != 0) << i;
  return bits;
}

// Hides the pointer's origin from the compiler, so that it addresses what follows by constants; otherwise gcc 12 adds
// two registers for each multiply-add.
template <typename T>
HWY_INLINE void HideOrigin(const T*& pointer) {
  asm("" : "+r"(pointer));
}

template <int V, typename T>
HWY_INLINE void SparseBlock(const T* HWY_RESTRICT a, uint32_t bits, const T* HWY_RESTRICT w, T* HWY_RESTRICT out) {
  // Number of independent sums, as many as hide the latency.
  constexpr int kChains = V >= 4 ? 1 : 4 / V;
  const hn::ScalableTag<T> d;
  const int64_t lanes = Lanes<T>();
  VecOf<T> sum[kChains][V];
  for (int v = 0; v < V; ++v) {
    sum[0][v] = hn::LoadU(d, out + v * lanes);
    for (int u = 1; u < kChains; ++u) sum[u][v] = hn::Zero(d);
  }
  while (bits != 0) {
    for (int u = 0; u < kChains; ++u) {
      if (bits == 0) break;
      const size_t i = static_cast<size_t>(__builtin_ctz(bits));
      bits &= bits - 1;
      const auto x = hn::Set(d, a[i]);
      const T* row = w + i * static_cast<size_t>(V * lanes);
      HideOrigin(row);
      for (int v = 0; v < V; ++v) sum[u][v] = hn::MulAdd(x, hn::LoadU(d, row + v * lanes), sum[u][v]);
    }
  }
  for (int v = 0; v < V; ++v) {
    for (int u = 1; u < kChains; ++u) sum[0][v] = hn::Add(sum[0][v], sum[u][v]);
    hn::StoreU(sum[0][v], d, out + v * lanes);
  }
}

template <int V, typename T>
HWY_INLINE void SparseTiles(const T* a, int64_t rows, int64_t depth, int64_t stride, const T* packed, int64_t padded,
                            T* out) {
  constexpr int64_t kLine = 64 / sizeof(T);
  const int64_t tile = V * Lanes<T>(), lines = kBlock * tile / kLine;
  const int64_t lines_of_row = (lines + rows - 1) / std::max<int64_t>(rows, 1);
  for (int64_t first = 0; first < padded; first += tile, packed += depth * tile) {
    for (int64_t i = 0; i < depth; i += kBlock) {
      const int64_t n = std::min(kBlock, depth - i);
      const T* const next = packed + (i + n) * tile;
      for (int64_t r = 0; r < rows; ++r) {
        // Prefetches the next block into the second-level cache, a share of it with each row: rows are read where a is
        // not 0, which no processor predicts.
        const int64_t last_line = std::min(lines, (r + 1) * lines_of_row);
        for (int64_t line = r * lines_of_row; line < last_line; ++line) __builtin_prefetch(next + line * kLine, 0, 2);
        // The next row's numbers are on another page.
        hwy::Prefetch(a + (r + 1) * stride + i);
        hwy::Prefetch(a + (r + 1) * stride + i + 16);
        SparseBlock<V>(a + r * stride + i, BitsOf(a + r * stride + i, n), packed + i * tile, out + r * padded + first);
      }
    }
  }
}

template <typename T>
void Tiles(const T* a, int64_t rows, int64_t depth, int64_t stride, const T* packed, int64_t columns, T* out) {
  const int64_t padded = PaddedColumns<T>(columns);
  std::fill_n(out, rows * padded, T(0));
  switch (TileVecs<T>(columns)) {
    case 1:
      return SparseTiles<1>(a, rows, depth, stride, packed, padded, out);
    case 2:
      return SparseTiles<2>(a, rows, depth, stride, packed, padded, out);
    case 4:
      return SparseTiles<4>(a, rows, depth, stride, packed, padded, out);
    case 7:
      return SparseTiles<7>(a, rows, depth, stride, packed, padded, out);
    case 8:
      return SparseTiles<8>(a, rows, depth, stride, packed, padded, out);
    default:
      return SparseTiles<kMostVecs>(a, rows, depth, stride, packed, padded, out);
  }
}

int64_t PanelColumnsF32() { return PanelColumns<float>(); }
int64_t PanelColumnsF64() { return PanelColumns<double>(); }
void PackPanelsF32(const float* w, int64_t rows, int64_t columns, int64_t stride, float* panels) {
  PackPanels(w, rows, columns, stride, panels);
}
void PackPanelsF64(const double* w, int64_t rows, int64_t columns, int64_t stride, double* panels) {
  PackPanels(w, rows, columns, stride, panels);
}
void MultiplyF32(const SparseRows<float>& a, const float* panels, int64_t depth, int64_t first, int64_t last,
                 float* out, int64_t stride) {
  Multiply(a, panels, depth, first, last, out, stride);
}
void MultiplyF64(const SparseRows<double>& a, const double* panels, int64_t depth, int64_t first, int64_t last,
                 double* out, int64_t stride) {
  Multiply(a, panels, depth, first, last, out, stride);
}
int64_t PaddedColumnsF32(int64_t columns) { return PaddedColumns<float>(columns); }
int64_t PaddedColumnsF64(int64_t columns) { return PaddedColumns<double>(columns); }
void PackTilesF32(const float* w, int64_t columns, int64_t depth, int64_t stride, float* packed) {
  PackTiles(w, columns, depth, stride, packed);
}
void PackTilesF64(const double* w, int64_t columns, int64_t depth, int64_t stride, double* packed) {
  PackTiles(w, columns, depth, stride, packed);
}
void TilesF32(const float* a, int64_t rows, int64_t depth, int64_t stride, const float* packed, int64_t columns,
              float* out) {
  Tiles(a, rows, depth, stride, packed, columns, out);
}
void TilesF64(const double* a, int64_t rows, int64_t depth, int64_t stride, const double* packed, int64_t columns,
              double* out) {
  Tiles(a, rows, depth, stride, packed, columns, out);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rutile {

HWY_EXPORT(PanelColumnsF32);
HWY_EXPORT(PanelColumnsF64);
HWY_EXPORT(PackPanelsF32);
HWY_EXPORT(PackPanelsF64);
HWY_EXPORT(MultiplyF32);
HWY_EXPORT(MultiplyF64);
HWY_EXPORT(PaddedColumnsF32);
HWY_EXPORT(PaddedColumnsF64);
HWY_EXPORT(PackTilesF32);
HWY_EXPORT(PackTilesF64);
HWY_EXPORT(TilesF32);
HWY_EXPORT(TilesF64);

template <typename T>
void SparseRows<T>::Clear() {
  groups.clear();
  place.clear();
  value.clear();
}

template <typename T>
void SparseRows<T>::Add(const T* mask, const T* row, int64_t rows, int64_t n, int64_t stride) {
  Group group;
  group.first_row = groups.empty() ? 0 : groups.back().first_row + groups.back().rows;
  group.rows = rows;
  group.begin = static_cast<int64_t>(place.size());
  group.values = static_cast<int64_t>(value.size());
  place.resize(group.begin + n);
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) {
    place[group.begin + count] = static_cast<int32_t>(i);
    count += mask[i] > 0 ? 1 : 0;
  }
  group.end = group.begin + count;
  place.resize(group.end);
  value.resize(group.values + rows * count);
  T* to = value.data() + group.values;
  for (int64_t r = 0; r < rows; ++r, to += count) {
    for (int64_t i = 0; i < count; ++i) to[i] = row[r * stride + place[group.begin + i]];
  }
  groups.push_back(group);
}

template struct SparseRows<float>;
template struct SparseRows<double>;

template <>
int64_t SparsePanelColumns<float>() {
  return HWY_DYNAMIC_DISPATCH(PanelColumnsF32)();
}
template <>
int64_t SparsePanelColumns<double>() {
  return HWY_DYNAMIC_DISPATCH(PanelColumnsF64)();
}
template <>
void PackSparsePanels(const float* w, int64_t rows, int64_t columns, int64_t stride, float* panels) {
  HWY_DYNAMIC_DISPATCH(PackPanelsF32)(w, rows, columns, stride, panels);
}
template <>
void PackSparsePanels(const double* w, int64_t rows, int64_t columns, int64_t stride, double* panels) {
  HWY_DYNAMIC_DISPATCH(PackPanelsF64)(w, rows, columns, stride, panels);
}
template <>
void MultiplySparseRows(const SparseRows<float>& a, const float* panels, int64_t depth, int64_t first, int64_t last,
                        float* out, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(MultiplyF32)(a, panels, depth, first, last, out, stride);
}
template <>
void MultiplySparseRows(const SparseRows<double>& a, const double* panels, int64_t depth, int64_t first, int64_t last,
                        double* out, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(MultiplyF64)(a, panels, depth, first, last, out, stride);
}
template <>
int64_t SparseColumns<float>(int64_t columns) {
  return HWY_DYNAMIC_DISPATCH(PaddedColumnsF32)(columns);
}
template <>
int64_t SparseColumns<double>(int64_t columns) {
  return HWY_DYNAMIC_DISPATCH(PaddedColumnsF64)(columns);
}
template <>
int64_t SparseTilesSize<float>(int64_t columns, int64_t depth) {
  return SparseColumns<float>(columns) * depth;
}
template <>
int64_t SparseTilesSize<double>(int64_t columns, int64_t depth) {
  return SparseColumns<double>(columns) * depth;
}
template <>
void PackSparseTiles(const float* w, int64_t columns, int64_t depth, int64_t stride, float* packed) {
  HWY_DYNAMIC_DISPATCH(PackTilesF32)(w, columns, depth, stride, packed);
}
template <>
void PackSparseTiles(const double* w, int64_t columns, int64_t depth, int64_t stride, double* packed) {
  HWY_DYNAMIC_DISPATCH(PackTilesF64)(w, columns, depth, stride, packed);
}
template <>
void MultiplySparse(const float* a, int64_t rows, int64_t depth, int64_t stride, const float* packed, int64_t columns,
                    float* out) {
  HWY_DYNAMIC_DISPATCH(TilesF32)(a, rows, depth, stride, packed, columns, out);
}
template <>
void MultiplySparse(const double* a, int64_t rows, int64_t depth, int64_t stride, const double* packed, int64_t columns,
                    double* out) {
  HWY_DYNAMIC_DISPATCH(TilesF64)(a, rows, depth, stride, packed, columns, out);
}

}  // namespace rutile
#endif  // HWY_ONCE
