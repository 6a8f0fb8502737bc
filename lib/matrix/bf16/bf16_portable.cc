#include <cstdint>

#include "lib/matrix/bf16/bf16_machines.h"
#include "lib/matrix/bf16/bf16_number.h"
#include "lib/matrix/bf16/bf16_part.h"
#include "lib/matrix/bf16/bf16_strips.h"

namespace rutile {
namespace {

using bf16::Part;
using bf16_strips::kLanes;
using bf16_strips::kPairs;
using bf16_strips::kVecs;
using bf16_strips::Strip;

float First(uint32_t pair) { return FromBf16(static_cast<uint16_t>(pair)); }
float Second(uint32_t pair) { return FromBf16(static_cast<uint16_t>(pair >> 16)); }

// The portable implementation, which defines the result of the others.
struct Portable {
  static uint32_t PairOf(const Part& part, int64_t c, int64_t p) {
    const auto number = [&](int64_t i) {
      return c < part.lines && i < part.depth ? RoundToBf16(part.from[c * part.across + i * part.along]) : uint32_t{0};
    };
    return number(2 * p) | number(2 * p + 1) << 16;
  }

  // Sets packed[p * width + c] to the numbers 2 p and 2 p + 1 of line c; zeros beyond the part.
  static void PackAcross(const Part& part, int64_t width, uint32_t* packed) {
    for (int64_t p = 0; p < part.pairs(); ++p) {
      for (int64_t c = 0; c < width; ++c) packed[p * width + c] = PairOf(part, c, p);
    }
  }
  // Packs lines whose numbers are adjacent, in the same layout; may write beyond the pairs, up to a multiple of four.
  static void PackAlong(const Part& part, int64_t width, uint32_t* packed) { PackAcross(part, width, packed); }
  // Packs lines whose numbers are adjacent as packed[c * kPairs + p].
  static void PackLines(const Part& part, uint32_t* packed) {
    for (int64_t c = 0; c < part.lines; ++c) {
      for (int64_t p = 0; p < part.pairs(); ++p) packed[c * kPairs + p] = PairOf(part, c, p);
    }
  }

  static void Multiply(const Strip& strip) {
    const int64_t width = strip.vecs * kLanes;
    for (int64_t r = 0; r < strip.rows; ++r) {
      float sums[kVecs * kLanes] = {};
      for (int64_t p = 0; p < strip.pairs; ++p) {
        const uint32_t a = strip.left[r * strip.row_step + p * strip.pair_step];
        const float a0 = First(a), a1 = Second(a);
        for (int64_t c = 0; c < width; ++c) {
          const uint32_t b = strip.right[p * width + c];
          sums[c] += a0 * First(b) + a1 * Second(b);
        }
      }
      float* const out = strip.out + r * strip.stride;
      for (int64_t c = 0; c < strip.columns; ++c) out[c] = (strip.add ? out[c] : 0) + sums[c];
    }
  }
};

}  // namespace

void MultiplyBf16Portable(const Bf16Problem& problem, Bf16Memory* memory) {
  bf16_strips::MultiplyAll<Portable>(problem, memory);
}

}  // namespace rutile
