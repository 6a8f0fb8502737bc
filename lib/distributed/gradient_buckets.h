// Sums a flat gradient over processes in buckets: finished parts are sent while the task works on the rest.

#ifndef RUTILE_LIB_DISTRIBUTED_GRADIENT_BUCKETS_H_
#define RUTILE_LIB_DISTRIBUTED_GRADIENT_BUCKETS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/distributed/communicator.h"
#include "lib/task/gradients/gradient_observer.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Buckets and their order depend on the layout alone, never on time. All processes thus start the same sums in the same
// order, and a gradient has the same bits regardless of which parts were announced early.
class GradientBuckets : public GradientObserver {
 public:
  // Chosen by measurement: docs/performance-potentials.md, "Several processes".
  static constexpr int64_t kBucketBytes = 4 << 20;

  // early: GradientStream::EarlyGradients(). communicator must outlive this object, and so must the gradients until
  // Complete.
  GradientBuckets(Communicator* communicator, DType dtype, int64_t size, std::vector<GradientRange> early,
                  int64_t bucket_bytes = kBucketBytes);

  // Excludes frozen parameters from the sums. Call it between steps.
  void SetFrozen(absl::Span<const GradientRange> frozen);

  // Starts observing a task whose gradients[0] is `gradient` [P].
  void Begin(const Tensor& gradient);
  void Finish(GradientRange range) override;
  void AddLater(absl::Span<const int64_t> begin, const Tensor& rows) override;

  // Starts the sums of parts that were not announced (of all parts without Begin). Complete must follow.
  void StartRest(const Tensor& gradient);
  // Waits for the sums. Afterward `gradient` is the sum over all processes, except in frozen parameters. Rows given to
  // AddLater are added in the order of ranks.
  absl::Status Complete(Tensor* gradient);

 private:
  struct Bucket {
    GradientRange range;
    int64_t unfinished = 0;  // values not yet announced
  };

  void AddBuckets(absl::Span<const GradientRange> ranges);
  void Start(size_t bucket);

  Communicator* const communicator_;
  const DType dtype_;
  const int64_t size_;
  const std::vector<GradientRange> early_;
  const int64_t bucket_size_;  // in values
  std::vector<Bucket> buckets_;
  size_t num_early_ = 0;  // the first buckets, which cover early_
  size_t started_ = 0;
  Tensor gradient_;
  std::string later_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_DISTRIBUTED_GRADIENT_BUCKETS_H_
