// Caches what does not change from epoch to epoch in force training: sorted neighbors, moments and features of
// structures.

#ifndef RUTILE_LIB_POTENTIAL_TRAINING_GEOMETRY_CACHE_H_
#define RUTILE_LIB_POTENTIAL_TRAINING_GEOMETRY_CACHE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "lib/descriptor/descriptor_derivatives.h"

namespace rutile {

// Holds one entry for each structure, up to a limit of memory. T is float or double. Thread-safe. Entries are never
// moved or removed.
template <typename T>
class GeometryCache {
 public:
  struct Entry {
    std::unique_ptr<const typename DescriptorDerivatives<T>::Snapshot> snapshot;
    std::vector<T> x;  // [atoms, F] standardized features

    int64_t bytes() const;
  };

  // max_bytes limits the memory of all entries together; an entry that would exceed it is not stored.
  GeometryCache(int64_t num_structures, int64_t max_bytes);
  ~GeometryCache();

  // Returns the entry of structure s, or null.
  const Entry* Find(int64_t s) const { return entries_[s].load(std::memory_order_acquire); }

  // False once an entry did not fit: callers then need not make others.
  bool has_room() const { return !full_.load(std::memory_order_relaxed); }
  // Stores an entry, unless s has one or there is no room.
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
