#include "lib/distributed/tensor_values.h"

#include <algorithm>
#include <cstddef>

#include "lib/base/logging.h"

namespace rutile {

void AppendValues(absl::Span<const Tensor> tensors, std::vector<double>* values) {
  for (const Tensor& tensor : tensors) {
    if (tensor.dtype() == DType::kF32) {
      const absl::Span<const float> from = tensor.values<float>();
      values->insert(values->end(), from.begin(), from.end());
    } else {
      const absl::Span<const double> from = tensor.values<double>();
      values->insert(values->end(), from.begin(), from.end());
    }
  }
}

void SetValues(absl::Span<const double> values, absl::Span<Tensor> tensors) {
  size_t begin = 0;
  for (Tensor& tensor : tensors) {
    const absl::Span<const double> from = values.subspan(begin, tensor.num_elements());
    begin += from.size();
    if (tensor.dtype() == DType::kF32) {
      std::transform(from.begin(), from.end(), tensor.mutable_values<float>().begin(),
                     [](double value) { return static_cast<float>(value); });
    } else {
      std::copy(from.begin(), from.end(), tensor.mutable_values<double>().begin());
    }
  }
  CHECK_EQ(begin, values.size());
}

}  // namespace rutile
