#include "lib/network/feature_cache.h"

#include <utility>

#include "lib/base/logging.h"
#include "lib/base/round_up.h"

namespace rutile {

template <typename T>
const T* FeatureCache<T>::Find(absl::Span<const int64_t> examples) const {
  if (examples.empty()) return nullptr;
  const auto found = kept_.find(examples[0]);
  return found == kept_.end() || found->second.examples != examples ? nullptr : found->second.features.data();
}

template <typename T>
T* FeatureCache<T>::Add(absl::Span<const int64_t> examples, int64_t size) {
  CHECK_GE(size, 0);
  constexpr int64_t kLine = kBufferAlignment / static_cast<int64_t>(sizeof(T));
  if (examples.empty() || size == 0 || size > (max_bytes_ - bytes_) / static_cast<int64_t>(sizeof(T)) - kLine) {
    return nullptr;
  }
  const auto [place, is_new] = kept_.try_emplace(examples[0]);
  if (!is_new) return nullptr;
  place->second.examples.assign(examples.begin(), examples.end());
  place->second.features = AlignedBuffer<T>(size);
  bytes_ += CeilDivide(size, kLine) * kBufferAlignment;
  return place->second.features.data();
}

template <typename T>
void FeatureCache<T>::Clear() {
  kept_.clear();
  bytes_ = 0;
}

template class FeatureCache<float>;
template class FeatureCache<double>;

}  // namespace rutile
