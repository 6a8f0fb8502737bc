#include "lib/potential/data/feature_source.h"

#include <algorithm>
#include <memory>

#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/descriptor/descriptor_cost.h"
#include "lib/descriptor/descriptor_derivatives.h"
#include "lib/descriptor/descriptor_factory.h"
#include "lib/machine/parallel_for.h"
#include "lib/potential/data/geometry.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

// The number of atoms whose features are in memory at a time: enough to keep threads busy.
constexpr int64_t kChunkAtoms = 1 << 13;

// The scratch memory that one thread needs to compute features.
template <typename T>
struct Worker {
  PairMemory memory;
  std::unique_ptr<typename DescriptorDerivatives<T>::State> state;
};

// Computes the features of several structures in parallel.
template <typename T>
class FeatureComputer {
 public:
  FeatureComputer(const AtomicData& data, AngularMethod method, int num_threads)
      : data_(data),
        derivatives_(MakeDescriptorDerivatives<T>(data.descriptor(), method)),
        cost_(data.descriptor(), method, sizeof(T), derivatives_->cutoff()),
        pool_(num_threads),
        workers_(num_threads) {
    for (Worker<T>& worker : workers_) worker.state = derivatives_->MakeState();
  }

  // rows[k]: receives the features of structures[k].
  absl::Status Compute(absl::Span<const int64_t> structures, absl::Span<T* const> rows) {
    data_.Prefetch(structures);
    status_.assign(structures.size(), absl::OkStatus());
    pool_.For(structures.size(), 4, [&](int64_t begin, int64_t end, int w) {
      const ProfileScope scope(Stage::kFeatures);
      for (int64_t k = begin; k < end; ++k) {
        const int64_t s = structures[k];
        const absl::StatusOr<StructureGeometry> geometry = GeometryOf(data_, s, &workers_[w].memory);
        status_[k] = geometry.status();
        if (!geometry.ok()) continue;
        if (scope.is_on()) Count(scope, data_.num_atoms(s), geometry->pairs.num_pairs());
        derivatives_->Features(*geometry, workers_[w].state.get(),
                               absl::MakeSpan(rows[k], data_.num_atoms(s) * derivatives_->num_features()));
      }
    });
    for (const absl::Status& status : status_) RETURN_IF_ERROR(status);
    return absl::OkStatus();
  }

 private:
  void Count(const ProfileScope& scope, int64_t atoms, int64_t pairs) const {
    scope.Add(Counter::kStructures, 1);
    scope.Add(Counter::kAtoms, atoms);
    scope.Add(Counter::kPairs, pairs);
    scope.Add(Counter::kFlop, cost_.Features(atoms, pairs));
  }

  const AtomicData& data_;
  const std::unique_ptr<const DescriptorDerivatives<T>> derivatives_;
  const DescriptorCost cost_;
  ThreadPool pool_;
  std::vector<Worker<T>> workers_;
  std::vector<absl::Status> status_;
};

template <typename T>
absl::Status ComputeAll(const AtomicData& data, AngularMethod method, int num_threads, absl::Span<const int64_t> offset,
                        Tensor* features) {
  T* const out = features->mutable_values<T>().data();
  const int64_t f = data.descriptor().num_features();
  FeatureComputer<T> computer(data, method, num_threads);
  std::vector<int64_t> structures;
  std::vector<T*> rows;
  // In pieces, as each is read ahead: all of a file that is larger than memory would push its own pages out again.
  for (int64_t s = 0; s < data.num_structures();) {
    const int64_t first = offset[s];
    structures.clear();
    rows.clear();
    for (; s < data.num_structures() && offset[s] - first < kChunkAtoms; ++s) {
      structures.push_back(s);
      rows.push_back(out + offset[s] * f);
    }
    RETURN_IF_ERROR(computer.Compute(structures, rows));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<FeatureSource> FeatureSource::Create(const AtomicData& data, AngularMethod method, DType dtype,
                                                    bool cached, int num_threads) {
  FeatureSource source(data, method, num_threads);
  if (data.has_features()) {
    source.from_file_ = true;
    source.dtype_ = data.feature_dtype();
    return source;
  }
  source.dtype_ = dtype;
  if (!cached) return source;
  source.offset_.push_back(0);
  for (int64_t s = 0; s < data.num_structures(); ++s) {
    source.offset_.push_back(source.offset_.back() + data.num_atoms(s));
  }
  source.computed_ = Tensor::Zeros(dtype, {source.offset_.back(), data.descriptor().num_features()});
  RETURN_IF_ERROR(dtype == DType::kF64
                      ? ComputeAll<double>(data, method, num_threads, source.offset_, &source.computed_)
                      : ComputeAll<float>(data, method, num_threads, source.offset_, &source.computed_));
  return source;
}

template <typename T>
absl::Span<const T> FeatureSource::features(int64_t s) const {
  if (from_file_) return data_.features<T>(s);
  CHECK(cached());
  const int64_t f = computed_.dim(1);
  return computed_.values<T>().subspan(offset_[s] * f, (offset_[s + 1] - offset_[s]) * f);
}

template <typename T>
absl::Status FeatureSource::ForEach(absl::Span<const int64_t> structures,
                                    const std::function<void(int64_t s, absl::Span<const T> features)>& body) const {
  if (cached()) {
    for (const int64_t s : structures) body(s, features<T>(s));
    return absl::OkStatus();
  }
  FeatureComputer<T> computer(data_, method_, num_threads_);
  const int64_t f = data_.descriptor().num_features();
  std::vector<T> memory;
  std::vector<T*> rows;
  for (size_t begin = 0; begin < structures.size();) {
    size_t end = begin;
    int64_t atoms = 0;
    while (end < structures.size() && (end == begin || atoms < kChunkAtoms)) {
      atoms += data_.num_atoms(structures[end++]);
    }
    memory.resize(std::max<size_t>(memory.size(), atoms * f));
    rows.clear();
    T* row = memory.data();
    for (size_t k = begin; k < end; ++k) {
      rows.push_back(row);
      row += data_.num_atoms(structures[k]) * f;
    }
    RETURN_IF_ERROR(computer.Compute(structures.subspan(begin, end - begin), rows));
    for (size_t k = begin; k < end; ++k) {
      body(structures[k], absl::MakeConstSpan(rows[k - begin], data_.num_atoms(structures[k]) * f));
    }
    begin = end;
  }
  return absl::OkStatus();
}

template absl::Span<const float> FeatureSource::features<float>(int64_t s) const;
template absl::Span<const double> FeatureSource::features<double>(int64_t s) const;
template absl::Status FeatureSource::ForEach<float>(absl::Span<const int64_t>,
                                                    const std::function<void(int64_t, absl::Span<const float>)>&) const;
template absl::Status FeatureSource::ForEach<double>(
    absl::Span<const int64_t>, const std::function<void(int64_t, absl::Span<const double>)>&) const;

}  // namespace rutile
