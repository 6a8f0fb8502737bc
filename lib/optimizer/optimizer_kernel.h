// Vectorized inner loops of the optimizers: one pass over parameters, gradient and state. optimizer_steps.h has the
// formulas.

#ifndef RUTILE_LIB_OPTIMIZER_OPTIMIZER_KERNEL_H_
#define RUTILE_LIB_OPTIMIZER_OPTIMIZER_KERNEL_H_

#include "absl/types/span.h"
#include "lib/optimizer/optimizer_steps.h"

namespace rutile {

// All spans must have one length (CHECK-fails otherwise), but `h` is empty without amsgrad.
void AdamUpdate(const AdamStep& step, absl::Span<const float> g, absl::Span<float> m, absl::Span<float> v,
                absl::Span<float> p, absl::Span<float> h = {});
void AdamUpdate(const AdamStep& step, absl::Span<const double> g, absl::Span<double> m, absl::Span<double> v,
                absl::Span<double> p, absl::Span<double> h = {});

// Does the same as AdamUpdate, but also saves the old p in `kept` and returns the sum of (scale g)^2 in fp64: one pass
// instead of three.
double AdamUpdateKeeping(const AdamStep& step, absl::Span<const float> g, absl::Span<float> m, absl::Span<float> v,
                         absl::Span<float> p, absl::Span<float> kept, absl::Span<float> h = {});
double AdamUpdateKeeping(const AdamStep& step, absl::Span<const double> g, absl::Span<double> m, absl::Span<double> v,
                         absl::Span<double> p, absl::Span<double> kept, absl::Span<double> h = {});

// `b` is empty when momentum is 0.
void SgdUpdate(const SgdStep& step, absl::Span<const float> g, absl::Span<float> b, absl::Span<float> p);
void SgdUpdate(const SgdStep& step, absl::Span<const double> g, absl::Span<double> b, absl::Span<double> p);

// `m` is empty unless centered, `b` when momentum is 0.
void RmspropUpdate(const RmspropStep& step, absl::Span<const float> g, absl::Span<float> v, absl::Span<float> m,
                   absl::Span<float> b, absl::Span<float> p);
void RmspropUpdate(const RmspropStep& step, absl::Span<const double> g, absl::Span<double> v, absl::Span<double> m,
                   absl::Span<double> b, absl::Span<double> p);

void AdagradUpdate(const AdagradStep& step, absl::Span<const float> g, absl::Span<float> s, absl::Span<float> p);
void AdagradUpdate(const AdagradStep& step, absl::Span<const double> g, absl::Span<double> s, absl::Span<double> p);

void ScheduleFreeUpdate(const ScheduleFreeStep& step, absl::Span<const float> g, absl::Span<float> v,
                        absl::Span<float> z, absl::Span<float> y);
void ScheduleFreeUpdate(const ScheduleFreeStep& step, absl::Span<const double> g, absl::Span<double> v,
                        absl::Span<double> z, absl::Span<double> y);

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_OPTIMIZER_KERNEL_H_
