#include "lib/profile/machine_peaks.h"

#include "absl/status/status.h"
namespace rutile {
absl::StatusOr<MachinePeaks> FindMachinePeaks(const MachineFacts&, const PeakOptions&) {
  return absl::UnimplementedError("stub");
}
}  // namespace rutile
