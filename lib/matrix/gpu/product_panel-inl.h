// Panels of the factors of a product, and how they reach the memory of a block.

#ifndef RUTILE_LIB_MATRIX_GPU_PRODUCT_PANEL_INL_H_
#define RUTILE_LIB_MATRIX_GPU_PRODUCT_PANEL_INL_H_

#include <cstdint>

#include "lib/gpu/async_copy.h"
#include "lib/gpu/block.h"
#include "lib/gpu/device_function.h"

namespace rutile {

// How the numbers of a factor lie. A line is a row of a or a column of b, and a term is a number of its sum.
enum class PanelOrder {
  kTermsAdjacent,   // those of adjacent terms are adjacent
  kTermsIn16Bytes,  // and they are aligned, so that one load has several
  kLinesAdjacent,   // those of adjacent lines are adjacent
  kLinesIn16Bytes,  // and they are aligned
};
RUTILE_DEVICE constexpr bool AreTermsAdjacent(PanelOrder order) {
  return order == PanelOrder::kTermsAdjacent || order == PanelOrder::kTermsIn16Bytes;
}

// A layout says where the memory of a block has the numbers of a panel (At), and which orders of factors it can be
// loaded from. 16 bytes at a time have adjacent lines or, if kGroupsOfTerms, adjacent terms. Copies of single numbers
// are unrolled if kUnrolled, which takes registers.

// A row of lines for each term, rows kStride apart, loaded from factors of any order but kTermsIn16Bytes, of which the
// numbers are scattered anyway.
template <int kLines_, int kStride, int kSlice_>
struct PaddedTermRows {
  static constexpr int kLines = kLines_, kSlice = kSlice_, kNumbers = kSlice * kStride;
  static constexpr bool kTakesLines = true, kTakesTerms = true, kGroupsOfTerms = false, kUnrolled = true;
  RUTILE_DEVICE static constexpr int At(int line, int term) { return term * kStride + line; }
};

// A row of terms for each line, loaded from factors whose terms are adjacent. Rows have no padding: the exclusive or
// ("swizzle") lets 8 adjacent threads that read 16 bytes at once use all banks (tensor_tile-inl.h says what they read).
template <int kLines_, int kSlice_>
struct SwizzledLineRows {
  static constexpr int kLines = kLines_, kSlice = kSlice_, kNumbers = kLines * kSlice;
  static constexpr bool kTakesLines = false, kTakesTerms = true, kGroupsOfTerms = true, kUnrolled = false;
  static_assert(kSlice % 16 == 0 && kLines % 32 == 0);
  RUTILE_DEVICE static constexpr int At(int line, int term) { return (line * kSlice + term) ^ (line & 16); }
};

// A row of lines for each term, swizzled likewise, loaded from factors whose lines are adjacent.
template <int kLines_, int kSlice_>
struct SwizzledTermRows {
  static constexpr int kLines = kLines_, kSlice = kSlice_, kNumbers = kLines * kSlice;
  static constexpr bool kTakesLines = true, kTakesTerms = false, kGroupsOfTerms = false, kUnrolled = false;
  static_assert(kSlice % 16 == 0 && kLines % 32 == 0);
  RUTILE_DEVICE static constexpr int At(int line, int term) { return term * kLines + (line ^ (term & 12)); }
};

// The lines of a factor. In 16 bytes of terms, loads begin at a term that is a multiple of what they hold.
template <typename T>
struct ProductPanel {
  const T* data;
  int64_t stride;  // between lines, or between terms where lines are adjacent
  int64_t lines;
  PanelOrder order;

  // Starts to load the terms [term, end), kSlice at most, of kLines lines from `first` to where Layout says. What is
  // beyond the factor is 0.
  template <typename Layout>
  RUTILE_DEVICE void Load(const Block& block, int64_t first, int64_t term, int64_t end, T* shared) const {
    using Group = Numbers16<T>;
    constexpr int kLines = Layout::kLines, kSlice = Layout::kSlice;
    const int num_lines = lines - first < kLines ? static_cast<int>(lines - first) : kLines;
    const int num_terms = end - term < kSlice ? static_cast<int>(end - term) : kSlice;
    // ptxas has just enough registers for tiles of CUDA cores: branches in another order, or one more, take too many.
    if (Layout::kTakesTerms && order == PanelOrder::kTermsAdjacent) {
      ForShare<kSlice, kLines, 1, Layout::kUnrolled>(
          block, data + first * stride + term, [&](int t, int line, const T* from) {
            StartCopyOfOne(t < num_terms && line < num_lines, shared + Layout::At(line, t), from);
          });
    } else if (Layout::kTakesLines && order == PanelOrder::kLinesAdjacent) {
      ForShare<kLines, kSlice, 1, Layout::kUnrolled>(
          block, data + term * stride + first, [&](int line, int t, const T* from) {
            StartCopyOfOne(t < num_terms && line < num_lines, shared + Layout::At(line, t), from);
          });
    } else if (Layout::kGroupsOfTerms) {
      constexpr int kSize = Group::kSize;
      ForShare<kSlice / kSize, kLines, kSize, true>(
          block, data + first * stride + term, [&](int g, int line, const T* from) {
            const int rest = line < num_lines ? num_terms - g * kSize : 0;
            StartCopyOf(rest < 0       ? 0
                        : rest < kSize ? rest
                                       : kSize,
                        reinterpret_cast<Group*>(shared + Layout::At(line, g * kSize)), from);
          });
    } else {
      constexpr int kSize = Group::kSize;
      ForShare<kLines / kSize, kSlice, kSize, true>(
          block, data + term * stride + first, [&](int g, int t, const T* from) {
            const int rest = t < num_terms ? num_lines - g * kSize : 0;
            StartCopyOf(rest < 0       ? 0
                        : rest < kSize ? rest
                                       : kSize,
                        reinterpret_cast<Group*>(shared + Layout::At(g * kSize, t)), from);
          });
    }
  }

 private:
  // Calls copy(i, j, from + i kStep + j stride) for this thread's share of i < kAcross and j < kAlong. Adjacent threads
  // have adjacent i. On a GPU, where the number of threads is a constant, all conditions are constants, and pointers
  // move by a sum for each copy.
  template <int kAcross, int kAlong, int kStep, bool kUnrolled, typename Copy>
  RUTILE_DEVICE void ForShare(const Block& block, const T* from, const Copy& copy) const {
    const int across = block.threads < kAcross ? block.threads : kAcross, rows = block.threads / across;
    const int row = block.thread / across;
    if (block.threads % across != 0 && row >= rows) return;
    RUTILE_UNROLL
    for (int begin = 0; begin < kAcross; begin += across) {
      const int i = begin + block.thread % across;
      if (kAcross % across != 0 && i >= kAcross) break;
      const T* at = from + i * kStep + row * stride;
#ifdef __CUDA_ARCH__
#pragma unroll(kUnrolled ? kAlong : 1)
#endif
      for (int first = 0; first < kAlong; first += rows) {
        const int j = first + row;
        if (kAlong % rows != 0 && j >= kAlong) break;
        copy(i, j, at);
        at += rows * stride;
      }
    }
  }
};

}  // namespace rutile

#endif  // RUTILE_LIB_MATRIX_GPU_PRODUCT_PANEL_INL_H_
