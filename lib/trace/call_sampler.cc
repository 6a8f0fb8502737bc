#include "lib/trace/call_sampler.h"

#include <algorithm>
#include <utility>

namespace rutile {
namespace profile_internal {

int64_t CallSampler::Timed(uint64_t elapsed, const SamplerLimits& limits) {
  const auto skipped = static_cast<uint64_t>(std::exchange(skipped_, 0));
  const uint64_t alone = std::min(elapsed, std::exchange(alone_inside_, 0));
  const uint64_t like = elapsed - alone;
  if (like > limits.alone_above) return static_cast<int64_t>(elapsed + skipped * typical_);
  constexpr uint64_t kInterrupted = 8;  // calls of this many times the typical length were interrupted
  typical_ = timed_ == 0 ? like : (15 * typical_ + std::min(like, kInterrupted * (1 + typical_)) + 8) / 16;
  if (timed_ < kTimedAtFirst) {
    ++timed_;
  } else if (typical_ < limits.sampled_below) {
    const uint64_t most = 2 * (limits.sampled_below / std::max<uint64_t>(1, typical_) - 1);
    random_ = random_ * 1664525 + 1013904223;  // Knuth and Lewis; the upper bits are what counts
    skip_ = static_cast<int>((random_ * (1 + std::min<uint64_t>(kMostSkipped, most))) >> 32);
  }
  return static_cast<int64_t>(like * (1 + skipped) + alone);
}

}  // namespace profile_internal
}  // namespace rutile
