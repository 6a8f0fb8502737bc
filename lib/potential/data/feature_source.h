// Where the features of structures come from: a file, memory, or their geometry each time they are asked for.

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
  // Those in the data's files where there are some. Otherwise they are computed in `dtype` from the geometry: now and
  // kept (`cached`: [A, F] numbers), or each time. Errors of AtomicData::FindPairs.
  static absl::StatusOr<FeatureSource> Create(const AtomicData& data, AngularMethod method, DType dtype, bool cached,
                                              int num_threads);

  bool cached() const { return from_file_ || computed_.num_elements() > 0; }
  DType dtype() const { return dtype_; }  // F32 or F64

  // [N, F], not scaled. CHECK-fails when they are not cached, or T is not the type of dtype().
  template <typename T>
  absl::Span<const T> features(int64_t s) const;

  // Calls body(s, features [N, F]) for each of the structures in their order, computing on num_threads what is not
  // cached. Errors of AtomicData::FindPairs.
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
  std::vector<int64_t> offset_;  // [S + 1] its rows
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_DATA_FEATURE_SOURCE_H_
