// Compares with gradients by LibTorch, one at a time, for every loss, model and variant at awkward sizes.

#include "lib/kge/influence/kge_products.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/graph/known_tails.h"
#include "lib/graph/triple.h"
#include "lib/kge/influence/kge_influence_options.h"
#include "lib/kge/influence/kge_influence_reference.h"
#include "lib/kge/model/kge_init.h"
#include "lib/kge/model/kge_options.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/machine/parallel_for.h"
#include "lib/task/gradient_products.h"
#include "lib/task/parameter_slice.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int64_t kEntities = 11, kRelations = 3;

KgeShape Shape(KgeModel model, ConveVariant variant) {
  KgeShape shape;
  shape.options.model = model;
  shape.options.variant = variant;
  shape.options.embedding_dim = 20;
  shape.options.embedding_height = 4;
  shape.options.embedding_width = 5;
  shape.options.output_channels = 5;
  shape.options.relation_embedding_dim = 7;
  shape.num_entities = kEntities;
  shape.num_relations = kRelations;
  return shape;
}

// The parameters of a model whose norms have been trained.
template <typename T>
Tensor Parameters(const KgeShape& shape) {
  Tensor parameters = Tensor::Zeros(DTypeOf<T>(), {shape.offsets().size});
  RandomStream random(3, "kge_products");
  for (const ParameterSlice& slice : shape.Slices()) {
    const bool positive = slice.name.find("running_var") != std::string::npos;
    const bool gain = slice.name.rfind("bn", 0) == 0 && slice.name.find(".weight") != std::string::npos;
    for (int64_t i = 0; i < slice.num_elements(); ++i) {
      const double x = random.Uniform() - 0.5;
      parameters.mutable_values<T>()[slice.offset + i] = static_cast<T>(positive ? 1 + x
                                                                        : gain   ? 1 + 0.5 * x
                                                                                 : 0.8 * x);
    }
  }
  return parameters;
}

// There are keys that occur often and once, h = t, a triple twice, and an entity in both places.
std::vector<Triple> TrainTriples() {
  std::vector<Triple> triples = {{2, 1, 3}, {5, 0, 5}, {2, 1, 3}, {2, 1, 8},
                                 {3, 2, 2}, {9, 2, 0}, {2, 1, 2}, {7, 0, 1}};
  RandomStream random(5, "triples");
  const auto id = [&](int64_t n) { return static_cast<int32_t>(random.Below(n)); };
  while (triples.size() < 40) triples.push_back({id(kEntities), id(kRelations), id(kEntities)});
  return triples;
}
// One is a training triple, one has an unknown key, one has a known key and another tail.
std::vector<Triple> TestTriples() {
  return {{2, 1, 3}, {10, 2, 10}, {2, 1, 9}, {5, 0, 5}, {3, 0, 2}, {0, 1, 6}, {5, 0, 4}};
}

std::vector<int64_t> Numbers(int64_t n) {
  std::vector<int64_t> numbers(n);
  for (int64_t i = 0; i < n; ++i) numbers[i] = i;
  return numbers;
}

struct Model {
  KgeModel model;
  ConveVariant variant;
};

struct Problem {
  explicit Problem(const Model& model) : shape(Shape(model.model, model.variant)) {
    point.parameters = Parameters<double>(shape);
    known = KnownTails::Build({train}, kRelations, /*inverse_relations=*/false);
  }
  std::unique_ptr<GradientProducts> Make(ThreadPool* pool = nullptr) const {
    KgeInfluenceData data;
    data.train = train;
    data.tests = tests;
    data.known = &known;
    auto products = MakeKgeProducts(shape, point, data, options, pool, ReferenceKgeGradient);
    EXPECT_TRUE(products.ok()) << products.status();
    return std::move(*products);
  }
  void AddMetric() {
    RandomStream random(9, "metric");
    point.preconditioner = Tensor::Zeros(DType::kF64, {shape.offsets().size});
    for (double& m : point.preconditioner.mutable_values<double>()) m = 3 * random.Uniform();
  }
  // Returns one part for each tensor.
  std::vector<ProductPart> Parts() const {
    std::vector<ProductPart> parts;
    const std::vector<ParameterSlice> slices = shape.Slices();
    for (size_t s = 0; s < slices.size(); ++s) {
      if (!slices[s].buffer) parts.push_back({slices[s].name, {static_cast<int>(s)}});
    }
    return parts;
  }

  KgeShape shape;
  WeightedCheckpoint point;
  std::vector<Triple> train = TrainTriples(), tests = TestTriples();
  KnownTails known;
  KgeInfluenceOptions options;
};

std::vector<std::vector<double>> Gradients(const Problem& problem, GradientProducts* products, bool of_tests) {
  std::vector<std::vector<double>> gradients;
  const int64_t n = of_tests ? products->num_tests() : products->num_train();
  for (int64_t i = 0; i < n; ++i) {
    gradients.emplace_back(problem.shape.offsets().size);
    const absl::Span<double> gradient = absl::MakeSpan(gradients.back());
    EXPECT_TRUE(
        (of_tests ? products->ReferenceTestGradient(i, gradient) : products->ReferenceTrainGradient(i, gradient)).ok());
  }
  return gradients;
}

// Computes a product of parts of gradients by definition.
double Dot(const Problem& problem, const ProductPart& part, const std::vector<double>& a,
           const std::vector<double>& b) {
  const Tensor& metric = problem.point.preconditioner;
  double sum = 0;
  for (const int s : part.slices) {
    const ParameterSlice slice = problem.shape.Slices()[s];
    for (int64_t i = slice.offset; i < slice.offset + slice.num_elements(); ++i) {
      sum += a[i] * b[i] * (metric.num_elements() == 0 ? 1 : metric.values<double>()[i]);
    }
  }
  return sum;
}

// Compares every product and square of every part, in tiles of `step` triples.
void ExpectDefinition(const Problem& problem, int64_t step = 1000) {
  const std::unique_ptr<GradientProducts> products = problem.Make();
  const std::vector<ProductPart> parts = problem.Parts();
  const std::vector<std::vector<double>> train = Gradients(problem, products.get(), false);
  const std::vector<std::vector<double>> tests = Gradients(problem, products.get(), true);
  products->SetParts(parts);
  ASSERT_TRUE(products->SetTests(Numbers(products->num_tests())).ok());
  const int64_t num_tests = products->num_set_tests();
  const std::vector<double> test_norms = products->TestNorms();
  const std::vector<int64_t> all = Numbers(products->num_train());
  for (size_t p = 0; p < parts.size(); ++p) {
    double largest = 1e-3;
    for (const auto& test : tests) largest = std::max(largest, Dot(problem, parts[p], test, test));
    for (const auto& example : train) largest = std::max(largest, Dot(problem, parts[p], example, example));
    const double tolerance = 1e-12 * largest;
    for (int64_t j = 0; j < num_tests; ++j) {
      EXPECT_NEAR(test_norms[p * num_tests + j], Dot(problem, parts[p], tests[j], tests[j]), tolerance)
          << parts[p].name;
    }
    for (size_t first = 0; first < all.size(); first += step) {
      ProductTile tile;
      const absl::Span<const int64_t> some = absl::MakeConstSpan(all).subspan(first, step);
      ASSERT_TRUE(products->Products(some, /*squares=*/true, &tile).ok());
      const auto size = static_cast<int64_t>(some.size());
      for (int64_t b = 0; b < size; ++b) {
        const std::vector<double>& example = train[some[b]];
        ASSERT_NEAR(tile.train_square[p * size + b], Dot(problem, parts[p], example, example), tolerance)
            << parts[p].name << " " << some[b];
        for (int64_t j = 0; j < num_tests; ++j) {
          ASSERT_NEAR(tile.product[(p * size + b) * num_tests + j], Dot(problem, parts[p], example, tests[j]),
                      tolerance)
              << parts[p].name << " " << some[b] << " with " << j;
        }
      }
    }
  }
}

const std::vector<KgeInfluenceLoss> kLosses = {KgeInfluenceLoss::kTriple, KgeInfluenceLoss::kOneToN,
                                               KgeInfluenceLoss::kOneOfN, KgeInfluenceLoss::kCrossEntropy,
                                               KgeInfluenceLoss::kKvsAll};

class KgeProductsTest : public ::testing::TestWithParam<Model> {};

TEST_P(KgeProductsTest, AreThoseOfGradientsForEveryLoss) {
  Problem problem(GetParam());
  problem.point.loss_weight = {0.7};
  for (const KgeInfluenceLoss loss : kLosses) {
    for (const KgeQuantity quantity :
         {KgeQuantity::kLoss, KgeQuantity::kScore, KgeQuantity::kMargin, KgeQuantity::kDifference}) {
      SCOPED_TRACE(absl::StrCat(kKgeInfluenceLossNames.Name(loss), " ", kKgeQuantityNames.Name(quantity)));
      problem.options.loss = loss;
      problem.options.quantity = quantity;
      problem.options.rival = quantity == KgeQuantity::kDifference ? 4 : -1;
      problem.options.by_triple = NeedsKnownTails(loss) && quantity != KgeQuantity::kLoss;
      ExpectDefinition(problem);
    }
    problem.options.by_triple = false;
  }
}

TEST_P(KgeProductsTest, WithAPreconditioner) {
  Problem problem(GetParam());
  problem.AddMetric();
  for (const KgeInfluenceLoss loss : kLosses) {
    SCOPED_TRACE(kKgeInfluenceLossNames.Name(loss));
    problem.options.loss = loss;
    ExpectDefinition(problem);
  }
}

TEST_P(KgeProductsTest, OfWeightedTests) {
  Problem problem(GetParam());
  const std::vector<double> weights = {1, -2, 0, 0.5, 1, 1, 3};
  for (const bool metric : {false, true}) {
    if (metric) problem.AddMetric();
    for (const KgeInfluenceLoss loss : kLosses) {
      SCOPED_TRACE(kKgeInfluenceLossNames.Name(loss));
      problem.options.loss = loss;
      const std::unique_ptr<GradientProducts> products = problem.Make();
      const std::vector<std::vector<double>> train = Gradients(problem, products.get(), false);
      const std::vector<std::vector<double>> tests = Gradients(problem, products.get(), true);
      std::vector<double> sum(problem.shape.offsets().size, 0);
      for (size_t j = 0; j < tests.size(); ++j) {
        for (size_t i = 0; i < sum.size(); ++i) sum[i] += weights[j] * tests[j][i];
      }
      const std::vector<ProductPart> parts = problem.Parts();
      products->SetParts(parts);
      ASSERT_TRUE(products->SetWeightedTests(weights).ok());
      ASSERT_EQ(products->num_set_tests(), 1);
      ProductTile tile;
      ASSERT_TRUE(products->Products(Numbers(products->num_train()), /*squares=*/false, &tile).ok());
      EXPECT_TRUE(tile.train_square.empty());
      for (size_t p = 0; p < parts.size(); ++p) {
        const double square = Dot(problem, parts[p], sum, sum);
        EXPECT_NEAR(products->TestNorms()[p], square, 1e-12 * (1 + square)) << parts[p].name;
        for (size_t i = 0; i < train.size(); ++i) {
          const double expected = Dot(problem, parts[p], train[i], sum);
          EXPECT_NEAR(tile.product[p * train.size() + i], expected, 1e-12 * (1 + std::abs(expected))) << parts[p].name;
        }
      }
    }
  }
}

TEST_P(KgeProductsTest, DoNotDependOnTilesThreadsAndOtherTests) {
  Problem problem(GetParam());
  for (const KgeInfluenceLoss loss : {KgeInfluenceLoss::kTriple, KgeInfluenceLoss::kOneToN}) {
    problem.options.loss = loss;
    ThreadPool two(2);
    const std::unique_ptr<GradientProducts> products = problem.Make(), threaded = problem.Make(&two);
    const std::vector<int64_t> all = Numbers(products->num_train());
    ASSERT_TRUE(products->SetTests(Numbers(products->num_tests())).ok());
    ASSERT_TRUE(threaded->SetTests({4, 1}).ok());
    ProductTile whole, tile;
    ASSERT_TRUE(products->Products(all, true, &whole).ok());
    const int64_t num_tests = products->num_set_tests();
    for (const int64_t step : {1, 7, 64}) {
      for (size_t first = 0; first < all.size(); first += step) {
        const absl::Span<const int64_t> some = absl::MakeConstSpan(all).subspan(first, step);
        ASSERT_TRUE(threaded->Products(some, true, &tile).ok());
        ASSERT_EQ(tile.product.size(), some.size() * 2);
        for (size_t b = 0; b < some.size(); ++b) {
          EXPECT_NEAR(tile.product[b * 2], whole.product[some[b] * num_tests + 4], 1e-12);
          EXPECT_NEAR(tile.product[b * 2 + 1], whole.product[some[b] * num_tests + 1], 1e-12);
          EXPECT_NEAR(tile.train_square[b], whole.train_square[some[b]], 1e-12 * (1 + tile.train_square[b]));
        }
      }
    }
  }
}

// Therefore a resumed or sharded run gives the results of a single run.
TEST_P(KgeProductsTest, OfTriplesHaveTheSameBitsInAnyTileAndWithAnyThreads) {
  Problem problem(GetParam());
  ThreadPool two(2);
  problem.point.parameters = Parameters<float>(problem.shape);
  const std::unique_ptr<GradientProducts> products = problem.Make(), threaded = problem.Make(&two);
  const std::vector<int64_t> all = Numbers(products->num_train());
  ProductTile whole, tile;
  ASSERT_TRUE(products->SetTests(Numbers(7)).ok());
  ASSERT_TRUE(threaded->SetTests(Numbers(7)).ok());
  ASSERT_TRUE(products->Products(all, true, &whole).ok());
  for (const int64_t step : {1, 7, 64}) {
    for (size_t first = 0; first < all.size(); first += step) {
      const absl::Span<const int64_t> some = absl::MakeConstSpan(all).subspan(first, step);
      ASSERT_TRUE(threaded->Products(some, true, &tile).ok());
      for (size_t b = 0; b < some.size(); ++b) {
        EXPECT_EQ(tile.train_square[b], whole.train_square[some[b]]);
        for (int64_t j = 0; j < 7; ++j) EXPECT_EQ(tile.product[b * 7 + j], whole.product[some[b] * 7 + j]);
      }
    }
  }
}

// If the tests are the training triples, the matrix of products is symmetric, its diagonal has the squares, and any sum
// of gradients has a norm.
TEST_P(KgeProductsTest, AreAScalarProduct) {
  Problem problem(GetParam());
  problem.tests = problem.train;
  for (const KgeInfluenceLoss loss : kLosses) {
    problem.options.loss = loss;
    const std::unique_ptr<GradientProducts> products = problem.Make();
    const std::vector<int64_t> all = Numbers(products->num_train());
    ASSERT_TRUE(products->SetTests(all).ok());
    ProductTile tile;
    ASSERT_TRUE(products->Products(all, true, &tile).ok());
    const std::vector<double> test_norms = products->TestNorms();
    const size_t n = all.size();
    RandomStream random(2, "sums");
    std::vector<double> weight(n);
    for (double& w : weight) w = random.Uniform() - 0.5;
    double norm = 0;
    for (size_t i = 0; i < n; ++i) {
      const double square = tile.train_square[i], tolerance = 1e-12 * (1 + square);
      EXPECT_NEAR(tile.product[i * n + i], square, tolerance);
      EXPECT_NEAR(test_norms[i], square, tolerance);
      for (size_t j = 0; j < n; ++j) {
        EXPECT_NEAR(tile.product[i * n + j], tile.product[j * n + i], tolerance + 1e-12 * tile.train_square[j]);
        EXPECT_LE(std::abs(tile.product[i * n + j]), std::sqrt(square * tile.train_square[j]) + tolerance);
        norm += weight[i] * weight[j] * tile.product[i * n + j];
      }
    }
    EXPECT_GE(norm, 0);
    EXPECT_EQ(tile.product[0 * n + 5], tile.product[2 * n + 5]) << "one triple, given twice";
  }
}

TEST_P(KgeProductsTest, SinglePrecisionIsNear) {
  Problem problem(GetParam());
  for (const KgeInfluenceLoss loss : kLosses) {
    problem.options.loss = loss;
    problem.point.parameters = Parameters<double>(problem.shape);
    const std::unique_ptr<GradientProducts> exact = problem.Make();
    problem.point.parameters = Parameters<float>(problem.shape);
    ProductTile expected, tile, rounded;
    ASSERT_TRUE(exact->SetTests(Numbers(7)).ok());
    ASSERT_TRUE(exact->Products(Numbers(40), true, &expected).ok());
    for (const bool bf16 : {false, true}) {
      problem.options.bf16 = bf16;
      const std::unique_ptr<GradientProducts> products = problem.Make();
      ASSERT_TRUE(products->SetTests(Numbers(7)).ok());
      ASSERT_TRUE(products->Products(Numbers(40), true, &tile).ok());
      double largest = 0;
      for (const double x : expected.product) largest = std::max(largest, std::abs(x));
      for (size_t i = 0; i < tile.product.size(); ++i) {
        EXPECT_NEAR(tile.product[i], expected.product[i], (bf16 ? 2e-2 : 1e-5) * largest)
            << kKgeInfluenceLossNames.Name(loss);
      }
      for (size_t i = 0; i < tile.train_square.size(); ++i) {
        const double square = expected.train_square[i];
        EXPECT_NEAR(tile.train_square[i], square, (bf16 ? 2e-2 : 1e-5) * square) << kKgeInfluenceLossNames.Name(loss);
      }
    }
    problem.options.bf16 = false;
  }
}

TEST_P(KgeProductsTest, PartsAddUpToTheWhole) {
  const Problem problem(GetParam());
  const std::unique_ptr<GradientProducts> products = problem.Make();
  ProductTile whole, tile;
  ASSERT_TRUE(products->SetTests(Numbers(7)).ok());
  ASSERT_TRUE(products->Products(Numbers(40), true, &whole).ok());
  const std::vector<ProductPart> parts = problem.Parts();
  products->SetParts(parts);
  ASSERT_TRUE(products->SetTests(Numbers(7)).ok());
  ASSERT_TRUE(products->Products(Numbers(40), true, &tile).ok());
  for (size_t i = 0; i < whole.product.size(); ++i) {
    double sum = 0;
    for (size_t p = 0; p < parts.size(); ++p) sum += tile.product[p * whole.product.size() + i];
    EXPECT_NEAR(sum, whole.product[i], 1e-12 * (1 + std::abs(sum)));
  }
  // A single part needs less computation and gives the same products.
  for (size_t p = 0; p < parts.size(); ++p) {
    products->SetParts({parts[p]});
    ASSERT_TRUE(products->SetTests(Numbers(7)).ok());
    ProductTile one;
    ASSERT_TRUE(products->Products(Numbers(40), true, &one).ok());
    for (size_t i = 0; i < one.product.size(); ++i) {
      EXPECT_NEAR(one.product[i], tile.product[p * one.product.size() + i], 1e-13) << parts[p].name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, KgeProductsTest,
    ::testing::Values(Model{KgeModel::kConvE, ConveVariant::kDettmers}, Model{KgeModel::kConvE, ConveVariant::kTiepin},
                      Model{KgeModel::kConvE, ConveVariant::kLibkge},
                      Model{KgeModel::kDistMult, ConveVariant::kDettmers},
                      Model{KgeModel::kComplEx, ConveVariant::kDettmers},
                      Model{KgeModel::kRescal, ConveVariant::kDettmers}, Model{KgeModel::kCp, ConveVariant::kDettmers},
                      Model{KgeModel::kSimple, ConveVariant::kDettmers},
                      Model{KgeModel::kTucker, ConveVariant::kDettmers}),
    [](const auto& info) {
      return absl::StrCat(kKgeModelNames.Name(info.param.model), "_", kConveVariantNames.Name(info.param.variant));
    });

// kge_influence_options.h says which labels a test triple has.
TEST(KgeProductsLabelsTest, TestTailsCountWhereTheyAreLabeled) {
  Problem problem({KgeModel::kDistMult, ConveVariant::kDettmers});
  problem.options.loss = KgeInfluenceLoss::kOneToN;
  const auto gradient = [&](int64_t test) {
    std::vector<double> values(problem.shape.offsets().size);
    EXPECT_TRUE(problem.Make()->ReferenceTestGradient(test, absl::MakeSpan(values)).ok());
    return values;
  };
  EXPECT_EQ(gradient(0), gradient(2)) << "two tails of a known key";
  EXPECT_EQ(gradient(0), [&] {
    std::vector<double> values(problem.shape.offsets().size);
    EXPECT_TRUE(problem.Make()->ReferenceTrainGradient(0, absl::MakeSpan(values)).ok());
    return values;
  }());
  problem.options.label_test_tails = true;
  EXPECT_NE(gradient(0), gradient(2));
  ExpectDefinition(problem);
}

TEST(KgeProductsEdgesTest, WithoutTestsGivesSquaresAlone) {
  const Problem problem({KgeModel::kConvE, ConveVariant::kTiepin});
  const std::unique_ptr<GradientProducts> products = problem.Make();
  ProductTile tile;
  tile.product = {1, 2, 3};
  ASSERT_TRUE(products->SetTests({}).ok());
  ASSERT_TRUE(products->Products({3}, /*squares=*/true, &tile).ok());
  EXPECT_TRUE(tile.product.empty());
  EXPECT_EQ(tile.train_square.size(), 1u);
  ASSERT_TRUE(products->Products({}, /*squares=*/true, &tile).ok());
  EXPECT_TRUE(tile.train_square.empty());
}

TEST(KgeProductsEdgesTest, PreferredOrderSortsByKeyAndKeepsTies) {
  const std::vector<Triple> triples = {{2, 0, 1}, {0, 1, 5}, {2, 0, 0}, {0, 0, 9}};
  EXPECT_EQ(PreferredOrder(triples), (std::vector<int64_t>{3, 1, 0, 2}));
}

TEST(KgeProductsEdgesTest, WithoutAReferenceThereIsNone) {
  const Problem problem({KgeModel::kConvE, ConveVariant::kTiepin});
  KgeInfluenceData data;
  data.train = problem.train;
  const auto products = MakeKgeProducts(problem.shape, problem.point, data, problem.options, nullptr);
  std::vector<double> gradient(problem.shape.offsets().size);
  EXPECT_EQ((*products)->ReferenceTrainGradient(0, absl::MakeSpan(gradient)).code(), absl::StatusCode::kUnimplemented);
}

TEST(KgeProductsEdgesTest, RefusesWhatDoesNotFit) {
  Problem problem({KgeModel::kConvE, ConveVariant::kDettmers});
  const auto refusal = [&](const KgeInfluenceData& data) {
    const auto products = MakeKgeProducts(problem.shape, problem.point, data, problem.options, nullptr);
    EXPECT_TRUE(absl::IsInvalidArgument(products.status())) << products.status();
    return std::string(products.status().message());
  };
  for (const KgeModel model : {KgeModel::kTransE, KgeModel::kRotatE}) {
    const Problem distances({model, ConveVariant::kDettmers});
    const auto products = MakeKgeProducts(distances.shape, distances.point, {}, distances.options, nullptr);
    EXPECT_THAT(std::string(products.status().message()),
                AllOf(HasSubstr(std::string(kKgeModelNames.Name(model))), HasSubstr("distances")));
  }
  KgeInfluenceData data;
  data.train = problem.train;
  const std::vector<Triple> strange = {{0, 0, 0}, {1, 3, 2}};
  data.tests = strange;
  EXPECT_THAT(refusal(data), AllOf(HasSubstr("test triple 1 is (1, 3, 2)"), HasSubstr("3 relations")));
  data.tests = {};
  problem.options.loss = KgeInfluenceLoss::kKvsAll;
  EXPECT_THAT(refusal(data), AllOf(HasSubstr("KvsAll"), HasSubstr("known tails")));
  problem.options.loss = KgeInfluenceLoss::kTriple;
  problem.options.bf16 = true;
  EXPECT_THAT(refusal(data), HasSubstr("bf16"));
  problem.options.bf16 = false;
  problem.point.loss_weight = {1, 1};
  EXPECT_THAT(refusal(data), HasSubstr("2 weights"));
  problem.point.loss_weight = {-1};
  EXPECT_THAT(refusal(data), HasSubstr("-1"));
  problem.point.loss_weight = {};
  problem.point.preconditioner = Tensor::Zeros(DType::kF32, {problem.shape.offsets().size});
  EXPECT_THAT(refusal(data), AllOf(HasSubstr("preconditioners"), HasSubstr("F32")));
  problem.point.preconditioner = Tensor();
  problem.point.parameters = Tensor::Zeros(DType::kF64, {7});
  EXPECT_THAT(refusal(data), HasSubstr("parameters are 7 numbers"));
}

}  // namespace
}  // namespace rutile
