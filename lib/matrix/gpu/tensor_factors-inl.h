// Factors as tensor cores take them, for each rounding: fragments in registers of a warp, and the instruction that
// multiplies them ("mma" of PTX, compute capability 8.0). The host has the same rounding and plain sums.
//
// A kind of factors has
//   kStages, kSlice             how many slices of how many terms the memory of a block has
//   kSteps                      instructions for 16 terms
//   Factor(const float (&x)[4]) the terms 4 t .. 4 t + 3 of 16 of a line, t = lane % 4
//   AddProducts                 adds a step of a[16, .] b[., 8] to a warp's sums; a thread gives lines lane / 4 and
//                               lane / 4 + 8 of a and lane / 4 of b
//   Plain, AddPlain             a number on the host, and a product there
// The order of terms in an instruction is any, since a and b have the same.

#ifndef RUTILE_LIB_MATRIX_GPU_TENSOR_FACTORS_INL_H_
#define RUTILE_LIB_MATRIX_GPU_TENSOR_FACTORS_INL_H_

#include <cstdint>

#include "lib/gpu/device_function.h"
#include "lib/matrix/gpu/device_rounding.h"

namespace rutile {

// FactorRounding::kTwoParts. The product of two low parts, 2^-22 of the product or less, is left out.
struct SplitFactors {
  static constexpr int kStages = 4, kSlice = 16, kSteps = 6;

#ifdef __CUDA_ARCH__
  struct Factor {
    uint32_t hi[4], lo[4];

    Factor() = default;
    __device__ explicit Factor(const float (&x)[4]) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const Tf32Parts parts = SplitToTf32(x[j]);
        hi[j] = BitsOf(parts.hi);
        lo[j] = BitsOf(parts.lo);
      }
    }
  };

  // The small products go first.
  __device__ static void AddProducts(int step, const Factor& first_row, const Factor& second_row, const Factor& b,
                                     float (&sum)[4]) {
    const int product = step % 3, term = step / 3 * 2;
    const uint32_t(&x)[4] = product == 0 ? first_row.lo : first_row.hi;
    const uint32_t(&y)[4] = product == 0 ? second_row.lo : second_row.hi;
    const uint32_t(&z)[4] = product == 1 ? b.lo : b.hi;
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(x[term]), "r"(y[term]), "r"(x[term + 1]), "r"(y[term + 1]), "r"(z[term]), "r"(z[term + 1]));
  }
#else
  using Plain = Tf32Parts;
  static Plain MakePlain(float x) { return SplitToTf32(x); }
  static void AddPlain(const Plain& a, const Plain& b, float* sum) { *sum += a.lo * b.hi + a.hi * b.lo + a.hi * b.hi; }
#endif
};

// FactorRounding::kBf16.
struct Bf16Factors {
  static constexpr int kStages = 3, kSlice = 32, kSteps = 1;

#ifdef __CUDA_ARCH__
  struct Factor {
    uint32_t pairs[2];  // the lower half has the earlier term

    Factor() = default;
    __device__ explicit Factor(const float (&x)[4]) {
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pairs[j]) : "f"(x[2 * j + 1]), "f"(x[2 * j]));
      }
    }
  };

  __device__ static void AddProducts(int, const Factor& first_row, const Factor& second_row, const Factor& b,
                                     float (&sum)[4]) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(first_row.pairs[0]), "r"(second_row.pairs[0]), "r"(first_row.pairs[1]), "r"(second_row.pairs[1]),
          "r"(b.pairs[0]), "r"(b.pairs[1]));
  }
#else
  using Plain = float;
  static Plain MakePlain(float x) { return RoundToBf16(x); }
  static void AddPlain(Plain a, Plain b, float* sum) { *sum += a * b; }
#endif
};

}  // namespace rutile

#endif  // RUTILE_LIB_MATRIX_GPU_TENSOR_FACTORS_INL_H_
