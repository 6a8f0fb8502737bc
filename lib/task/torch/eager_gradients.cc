#include "lib/task/torch/eager_gradients.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/task/precision.h"
#include "lib/task/torch/eager_task.h"
#include "lib/task/torch/torch_facts.h"
#include "lib/task/torch/torch_guard.h"
#include "lib/tensorfile/tensorfile_torch.h"
#include "lib/tensorfile/torch_compat.h"

namespace rutile {
namespace {

void AddCounts(absl::Span<const double> counts, int64_t num_examples, TermSums* sums) {
  const auto num_terms = static_cast<int64_t>(sums->sum.size());
  CHECK_EQ(static_cast<int64_t>(counts.size()), num_examples * num_terms);
  for (int64_t b = 0; b < num_examples; ++b) {
    for (int64_t t = 0; t < num_terms; ++t) sums->count[t] += counts[b * num_terms + t];
  }
}

// Adds the losses to the sums in the order of the examples, so that the bits do not depend on threads.
void AddLosses(const at::Tensor& losses, TermSums* sums) {
  const at::Tensor values = losses.detach().contiguous();
  const double* value = values.data_ptr<double>();
  const int64_t num_terms = losses.size(1);
  for (int64_t b = 0; b < losses.size(0); ++b) {
    for (int64_t t = 0; t < num_terms; ++t) sums->sum[t] += value[b * num_terms + t];
  }
}

// A leaf of the autograd graph: a part of the flat parameters that gets a gradient.
struct Leaf {
  int64_t begin;
  at::Tensor values;
};

// Returns the flat parameters as a function of the leaves. If slices are frozen, it is assembled from leaves for the
// others and from constants.
at::Tensor MakeLeaves(const Task& task, const at::Tensor& flat, std::vector<Leaf>* leaves) {
  const std::vector<bool>& frozen = task.frozen();
  if (std::find(frozen.begin(), frozen.end(), true) == frozen.end()) {
    leaves->push_back({0, at::Tensor(flat).requires_grad_(true)});
    return leaves->back().values;
  }
  std::vector<ParameterSlice> moving;
  const std::vector<ParameterSlice> slices = task.parameter_slices();
  CHECK_EQ(frozen.size(), slices.size());
  for (size_t s = 0; s < slices.size(); ++s) {
    if (!frozen[s]) moving.push_back(slices[s]);
  }
  std::sort(moving.begin(), moving.end(), [](const auto& a, const auto& b) { return a.offset < b.offset; });
  std::vector<at::Tensor> parts;
  int64_t at = 0;
  for (const ParameterSlice& slice : moving) {
    const int64_t size = slice.num_elements();
    parts.push_back(flat.slice(0, at, slice.offset));
    parts.push_back(flat.slice(0, slice.offset, slice.offset + size).detach().requires_grad_(true));
    leaves->push_back({slice.offset, parts.back()});
    at = slice.offset + size;
  }
  parts.push_back(flat.slice(0, at));
  return at::cat(parts);
}

}  // namespace

absl::Status CheckEager(const Task& task, const EagerOptions& options) {
  RETURN_IF_ERROR(CheckEagerOptions(options));
  if (IsMixed(options.precision) && task.parameter_dtype() != DType::kF32) {
    return absl::InvalidArgumentError(absl::StrCat("precision ", kPrecisionNames.Name(options.precision),
                                                   " goes with fp32 parameters, not with fp64"));
  }
  RETURN_IF_ERROR(CheckAgainstFacts(options, FindTorchFacts()));
  if (task.eager() != nullptr) return task.eager()->CheckEager(options);
  if (options.plain()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "this task has neither mixed precision nor script, and no other device than the CPU");
}

struct EagerGradients::Impl {
  Impl(const Task& task, const EagerOptions& options, bool staged)
      : task(task), options(options), device(options.device), staged(staged), gradients(task.terms().size()) {}

  const Task& task;
  const EagerOptions options;
  const at::Device device;
  const bool staged;
  at::Tensor flat;                    // staged: the parameters on the device, from the first batch to Fetch
  std::vector<Leaf> leaves;           // leaves of the autograd graph, which get gradients
  std::vector<at::Tensor> gradients;  // staged: [T] of [P]; undefined before a batch adds to them
  at::Tensor sums;                    // staged: [T] fp64
  bool on_device = false;             // staged: gradients are not fetched
  DeviceSums* processes = nullptr;    // staged: sums gradients over processes before they are fetched

  // Adds a complete batch at `flat`. to: the gradients, unless results are staged.
  void Add(const NamedTensors& batch, double scale, absl::Span<Tensor> to, TermSums* term_sums);

  // Returns the losses [B, T] as a function of `flat`.
  at::Tensor Losses(const NamedTensors& batch) const {
    if (task.eager() != nullptr) return task.eager()->EagerLosses(flat, batch, options);
    CHECK(options.plain());
    return task.ExampleLosses(flat, batch);
  }

  // Sums a term's gradient, which is 0 if Add has left none, over processes.
  absl::Status SumOverProcesses(const Tensor& like, at::Tensor* gradient) const {
    if (processes == nullptr) return absl::OkStatus();
    if (!gradient->defined()) *gradient = at::zeros_like(ToTorch(like), at::device(device));
    return processes->Sum(gradient);
  }
};

EagerGradients::EagerGradients(const Task& task, const EagerOptions& options, bool staged)
    : impl_(std::make_unique<Impl>(task, options, staged || !options.on_cpu())) {
  at::globalContext().setFloat32MatmulPrecision(std::string(kMatmulPrecisionNames.Name(options.matmul)));
  if (options.on_cpu()) return;
  // Convolutions have a setting of their own, which is not exact by default.
  at::globalContext().setAllowTF32CuDNN(options.matmul != FactorRounding::kNone);
  // Without this, sums over atoms would depend on the order of the GPU's threads. cuBLAS reads the variable when it is
  // first used; a value that the user has set is not changed.
  setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*replace=*/0);
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/true);
  MemoryFilling<at::Context>::SwitchOff(&at::globalContext());
}

EagerGradients::~EagerGradients() = default;

absl::Status EagerGradients::Add(const Tensor& parameters, const NamedTensors& batch, double scale,
                                 absl::Span<Tensor> gradients, TermSums* sums) {
  CHECK_EQ(gradients.size(), sums->sum.size());
  CHECK(!impl_->on_device);
  ASSIGN_OR_RETURN(const NamedTensors complete, impl_->task.CompleteBatch(batch));
  return TorchGuard([&] {
    if (!impl_->staged || !impl_->flat.defined()) {
      impl_->leaves.clear();
      impl_->flat = MakeLeaves(impl_->task, ToTorch(parameters, impl_->device), &impl_->leaves);
    }
    impl_->Add(complete, scale, gradients, sums);
    if (!impl_->staged) impl_->flat.reset();
  });
}

void EagerGradients::Impl::Add(const NamedTensors& batch, double scale, absl::Span<Tensor> to, TermSums* term_sums) {
  const auto num_terms = static_cast<int64_t>(term_sums->sum.size());
  std::vector<at::Tensor> inputs;
  for (const Leaf& leaf : leaves) inputs.push_back(leaf.values);
  const at::Tensor losses = Losses(batch).to(at::kDouble);
  CHECK(losses.dim() == 2 && losses.size(1) == num_terms) << losses.sizes();
  AddCounts(task.ExampleCounts(batch), losses.size(0), term_sums);
  if (staged) {
    const at::Tensor sum = losses.detach().sum(0);
    sums = sums.defined() ? sums + sum : sum;
  } else {
    AddLosses(losses, term_sums);
  }
  for (int64_t t = 0; t < num_terms; ++t) {
    const at::Tensor term = losses.select(1, t).sum();
    if (!term.requires_grad()) continue;  // nothing in the batch depends on the parameters
    const bool last = t + 1 == num_terms;
    // The incoming gradient is scaled, not the loss: forces are inner derivatives of the energy itself.
    const std::vector<at::Tensor> found =
        torch::autograd::grad({term}, inputs, {at::full({}, scale, term.options())}, /*retain_graph=*/!last,
                              /*create_graph=*/false, /*allow_unused=*/true);
    if (on_device && found.size() == 1) {  // saves two passes; autograd may share what it found, so it is not written
      at::Tensor& sum = gradients[t];
      if (found[0].defined()) sum = sum.defined() ? sum + found[0] : found[0];
      continue;
    }
    at::Tensor sum = staged ? gradients[t] : ToTorch(to[t]);
    if (!sum.defined()) sum = gradients[t] = at::zeros(flat.sizes(), flat.options());
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (found[i].defined()) sum.narrow(0, leaves[i].begin, found[i].numel()).add_(found[i]);
    }
  }
}

absl::Status EagerGradients::AddOnDevice(const at::Tensor& parameters, const NamedTensors& batch, double scale,
                                         TermSums* sums) {
  CHECK(impl_->staged && impl_->processes == nullptr);
  impl_->on_device = true;
  ASSIGN_OR_RETURN(const NamedTensors complete, impl_->task.CompleteBatch(batch));
  return TorchGuard([&] {
    impl_->leaves.clear();
    impl_->flat = MakeLeaves(impl_->task, parameters.detach(), &impl_->leaves);
    impl_->Add(complete, scale, {}, sums);
    impl_->leaves.clear();
    impl_->flat.reset();
  });
}

absl::Status EagerGradients::FetchSums(TermSums* sums) {
  if (!impl_->sums.defined()) return absl::OkStatus();
  return TorchGuard([&] {
    AddLosses(impl_->sums.unsqueeze(0).cpu(), sums);
    impl_->sums.reset();
  });
}

std::vector<at::Tensor>* EagerGradients::device_gradients() { return &impl_->gradients; }

void EagerGradients::SetProcesses(DeviceSums* processes) {
  CHECK(impl_->staged);
  impl_->processes = processes;
}

absl::Status EagerGradients::Fetch(absl::Span<Tensor> gradients, TermSums* sums) {
  if (!impl_->flat.defined() && impl_->processes == nullptr) return absl::OkStatus();  // nothing is staged
  absl::Status status;
  RETURN_IF_ERROR(TorchGuard([&] {
    for (size_t t = 0; t < gradients.size() && status.ok(); ++t) {
      at::Tensor& gradient = impl_->gradients[t];
      status = impl_->SumOverProcesses(gradients[t], &gradient);
      if (status.ok() && gradient.defined()) ToTorch(gradients[t]).add_(ToHost(gradient));
      gradient.reset();
    }
    if (impl_->sums.defined()) AddLosses(impl_->sums.unsqueeze(0).cpu(), sums);
    impl_->sums.reset();
    impl_->flat.reset();
  }));
  return status;
}

}  // namespace rutile
