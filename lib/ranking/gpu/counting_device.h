// What counts scores in place of the CPU: a GPU, or the host in tests. Without types of CUDA, and without Abseil, which
// nvcc need not see.

#ifndef RUTILE_LIB_RANKING_GPU_COUNTING_DEVICE_H_
#define RUTILE_LIB_RANKING_GPU_COUNTING_DEVICE_H_

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace rutile {

// Counts, for targets of queries, the entities that score higher and those that score equal. Calls in the order in
// which they are listed; SetEntities may come again at any time, and each of the others after those that it needs.
// Arrays are copied. After an error, calls do nothing and `error` says what went wrong first.
template <typename T>
class DeviceCounts {
 public:
  virtual ~DeviceCounts() = default;

  // Sets the rows that queries are multiplied with: entities first .. first + num - 1. rows: [num, dim]; bias: [num] or
  // null. They stay on the device until they are set again.
  virtual void SetEntities(const T* rows, const T* bias, int64_t first, int64_t num, int64_t dim) = 0;

  // Sets queries [num, dim] of the entities' dimension, of which query q has the targets offsets[q] .. offsets[q + 1] -
  // 1, and starts their counts at 0.
  virtual void SetQueries(const T* queries, int64_t num, const int64_t* offsets) = 0;

  // Computes the scores of the targets. row: target t has the entity rows[row[t]] of the latest SetEntities.
  virtual void ScoreTargets(const int32_t* row) = 0;

  // Counts the entities set, without the known ones of each query: known[known_offsets[q]] .. known[known_offsets[q +
  // 1]
  // - 1], distinct numbers of entities, of which those not set are passed over. To count a table in parts, set and
  // count one part after the other.
  virtual void Count(const int64_t* known_offsets, const int32_t* known) = 0;

  // Returns scores and counts of all targets. A score that is NaN is neither higher than another nor equal.
  virtual void Read(std::vector<T>* scores, std::vector<int64_t>* greater, std::vector<int64_t>* equal) = 0;

  virtual std::string error() const = 0;
};

// Counts in both types; one thread at a time may use it.
class CountingDevice {
 public:
  virtual ~CountingDevice() = default;
  virtual DeviceCounts<float>* f32() = 0;
  virtual DeviceCounts<double>* f64() = 0;

  template <typename T>
  DeviceCounts<T>* counts() {
    if constexpr (std::is_same_v<T, float>) {
      return f32();
    } else {
      return f64();
    }
  }
};

}  // namespace rutile

#endif  // RUTILE_LIB_RANKING_GPU_COUNTING_DEVICE_H_
