#include "lib/task/reference_gradients.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/base/logging.h"
#include "lib/tensorfile/tensorfile_torch.h"

namespace rutile {

absl::Status ReferenceGradients(const Task& task, const Tensor& parameters, const NamedTensors& batch,
                                absl::Span<Tensor> gradients, TermSums* sums) {
  const auto num_terms = static_cast<int64_t>(sums->sum.size());
  CHECK_EQ(static_cast<int64_t>(gradients.size()), num_terms);

  const at::Tensor leaf = ToTorch(parameters).requires_grad_(true);
  const at::Tensor losses = task.ExampleLosses(leaf, batch).to(at::kDouble);
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
    const at::Tensor gradient = torch::autograd::grad({term}, {leaf}, /*grad_outputs=*/{}, /*retain_graph=*/!last,
                                                      /*create_graph=*/false, /*allow_unused=*/true)[0];
    if (gradient.defined()) ToTorch(gradients[t]).add_(gradient);
  }
  return absl::OkStatus();
}

}  // namespace rutile
