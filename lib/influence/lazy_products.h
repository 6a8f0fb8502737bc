// Products of a checkpoint that is loaded only while it is needed.

#ifndef RUTILE_LIB_INFLUENCE_LAZY_PRODUCTS_H_
#define RUTILE_LIB_INFLUENCE_LAZY_PRODUCTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/task/gradient_products.h"

namespace rutile {

// GradientProducts that are opened again after each Release, so that more checkpoints can be used than fit in memory.
class LazyProducts final : public GradientProducts {
 public:
  using Open = std::function<absl::StatusOr<std::unique_ptr<GradientProducts>>()>;

  // Opens the checkpoint once, to learn its sizes and to find its errors. `open` must make the same products each time.
  static absl::StatusOr<std::unique_ptr<LazyProducts>> Create(Open open);

  int64_t num_train() const override { return num_train_; }
  int64_t num_tests() const override { return num_tests_; }
  const std::vector<ParameterSlice>& slices() const override { return slices_; }
  int64_t tile_size() const override { return tile_size_; }
  int64_t bytes_per_test() const override { return bytes_per_test_; }
  void SetParts(const std::vector<ProductPart>& parts) override;
  absl::Status SetTests(absl::Span<const int64_t> tests) override;
  absl::Status SetWeightedTests(absl::Span<const double> weights) override;
  int64_t num_set_tests() const override;
  // These CHECK-fail between Release and the next SetTests.
  std::vector<double> TestNorms() override;
  absl::Status Products(absl::Span<const int64_t> train, bool squares, ProductTile* tile) override;
  void Release() override { products_.reset(); }
  absl::Status ReferenceTrainGradient(int64_t train, absl::Span<double> gradient) override;
  absl::Status ReferenceTestGradient(int64_t test, absl::Span<double> gradient) override;

 private:
  explicit LazyProducts(Open open) : open_(std::move(open)) {}
  absl::Status Reopen();

  const Open open_;
  std::unique_ptr<GradientProducts> products_;  // null: not in memory
  std::vector<ProductPart> parts_;              // empty until SetParts
  std::vector<ParameterSlice> slices_;
  int64_t num_train_ = 0, num_tests_ = 0, tile_size_ = 0, bytes_per_test_ = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_INFLUENCE_LAZY_PRODUCTS_H_
