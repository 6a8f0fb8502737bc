#include "tools/profile/product_on_all_processors.h"

#include <cstdint>
#include <memory>
#include <vector>

#include "lib/machine/parallel_for.h"
#include "lib/matrix/bf16/bf16_products.h"
#include "lib/matrix/dense_products.h"
#include "lib/matrix/matrix_view.h"

namespace rutile {
namespace {

class Products {
 public:
  explicit Products(int num_threads) : pool_(num_threads), bf16_(num_threads) {}

  bool Multiply(int64_t n, bool bf16) {
    if (bf16 ? Bf16Forms().front() == Bf16Form::kPortable : !DenseProductsAreFast()) return false;
    left_.resize(n * n, 0.5f);
    right_.resize(n * n, 0.25f);
    product_.resize(n * n);
    const MatrixView<float> left = {left_.data(), n, n, n}, right = {right_.data(), n, n, n};
    const int64_t threads = pool_.num_threads();
    pool_.For(n, (n + threads - 1) / threads, [&](int64_t begin, int64_t end, int worker) {
      float* const out = product_.data() + begin * n;
      if (bf16) {
        bf16_[worker].Multiply(left.Rows(begin, end), right, /*add=*/false, out, n);
      } else {
        MultiplyDense(left.Rows(begin, end), right, /*add=*/false, out, n);
      }
    });
    return true;
  }

 private:
  ThreadPool pool_;
  std::vector<Bf16Products> bf16_;
  std::vector<float> left_, right_, product_;
};

}  // namespace

std::function<bool(int n, bool bf16)> ProductOnAllProcessors(int num_threads) {
  return [products = std::make_shared<Products>(num_threads)](int n, bool bf16) { return products->Multiply(n, bf16); };
}

}  // namespace rutile
