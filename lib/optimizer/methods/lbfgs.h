// L-BFGS with a strong Wolfe line search, by torch::optim::LBFGS.
//
// It needs the same function in every evaluation, so the loss is that of all training examples. One step is one
// iteration: a direction, and the evaluations of its line search (often one or two).

#ifndef RUTILE_LIB_OPTIMIZER_METHODS_LBFGS_H_
#define RUTILE_LIB_OPTIMIZER_METHODS_LBFGS_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/optimizer/optimizer.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Minimizes a function of the parameters, which it updates in place.
class Lbfgs {
 public:
  // Returns the loss at `parameters` and overwrites `gradient` with its gradient. The last value is cached: the
  // function is not called again with the parameters of its last call.
  using Function = std::function<absl::StatusOr<double>(const Tensor& parameters, Tensor* gradient)>;

  // `parameters` [P], F32 or F64, is updated in place by Step.
  Lbfgs(const OptimizerOptions& options, Tensor parameters, Function function);
  ~Lbfgs();

  struct Result {
    double loss = 0;         // at the parameters reached
    bool converged = false;  // no parameter changed: gradient or change is below the tolerances
  };
  // Performs one iteration. An error of the function ends it at the parameters of the last evaluation; the optimizer
  // must not be used afterward.
  absl::StatusOr<Result> Step(double learning_rate);

  // Returns the history. It is empty before the first step, and if that found a gradient below the tolerance:
  //   gradient_differences, steps [m, P], curvatures [m]; direction, gradient [P]; hessian_scale [] (i64 in the
  //   first iteration); all of the parameters' type; iterations i64 [2] (iterations, evaluations); numbers f64 [2]
  //   (step length, loss)
  NamedTensors State() const;
  // Copies the state. INVALID_ARGUMENT if a tensor is missing or has another type or size; then the history starts
  // anew.
  absl::Status SetState(const NamedTensors& state);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_METHODS_LBFGS_H_
