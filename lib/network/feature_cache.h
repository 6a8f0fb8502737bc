// Caches the transposed features of batches that are evaluated again and again, so that a validation pass does no work
// but that of the networks.

#ifndef RUTILE_LIB_NETWORK_FEATURE_CACHE_H_
#define RUTILE_LIB_NETWORK_FEATURE_CACHE_H_

#include <cstdint>
#include <map>
#include <vector>

#include "absl/types/span.h"
#include "lib/machine/aligned_buffer.h"

namespace rutile {

// Maps a batch, identified by its examples in their order, to its features in the form that NetworkKernel::Transpose
// produces. T is float or double.
template <typename T>
class FeatureCache {
 public:
  // `max_bytes` limits the memory of all cached batches together. A batch that would exceed it is not cached.
  explicit FeatureCache(int64_t max_bytes) : max_bytes_(max_bytes) {}

  // Returns the features of the batch, or null if it is not cached.
  const T* Find(absl::Span<const int64_t> examples) const;

  // Allocates `size` numbers, 64-byte aligned, for a batch that is not cached yet; the caller fills them. Returns null
  // if there is no room, or if a cached batch begins with the same example: that cannot happen among the batches of one
  // data set.
  T* Add(absl::Span<const int64_t> examples, int64_t size);

  void Clear();

  int64_t bytes() const { return bytes_; }

 private:
  struct Kept {
    std::vector<int64_t> examples;
    AlignedBuffer<T> features;
  };

  const int64_t max_bytes_;
  int64_t bytes_ = 0;
  std::map<int64_t, Kept> kept_;  // keyed by the first example
};

}  // namespace rutile

#endif  // RUTILE_LIB_NETWORK_FEATURE_CACHE_H_
