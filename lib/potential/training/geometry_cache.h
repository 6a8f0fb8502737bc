// What does not change of structures from epoch to epoch, for force training: sorted neighbors, moments, features.

#ifndef RUTILE_LIB_POTENTIAL_TRAINING_GEOMETRY_CACHE_H_
#define RUTILE_LIB_POTENTIAL_TRAINING_GEOMETRY_CACHE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "lib/descriptor/descriptor_derivatives.h"

namespace rutile {

// T is float or double. Thread-safe. What was put in stays, and where it is.
template <typename T>
class GeometryCache {
 public:
  struct Entry {
    std::unique_ptr<const typename DescriptorDerivatives<T>::Kept> kept;
    std::vector<T> x;  // [atoms, F] standardized features

    int64_t bytes() const;
  };

  // max_bytes: of all entries together; what does not fit is not taken.
  GeometryCache(int64_t num_structures, int64_t max_bytes);
  ~GeometryCache();

  // Of structure s, or null.
  const Entry* Find(int64_t s) const { return entries_[s].load(std::memory_order_acquire); }

  // False once an entry did not fit: it is not worth making others.
  bool has_room() const { return !full_.load(std::memory_order_relaxed); }
  // Does nothing where s has an entry, or there is no room.
  void Put(int64_t s, std::unique_ptr<const Entry> entry);

  int64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  const int64_t max_bytes_;
  std::vector<std::atomic<const Entry*>> entries_;  // owned
  std::atomic<int64_t> bytes_{0};
  std::atomic<bool> full_{false};
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_TRAINING_GEOMETRY_CACHE_H_
