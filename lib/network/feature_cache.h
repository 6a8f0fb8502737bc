// Features of batches that are evaluated again and again, as NetworkKernel::Turn leaves them: a validation is then
// networks and nothing else.

#ifndef RUTILE_LIB_NETWORK_FEATURE_CACHE_H_
#define RUTILE_LIB_NETWORK_FEATURE_CACHE_H_

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <vector>

#include "absl/types/span.h"

namespace rutile {

// T is float or double. A batch is known by its examples, in their order.
template <typename T>
class FeatureCache {
 public:
  // What all batches may take together; further ones are not kept.
  explicit FeatureCache(int64_t max_bytes) : max_bytes_(max_bytes) {}

  // Null where the batch is not kept.
  const T* Find(absl::Span<const int64_t> examples) const;

  // Memory for `size` numbers of a batch that is not kept, 64-byte aligned, for the caller to fill. Null where there is
  // no room for them, and for a batch that begins with the same example as one that is kept: batches of one set do not.
  T* Add(absl::Span<const int64_t> examples, int64_t size);

  void Clear();

  int64_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(T* p) const { std::free(p); }
  };
  struct Kept {
    std::vector<int64_t> examples;
    std::unique_ptr<T[], Free> features;
  };

  const int64_t max_bytes_;
  int64_t bytes_ = 0;
  std::map<int64_t, Kept> kept_;  // by the first example
};

}  // namespace rutile

#endif  // RUTILE_LIB_NETWORK_FEATURE_CACHE_H_
