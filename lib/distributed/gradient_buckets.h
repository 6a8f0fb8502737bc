// A flat gradient added up over processes in buckets: those of what is finished first are on their way while the task
// works on the rest.

#ifndef RUTILE_LIB_DISTRIBUTED_GRADIENT_BUCKETS_H_
#define RUTILE_LIB_DISTRIBUTED_GRADIENT_BUCKETS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/distributed/communicator.h"
#include "lib/task/gradient_observer.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Buckets and their order are a function of the layout alone, never of time: all processes start the same sums in the
// same order, and a gradient has the same bits whether parts of it were announced or none.
class GradientBuckets : public GradientObserver {
 public:
  // Fixed by measurement: docs/performance.md, "Several processes".
  static constexpr int64_t kBucketBytes = 4 << 20;

  // early: Task::EarlyGradients(). communicator must outlive this object, and the bytes of gradients all sums that were
  // started, which it sees to.
  GradientBuckets(Communicator* communicator, DType dtype, int64_t size, std::vector<GradientRange> early,
                  int64_t bucket_bytes = kBucketBytes);

  // What rests is not added up. Between steps.
  void SetFrozen(absl::Span<const GradientRange> frozen);

  // From now on this object may observe a task whose gradients[0] is `gradient` [P].
  void Begin(const Tensor& gradient);
  void Finish(GradientRange range) override;
  void AddLater(absl::Span<const int64_t> begin, const Tensor& rows) override;

  // Starts what has not been announced, all of it without Begin. Then Complete must follow.
  void StartRest(const Tensor& gradient);
  // Waits; the gradient is the sum over all processes then, but where parameters rest. Rows for later are added in the
  // order of ranks.
  absl::Status Complete(Tensor* gradient);

 private:
  struct Bucket {
    GradientRange range;
    int64_t unfinished = 0;  // numbers
  };

  void AddBuckets(absl::Span<const GradientRange> ranges);
  void Start(size_t bucket);

  Communicator* const communicator_;
  const DType dtype_;
  const int64_t size_;
  const std::vector<GradientRange> early_;
  const int64_t bucket_size_;  // numbers
  std::vector<Bucket> buckets_;
  size_t num_early_ = 0;  // buckets of early_, the first ones
  size_t started_ = 0;
  Tensor gradient_;
  std::string later_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_DISTRIBUTED_GRADIENT_BUCKETS_H_
