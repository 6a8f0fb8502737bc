#include "lib/kge/influence/row_projection.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "lib/base/random.h"

namespace rutile {
namespace {

constexpr ProjectionKind kKinds[] = {ProjectionKind::kGaussian, ProjectionKind::kRademacher, ProjectionKind::kSparse};

std::vector<double> Random(int64_t n, int64_t purpose) {
  RandomStream stream(1, "row projection test", 0, purpose);
  std::vector<double> values(n);
  for (double& value : values) value = stream.Normal();
  return values;
}

std::vector<double> Project(const RowProjection<double>& projection, const std::vector<double>& a, int64_t rows) {
  std::vector<double> out(rows * projection.width(), std::nan(""));
  projection.Apply(a.data(), rows, nullptr, out.data());
  return out;
}

double Dot(const double* a, const double* b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

// Returns R, by projecting the unit vectors.
std::vector<double> Matrix(const RowProjection<double>& projection, int64_t n) {
  std::vector<double> units(n * n);
  for (int64_t i = 0; i < n; ++i) units[i * n + i] = 1;
  return Project(projection, units, n);
}

TEST(RowProjectionTest, NumbersOfTheMatrix) {
  for (const int64_t dim : {1, 5, 16, 37, 100}) {
    constexpr int64_t kN = 83;
    for (const ProjectionKind kind : kKinds) {
      const RowProjection<double> projection({kind, dim, 3}, kN, "x");
      const std::vector<double> matrix = Matrix(projection, kN);
      const int64_t width = projection.width();
      ASSERT_GE(width, dim);
      double sum = 0, squares = 0;
      for (int64_t i = 0; i < kN; ++i) {
        int64_t nonzero = 0;
        for (int64_t d = 0; d < width; ++d) {
          const double value = matrix[i * width + d];
          nonzero += value != 0 ? 1 : 0;
          const double size = d >= dim ? 0 : kind == ProjectionKind::kSparse ? 1 : 1 / std::sqrt(dim);
          if (kind != ProjectionKind::kGaussian || d >= dim) {
            EXPECT_TRUE(value == 0 || std::abs(value) == size) << value;
          }
          sum += value;
          squares += value * value;
        }
        EXPECT_EQ(nonzero, kind == ProjectionKind::kSparse ? 1 : dim);
      }
      const double numbers = static_cast<double>(kN * dim);
      EXPECT_NEAR(squares, kN, kind == ProjectionKind::kGaussian ? 6 * kN * std::sqrt(2 / numbers) : 1e-9);
      EXPECT_LT(std::abs(sum), 6 * std::sqrt(static_cast<double>(kN)));
    }
  }
}

TEST(RowProjectionTest, ASparseOneSharesColumnsOnlyBeyondTheDimension) {
  const RowProjection<double> projection({ProjectionKind::kSparse, 10, 0}, 35, "x");
  const std::vector<double> matrix = Matrix(projection, 35);
  for (int64_t first = 0; first < 35; first += 10) {
    std::set<int64_t> columns;
    for (int64_t i = first; i < std::min<int64_t>(first + 10, 35); ++i) {
      for (int64_t d = 0; d < 10; ++d) {
        if (matrix[i * 10 + d] == 0) continue;
        EXPECT_TRUE(columns.insert(d).second);
      }
    }
  }
}

// Over many seeds there is no bias, and a deviation of sqrt((|a|^2 |b|^2 + <a, b>^2) / dim) at most.
TEST(RowProjectionTest, ProductsAreRightOnAverage) {
  constexpr int64_t kN = 60, kDim = 12, kSeeds = 4000;
  const std::vector<double> a = Random(kN, 1);
  std::vector<double> b = Random(kN, 2);
  for (int64_t i = 0; i < kN; ++i) b[i] += 0.5 * a[i];
  const double exact = Dot(a.data(), b.data(), kN);
  const double most = std::sqrt((Dot(a.data(), a.data(), kN) * Dot(b.data(), b.data(), kN) + exact * exact) / kDim);
  for (const ProjectionKind kind : kKinds) {
    double sum = 0, squares = 0;
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
      const RowProjection<double> projection({kind, kDim, seed}, kN, "x");
      const std::vector<double> x = Project(projection, a, 1), y = Project(projection, b, 1);
      const double error = Dot(x.data(), y.data(), projection.width()) - exact;
      sum += error;
      squares += error * error;
    }
    EXPECT_LT(std::abs(sum / kSeeds), 4 * most / std::sqrt(static_cast<double>(kSeeds)));
    EXPECT_LT(std::sqrt(squares / kSeeds), 1.1 * most);
  }
}

TEST(RowProjectionTest, FollowsFromSeedAndPurposeNotFromThreadsOrCompany) {
  const std::vector<double> a = Random(50 * 70, 1);
  ThreadPool pool(3);
  for (const ProjectionKind kind : kKinds) {
    const RowProjection<double> projection({kind, 20, 3}, 70, "x"), again({kind, 20, 3}, 70, "x");
    const std::vector<double> all = Project(projection, a, 50);
    EXPECT_EQ(Project(again, a, 50), all);
    EXPECT_NE(Project(RowProjection<double>({kind, 20, 4}, 70, "x"), a, 50), all);
    EXPECT_NE(Project(RowProjection<double>({kind, 20, 3}, 70, "y"), a, 50), all);
    std::vector<double> out(all.size());
    projection.Apply(a.data(), 50, &pool, out.data());
    EXPECT_EQ(out, all);
    for (const int64_t row : {0, 17, 49}) {
      const std::vector<double> one = Project(projection, {a.begin() + row * 70, a.begin() + (row + 1) * 70}, 1);
      EXPECT_TRUE(std::equal(one.begin(), one.end(), all.begin() + row * projection.width()));
    }
  }
}

}  // namespace
}  // namespace rutile
