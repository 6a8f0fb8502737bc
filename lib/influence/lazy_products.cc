#include "lib/influence/lazy_products.h"

#include <utility>

#include "lib/base/logging.h"
#include "lib/base/status_macros.h"

namespace rutile {

absl::StatusOr<std::unique_ptr<LazyProducts>> LazyProducts::Create(Open open) {
  std::unique_ptr<LazyProducts> lazy(new LazyProducts(std::move(open)));
  RETURN_IF_ERROR(lazy->Reopen());
  lazy->num_train_ = lazy->products_->num_train();
  lazy->num_tests_ = lazy->products_->num_tests();
  lazy->slices_ = lazy->products_->slices();
  lazy->tile_size_ = lazy->products_->tile_size();
  lazy->bytes_per_test_ = lazy->products_->bytes_per_test();
  return lazy;
}

absl::Status LazyProducts::Reopen() {
  if (products_ != nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(products_, open_());
  if (!parts_.empty()) products_->SetParts(parts_);
  return absl::OkStatus();
}

void LazyProducts::SetParts(const std::vector<ProductPart>& parts) {
  parts_ = parts;
  if (products_ != nullptr) products_->SetParts(parts);
}

absl::Status LazyProducts::SetTests(absl::Span<const int64_t> tests) {
  RETURN_IF_ERROR(Reopen());
  return products_->SetTests(tests);
}

absl::Status LazyProducts::SetWeightedTests(absl::Span<const double> weights) {
  RETURN_IF_ERROR(Reopen());
  return products_->SetWeightedTests(weights);
}

int64_t LazyProducts::num_set_tests() const { return products_ == nullptr ? 0 : products_->num_set_tests(); }

std::vector<double> LazyProducts::TestNorms() {
  CHECK(products_ != nullptr) << "released";
  return products_->TestNorms();
}

absl::Status LazyProducts::Products(absl::Span<const int64_t> train, bool squares, ProductTile* tile) {
  CHECK(products_ != nullptr) << "released";
  return products_->Products(train, squares, tile);
}

absl::Status LazyProducts::ReferenceTrainGradient(int64_t train, absl::Span<double> gradient) {
  RETURN_IF_ERROR(Reopen());
  return products_->ReferenceTrainGradient(train, gradient);
}

absl::Status LazyProducts::ReferenceTestGradient(int64_t test, absl::Span<double> gradient) {
  RETURN_IF_ERROR(Reopen());
  return products_->ReferenceTestGradient(test, gradient);
}

}  // namespace rutile
