// L-BFGS with a strong Wolfe line search, through torch::optim::LBFGS.
//
// It needs the same function in every evaluation, so the loss is that of all training examples at once. One step is one
// iteration: a direction, and the evaluations that its line search takes (often one or two).

#ifndef RUTILE_LIB_OPTIMIZER_LBFGS_H_
#define RUTILE_LIB_OPTIMIZER_LBFGS_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/optimizer/optimizer.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

class Lbfgs {
 public:
  // The loss at `parameters`, and its gradient into `gradient` (overwritten). Called again with the parameters of the
  // last call, it is not asked: the value is remembered.
  using Function = std::function<absl::StatusOr<double>(const Tensor& parameters, Tensor* gradient)>;

  // `parameters` [P], F32 or F64, is what Step moves; it stays in place.
  Lbfgs(const OptimizerOptions& options, Tensor parameters, Function function);
  ~Lbfgs();

  struct Result {
    double loss = 0;         // at the parameters reached
    bool converged = false;  // nothing moved: gradient or change below the tolerances
  };
  // One iteration. An error of the function ends it with the parameters of the last evaluation; the optimizer must not
  // be used afterward.
  absl::StatusOr<Result> Step(double learning_rate);

  // The history, empty before the first step and where that found a gradient below the tolerance:
  //   gradient_differences, steps [m, P], curvatures [m]; direction, gradient [P]; hessian_scale [] (i64 in the
  //   first iteration); of the parameters' type; iterations i64 [2] (iterations, evaluations); numbers f64 [2] (step
  //   length, loss)
  NamedTensors State() const;
  // Copies. INVALID_ARGUMENT when a tensor is missing or has another type or size; then the history starts anew.
  absl::Status SetState(const NamedTensors& state);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_LBFGS_H_
