#include "lib/optimizer/schedule/schedule.h"

#include <algorithm>
#include <cstdint>

#include "lib/optimizer/schedule/schedule_curve.h"

namespace rutile {

Schedule::Schedule(const ScheduleOptions& options, double learning_rate)
    : options_(options), learning_rate_(learning_rate), plateau_(options, learning_rate) {}

double Schedule::Scheduled(int64_t epoch, int64_t step) const {
  double rate = options_.kind == ScheduleKind::kPlateau
                    ? plateau_.learning_rate()
                    : ScheduleCurve(options_, learning_rate_, options_.per_step ? step : epoch);
  if (step < options_.warmup_steps) {
    const double done = static_cast<double>(step) / static_cast<double>(options_.warmup_steps);
    rate *= options_.warmup_start + (1 - options_.warmup_start) * done;
  }
  return rate;
}

double Schedule::LearningRate(int64_t epoch, int64_t step) const {
  const int64_t from = options_.cooldown_from_step;
  if (from < 0 || step < from) return Scheduled(epoch, step);
  const double rate = Scheduled(options_.cooldown_from_epoch, from);
  const double floor = std::min(options_.min_learning_rate, rate);
  const int64_t left = std::max<int64_t>(0, from + options_.cooldown_steps - step);
  return floor + (rate - floor) * (static_cast<double>(left) / static_cast<double>(options_.cooldown_steps));
}

void Schedule::Observe(double loss) {
  if (options_.kind == ScheduleKind::kPlateau) plateau_.Observe(loss);
}

}  // namespace rutile
