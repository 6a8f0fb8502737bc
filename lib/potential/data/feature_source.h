// Provides the features of structures from a file, from memory, or computed from the geometry each time.

#ifndef RUTILE_LIB_POTENTIAL_DATA_FEATURE_SOURCE_H_
#define RUTILE_LIB_POTENTIAL_DATA_FEATURE_SOURCE_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/descriptor/chebyshev_options.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

class FeatureSource {
 public:
  // Uses the features in the data's files if there are some. Otherwise computes them in `dtype` from the geometry:
  // once, now, if `cached` ([A, F] numbers in memory), else in each ForEach. Errors of AtomicData::FindPairs.
  static absl::StatusOr<FeatureSource> Create(const AtomicData& data, AngularMethod method, DType dtype, bool cached,
                                              int num_threads);

  bool cached() const { return from_file_ || computed_.num_elements() > 0; }
  DType dtype() const { return dtype_; }  // F32 or F64

  // Returns features [N, F], not scaled. CHECK-fails when they are not cached, or T is not the type of dtype().
  template <typename T>
  absl::Span<const T> features(int64_t s) const;

  // Calls body(s, features [N, F]) for each of the structures in their order, and computes features that are not cached
  // on num_threads. Errors of AtomicData::FindPairs.
  template <typename T>
  absl::Status ForEach(absl::Span<const int64_t> structures,
                       const std::function<void(int64_t s, absl::Span<const T> features)>& body) const;

 private:
  FeatureSource(const AtomicData& data, AngularMethod method, int num_threads)
      : data_(data), method_(method), num_threads_(num_threads) {}

  AtomicData data_;
  AngularMethod method_;
  int num_threads_;
  DType dtype_ = DType::kF32;
  bool from_file_ = false;
  Tensor computed_;              // [A, F], or empty
  std::vector<int64_t> offset_;  // [S + 1] rows of computed_
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_DATA_FEATURE_SOURCE_H_
