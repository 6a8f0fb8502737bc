#include "lib/task/reference_gradients.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/base/logging.h"
#include "lib/tensorfile/tensorfile_torch.h"

namespace rutile {
namespace {

// A part of the flat parameters that is differentiated by.
struct Leaf {
  int64_t begin;
  at::Tensor values;
};

// The flat parameters as a function of the leaves: themselves, or, where slices rest, put together from those that do
// not and from constants.
at::Tensor MakeLeaves(const Task& task, const Tensor& parameters, std::vector<Leaf>* leaves) {
  const at::Tensor flat = ToTorch(parameters);
  const std::vector<bool>& resting = task.resting();
  if (std::find(resting.begin(), resting.end(), true) == resting.end()) {
    leaves->push_back({0, at::Tensor(flat).requires_grad_(true)});
    return leaves->back().values;
  }
  std::vector<ParameterSlice> moving;
  const std::vector<ParameterSlice> slices = task.parameter_slices();
  CHECK_EQ(resting.size(), slices.size());
  for (size_t s = 0; s < slices.size(); ++s) {
    if (!resting[s]) moving.push_back(slices[s]);
  }
  std::sort(moving.begin(), moving.end(), [](const auto& a, const auto& b) { return a.offset < b.offset; });
  std::vector<at::Tensor> parts;
  int64_t at = 0;
  for (const ParameterSlice& slice : moving) {
    const int64_t size =
        std::accumulate(slice.shape.begin(), slice.shape.end(), int64_t{1}, std::multiplies<int64_t>());
    parts.push_back(flat.slice(0, at, slice.offset));
    parts.push_back(flat.slice(0, slice.offset, slice.offset + size).detach().requires_grad_(true));
    leaves->push_back({slice.offset, parts.back()});
    at = slice.offset + size;
  }
  parts.push_back(flat.slice(0, at));
  return at::cat(parts);
}

}  // namespace

absl::Status ReferenceGradients(const Task& task, const Tensor& parameters, const NamedTensors& batch,
                                absl::Span<Tensor> gradients, TermSums* sums) {
  const auto num_terms = static_cast<int64_t>(sums->sum.size());
  CHECK_EQ(static_cast<int64_t>(gradients.size()), num_terms);

  std::vector<Leaf> leaves;
  const at::Tensor losses = task.ExampleLosses(MakeLeaves(task, parameters, &leaves), batch).to(at::kDouble);
  std::vector<at::Tensor> inputs;
  for (const Leaf& leaf : leaves) inputs.push_back(leaf.values);
  CHECK(losses.dim() == 2 && losses.size(1) == num_terms) << losses.sizes();
  const int64_t num_examples = losses.size(0);
  const std::vector<double> counts = task.ExampleCounts(batch);
  CHECK_EQ(static_cast<int64_t>(counts.size()), num_examples * num_terms);

  const at::Tensor values = losses.detach().contiguous();
  const double* value = values.data_ptr<double>();
  for (int64_t b = 0; b < num_examples; ++b) {
    for (int64_t t = 0; t < num_terms; ++t) {
      sums->sum[t] += value[b * num_terms + t];
      sums->count[t] += counts[b * num_terms + t];
    }
  }

  for (int64_t t = 0; t < num_terms; ++t) {
    const at::Tensor term = losses.select(1, t).sum();
    if (!term.requires_grad()) continue;  // nothing in the batch depends on the parameters
    const bool last = t + 1 == num_terms;
    const std::vector<at::Tensor> found =
        torch::autograd::grad({term}, inputs, /*grad_outputs=*/{}, /*retain_graph=*/!last,
                              /*create_graph=*/false, /*allow_unused=*/true);
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (!found[i].defined()) continue;
      ToTorch(gradients[t]).narrow(0, leaves[i].begin, found[i].numel()).add_(found[i]);
    }
  }
  return absl::OkStatus();
}

}  // namespace rutile
