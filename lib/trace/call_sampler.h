// Chooses which calls of a stage are timed, and how many other calls each of them represents.
//
// Reading the clock twice takes 40 to 70 ns, depending on the machine: more than 1 % of a stage of 5 us. Therefore,
// once a place has been timed kTimedAtFirst times, a call shorter than SamplerLimits::sampled_below represents some
// preceding untimed calls, so many that the share of the clock is no larger than for calls of that length. Their number
// is random, so that it cannot follow a rhythm of the work. On a machine shared with others, an interrupted call
// represents other interrupted ones: that is correct on average, and so is the sum.

#ifndef RUTILE_LIB_TRACE_CALL_SAMPLER_H_
#define RUTILE_LIB_TRACE_CALL_SAMPLER_H_

#include <cstdint>

namespace rutile {
namespace profile_internal {

// Limits in ticks of the clock.
struct SamplerLimits {
  uint64_t sampled_below = 0;  // calls of places that typically take this long or longer are all timed
  uint64_t alone_above = 0;    // a longer call was not merely interrupted, so it represents only itself
};

// The sampling state of one place in one thread. All zeros: no call yet.
class CallSampler {
 public:
  static constexpr int kTimedAtFirst = 256;  // number of calls that are all timed at first
  static constexpr int kMostSkipped = 63;    // most calls that one call represents beside itself

  // Call before a call: returns true if it should be timed. `outer_is`: the surrounding call is timed, or there is
  // none. Inside untimed calls, long or new calls are timed as well, since they may be why the surrounding call is
  // unlike others.
  bool WantsTime(bool outer_is, const SamplerLimits& limits) const {
    return skip_ == 0 && (outer_is || IsRegardedByItself(limits));
  }

  // Call after a call that was not timed.
  void Skipped() {
    if (skip_ > 0) --skip_;
    ++skipped_;
    alone_inside_ = 0;
  }

  // Call after a call that took `elapsed`. Returns the ticks of this call and of those it represents.
  int64_t Timed(uint64_t elapsed, const SamplerLimits& limits);

  // True if the place is long or new: surrounding calls then do not represent its calls.
  bool IsRegardedByItself(const SamplerLimits& limits) const {
    return timed_ < kTimedAtFirst || typical_ >= limits.sampled_below;
  }
  // Records that `elapsed` ticks of the current call were inside such a place.
  void AddRegardedByItself(uint64_t elapsed) { alone_inside_ += elapsed; }

 private:
  int timed_ = 0;              // number of timed calls, up to kTimedAtFirst
  int skip_ = 0;               // number of following calls to skip
  int skipped_ = 0;            // number of skipped calls since the last timed one
  uint32_t random_ = 0;        // state of the random numbers
  uint64_t typical_ = 0;       // moving average of the ticks, without interruptions
  uint64_t alone_inside_ = 0;  // ticks of the current call inside places regarded by themselves
};

}  // namespace profile_internal
}  // namespace rutile

#endif  // RUTILE_LIB_TRACE_CALL_SAMPLER_H_
