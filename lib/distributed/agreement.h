// What processes that train together decide alike, though it is not the same for all: what time it is, and whether a
// signal has come.

#ifndef RUTILE_LIB_DISTRIBUTED_AGREEMENT_H_
#define RUTILE_LIB_DISTRIBUTED_AGREEMENT_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "lib/distributed/communicator.h"
#include "lib/task/device_sums.h"
#include "lib/task/task.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

class Agreement {
 public:
  // communicator: nullptr where there is one process alone; must outlive this object.
  explicit Agreement(Communicator* communicator) : communicator_(communicator) {}

  Communicator* communicator() const { return communicator_; }
  bool alone() const { return communicator_ == nullptr; }
  bool writes() const { return alone() || communicator_->rank() == 0; }

  // The clock; with others rank 0's, when they last agreed.
  absl::Time Now() const { return alone() ? absl::Now() : now_; }
  // CANCELLED when a signal has come to this process; with others, when one had come to any when they last agreed. This
  // process then has it, too.
  absl::Status CheckInterrupt() const;

  // Values that ride along in a sum over all processes: this one's, and what came of all.
  static constexpr int kValues = 4;
  void Offer(absl::Span<double> values) const;
  void Take(absl::Span<const double> values);

  // Communicator::JoinDevices; to be called once, by those whose gradients LibTorch makes on a device.
  absl::Status JoinDevices(const std::string& device);
  // nullptr: gradients are summed through the host.
  DeviceSums* devices() const { return devices_.get(); }

  // All of these do nothing when alone.
  // To agree, and no more.
  absl::Status Agree();
  // Sums over all processes, and `more`, in one go with agreeing.
  absl::Status Sum(TermSums* sums, absl::Span<double> more);
  // Of F32 or F64 tensors, in place, the mean over all processes.
  absl::Status Average(absl::Span<Tensor> tensors);

 private:
  Communicator* const communicator_;
  std::unique_ptr<DeviceSums> devices_;
  absl::Time now_ = absl::InfinitePast();
  bool interrupted_ = false;
};

}  // namespace rutile

#endif  // RUTILE_LIB_DISTRIBUTED_AGREEMENT_H_
