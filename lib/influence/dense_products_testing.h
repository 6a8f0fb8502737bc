// Products of given dense gradients, which take the place of a domain in tests and benchmarks of the driver.

#ifndef RUTILE_LIB_INFLUENCE_DENSE_PRODUCTS_TESTING_H_
#define RUTILE_LIB_INFLUENCE_DENSE_PRODUCTS_TESTING_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/task/gradient_products.h"

namespace rutile {

// Gradients are rows of P = 12 numbers in slices "a" [3], "b" [2, 2], "count" [1] (a buffer) and "c" [4].
class DenseProducts : public GradientProducts {
 public:
  static constexpr int64_t kNumParameters = 12;

  // Makes random gradients in (-1, 1), which are zero in the buffer and differ between values of `checkpoint`.
  DenseProducts(int64_t num_train, int64_t num_tests, int checkpoint);

  // The gradients, [num_train, P] and [num_tests, P], which callers may change.
  std::vector<double> train, tests;
  std::vector<double> preconditioner;  // [P], empty: 1
  int64_t tile = 7;
  int64_t test_bytes = 100;
  int64_t calls = 0;  // calls of Products

  int64_t num_train() const override { return static_cast<int64_t>(train.size()) / kNumParameters; }
  int64_t num_tests() const override { return static_cast<int64_t>(tests.size()) / kNumParameters; }
  const std::vector<ParameterSlice>& slices() const override { return slices_; }
  void SetParts(const std::vector<ProductPart>& parts) override { parts_ = parts; }
  int64_t tile_size() const override { return tile; }
  int64_t bytes_per_test() const override { return test_bytes; }
  absl::Status SetTests(absl::Span<const int64_t> tests) override;
  absl::Status SetWeightedTests(absl::Span<const double> weights) override;
  int64_t num_set_tests() const override { return static_cast<int64_t>(set_tests_.size()) / kNumParameters; }
  std::vector<double> TestNorms() override;
  absl::Status Products(absl::Span<const int64_t> examples, bool squares, ProductTile* tile) override;
  absl::Status ReferenceTrainGradient(int64_t example, absl::Span<double> gradient) override;
  absl::Status ReferenceTestGradient(int64_t test, absl::Span<double> gradient) override;

 private:
  double Product(const ProductPart& part, const double* a, const double* b) const;

  std::vector<ParameterSlice> slices_;
  std::vector<ProductPart> parts_;
  std::vector<double> set_tests_;  // [H, P]
};

}  // namespace rutile

#endif  // RUTILE_LIB_INFLUENCE_DENSE_PRODUCTS_TESTING_H_
