#include "lib/profile/torch_matmul.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <chrono>

#include "lib/base/parallel_for.h"

namespace rutile {
namespace {

double Seconds(int n, at::ScalarType type) {
  const at::Tensor a = at::full({n, n}, 0.5, at::TensorOptions().dtype(type)), b = at::full_like(a, 0.25);
  at::mm(a, b);  // prepares what is prepared once
  const auto begin = std::chrono::steady_clock::now();
  at::mm(a, b);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Without a kernel it takes a hundred times as long.
bool HasBf16() {
  constexpr int kSmall = 192;
  static const bool has = Seconds(kSmall, at::kBFloat16) < 10 * Seconds(kSmall, at::kFloat);
  return has;
}

}  // namespace

bool TorchMatmul(int n, bool bf16) {
  const at::NoGradGuard no_grad;
  at::set_num_threads(AvailableProcessors());
  if (bf16 && !HasBf16()) return false;
  // Kept: making them is not what is measured.
  static at::Tensor left, right, product;
  const at::ScalarType type = bf16 ? at::kBFloat16 : at::kFloat;
  if (!left.defined() || left.size(0) != n || left.scalar_type() != type) {
    left = at::full({n, n}, 0.5, at::TensorOptions().dtype(type));
    right = at::full_like(left, 0.25);
    product = at::empty_like(left);
  }
  at::mm_out(product, left, right);
  return true;
}

}  // namespace rutile
