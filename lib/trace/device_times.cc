#include "lib/trace/device_times.h"

namespace rutile {

void DeviceTimes::Begin(const void* scope) { open_.push_back({scope, clock_->Record()}); }

void DeviceTimes::End(const void* scope, int place) {
  if (open_.empty() || open_.back().scope != scope) return;
  const int begin = open_.back().begin;
  open_.pop_back();
  if (begin == DeviceClock::kNone) return;
  const int end = clock_->Record();
  if (end == DeviceClock::kNone) return clock_->Free(begin);
  pairs_.push_back({place, begin, end});
  ReadPassed();
}

void DeviceTimes::Finish() {
  if (!pairs_.empty()) clock_->Await(pairs_.back().end);
  ReadPassed();
}

double DeviceTimes::Seconds(int place) const {
  return place < static_cast<int>(seconds_.size()) ? seconds_[place] : -1;
}

void DeviceTimes::ReadPassed() {
  for (; !pairs_.empty() && clock_->HasPassed(pairs_.front().end); pairs_.pop_front()) {
    const Pair& pair = pairs_.front();
    if (pair.place >= static_cast<int>(seconds_.size())) seconds_.resize(pair.place + 1, -1);
    double& sum = seconds_[pair.place];
    sum = (sum < 0 ? 0 : sum) + clock_->Seconds(pair.begin, pair.end);
    clock_->Free(pair.begin);
    clock_->Free(pair.end);
  }
}

}  // namespace rutile
