// Elements of dropout masks, computed where they are used: the same bits as FillDropout and FillCandidateDropout of
// lib/kge/layers/dropout.h.

#ifndef RUTILE_LIB_KGE_GPU_BODIES_DROPOUT_BODIES_INL_H_
#define RUTILE_LIB_KGE_GPU_BODIES_DROPOUT_BODIES_INL_H_

#include <cstdint>

#include "lib/gpu/block.h"
#include "lib/gpu/device_function.h"

namespace rutile {

// What decides on an element, from the rate: lround(rate 65536), and 1 / (1 - rate).
template <typename T>
struct DropoutRate {
  uint32_t dropped;  // of 65536 draws
  T kept;
};
template <typename T>
inline DropoutRate<T> MakeDropoutRate(double rate) {
  return {static_cast<uint32_t>(rate * 65536 + 0.5), static_cast<T>(1 / (1 - rate))};
}

// The finalizer of SplitMix64, and a step of that generator from the state x.
RUTILE_DEVICE inline uint64_t MixBits(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}
RUTILE_DEVICE inline uint64_t SplitMixAfter(uint64_t x) { return MixBits(x + 0x9e3779b97f4a7c15ULL); }

// Returns element k of the mask with this key: 0, or 1 / (1 - rate).
template <typename T>
RUTILE_DEVICE inline T DropoutScale(uint64_t key, const DropoutRate<T>& rate, int64_t k) {
  const uint64_t x = MixBits(key + 0x9e3779b97f4a7c15ULL * (static_cast<uint64_t>(k) / 4 + 1));
  const uint32_t draw = static_cast<uint32_t>(x >> (16 * (k % 4))) & 0xffff;
  return draw < rate.dropped ? T{0} : rate.kept;
}

// Computes the keys of the candidates' masks: what RandomStream(of_batch, "candidate_dropout", 0, entity).Next() of
// lib/base/random.h returns, where of_batch is RandomStream(seed, "candidate_dropout", epoch, number).Next(). For each
// entity i.
class CandidateKeyBody {
 public:
  static constexpr int kThreads = 256;

  // keys: [N]
  CandidateKeyBody(uint64_t of_batch, uint64_t* keys) : before_index_(of_batch), keys_(keys) {
    constexpr char kPurpose[] = "candidate_dropout";
    constexpr int kLength = sizeof(kPurpose) - 1;
    before_index_ = Mix(before_index_, kLength);
    for (int i = 0; i < kLength; ++i) before_index_ = Mix(before_index_, static_cast<unsigned char>(kPurpose[i]));
    before_index_ = Mix(before_index_, /*epoch=*/0);
  }

  RUTILE_DEVICE void operator()(int64_t i) const {
    constexpr uint64_t kStep = 0x9e3779b97f4a7c15ULL;
    const uint64_t key = Mix(before_index_, static_cast<uint64_t>(i));
    const uint64_t first = SplitMixAfter(key), fourth = SplitMixAfter(key + 3 * kStep);
    keys_[i] = RotateLeft(first + fourth, 23) + first;
  }

 private:
  RUTILE_DEVICE static uint64_t RotateLeft(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
  RUTILE_DEVICE static uint64_t Mix(uint64_t key, uint64_t value) {
    return SplitMixAfter(key ^ value) + RotateLeft(key, 29);
  }

  uint64_t before_index_;  // the key of a RandomStream before its index is mixed in
  uint64_t* keys_;
};

// Multiplies rows by their masks: to = from mask, or to += from mask. A block takes one of the rows.
template <typename T>
struct MaskRowsBody {
  static constexpr int kThreads = 64;
  const T* from;        // [rows, dim]
  const uint64_t* key;  // [rows]
  DropoutRate<T> rate;
  int64_t dim;
  T* to;  // [rows, dim]
  bool add;

  RUTILE_DEVICE void operator()(const Block& block) const {
    const int64_t row = block.index * dim;
    const uint64_t row_key = key[block.index];
    for (int64_t k = block.thread; k < dim; k += block.threads) {
      const T value = from[row + k] * DropoutScale(row_key, rate, k);
      to[row + k] = add ? to[row + k] + value : value;
    }
  }
};

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_GPU_BODIES_DROPOUT_BODIES_INL_H_
