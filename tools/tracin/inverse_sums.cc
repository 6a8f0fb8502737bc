#include "tools/tracin/inverse_sums.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"

namespace rutile {
namespace {

class InverseSums final : public GradientProducts {
 public:
  explicit InverseSums(std::unique_ptr<GradientProducts> products) : products_(std::move(products)) {}

  int64_t num_train() const override { return products_->num_train() / 2; }
  int64_t num_tests() const override { return products_->num_tests(); }
  const std::vector<ParameterSlice>& slices() const override { return products_->slices(); }
  void SetParts(const std::vector<ProductPart>& parts) override { products_->SetParts(parts); }
  int64_t tile_size() const override { return products_->tile_size(); }
  int64_t bytes_per_test() const override { return products_->bytes_per_test(); }
  absl::Status SetTests(absl::Span<const int64_t> tests) override { return products_->SetTests(tests); }
  absl::Status SetWeightedTests(absl::Span<const double> weights) override {
    return products_->SetWeightedTests(weights);
  }
  int64_t num_set_tests() const override { return products_->num_set_tests(); }
  std::vector<double> TestNorms() override { return products_->TestNorms(); }
  std::string Notes() const override { return products_->Notes(); }
  void Release() override { products_->Release(); }

  absl::Status Products(absl::Span<const int64_t> train, bool squares, ProductTile* tile) override {
    CHECK(!squares) << "squares of sums";
    std::vector<int64_t> inverse;
    for (const int64_t i : train) inverse.push_back(i + num_train());
    RETURN_IF_ERROR(products_->Products(train, /*squares=*/false, tile));
    RETURN_IF_ERROR(products_->Products(inverse, /*squares=*/false, &inverse_));
    for (size_t i = 0; i < tile->product.size(); ++i) tile->product[i] += inverse_.product[i];
    return absl::OkStatus();
  }

  absl::Status ReferenceTrainGradient(int64_t train, absl::Span<double> gradient) override {
    RETURN_IF_ERROR(products_->ReferenceTrainGradient(train, gradient));
    std::vector<double> inverse(gradient.size());
    RETURN_IF_ERROR(products_->ReferenceTrainGradient(train + num_train(), absl::MakeSpan(inverse)));
    for (size_t p = 0; p < gradient.size(); ++p) gradient[p] += inverse[p];
    return absl::OkStatus();
  }
  absl::Status ReferenceTestGradient(int64_t test, absl::Span<double> gradient) override {
    return products_->ReferenceTestGradient(test, gradient);
  }

 private:
  const std::unique_ptr<GradientProducts> products_;
  ProductTile inverse_;
};

}  // namespace

std::unique_ptr<GradientProducts> SumInverses(std::unique_ptr<GradientProducts> products) {
  return std::make_unique<InverseSums>(std::move(products));
}

}  // namespace rutile
