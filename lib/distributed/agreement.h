// Lets processes that train together decide alike on the time and on signals, although these differ among them.

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
#include "lib/task/loss_terms.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Each sum over processes carries rank 0's clock and the signals received. All ranks then read the same clock and stop
// after the same step.
class Agreement {
 public:
  // communicator: nullptr for a single process; it must outlive this object.
  explicit Agreement(Communicator* communicator) : communicator_(communicator) {}

  Communicator* communicator() const { return communicator_; }
  bool alone() const { return communicator_ == nullptr; }
  // True for the process that writes the files of the run.
  bool writes() const { return alone() || communicator_->rank() == 0; }

  // Returns the clock; with several processes that of rank 0 at the last agreement.
  absl::Time Now() const { return alone() ? absl::Now() : now_; }
  // CANCELLED if this process has received a signal; with several processes, if any had received one at the last
  // agreement. The signal is then set in this process too.
  absl::Status CheckInterrupt() const;

  // Values to include in a sum over all processes: Offer fills in this process's, Take reads the result.
  static constexpr int kValues = 4;
  void Offer(absl::Span<double> values) const;
  void Take(absl::Span<const double> values);

  // Calls Communicator::JoinDevices. Must be called once if LibTorch makes gradients on a device.
  absl::Status JoinDevices(const std::string& device);
  // nullptr: gradients are summed through the host.
  DeviceSums* devices() const { return devices_.get(); }

  // Agrees on clock and signals, and nothing else. This and the following calls do nothing in a single process.
  absl::Status Agree();
  // Sums `sums` and `more` over all processes, in the same message as the agreement.
  absl::Status Sum(TermSums* sums, absl::Span<double> more);
  // Replaces F32 or F64 tensors by their mean over all processes.
  absl::Status Average(absl::Span<Tensor> tensors);

 private:
  Communicator* const communicator_;
  std::unique_ptr<DeviceSums> devices_;
  absl::Time now_ = absl::InfinitePast();
  bool interrupted_ = false;
};

}  // namespace rutile

#endif  // RUTILE_LIB_DISTRIBUTED_AGREEMENT_H_
