#include "tools/tracin/verify.h"

#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/influence/dense_products_testing.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

const std::vector<ProductPart> kParts = {{"a", {0}}, {"rest", {1, 3}}};

// Products in which those of one example, `wrong`, are off by a factor.
class WrongProducts : public DenseProducts {
 public:
  WrongProducts(int64_t wrong, double factor) : DenseProducts(5, 4, 0), wrong_(wrong), factor_(factor) {}

  absl::Status Products(absl::Span<const int64_t> examples, bool squares, ProductTile* tile) override {
    const absl::Status status = DenseProducts::Products(examples, squares, tile);
    if (examples[0] == wrong_) {
      for (double& product : tile->product) product *= factor_;
    }
    return status;
  }

 private:
  const int64_t wrong_;
  const double factor_;
};

absl::StatusOr<std::string> Verify(std::vector<int64_t> tests, DenseProducts* products, const Tensor& preconditioner) {
  products->SetParts(kParts);
  return VerifyProducts({0, 1, 2, 3, 4}, tests, kParts, preconditioner, {50, 3, 1e-12}, products);
}

Tensor None() { return Tensor::Zeros(DType::kF64, {0}); }

TEST(VerifyTest, RightProductsPass) {
  DenseProducts products(5, 4, 0);
  const absl::StatusOr<std::string> found = Verify({0, 2}, &products, None());
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(*found, HasSubstr("50 pairs agree"));
  EXPECT_EQ(products.num_set_tests(), 0);
  EXPECT_TRUE(Verify({}, &products, None()).ok());  // self-influence alone
}

TEST(VerifyTest, PreconditionerCounts) {
  DenseProducts products(5, 4, 0);
  products.preconditioner.assign(DenseProducts::kNumParameters, 1.0);
  products.preconditioner[1] = 7;
  EXPECT_TRUE(absl::IsFailedPrecondition(Verify({0}, &products, None()).status()));
  EXPECT_TRUE(Verify({0}, &products, Tensor::Of(products.preconditioner)).ok());
}

TEST(VerifyTest, OneWrongExampleIsNamed) {
  WrongProducts products(3, 1.5);
  const absl::Status status = Verify({1}, &products, None()).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("the product of training example 3 and test 1 is"));
  WrongProducts not_a_number(3, std::numeric_limits<double>::quiet_NaN());
  EXPECT_TRUE(absl::IsFailedPrecondition(Verify({1}, &not_a_number, None()).status()));
}

// A rounding error is tolerated even if the gradient nearly vanishes; an error of half the gradient is not.
TEST(VerifyTest, AGradientThatNearlyVanishesIsHeldToTheOthers) {
  for (const double factor : {1 + 1e-4, 1.5}) {
    WrongProducts products(3, factor);
    for (int i = 0; i < DenseProducts::kNumParameters; ++i) {
      products.train[3 * DenseProducts::kNumParameters + i] *= 1e-9;
    }
    EXPECT_EQ(Verify({1}, &products, None()).ok(), factor < 1.1) << factor;
  }
}

}  // namespace
}  // namespace rutile
