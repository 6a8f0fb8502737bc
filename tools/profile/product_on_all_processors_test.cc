#include "tools/profile/product_on_all_processors.h"

#include "gtest/gtest.h"
#include "lib/matrix/bf16/bf16_products.h"
#include "lib/matrix/dense_products.h"

namespace rutile {
namespace {

TEST(ProductOnAllProcessorsTest, MultipliesWhatTheMachineIsFastAtAnyHowOften) {
  for (const int threads : {1, 2, 5}) {
    const auto multiply = ProductOnAllProcessors(threads);
    for (const int n : {64, 64, 1, 3, 100}) {
      EXPECT_EQ(multiply(n, /*bf16=*/false), DenseProductsAreFast()) << n;
      EXPECT_EQ(multiply(n, /*bf16=*/true), Bf16Forms().front() != Bf16Form::kPortable) << n;
    }
  }
}

}  // namespace
}  // namespace rutile
