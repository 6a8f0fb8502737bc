#include "lib/train/lbfgs.h"

#include <ATen/ATen.h>
#include <torch/optim/lbfgs.h>
#include <torch/serialize/input-archive.h>
#include <torch/serialize/output-archive.h>

#include <cstdint>
#include <cstring>
#include <exception>
#include <sstream>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "lib/base/status_macros.h"
#include "lib/tensorfile/tensorfile_torch.h"

namespace rutile {
namespace {

// LibTorch's closures return a tensor and nothing else: an error leaves as an exception and is caught in Step.
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

  // The loss at the current parameters; their gradient is in `gradient` afterwards.
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

absl::StatusOr<NamedTensors> Lbfgs::State() const {
  // The scratch space of the two-loop recursion holds undefined tensors, which LibTorch's archives refuse. It is made
  // again when it is missing.
  for (auto& item : impl_->optimizer->state()) {
    static_cast<torch::optim::LBFGSParamState&>(*item.second).al(c10::nullopt);
  }
  torch::serialize::OutputArchive archive;
  impl_->optimizer->save(archive);
  std::ostringstream bytes;
  archive.save_to(bytes);
  const std::string text = bytes.str();
  NamedTensors state;
  state.Set("lbfgs",
            Tensor::Of<uint8_t>(absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(text.data()), text.size()),
                                {static_cast<int64_t>(text.size())}));
  return state;
}

absl::Status Lbfgs::SetState(const NamedTensors& state) {
  const Tensor* bytes = state.Find("lbfgs");
  if (bytes == nullptr || bytes->dtype() != DType::kU8) {
    return absl::InvalidArgumentError("no history of L-BFGS (tensor \"lbfgs\", U8)");
  }
  try {
    std::istringstream stream(std::string(static_cast<const char*>(bytes->data()), bytes->num_bytes()));
    torch::serialize::InputArchive archive;
    archive.load_from(stream);
    impl_->optimizer->load(archive);
  } catch (const std::exception& error) {
    impl_->Restart();
    const std::string what = error.what();
    return absl::InvalidArgumentError(
        absl::StrCat("this LibTorch cannot read the history of L-BFGS: ", what.substr(0, what.find('\n'))));
  }
  return absl::OkStatus();
}

}  // namespace rutile
