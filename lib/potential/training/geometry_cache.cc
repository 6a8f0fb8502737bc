#include "lib/potential/training/geometry_cache.h"

namespace rutile {

template <typename T>
int64_t GeometryCache<T>::Entry::bytes() const {
  return static_cast<int64_t>(sizeof(*this) + x.capacity() * sizeof(T)) + snapshot->bytes();
}

template <typename T>
GeometryCache<T>::GeometryCache(int64_t num_structures, int64_t max_bytes)
    : max_bytes_(max_bytes), entries_(num_structures) {}

template <typename T>
GeometryCache<T>::~GeometryCache() {
  for (const std::atomic<const Entry*>& entry : entries_) delete entry.load(std::memory_order_relaxed);
}

template <typename T>
void GeometryCache<T>::Put(int64_t s, std::unique_ptr<const Entry> entry) {
  const int64_t bytes = entry->bytes();
  if (bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes > max_bytes_) {
    bytes_.fetch_sub(bytes, std::memory_order_relaxed);
    full_.store(true, std::memory_order_relaxed);
    return;
  }
  const Entry* expected = nullptr;
  if (entries_[s].compare_exchange_strong(expected, entry.get(), std::memory_order_release,
                                          std::memory_order_relaxed)) {
    entry.release();
  } else {  // another thread stored it first: a batch may hold a structure twice
    bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  }
}

template class GeometryCache<float>;
template class GeometryCache<double>;

}  // namespace rutile
