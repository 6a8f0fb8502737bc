#include "lib/distributed/agreement.h"

#include <algorithm>
#include <csignal>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "lib/base/interrupt.h"
#include "lib/base/status_macros.h"
#include "lib/distributed/tensor_values.h"

namespace rutile {
namespace {

// The sum contains one value for each signal: the number of processes that received it.
constexpr int kSignals[] = {SIGINT, SIGTERM, SIGUSR1};

}  // namespace

absl::Status Agreement::CheckInterrupt() const {
  // A signal received since the last agreement must not stop this process alone.
  if (!alone() && !interrupted_) return absl::OkStatus();
  return rutile::CheckInterrupt();
}

void Agreement::Offer(absl::Span<double> values) const {
  // Seconds in fp64 have a resolution below a microsecond for centuries.
  values[0] = communicator_->rank() == 0 ? absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()) : 0;
  for (int s = 0; s < 3; ++s) values[1 + s] = InterruptSignal() == kSignals[s] ? 1 : 0;
}

void Agreement::Take(absl::Span<const double> values) {
  now_ = absl::UnixEpoch() + absl::Seconds(values[0]);
  for (int s = 0; s < 3; ++s) {
    if (values[1 + s] == 0) continue;
    interrupted_ = true;
    if (InterruptSignal() == 0) SetInterrupt(kSignals[s]);
  }
}

absl::Status Agreement::JoinDevices(const std::string& device) {
  if (alone()) return absl::OkStatus();
  ASSIGN_OR_RETURN(devices_, communicator_->JoinDevices(device));
  return absl::OkStatus();
}

absl::Status Agreement::Agree() {
  TermSums none;
  return Sum(&none, {});
}

absl::Status Agreement::Sum(TermSums* sums, absl::Span<double> more) {
  if (alone()) return absl::OkStatus();
  std::vector<double> values(kValues);
  Offer(absl::MakeSpan(values));
  for (const std::vector<double>* part : {&sums->sum, &sums->count}) {
    values.insert(values.end(), part->begin(), part->end());
  }
  values.insert(values.end(), more.begin(), more.end());
  RETURN_IF_ERROR(communicator_->Sum(absl::MakeSpan(values)));
  const double* at = values.data();
  Take({at, kValues});
  at += kValues;
  for (const absl::Span<double> part : {absl::MakeSpan(sums->sum), absl::MakeSpan(sums->count), more}) {
    std::copy(at, at + part.size(), part.begin());
    at += part.size();
  }
  return absl::OkStatus();
}

absl::Status Agreement::Average(absl::Span<Tensor> tensors) {
  if (alone()) return absl::OkStatus();
  std::vector<double> values;
  AppendValues(tensors, &values);
  RETURN_IF_ERROR(communicator_->Sum(absl::MakeSpan(values)));
  for (double& value : values) value /= communicator_->size();
  SetValues(values, tensors);
  return absl::OkStatus();
}

}  // namespace rutile
