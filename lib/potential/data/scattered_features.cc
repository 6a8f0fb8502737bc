#include "lib/potential/data/scattered_features.h"

#include "lib/machine/memory.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {
namespace {

struct Bytes {
  const char* begin = nullptr;
  int64_t size = 0;
};

Bytes FeaturesOf(const AtomicData& data, int64_t s) {
  if (data.feature_dtype() == DType::kF64) {
    const absl::Span<const double> rows = data.features<double>(s);
    return {reinterpret_cast<const char*>(rows.data()), static_cast<int64_t>(rows.size() * sizeof(double))};
  }
  const absl::Span<const float> rows = data.features<float>(s);
  return {reinterpret_cast<const char*>(rows.data()), static_cast<int64_t>(rows.size() * sizeof(float))};
}

}  // namespace

bool FeaturesExceed(const AtomicData& data, int64_t memory) {
  if (!data.has_features()) return false;
  int64_t bytes = 0;
  for (int64_t s = 0; s < data.num_structures(); ++s) bytes += FeaturesOf(data, s).size;
  return bytes > memory / 2;
}

void AdviseScatteredFeatures(const AtomicData& data) {
  // Structures that follow each other in a file are advised together: the kernel keeps one record for each call's
  // range.
  Bytes run;
  for (int64_t s = 0; s < data.num_structures(); ++s) {
    const Bytes next = FeaturesOf(data, s);
    // Structures that were left out, or belong to another set, lie between; the kernel has room for few records.
    constexpr int64_t kLargestGap = 1 << 20;
    const int64_t gap = next.begin - (run.begin + run.size);
    if (run.size > 0 && gap >= 0 && gap < kLargestGap) {
      run.size += gap + next.size;
      continue;
    }
    if (run.size > 0) AdviseRandomAccess(run.begin, run.size);
    run = next;
  }
  if (run.size > 0) AdviseRandomAccess(run.begin, run.size);
}

void PrefetchFeatures(const AtomicData& data, absl::Span<const int64_t> structures) {
  for (const int64_t s : structures) {
    const Bytes bytes = FeaturesOf(data, s);
    Prefetch(bytes.begin, bytes.size);
  }
}

}  // namespace rutile
