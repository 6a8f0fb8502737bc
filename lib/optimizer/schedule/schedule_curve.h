// Closed forms of the learning-rate schedules; the formulas are in schedule_options.h.

#ifndef RUTILE_LIB_OPTIMIZER_SCHEDULE_SCHEDULE_CURVE_H_
#define RUTILE_LIB_OPTIMIZER_SCHEDULE_SCHEDULE_CURVE_H_

#include <cstdint>

#include "lib/optimizer/schedule/schedule_options.h"

namespace rutile {

// Returns the learning rate at t (epochs or steps, from 0), without warm-up and cool-down. `options` must be checked
// and resolved. For plateau, which depends on the losses seen, it is learning_rate.
double ScheduleCurve(const ScheduleOptions& options, double learning_rate, int64_t t);

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_SCHEDULE_SCHEDULE_CURVE_H_
