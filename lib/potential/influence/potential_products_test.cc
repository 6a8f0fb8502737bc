#include "lib/potential/influence/potential_products.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/potential/influence/gradient_reference.h"
#include "lib/potential/influence/gradient_testing.h"
#include "lib/potential/model/labels/learned_labels.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

std::vector<int64_t> Range(int64_t begin, int64_t end) {
  std::vector<int64_t> range;
  for (int64_t i = begin; i < end; ++i) range.push_back(i);
  return range;
}

// Returns options for energies, forces and stress.
PotentialProductsOptions Options(DType precision = DType::kF64) {
  PotentialProductsOptions options;
  options.loss.force_weight = 0.1;
  options.loss.stress_weight = 0.1;
  options.precision = precision;
  return options;
}

Potential Model() { return AwkwardPotential({5, 4}, Activation::kTanh); }

// Returns a checkpoint with other parameters than the model's.
WeightedCheckpoint Point(bool preconditioner = false) {
  WeightedCheckpoint point;
  std::vector<double> values = Model().parameters.ToDoubles();
  for (double& value : values) value = 0.9 * value + 0.01;
  point.parameters = Tensor::Of(values);
  point.loss_weight = {0.4, 0.8, 3};
  if (!preconditioner) return point;
  RandomStream random(1, "preconditioner");
  for (double& value : values) value = random.Uniform(0, 2);
  point.preconditioner = Tensor::Of(values);
  return point;
}

std::unique_ptr<GradientProducts> Make(const PotentialProductsOptions& options,
                                       const WeightedCheckpoint& point = Point(),
                                       const AtomicData& train = AwkwardStructures(),
                                       const AtomicData& test = AwkwardStructures()) {
  absl::StatusOr<std::unique_ptr<GradientProducts>> products =
      MakePotentialProducts(Model(), train, test, point, options, ReferenceExampleGradient);
  EXPECT_TRUE(products.ok()) << products.status();
  return *std::move(products);
}

// Returns the products of all tests, one part after another: [parts, B, H]. Training data goes in tiles of `tile`.
ProductTile All(GradientProducts* products, const std::vector<int64_t>& train, int parts = 1, int64_t tile = 1000) {
  const int64_t b = train.size(), h = products->num_set_tests();
  ProductTile all;
  all.product.resize(parts * b * h);
  all.train_square.resize(parts * b);
  for (int64_t first = 0; first < b; first += tile) {
    const int64_t count = std::min(tile, b - first);
    ProductTile part;
    const absl::Status status = products->Products(absl::MakeConstSpan(train).subspan(first, count), true, &part);
    EXPECT_TRUE(status.ok()) << status;
    for (int p = 0; p < parts; ++p) {
      std::copy_n(&part.product[p * count * h], count * h, &all.product[(p * b + first) * h]);
      std::copy_n(&part.train_square[p * count], count, &all.train_square[p * b + first]);
    }
  }
  return all;
}

void Hold(GradientProducts* products, const std::vector<int64_t>& tests) {
  const absl::Status status = products->SetTests(tests);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(products->num_set_tests(), tests.size());
}

// Computes gradients by the definition, with one backward pass each.
std::vector<std::vector<double>> ReferenceRows(GradientProducts* products, bool train) {
  const int64_t n = train ? products->num_train() : products->num_tests();
  int64_t size = 0;
  for (const ParameterSlice& slice : products->slices()) size += slice.num_elements();
  std::vector<std::vector<double>> rows(n, std::vector<double>(size));
  for (int64_t i = 0; i < n; ++i) {
    const absl::Status status = train ? products->ReferenceTrainGradient(i, absl::MakeSpan(rows[i]))
                                      : products->ReferenceTestGradient(i, absl::MakeSpan(rows[i]));
    EXPECT_TRUE(status.ok()) << status;
  }
  return rows;
}

double Dot(const std::vector<double>& a, const std::vector<double>& b, const std::vector<double>& weights = {}) {
  double sum = 0;
  for (size_t p = 0; p < a.size(); ++p) sum += a[p] * b[p] * (weights.empty() ? 1.0 : weights[p]);
  return sum;
}

void ExpectNaiveLoop(std::unique_ptr<GradientProducts> products, const WeightedCheckpoint& point, double limit) {
  const std::vector<std::vector<double>> train = ReferenceRows(products.get(), true);
  const std::vector<std::vector<double>> test = ReferenceRows(products.get(), false);
  const std::vector<double> weights = point.preconditioner.ToDoubles();
  Hold(products.get(), Range(0, products->num_tests()));
  const ProductTile tile = All(products.get(), Range(0, products->num_train()));
  const std::vector<double> held = products->TestNorms();
  ASSERT_EQ(held.size(), test.size());
  for (size_t i = 0; i < train.size(); ++i) {
    const double square = Dot(train[i], train[i], weights);
    EXPECT_NEAR(tile.train_square[i], square, limit * square) << i;
    for (size_t j = 0; j < test.size(); ++j) {
      const double test_square = Dot(test[j], test[j], weights);
      EXPECT_NEAR(held[j], test_square, limit * test_square) << j;
      EXPECT_NEAR(tile.product[i * test.size() + j], Dot(train[i], test[j], weights),
                  limit * std::sqrt(square * test_square))
          << i << " " << j;
    }
  }
}

void ExpectNaiveLoop(const PotentialProductsOptions& options, const WeightedCheckpoint& point, double limit) {
  ExpectNaiveLoop(Make(options, point), point, limit);
}

TEST(PotentialProductsTest, EqualTheNaiveLoopOfTwoLayers) {
  const Potential potential = AwkwardManyBody(/*messages=*/2, /*vectors=*/1);
  const AtomicData data = AwkwardStructures(potential.descriptor);
  WeightedCheckpoint point;
  std::vector<double> values = potential.parameters.ToDoubles();
  for (double& value : values) value = 0.9 * value + 0.01;
  point.parameters = Tensor::Of(values);
  point.loss_weight = {0.4, 0.8, 3};
  for (double& value : values) value = 1 + value * value;
  point.preconditioner = Tensor::Of(values);
  absl::StatusOr<std::unique_ptr<GradientProducts>> products =
      MakePotentialProducts(potential, data, data, point, Options(), ReferenceExampleGradient);
  ASSERT_TRUE(products.ok()) << products.status();
  ExpectNaiveLoop(*std::move(products), point, 1e-10);
}

TEST(PotentialProductsTest, EqualTheNaiveLoop) { ExpectNaiveLoop(Options(), Point(), 1e-10); }
TEST(PotentialProductsTest, EqualTheNaiveLoopWithPreconditioner) { ExpectNaiveLoop(Options(), Point(true), 1e-10); }
TEST(PotentialProductsTest, EqualTheNaiveLoopInSinglePrecision) {
  ExpectNaiveLoop(Options(DType::kF32), Point(true), 1e-5);
}
TEST(PotentialProductsTest, EqualTheNaiveLoopOfHuberLosses) {
  PotentialProductsOptions options = Options();
  options.loss.kind = LossKind::kHuber;
  ExpectNaiveLoop(options, Point(), 1e-10);
}
TEST(PotentialProductsTest, EqualTheNaiveLoopOfOtherQuantities) {
  PotentialProductsOptions options = Options();
  options.test.quantity = PotentialQuantity::kEnergy;
  ExpectNaiveLoop(options, Point(), 1e-10);
  options.test.quantity = PotentialQuantity::kForceComponent;
  options.test.component = 2;
  ExpectNaiveLoop(options, Point(true), 1e-10);
  options.test.atom = kAllAtoms;
  ExpectNaiveLoop(options, Point(), 1e-10);
}

TEST(PotentialProductsTest, ErrorOfTheForceOnAnAtom) {
  PotentialProductsOptions options = Options();
  options.test.quantity = PotentialQuantity::kAtomForce;
  const AtomicData data = AwkwardStructures();
  EXPECT_THAT(MakePotentialProducts(Model(), data, data, Point(), options).status().message(),
              HasSubstr("has no forces"));
}

// Gradients keep their digits even if the error is small beside the energy, as for a trained potential.
TEST(PotentialProductsTest, SmallErrorsKeepTheirDigits) {
  const AtomicData data = AwkwardStructures();
  const int64_t s = 4;  // without forces
  Potential potential = Model();
  const auto squares = [&](DType precision) {
    WeightedCheckpoint point;
    point.parameters = potential.parameters;
    PotentialProductsOptions options = Options(precision);
    options.test.quantity = PotentialQuantity::kEnergy;
    auto products = *MakePotentialProducts(potential, data, data, point, options);
    Hold(products.get(), {s});
    const ProductTile tile = All(products.get(), {s});
    // The gradient of the loss is 2 error / N times that of the energy.
    const double error = 0.5 * tile.product[0] / products->TestNorms()[0] * static_cast<double>(data.num_atoms(s));
    return std::pair(tile.train_square[0], error);
  };
  const double error = squares(DType::kF64).second;
  ASSERT_GT(std::abs(error), 0.1);
  potential.energy_scaling.shift -= error * (1 - 1e-5);
  const auto [square, small] = squares(DType::kF64);
  EXPECT_NEAR(small, 1e-5 * error, 1e-10 * std::abs(error));
  EXPECT_NEAR(squares(DType::kF32).first, square, 1e-6 * square);
}

TEST(PotentialProductsTest, WithoutAReferenceThereIsNone) {
  const AtomicData data = AwkwardStructures();
  auto products = *MakePotentialProducts(Model(), data, data, Point(), Options());
  std::vector<double> gradient(Model().shape.num_parameters());
  EXPECT_EQ(products->ReferenceTrainGradient(0, absl::MakeSpan(gradient)).code(), absl::StatusCode::kUnimplemented);
}

// If a row takes several MB, only a few rows are made at a time.
TEST(PotentialProductsTest, LargeNetworks) {
  const Potential potential = AwkwardPotential({400, 300}, Activation::kTanh);
  const AtomicData data = AwkwardStructures();
  WeightedCheckpoint point;
  point.parameters = potential.parameters;
  PotentialProductsOptions options = Options();
  options.num_threads = 2;
  auto products = *MakePotentialProducts(potential, data, data, point, options, ReferenceExampleGradient);
  EXPECT_EQ(products->bytes_per_test(), 8 * (potential.shape.num_parameters() + 1));
  Hold(products.get(), {7, 2});
  std::vector<int64_t> train;
  for (int i = 0; i < 3; ++i) {
    for (int64_t s = 0; s < kNumAwkward; ++s) train.push_back(s);
  }
  const ProductTile tile = All(products.get(), train);
  const std::vector<std::vector<double>> rows = ReferenceRows(products.get(), true);
  for (size_t i = 0; i < train.size(); ++i) {
    for (int j = 0; j < 2; ++j) {
      const std::vector<double>&a = rows[train[i]], &b = rows[j == 0 ? 7 : 2];
      EXPECT_NEAR(tile.product[2 * i + j], Dot(a, b), 1e-10 * std::sqrt(Dot(a, a) * Dot(b, b)));
    }
  }
}

// The checkpoint gives a weight for each term, in the order of the terms in the loss; without weights each term counts
// once.
TEST(PotentialProductsTest, TermsCountAsThePointSays) {
  const auto squares = [](double energy, double force, double stress, std::vector<double> loss_weight) {
    PotentialProductsOptions options = Options();
    options.loss.energy_weight = energy;
    options.loss.force_weight = force;
    options.loss.stress_weight = stress;
    WeightedCheckpoint point = Point();
    point.loss_weight = std::move(loss_weight);
    return All(Make(options, point).get(), Range(0, kNumAwkward)).train_square;
  };
  EXPECT_EQ(squares(0.9, 0.1, 0.2, {}), squares(0.3, 5, 7, {1, 1, 1}));
  EXPECT_EQ(squares(1, 0.1, 0, {}), squares(1, 1, 1, {1, 1, 0}));
  EXPECT_EQ(squares(1, 0, 0.1, {2, 3}), squares(1, 1, 1, {2, 0, 3}));
  EXPECT_EQ(squares(0, 0.1, 0, {}), squares(1, 1, 1, {0, 1, 0}));
}

TEST(PotentialProductsTest, SymmetricPositiveAndSelfIsTheDiagonal) {
  const std::unique_ptr<GradientProducts> products = Make(Options());
  Hold(products.get(), Range(0, kNumAwkward));
  const ProductTile tile = All(products.get(), Range(0, kNumAwkward));
  const std::vector<double> held = products->TestNorms();
  const auto at = [&](int64_t i, int64_t j) { return tile.product[i * kNumAwkward + j]; };
  for (int64_t i = 0; i < kNumAwkward; ++i) {
    const double size = std::sqrt(tile.train_square[i]);
    EXPECT_EQ(held[i], tile.train_square[i]);
    EXPECT_NEAR(at(i, i), held[i], 1e-13 * held[i]);
    for (int64_t j = 0; j < kNumAwkward; ++j) {
      EXPECT_EQ(at(i, j), at(j, i));
      EXPECT_LE(std::abs(at(i, j)), size * std::sqrt(held[j]) * (1 + 1e-12));
    }
  }
  RandomStream random(3, "vectors");
  for (int n = 0; n < 20; ++n) {
    std::vector<double> v(kNumAwkward);
    double sum = 0, scale = 0;
    for (double& each : v) each = random.Normal();
    for (int64_t i = 0; i < kNumAwkward; ++i) {
      for (int64_t j = 0; j < kNumAwkward; ++j) {
        sum += v[i] * at(i, j) * v[j];
        scale += std::abs(v[i] * at(i, j) * v[j]);
      }
    }
    EXPECT_GE(sum, -1e-12 * scale);
  }
  // The last structure is a copy of number 2.
  for (int64_t j = 0; j < kNumAwkward; ++j) EXPECT_EQ(at(2, j), at(kNumAwkward - 1, j));
}

TEST(PotentialProductsTest, PartsSumToTheWhole) {
  for (const DType precision : {DType::kF64, DType::kF32}) {
    const std::unique_ptr<GradientProducts> products = Make(Options(precision), Point(true));
    const auto num_slices = static_cast<int>(products->slices().size());
    ASSERT_EQ(num_slices, 3 * 3 * 2);
    EXPECT_EQ(products->slices()[3].name, "network.Ti.1.bias");
    Hold(products.get(), Range(0, kNumAwkward));
    const ProductTile whole = All(products.get(), Range(0, kNumAwkward));
    const std::vector<double> whole_held = products->TestNorms();
    // Parts for weights, for biases of the first layers, and for the rest, in an order other than that of the slices
    // and with gaps.
    std::vector<ProductPart> parts = {{"weights", {}}, {"first", {7, 1, 13}}, {"rest", {}}};
    for (int s = 0; s < num_slices; s += 2) parts[0].slices.push_back(s);
    for (int s = 3; s < num_slices; s += 2) {
      if (s != 7 && s != 13) parts[2].slices.push_back(s);
    }
    products->SetParts(parts);
    EXPECT_EQ(products->num_set_tests(), 0);
    Hold(products.get(), Range(0, kNumAwkward));
    const ProductTile tile = All(products.get(), Range(0, kNumAwkward), 3);
    const std::vector<double> held = products->TestNorms();
    const int64_t n = kNumAwkward, size = n * n;
    const double limit = precision == DType::kF64 ? 1e-13 : 1e-5;
    for (int64_t i = 0; i < n; ++i) {
      const double square = whole.train_square[i];
      EXPECT_NEAR(tile.train_square[i] + tile.train_square[n + i] + tile.train_square[2 * n + i], square,
                  1e-13 * square);
      EXPECT_NEAR(held[i] + held[n + i] + held[2 * n + i], whole_held[i], 1e-13 * whole_held[i]);
      for (int64_t j = 0; j < n; ++j) {
        const int64_t k = i * n + j;
        EXPECT_NEAR(tile.product[k] + tile.product[size + k] + tile.product[2 * size + k], whole.product[k],
                    limit * std::sqrt(square * whole_held[j]));
      }
    }
    // Slices in no part do not count.
    products->SetParts({parts[1]});
    Hold(products.get(), {2});
    const ProductTile one = All(products.get(), {4});
    EXPECT_NEAR(one.product[0], tile.product[size + 4 * n + 2], 1e-6 * std::abs(tile.product[size + 4 * n + 2]));
  }
}

// Tiles, threads, the order of examples and the choice of other tests do not change a bit.
TEST(PotentialProductsTest, TilesAndThreadsDoNotMatter) {
  for (const DType precision : {DType::kF32, DType::kF64}) {
    PotentialProductsOptions options = Options(precision);
    const std::unique_ptr<GradientProducts> one = Make(options);
    options.num_threads = 2;
    const std::unique_ptr<GradientProducts> two = Make(options);
    std::vector<int64_t> many;  // more than a panel and a chunk of rows
    for (int i = 0; i < 9; ++i) {
      for (int64_t s = 0; s < kNumAwkward; ++s) many.push_back((7 * s + i) % kNumAwkward);
    }
    Hold(one.get(), Range(0, kNumAwkward));
    Hold(two.get(), Range(0, kNumAwkward));
    const ProductTile expected = All(one.get(), many);
    for (const int64_t tile : {1, 3, 17}) EXPECT_EQ(All(one.get(), many, 1, tile).product, expected.product);
    EXPECT_EQ(All(two.get(), many).product, expected.product);
    EXPECT_EQ(All(two.get(), many).train_square, expected.train_square);
    EXPECT_EQ(two->TestNorms(), one->TestNorms());
    Hold(two.get(), {6, 1});
    const ProductTile some = All(two.get(), many);
    for (size_t i = 0; i < many.size(); ++i) {
      EXPECT_EQ(some.product[2 * i], expected.product[i * kNumAwkward + 6]);
      EXPECT_EQ(some.product[2 * i + 1], expected.product[i * kNumAwkward + 1]);
    }
  }
}

TEST(PotentialProductsTest, WeightedTestsAreTheSum) {
  for (const bool preconditioner : {false, true}) {
    PotentialProductsOptions options = Options();
    options.num_threads = 2;
    options.test.quantity = PotentialQuantity::kForceComponent;
    options.test.atom = kAllAtoms;  // more than SetWeightedTests makes at a time
    const std::unique_ptr<GradientProducts> products = Make(options, Point(preconditioner));
    const int64_t n = products->num_tests();
    ASSERT_GT(n, 32);
    Hold(products.get(), Range(0, n));
    const ProductTile all = All(products.get(), Range(0, kNumAwkward));
    std::vector<double> weights(n);
    RandomStream random(4, "weights");
    for (double& weight : weights) weight = random.Uniform(-1, 1);
    weights[5] = 0;
    ASSERT_TRUE(products->SetWeightedTests(weights).ok());
    EXPECT_EQ(products->num_set_tests(), 1);
    const double size = std::sqrt(products->TestNorms()[0]);
    const ProductTile sum = All(products.get(), Range(0, kNumAwkward));
    for (int64_t i = 0; i < kNumAwkward; ++i) {
      double expected = 0;
      for (int64_t j = 0; j < n; ++j) expected += weights[j] * all.product[i * n + j];
      EXPECT_NEAR(sum.product[i], expected, 1e-12 * size * std::sqrt(all.train_square[i]));
    }
  }
}

TEST(PotentialProductsTest, NoTestsAreNeededForSquares) {
  const std::unique_ptr<GradientProducts> products = Make(Options());
  Hold(products.get(), {});
  ProductTile tile;
  ASSERT_TRUE(products->Products(Range(0, 4), true, &tile).ok());
  EXPECT_TRUE(tile.product.empty());
  EXPECT_EQ(tile.train_square.size(), 4);
  ASSERT_TRUE(products->Products({}, true, &tile).ok());
  EXPECT_TRUE(tile.train_square.empty());
}

// A projected product has an error of about |g| |g'| / sqrt(dim).
TEST(PotentialProductsTest, ProjectionsAreCloseAndKeepParts) {
  const std::unique_ptr<GradientProducts> exact = Make(Options(), Point(true));
  exact->SetParts({{"hidden", {0, 1, 6, 7, 12, 13}}});
  Hold(exact.get(), Range(0, kNumAwkward));
  const ProductTile expected = All(exact.get(), Range(0, kNumAwkward));
  for (const ProjectionKind kind : {ProjectionKind::kGaussian, ProjectionKind::kRademacher, ProjectionKind::kSparse}) {
    PotentialProductsOptions options = Options(DType::kF32);
    options.projection = {kind, 4096, 1};
    const std::unique_ptr<GradientProducts> products = Make(options, Point(true));
    products->SetParts({{"hidden", {0, 1, 6, 7, 12, 13}}});
    EXPECT_EQ(products->bytes_per_test(), 4096 * 4 + 8);
    Hold(products.get(), Range(0, kNumAwkward));
    const std::vector<double> held = products->TestNorms();
    const ProductTile tile = All(products.get(), Range(0, kNumAwkward));
    for (int64_t i = 0; i < kNumAwkward; ++i) {
      EXPECT_NEAR(held[i], tile.train_square[i], 1e-12 * held[i]);
      for (int64_t j = 0; j < kNumAwkward; ++j) {
        const double size = std::sqrt(expected.train_square[i] * expected.train_square[j]);
        EXPECT_NEAR(tile.product[i * kNumAwkward + j], expected.product[i * kNumAwkward + j], 6 * size / 64);
      }
    }
  }
}

TEST(PotentialProductsDeathTest, ProjectionsHaveOnePart) {
  PotentialProductsOptions options = Options();
  options.projection = {ProjectionKind::kSparse, 8, 1};
  const std::unique_ptr<GradientProducts> products = Make(options);
  EXPECT_DEATH(products->SetParts({{"a", {0}}, {"b", {1}}}), "a projection mixes the parts");
}

TEST(PotentialProductsDeathTest, SlicesAreInOnePart) {
  const std::unique_ptr<GradientProducts> products = Make(Options());
  EXPECT_DEATH(products->SetParts({{"a", {0, 3}}, {"b", {3}}}), "b: slice 3 comes twice");
}

TEST(PotentialProductsTest, Errors) {
  const AtomicData data = AwkwardStructures();
  const auto error = [&](const Potential& potential, const WeightedCheckpoint& point,
                         const PotentialProductsOptions& options) {
    const absl::Status status = MakePotentialProducts(potential, data, data, point, options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  PotentialProductsOptions options = Options();
  options.num_threads = 0;
  EXPECT_THAT(error(Model(), Point(), options), HasSubstr("--threads=0: expected at least 1"));
  options = Options(DType::kBF16);
  EXPECT_THAT(error(Model(), Point(), options), HasSubstr("--precision=BF16"));
  options = Options();
  options.projection = {ProjectionKind::kGaussian, 0};
  EXPECT_THAT(error(Model(), Point(), options), HasSubstr("--projection_dim=0"));
  Potential other = Model();
  other.descriptor.chebyshev().rad_cutoff = 3.75;
  EXPECT_THAT(error(other, Point(), Options()), HasSubstr("the training data has the descriptor"));
  WeightedCheckpoint point = Point();
  point.parameters = Tensor::Zeros(DType::kF64, {5});
  EXPECT_THAT(error(Model(), point, Options()), HasSubstr("the checkpoint has 5 parameters, but the model has"));
  point = Point(true);
  point.preconditioner = Tensor::Zeros(DType::kF64, {5});
  EXPECT_THAT(error(Model(), point, Options()), HasSubstr("the preconditioner has 5 numbers"));
  point = Point(true);
  point.preconditioner.mutable_values<double>()[3] = -1;
  EXPECT_THAT(error(Model(), point, Options()), HasSubstr("the preconditioner holds -1"));
  point = Point();
  point.loss_weight = {1, 1};
  EXPECT_THAT(error(Model(), point, Options()),
              HasSubstr("weighs 2 terms of the loss, but the loss has 3: energy, force"));
  point.loss_weight = {1, NAN, 1};
  EXPECT_THAT(error(Model(), point, Options()), HasSubstr("a term of the loss has the weight nan"));
}

// A repulsion is no part of what networks learn: products are those of data without it.
TEST(PotentialProductsTest, RepulsionIsSubtractedFromLabels) {
  const AtomicData data = AwkwardStructures();
  Potential model = Model();
  const size_t pairs = data.descriptor().species().size() * data.descriptor().species().size();
  model.repulsion = {std::vector<double>(pairs, 0.7), std::vector<double>(pairs, data.descriptor().cutoff())};
  const auto learned = LearnedLabels(data, model.repulsion, 1);
  ASSERT_TRUE(learned.ok()) << learned.status();
  ASSERT_NE(learned->energy(2), data.energy(2));
  auto found = MakePotentialProducts(model, data, data, Point(), Options(), ReferenceExampleGradient);
  ASSERT_TRUE(found.ok()) << found.status();
  const auto expected = Make(Options(), Point(), *learned, *learned), whole = Make(Options());
  const std::vector<int64_t> all = Range(0, kNumAwkward);
  for (GradientProducts* each : {found->get(), expected.get(), whole.get()}) ASSERT_TRUE(each->SetTests(all).ok());
  EXPECT_EQ(All(found->get(), all).product, All(expected.get(), all).product);
  EXPECT_NE(All(found->get(), all).product, All(whole.get(), all).product);
  std::vector<double> gradient(model.shape.num_parameters()), reference = gradient;
  ASSERT_TRUE((*found)->ReferenceTrainGradient(2, absl::MakeSpan(gradient)).ok());
  ASSERT_TRUE(expected->ReferenceTrainGradient(2, absl::MakeSpan(reference)).ok());
  EXPECT_EQ(gradient, reference);
}

}  // namespace
}  // namespace rutile
