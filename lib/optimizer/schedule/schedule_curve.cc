#include "lib/optimizer/schedule/schedule_curve.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace rutile {
namespace {

double Milestones(const ScheduleOptions& options, int64_t t) {
  const auto& milestones = options.milestones;
  return static_cast<double>(std::upper_bound(milestones.begin(), milestones.end(), t) - milestones.begin());
}

// Interpolates from `from` at share 0 to `to` at share 1 by half a cosine wave.
double HalfWave(double from, double to, double share) { return to + (from - to) * (1 + std::cos(M_PI * share)) / 2; }

// Returns the completed share of the period that contains t; each period is `mult` times as long as the one before.
double ShareOfPeriod(int64_t t, int64_t period, int64_t mult) {
  if (mult == 1) {
    t %= period;
  } else {
    // Subtract periods: a logarithm would miss the first t of a period by rounding.
    while (t >= period) {
      t -= period;
      period *= mult;
    }
  }
  return static_cast<double>(t) / static_cast<double>(period);
}

double OneCycle(const ScheduleOptions& options, double learning_rate, double t) {
  const auto anneal = [&](double from, double to, double share) {
    return options.anneal == Anneal::kCosine ? HalfWave(from, to, share) : from + (to - from) * share;
  };
  // PyTorch counts from 0 to the last t of the run, so that the last step has the lowest rate.
  const double last = static_cast<double>(options.period - 1);
  const double top = options.pct_start * static_cast<double>(options.period) - 1;
  const double first_rate = learning_rate / options.div_factor;
  const double last_rate = first_rate / options.final_div_factor;
  if (t <= top) return top == 0 ? learning_rate : anneal(first_rate, learning_rate, t / top);
  if (t >= last) return last_rate;
  return anneal(learning_rate, last_rate, (t - top) / (last - top));
}

}  // namespace

double ScheduleCurve(const ScheduleOptions& options, double learning_rate, int64_t step_or_epoch) {
  const auto t = static_cast<double>(step_or_epoch);
  const auto period = static_cast<double>(options.period);
  // A learning rate that starts below the minimum stays constant.
  const double floor = std::min(options.min_learning_rate, learning_rate);
  switch (options.kind) {
    case ScheduleKind::kConstant:
    case ScheduleKind::kPlateau:
      break;
    case ScheduleKind::kStep:
      return std::max(floor, learning_rate * std::pow(options.factor, std::floor(t / period)));
    case ScheduleKind::kMultistep:
      return std::max(floor, learning_rate * std::pow(options.factor, Milestones(options, step_or_epoch)));
    case ScheduleKind::kExponential:
      return std::max(floor, learning_rate * std::pow(options.factor, t));
    case ScheduleKind::kLinear: {
      const double done = t >= period ? 1 : t / period;
      const double factor = options.start_factor + (options.end_factor - options.start_factor) * done;
      return std::max(floor, learning_rate * factor);
    }
    case ScheduleKind::kCosine:
      return t >= period ? floor : HalfWave(learning_rate, floor, t / period);
    case ScheduleKind::kCosineRestarts:
      return HalfWave(learning_rate, floor, ShareOfPeriod(step_or_epoch, options.period, options.period_mult));
    case ScheduleKind::kPolynomial:
      return t >= period ? floor : floor + (learning_rate - floor) * std::pow(1 - t / period, options.power);
    case ScheduleKind::kOneCycle:
      return OneCycle(options, learning_rate, t);
  }
  return learning_rate;
}

}  // namespace rutile
