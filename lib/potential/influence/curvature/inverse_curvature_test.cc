#include "lib/potential/influence/curvature/inverse_curvature.h"

#include <cmath>
#include <csignal>
#include <memory>
#include <numeric>
#include <vector>

#include "gtest/gtest.h"
#include "lib/base/interrupt.h"
#include "lib/base/random.h"
#include "lib/machine/parallel_for.h"

namespace rutile {
namespace {

std::vector<double> Normal(int64_t n, int stream) {
  RandomStream random(7, "inverse-curvature-test", stream, 0);
  std::vector<double> values(n);
  for (double& each : values) each = 2 * random.Uniform() - 1;
  return values;
}

struct Problem {
  int64_t rows, size;
  std::vector<double> x, damping;
  CurvatureLosses losses;

  // A v by its definition.
  std::vector<double> Times(const double* v, bool lost) const {
    std::vector<double> product(size);
    for (int64_t c = 0; c < size; ++c) product[c] = damping[c] * v[c];
    for (int64_t r = 0; r < rows; ++r) {
      const double along = std::inner_product(v, v + size, &x[r * size], 0.0);
      for (int64_t c = 0; c < size; ++c) product[c] += along * x[r * size + c];
    }
    for (size_t t = 0; lost && t < losses.divisor.size(); ++t) {
      const double* const u = &losses.vectors[t * size];
      const double along = std::inner_product(v, v + size, u, 0.0) / losses.divisor[t];
      for (int64_t c = 0; c < size; ++c) product[c] -= along * u[c];
    }
    return product;
  }
  std::vector<double> Matrix() const {
    std::vector<double> h(size * size, 0.0);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t a = 0; a < size; ++a) {
        for (int64_t b = 0; b <= a; ++b) h[a * size + b] += x[r * size + a] * x[r * size + b];
      }
    }
    return h;
  }
};

// share: of each combination of rows that A loses; 1 makes A singular along it but for the damping.
Problem Make(int64_t rows, int64_t size, int num_losses, double share) {
  Problem made = {rows, size, Normal(rows * size, 1), {}, {}};
  for (int64_t c = 0; c < size; ++c) made.damping.push_back(0.01 + 0.1 * static_cast<double>(c % 5));
  for (int t = 0; t < num_losses; ++t) {
    const std::vector<double> b = Normal(rows, 10 + t);
    double square = 0;
    std::vector<double> u(size, 0.0);
    for (int64_t r = t; r < rows; r += num_losses) {  // combinations of different rows
      square += b[r] * b[r];
      for (int64_t c = 0; c < size; ++c) u[c] += b[r] * made.x[r * size + c];
    }
    made.losses.vectors.insert(made.losses.vectors.end(), u.begin(), u.end());
    made.losses.divisor.push_back(square / share);
  }
  return made;
}

using Inverse = std::unique_ptr<InverseCurvature>;

Inverse OfRows(const Problem& problem, ThreadPool* pool, bool* lost) {
  return InverseOfRows(problem.x, problem.damping, problem.losses, pool, lost);
}
Inverse OfMatrix(const Problem& problem, ThreadPool* pool, bool* lost) {
  return InverseOfMatrix(problem.Matrix(), problem.damping, problem.losses, pool, lost);
}

void ExpectInverse(const Problem& problem, const Inverse& made, bool lost) {
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(made->size(), problem.size);
  const int64_t n = problem.size;
  constexpr int64_t kVectors = 3;
  const std::vector<double> v = Normal(kVectors * n, 2);
  std::vector<double> solved = v, half = v;
  made->Solve(kVectors, solved.data(), nullptr);
  made->SolveHalf(kVectors, half.data(), nullptr);
  for (int64_t a = 0; a < kVectors; ++a) {
    const std::vector<double> back = problem.Times(&solved[a * n], lost);
    for (int64_t c = 0; c < n; ++c) EXPECT_NEAR(back[c], v[a * n + c], 1e-9);
    for (int64_t b = 0; b < kVectors; ++b) {
      const double whole = std::inner_product(&v[a * n], &v[a * n] + n, &solved[b * n], 0.0);
      EXPECT_NEAR(std::inner_product(&half[a * n], &half[a * n] + n, &half[b * n], 0.0), whole,
                  1e-9 * (1 + std::abs(whole)));
    }
  }
  double trace = 0;  // tr(D A^-1) by its definition
  for (int64_t c = 0; c < n; ++c) {
    std::vector<double> unit(n, 0.0);
    unit[c] = problem.damping[c];
    made->Solve(1, unit.data(), nullptr);
    trace += unit[c];
  }
  EXPECT_NEAR(made->damping_trace(), trace, 1e-9 * static_cast<double>(n));
}

TEST(InverseCurvatureTest, EitherFormIsTheInverse) {
  for (const auto& [rows, size] : {std::pair<int, int>{1, 1}, {1, 9}, {5, 40}, {7, 7}, {30, 11}, {130, 150}}) {
    for (const int losses : {0, 1, 3}) {
      if (losses > rows) continue;
      SCOPED_TRACE(testing::Message() << rows << " rows, " << size << " parameters, " << losses << " losses");
      // Losses of whole combinations, as a root of a mean has, leave the damping alone along them.
      for (const double share : {0.5, 1.0}) {
        const Problem problem = Make(rows, size, losses, share);
        bool lost = false;
        ExpectInverse(problem, OfRows(problem, nullptr, &lost), true);
        EXPECT_TRUE(lost);
        ExpectInverse(problem, OfMatrix(problem, nullptr, &lost), true);
        EXPECT_TRUE(lost);
      }
    }
  }
}

TEST(InverseCurvatureTest, WhatWouldMakeItIndefiniteIsLeftOut) {
  const Problem problem = Make(5, 40, 2, /*share=*/30);
  bool lost = true;
  ExpectInverse(problem, OfRows(problem, nullptr, &lost), false);
  EXPECT_FALSE(lost);
  lost = true;
  ExpectInverse(problem, OfMatrix(problem, nullptr, &lost), false);
  EXPECT_FALSE(lost);
}

TEST(InverseCurvatureTest, ThreadsHaveTheSameBits) {
  const Problem problem = Make(300, 400, 3, 1);
  ThreadPool two(2);
  bool lost = false;
  for (const auto make : {OfRows, OfMatrix}) {
    const Inverse one = make(problem, nullptr, &lost), other = make(problem, &two, &lost);
    std::vector<double> a = Normal(5 * 400, 3), b = a;
    one->Solve(5, a.data(), nullptr);
    other->Solve(5, b.data(), &two);
    EXPECT_EQ(a, b);
    one->SolveHalf(5, a.data(), nullptr);
    other->SolveHalf(5, b.data(), &two);
    EXPECT_EQ(a, b);
    EXPECT_EQ(one->damping_trace(), other->damping_trace());
  }
}

// Null is no verdict on the curvature then: callers ask CheckInterrupt first.
TEST(InverseCurvatureTest, ASignalEndsTheFactoring) {
  for (const int losses : {0, 2}) {
    const Problem problem = Make(20, 30, losses, 0.5);
    SetInterruptForTest(SIGINT);
    bool lost = false;
    EXPECT_EQ(OfRows(problem, nullptr, &lost), nullptr);
    EXPECT_EQ(OfMatrix(problem, nullptr, &lost), nullptr);
    SetInterruptForTest(0);
    EXPECT_NE(OfRows(problem, nullptr, &lost), nullptr);
    EXPECT_NE(OfMatrix(problem, nullptr, &lost), nullptr);
  }
}

TEST(InverseCurvatureTest, TheFactorIsOfTheMatrixAlone) {
  const Problem problem = Make(4, 6, 0, 1);
  bool lost = false;
  const std::vector<double> factor = OfMatrix(problem, nullptr, &lost)->Factor();
  ASSERT_EQ(factor.size(), 36u);
  EXPECT_EQ(factor[1], 0);
  EXPECT_NEAR(factor[0] * factor[0], problem.Matrix()[0] + problem.damping[0], 1e-12);
  EXPECT_TRUE(OfRows(problem, nullptr, &lost)->Factor().empty());
}

TEST(InverseCurvatureTest, TooLittleDampingIsRefused) {
  Problem problem = Make(5, 40, 0, 1);
  problem.damping.assign(40, 1e-30);
  bool lost = false;
  EXPECT_EQ(OfRows(problem, nullptr, &lost), nullptr);
}

}  // namespace
}  // namespace rutile
