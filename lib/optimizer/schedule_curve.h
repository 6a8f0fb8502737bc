// The closed forms of the schedules (schedule_options.h has the formulas).

#ifndef RUTILE_LIB_OPTIMIZER_SCHEDULE_CURVE_H_
#define RUTILE_LIB_OPTIMIZER_SCHEDULE_CURVE_H_

#include <cstdint>

#include "lib/optimizer/schedule_options.h"

namespace rutile {

// The rate at t (epochs or steps, from 0), without warm-up and cool-down. `options` are checked and resolved. Of
// plateau, which depends on what was seen, it is learning_rate.
double ScheduleCurve(const ScheduleOptions& options, double learning_rate, int64_t t);

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_SCHEDULE_CURVE_H_
