// Compares with golden values of testdata/kg, products of gradients that another program made with one backward pass
// per triple.

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "lib/graph/known_tails.h"
#include "lib/graph/triple.h"
#include "lib/kge/influence/kge_influence_options.h"
#include "lib/kge/influence/kge_influence_reference.h"
#include "lib/kge/influence/kge_products.h"
#include "lib/kge/layers/conve/golden_conve_testing.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/task/gradient_products.h"
#include "lib/task/parameter_slice.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {
namespace {

struct Case {
  std::string variant;
  DType dtype;
};

// Returns the golden file's name of a slice.
std::string GoldenName(const std::string& slice) {
  if (slice == "entity.weight") return "ent";
  if (slice == "entity.bias") return "b";
  return slice == "relation.weight" ? "rel" : slice;
}

class KgeProductsGoldenTest : public ::testing::TestWithParam<Case> {
 protected:
  KgeProductsGoldenTest()
      : golden_(GetParam().variant),
        train_(golden_.Triples("train")),
        test_(golden_.Triples("test")),
        known_(KnownTails::Build({train_}, golden_.shape().num_relations, /*inverse_relations=*/false)) {}

  std::unique_ptr<GradientProducts> Make(const std::string& prefix,
                                         KgeInfluenceLoss loss = KgeInfluenceLoss::kTriple) const {
    WeightedCheckpoint point;
    point.parameters = golden_.Flat(prefix);
    if (GetParam().dtype == DType::kF32) {
      const std::vector<double> values = point.parameters.ToDoubles();
      point.parameters = Tensor::Of<float>(std::vector<float>(values.begin(), values.end()));
    }
    KgeInfluenceOptions options;
    options.loss = loss;
    KgeInfluenceData data;
    data.train = train_;
    data.tests = test_;
    data.known = &known_;
    auto products = MakeKgeProducts(golden_.shape(), point, data, options, nullptr, ReferenceKgeGradient);
    EXPECT_TRUE(products.ok()) << products.status();
    return std::move(*products);
  }

  // Returns the products of all training triples with all tests.
  ProductTile Tile(GradientProducts* products) const {
    std::vector<int64_t> tests(test_.size()), train(train_.size());
    for (size_t j = 0; j < tests.size(); ++j) tests[j] = static_cast<int64_t>(j);
    for (size_t i = 0; i < train.size(); ++i) train[i] = static_cast<int64_t>(i);
    EXPECT_TRUE(products->SetTests(tests).ok());
    ProductTile tile;
    EXPECT_TRUE(products->Products(train, /*squares=*/true, &tile).ok());
    return tile;
  }

  // The tolerance is 1e-12 in fp64 and 1e-5 in fp32, of the largest value.
  void ExpectNear(absl::Span<const double> actual, const std::vector<double>& expected, const std::string& what) const {
    ASSERT_EQ(actual.size(), expected.size()) << what;
    double largest = 0;
    for (const double x : expected) largest = std::max(largest, std::abs(x));
    const double tolerance = GetParam().dtype == DType::kF32 ? 1e-5 * largest : 1e-12 * std::max(largest, 1.0);
    for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(actual[i], expected[i], tolerance) << what << " " << i;
  }

  const GoldenConve golden_;
  const std::vector<Triple> train_, test_;
  const KnownTails known_;
};

TEST_P(KgeProductsGoldenTest, ProductsOfEachTensor) {
  const std::vector<std::pair<std::string, std::string>> points = {{"ck1", "param."}, {"ck2", "param_ck2."}};
  for (const auto& [name, prefix] : points) {
    const std::unique_ptr<GradientProducts> products = Make(prefix);
    std::vector<ProductPart> parts;
    for (size_t s = 0; s < products->slices().size(); ++s) {
      const ParameterSlice& slice = products->slices()[s];
      if (!slice.buffer) parts.push_back({slice.name, {static_cast<int>(s)}});
    }
    products->SetParts(parts);
    const ProductTile tile = Tile(products.get());
    const size_t size = train_.size() * test_.size();
    for (size_t p = 0; p < parts.size(); ++p) {
      const std::string array = absl::StrCat("tracin.", name, ".dot_by_param.", GoldenName(parts[p].name));
      ExpectNear(absl::MakeConstSpan(tile.product).subspan(p * size, size), golden_.Array(array).ToDoubles(), array);
    }
  }
}

TEST_P(KgeProductsGoldenTest, ProductsAndSquaresOfBothCheckpoints) {
  std::vector<double> sum(train_.size() * test_.size(), 0), square_sum(train_.size(), 0);
  const std::vector<double>& rates = golden_.learning_rates();
  for (int c = 0; c < 2; ++c) {
    const ProductTile tile = Tile(Make(c == 0 ? "param." : "param_ck2.").get());
    const std::string name = absl::StrCat("tracin.ck", c + 1);
    ExpectNear(tile.product, golden_.Array(name + ".dot").ToDoubles(), name);
    ExpectNear(tile.train_square, golden_.Array(name + ".self_train").ToDoubles(), name);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += rates[c] * tile.product[i];
    for (size_t i = 0; i < square_sum.size(); ++i) square_sum[i] += rates[c] * tile.train_square[i];
  }
  ExpectNear(sum, golden_.Array("tracin.cp").ToDoubles(), "cp");
  ExpectNear(square_sum, golden_.Array("tracin.cp_self_train").ToDoubles(), "cp_self_train");
}

TEST_P(KgeProductsGoldenTest, OfFcAloneAndOfOneToN) {
  const std::vector<double>& rates = golden_.learning_rates();
  std::vector<double> fc(train_.size() * test_.size(), 0), all(fc);
  for (int c = 0; c < 2; ++c) {
    const std::string prefix = c == 0 ? "param." : "param_ck2.";
    const std::unique_ptr<GradientProducts> products = Make(prefix);
    ProductPart part = {"fc", {}};
    for (size_t s = 0; s < products->slices().size(); ++s) {
      const std::string& name = products->slices()[s].name;
      if (name == "fc.weight" || name == "fc.bias") part.slices.push_back(static_cast<int>(s));
    }
    products->SetParts({part});
    const ProductTile of_fc = Tile(products.get());
    const ProductTile of_all = Tile(Make(prefix, KgeInfluenceLoss::kOneToN).get());
    for (size_t i = 0; i < fc.size(); ++i) {
      fc[i] += rates[c] * of_fc.product[i];
      all[i] += rates[c] * of_all.product[i];
    }
  }
  ExpectNear(fc, golden_.Array("tracin.cp_fc_only").ToDoubles(), "cp_fc_only");
  ExpectNear(all, golden_.Array("tracin.cp_1n").ToDoubles(), "cp_1n");
}

// The reference's parameters are in another order than the golden file's.
TEST_P(KgeProductsGoldenTest, ReferenceGradient) {
  const std::unique_ptr<GradientProducts> products = Make("param.");
  std::vector<double> gradient(golden_.shape().offsets().size);
  ASSERT_TRUE(products->ReferenceTrainGradient(0, absl::MakeSpan(gradient)).ok());
  const std::vector<double> expected = golden_.Array("tracin.ck1.grad_train0").ToDoubles();
  size_t at = 0;
  for (const std::string& name : golden_.gradient_order()) {
    for (const ParameterSlice& slice : products->slices()) {
      if (GoldenName(slice.name) != name) continue;
      const size_t size = slice.num_elements();
      ExpectNear(absl::MakeConstSpan(gradient).subspan(slice.offset, size),
                 {expected.begin() + at, expected.begin() + at + size}, name);
      at += size;
    }
  }
  EXPECT_EQ(at, expected.size());
}

INSTANTIATE_TEST_SUITE_P(Variants, KgeProductsGoldenTest,
                         ::testing::Values(Case{"dettmers", DType::kF64}, Case{"tiepin", DType::kF64},
                                           Case{"dettmers", DType::kF32}, Case{"tiepin", DType::kF32}),
                         [](const auto& info) {
                           return info.param.variant + (info.param.dtype == DType::kF64 ? "F64" : "F32");
                         });

}  // namespace
}  // namespace rutile
