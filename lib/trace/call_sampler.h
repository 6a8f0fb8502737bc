// Which calls of a stage are timed, and for how many others each of them stands.
//
// Reading the clock twice takes 40 to 70 ns, by machine: more than 1 % of a stage of 5 us. Once a place has been timed
// kTimedAtFirst times, a call that is shorter than SamplerLimits::sampled_below stands for some that precede it
// untimed, so many that clocks take as little of it as they do of calls of that length. Their number is drawn at
// random, so that no rhythm of the work is met. On a machine that others use a call that was interrupted stands for
// others that were: right on average, as is the sum.

#ifndef RUTILE_LIB_TRACE_CALL_SAMPLER_H_
#define RUTILE_LIB_TRACE_CALL_SAMPLER_H_

#include <cstdint>

namespace rutile {
namespace profile_internal {

// In ticks of the clock.
struct SamplerLimits {
  uint64_t sampled_below = 0;  // what typically takes as much or more is timed at each call
  uint64_t alone_above = 0;    // a call that takes more was not merely interrupted: it stands for itself
};

// Of one place of one thread. All zeros: no call yet.
class CallSampler {
 public:
  static constexpr int kTimedAtFirst = 256;  // before samples do
  static constexpr int kMostSkipped = 63;    // that one call stands for beside itself

  // Before a call: whether it is to be timed. `outer_is`: the call around it is, or there is none. Inside of untimed
  // calls, too, what is long or new is timed, as it may be what makes them unlike their like.
  bool WantsTime(bool outer_is, const SamplerLimits& limits) const {
    return skip_ == 0 && (outer_is || IsRegardedByItself(limits));
  }

  // After a call that was not timed.
  void Skipped() {
    if (skip_ > 0) --skip_;
    ++skipped_;
    alone_inside_ = 0;
  }

  // After a call that took `elapsed`: the ticks of it and of those that it stands for.
  int64_t Timed(uint64_t elapsed, const SamplerLimits& limits);

  // Whether it is long, or new: what is around it does not stand for it.
  bool IsRegardedByItself(const SamplerLimits& limits) const {
    return timed_ < kTimedAtFirst || typical_ >= limits.sampled_below;
  }
  // Of the call at hand: that so much of it was inside of such a place.
  void AddRegardedByItself(uint64_t elapsed) { alone_inside_ += elapsed; }

 private:
  int timed_ = 0;              // up to kTimedAtFirst
  int skip_ = 0;               // of the calls that follow
  int skipped_ = 0;            // since the last that was timed
  uint32_t random_ = 0;        // state
  uint64_t typical_ = 0;       // a moving average, interruptions left out
  uint64_t alone_inside_ = 0;  // of the call at hand
};

}  // namespace profile_internal
}  // namespace rutile

#endif  // RUTILE_LIB_TRACE_CALL_SAMPLER_H_
