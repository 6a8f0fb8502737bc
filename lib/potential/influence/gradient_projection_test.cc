#include "lib/potential/influence/gradient_projection.h"

#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/task/projection_options.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

constexpr ProjectionKind kKinds[] = {ProjectionKind::kGaussian, ProjectionKind::kRademacher, ProjectionKind::kSparse};

std::vector<double> Random(int64_t n, uint64_t seed) {
  RandomStream stream(seed, "projection test");
  std::vector<double> values(n);
  for (double& v : values) v = stream.Normal();
  return values;
}

double Dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

std::vector<double> Project(const ProjectionOptions& options, const std::vector<double>& a) {
  const GradientProjection<double> projection(options, static_cast<int64_t>(a.size()));
  std::vector<double> out(projection.dim(), 3.0);
  projection.Apply(1, a.data(), out.data());
  return out;
}

TEST(ProjectionKindTest, NamesRoundTrip) {
  for (const ProjectionKind kind : kKinds) EXPECT_EQ(*ParseProjectionKind(ProjectionKindName(kind)), kind);
  EXPECT_EQ(*ParseProjectionKind("none"), ProjectionKind::kNone);
  EXPECT_THAT(ParseProjectionKind("normal").status().message(), HasSubstr("gaussian, rademacher and sparse"));
}

TEST(ProjectionOptionsTest, Range) {
  EXPECT_TRUE(CheckProjectionOptions({ProjectionKind::kNone, -1}).ok());
  EXPECT_TRUE(CheckProjectionOptions({ProjectionKind::kSparse, 1}).ok());
  EXPECT_THAT(CheckProjectionOptions({ProjectionKind::kSparse, 0}).message(),
              HasSubstr("--projection_dim=0: expected a number from 1 to 1048576"));
}

// Averages over seeds: products are right on average, and their deviation falls with the root of dim, as Var(<Ra, Rb>)
// = (|a|^2 |b|^2 + <a, b>^2 (- small terms)) / dim for all three kinds.
TEST(GradientProjectionTest, ProductsAreRightOnAverage) {
  const std::vector<double> a = Random(300, 1);
  std::vector<double> b = Random(300, 2);
  for (size_t i = 0; i < b.size(); ++i) b[i] = 0.6 * a[i] + 0.8 * b[i];
  const double exact = Dot(a, b), size = Dot(a, a) * Dot(b, b) + exact * exact;
  for (const ProjectionKind kind : kKinds) {
    for (const int64_t dim : {16, 256}) {
      constexpr int kSeeds = 200;
      double mean = 0, square = 0;
      for (uint64_t seed = 0; seed < kSeeds; ++seed) {
        const ProjectionOptions options{kind, dim, seed};
        const double product = Dot(Project(options, a), Project(options, b));
        mean += product / kSeeds;
        square += (product - exact) * (product - exact) / kSeeds;
      }
      const double deviation = std::sqrt(size / dim);
      EXPECT_NEAR(mean, exact, 4 * deviation / std::sqrt(kSeeds)) << ProjectionKindName(kind) << " " << dim;
      EXPECT_NEAR(std::sqrt(square), deviation, 0.25 * deviation) << ProjectionKindName(kind) << " " << dim;
    }
  }
}

TEST(GradientProjectionTest, RowsDoNotMixAndSeedsDiffer) {
  const std::vector<double> rows = Random(3 * 70, 3);
  for (const ProjectionKind kind : kKinds) {
    const ProjectionOptions options{kind, 9, 4};
    const GradientProjection<double> projection(options, 70);
    std::vector<double> all(3 * 9);
    projection.Apply(3, rows.data(), all.data());
    for (int r = 0; r < 3; ++r) {
      const std::vector<double> row(rows.begin() + 70 * r, rows.begin() + 70 * (r + 1));
      EXPECT_EQ(Project(options, row), std::vector<double>(all.begin() + 9 * r, all.begin() + 9 * (r + 1)));
      EXPECT_NE(Project({kind, 9, 5}, row), Project(options, row));
    }
  }
}

TEST(GradientProjectionTest, SparseMovesEachNumberOnce) {
  for (int p = 0; p < 5; ++p) {
    std::vector<double> unit(5, 0.0);
    unit[p] = 2;
    int filled = 0;
    for (const double v : Project({ProjectionKind::kSparse, 7, 1}, unit)) {
      if (v == 0) continue;
      EXPECT_EQ(std::abs(v), 2);
      ++filled;
    }
    EXPECT_EQ(filled, 1);
  }
}

}  // namespace
}  // namespace rutile
