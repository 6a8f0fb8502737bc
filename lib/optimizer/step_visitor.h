// Describes a begun optimizer step to who performs it on copies of parameters and state, in the memory of a GPU.

#ifndef RUTILE_LIB_OPTIMIZER_STEP_VISITOR_H_
#define RUTILE_LIB_OPTIMIZER_STEP_VISITOR_H_

#include "absl/types/span.h"
#include "lib/optimizer/optimizer_steps.h"
#include "lib/optimizer/parameter_range.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Has one method for each kind of step, with the formulas of optimizer_steps.h. The tensors are the optimizer's own
// state, named as there, in the order of the ranges; one of no elements is not used. Their memory never moves. Weight
// decay (keep, l2, decay) does not apply to ranges that do not decay.
class StepVisitor {
 public:
  using Ranges = absl::Span<const ParameterRange>;
  virtual ~StepVisitor() = default;
  virtual void Adam(const AdamStep& step, Ranges ranges, const Tensor& m, const Tensor& v, const Tensor& h) = 0;
  virtual void Sgd(const SgdStep& step, Ranges ranges, const Tensor& b) = 0;
  virtual void Rmsprop(const RmspropStep& step, Ranges ranges, const Tensor& v, const Tensor& m, const Tensor& b) = 0;
  virtual void Adagrad(const AdagradStep& step, Ranges ranges, const Tensor& s) = 0;
  // first: z starts as a copy of the parameters.
  virtual void ScheduleFree(const ScheduleFreeStep& step, bool first, Ranges ranges, const Tensor& v,
                            const Tensor& z) = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_STEP_VISITOR_H_
