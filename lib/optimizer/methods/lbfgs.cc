#include "lib/optimizer/methods/lbfgs.h"

#include <ATen/ATen.h>
#include <torch/optim/lbfgs.h>

#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/base/status_macros.h"
#include "lib/tensorfile/state_tensor.h"
#include "lib/tensorfile/tensorfile_torch.h"
#include "lib/tensorfile/torch_compat.h"

namespace rutile {
namespace {

// LibTorch's closures return a tensor and nothing else: an error is thrown as this exception and caught in Step.
struct EvaluationFailed : public std::exception {};

torch::optim::LBFGSOptions TorchOptions(const OptimizerOptions& options) {
  return torch::optim::LBFGSOptions(options.learning_rate)
      .max_iter(1)
      .max_eval(25)  // of one line search, as LibTorch's own limit
      .tolerance_grad(options.tolerance_gradient)
      .tolerance_change(options.tolerance_change)
      .history_size(options.history_size)
      .line_search_fn("strong_wolfe");
}

}  // namespace

struct Lbfgs::Impl {
  Impl(const OptimizerOptions& options, Tensor given, Function f)
      : options(options),
        parameters(std::move(given)),
        gradient(Tensor::Zeros(parameters.dtype(), parameters.shape())),
        evaluated_at(Tensor::Zeros(parameters.dtype(), parameters.shape())),
        function(std::move(f)),
        leaf(ToTorch(parameters).requires_grad_(true)) {
    Restart();
  }

  void Restart() {
    optimizer = std::make_unique<torch::optim::LBFGS>(std::vector<at::Tensor>{leaf}, TorchOptions(options));
  }

  // Evaluates the loss at the current parameters, and leaves their gradient in `gradient`.
  absl::Status Evaluate() {
    if (evaluated && std::memcmp(evaluated_at.data(), parameters.data(), parameters.num_bytes()) == 0) {
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(loss, function(parameters, &gradient));
    std::memcpy(evaluated_at.mutable_data(), parameters.data(), parameters.num_bytes());
    evaluated = true;
    return absl::OkStatus();
  }

  const OptimizerOptions options;
  Tensor parameters;
  Tensor gradient;
  Tensor evaluated_at;
  bool evaluated = false;
  double loss = 0;
  Function function;
  at::Tensor leaf;  // a view of `parameters`
  std::unique_ptr<torch::optim::LBFGS> optimizer;
};

Lbfgs::Lbfgs(const OptimizerOptions& options, Tensor parameters, Function function)
    : impl_(std::make_unique<Impl>(options, std::move(parameters), std::move(function))) {}

Lbfgs::~Lbfgs() = default;

absl::StatusOr<Lbfgs::Result> Lbfgs::Step(double learning_rate) {
  Impl& impl = *impl_;
  const std::string before(static_cast<const char*>(impl.parameters.data()), impl.parameters.num_bytes());
  impl.optimizer->param_groups()[0].options().set_lr(learning_rate);
  absl::Status status;
  const auto closure = [&impl, &status]() {
    status = impl.Evaluate();
    if (!status.ok()) throw EvaluationFailed();
    impl.leaf.mutable_grad() = ToTorch(impl.gradient);
    return at::scalar_tensor(impl.loss, at::kDouble);
  };
  try {
    impl.optimizer->step(closure);
  } catch (const EvaluationFailed&) {
    return status;
  }
  // The line search may have ended at another point than its last evaluation.
  RETURN_IF_ERROR(impl.Evaluate());
  Result result;
  result.loss = impl.loss;
  result.converged = std::memcmp(before.data(), impl.parameters.data(), before.size()) == 0;
  return result;
}

NamedTensors Lbfgs::State() const {
  NamedTensors result;
  const auto& states = impl_->optimizer->state();
  if (states.empty()) return result;  // before the first step
  const auto& state = static_cast<const torch::optim::LBFGSParamState&>(*states.begin()->second);
  // If the first gradient is below the tolerance, LibTorch returns before there is a direction to save.
  if (!state.d().defined()) return result;
  const auto put = [&result](const char* name, const at::Tensor& tensor) {
    if (tensor.defined()) result.Set(name, FromTorch(tensor));
  };
  const auto put_all = [&put](const char* name, const std::deque<at::Tensor>& tensors) {
    if (!tensors.empty()) put(name, at::stack(std::vector<at::Tensor>(tensors.begin(), tensors.end())));
  };
  result.Set("iterations", Tensor::Of<int64_t>({state.n_iter(), state.func_evals()}, {2}));
  result.Set("numbers", Tensor::Of<double>({state.t(), state.prev_loss()}, {2}));
  put("direction", state.d());
  put("hessian_scale", state.H_diag());
  put("gradient", state.prev_flat_grad());
  put_all("gradient_differences", state.old_dirs());
  put_all("steps", state.old_stps());
  put_all("curvatures", state.ro());
  return result;
}

absl::Status Lbfgs::SetState(const NamedTensors& saved) {
  impl_->Restart();
  if (saved.empty()) return absl::OkStatus();
  const int64_t n = impl_->parameters.num_elements();
  const DType dtype = impl_->parameters.dtype();
  const Tensor* curvatures = saved.Find("curvatures");
  const int64_t history = curvatures == nullptr ? 0 : curvatures->num_elements();
  RETURN_IF_ERROR(CheckStateTensor(saved, "iterations", Tensor::Zeros(DType::kI64, {2})));
  RETURN_IF_ERROR(CheckStateTensor(saved, "numbers", Tensor::Zeros(DType::kF64, {2})));
  for (const char* name : {"direction", "gradient"}) {
    RETURN_IF_ERROR(CheckStateTensor(saved, name, Tensor::Zeros(dtype, {n})));
  }
  // LibTorch starts with the integer 1.
  if (!CheckStateTensor(saved, "hessian_scale", Tensor::Scalar<int64_t>(1)).ok()) {
    RETURN_IF_ERROR(CheckStateTensor(saved, "hessian_scale", Tensor::Zeros(dtype, {})));
  }
  if (history > 0) {
    RETURN_IF_ERROR(CheckStateTensor(saved, "curvatures", Tensor::Zeros(dtype, {history})));
    RETURN_IF_ERROR(CheckStateTensor(saved, "gradient_differences", Tensor::Zeros(dtype, {history, n})));
    RETURN_IF_ERROR(CheckStateTensor(saved, "steps", Tensor::Zeros(dtype, {history, n})));
  }

  const auto get = [&saved](const char* name) { return ToTorch(saved.At(name)).clone(); };
  const auto get_all = [&](const char* name) {
    std::deque<at::Tensor> tensors;
    for (int64_t i = 0; i < history; ++i) tensors.push_back(ToTorch(saved.At(name)).select(0, i).clone());
    return tensors;
  };
  auto state = std::make_unique<torch::optim::LBFGSParamState>();
  state->n_iter(saved.At("iterations").values<int64_t>()[0]);
  state->func_evals(saved.At("iterations").values<int64_t>()[1]);
  state->t(saved.At("numbers").values<double>()[0]);
  state->prev_loss(saved.At("numbers").values<double>()[1]);
  state->d(get("direction"));
  state->H_diag(get("hessian_scale"));
  state->prev_flat_grad(get("gradient"));
  state->old_dirs(get_all("gradient_differences"));
  state->old_stps(get_all("steps"));
  state->ro(get_all("curvatures"));
  auto& states = impl_->optimizer->state();
  using States = std::remove_reference_t<decltype(states)>;
  states[OptimizerStateKey<States>(impl_->leaf.unsafeGetTensorImpl())] = std::move(state);
  return absl::OkStatus();
}

}  // namespace rutile
