#include "lib/influence/score_sums.h"

#include <cmath>
#include <limits>
#include <tuple>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"

namespace rutile {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
using Found = std::tuple<int64_t, int64_t, double>;  // test, training example, score

std::vector<double> Random(int64_t n, int64_t purpose) {
  RandomStream stream(1, "score sums", n, purpose);
  std::vector<double> values(n);
  for (double& value : values) value = stream.Uniform(-1, 1);
  return values;
}

std::vector<Found> Find(absl::Span<const ScoreTerm> terms, int64_t b, int64_t h, int64_t first, int64_t last,
                        std::vector<ScoreBounds> bounds) {
  std::vector<Found> all;
  FindScores(terms, b, h, first, last, absl::MakeSpan(bounds), [&](int64_t i, int64_t j, double score) {
    all.emplace_back(j, i, score);
    return true;
  });
  std::sort(all.begin(), all.end());
  return all;
}

// There are one column, several to a block, a block, and more than one; rows do not fill the last group.
TEST(ScoreSumsTest, FindsWhatALoopFinds) {
  for (const int64_t h : {1, 3, 63, 64, 200, 256, 257, 600}) {
    for (const int64_t b : {1, 7, 300}) {
      const std::vector<double> x = Random(b * h, 1), y = Random(b * h, 2), row = Random(b, 3), column = Random(h, 4);
      const std::vector<ScoreTerm> plain = {{x.data(), 0.5, nullptr, nullptr}};
      const std::vector<ScoreTerm> scaled = {{x.data(), 0.5, row.data(), nullptr},
                                             {y.data(), 0.25, row.data(), column.data()},
                                             {y.data(), 2, nullptr, column.data()},
                                             {y.data(), 3, nullptr, nullptr}};
      for (const std::vector<ScoreTerm>* terms : {&plain, &scaled}) {
        for (const int64_t first : {int64_t{0}, h / 2}) {
          std::vector<ScoreBounds> bounds;
          for (int64_t j = first; j < h; ++j) bounds.push_back({-0.4, 0.01 * static_cast<double>(j % 30)});
          std::vector<Found> expected;
          for (int64_t j = first; j < h; ++j) {
            for (int64_t i = 0; i < b; ++i) {
              double score = 0;
              for (const ScoreTerm& term : *terms) score += term.At(h, i, j);
              const ScoreBounds& bound = bounds[j - first];
              if (score <= bound.low || score >= bound.high) expected.emplace_back(j, i, score);
            }
          }
          EXPECT_EQ(Find(*terms, b, h, first, h, bounds), expected) << b << " x " << h << " from " << first;
        }
      }
    }
  }
}

TEST(ScoreSumsTest, BoundsThatMoveCountForWhatFollows) {
  for (const int64_t h : {1, 5, 300}) {
    std::vector<double> x;
    for (int64_t i = 0; i < 400; ++i) {
      for (int64_t j = 0; j < h; ++j) x.push_back(static_cast<double>((i * 7 + j) % 100));
    }
    std::vector<ScoreBounds> bounds(h, {-kInfinity, -kInfinity});
    const ScoreTerm term = {x.data(), 1, nullptr, nullptr};
    // Each reported score becomes the bound, so that only records are reported.
    FindScores({term}, 400, h, 0, h, absl::MakeSpan(bounds), [&](int64_t i, int64_t j, double score) {
      EXPECT_GE(score, bounds[j].high);
      bounds[j].high = score;
      return true;
    });
    for (const ScoreBounds& bound : bounds) EXPECT_EQ(bound.high, 99);
  }
}

TEST(ScoreSumsTest, FindsWhatIsNotFinite) {
  for (const double bad : {std::nan(""), kInfinity, -kInfinity}) {
    for (const int64_t h : {1, 7, 300}) {
      std::vector<double> x(20 * h, 0.5);
      x[13 * h + h / 2] = bad;
      const ScoreTerm term = {x.data(), 1, nullptr, nullptr};
      std::vector<ScoreBounds> bounds(h, {-kInfinity, 1});
      if (bad < 0) bounds.assign(h, {-1, kInfinity});
      int found = 0;
      FindScores({term}, 20, h, 0, h, absl::MakeSpan(bounds), [&](int64_t i, int64_t j, double) {
        EXPECT_EQ(i, 13);
        EXPECT_EQ(j, h / 2);
        ++found;
        return true;
      });
      EXPECT_EQ(found, 1);
    }
  }
}

TEST(ScoreSumsTest, StopsWhenTold) {
  const std::vector<double> x(100, 1);
  std::vector<ScoreBounds> bounds(10, {-kInfinity, 0});
  const ScoreTerm term = {x.data(), 1, nullptr, nullptr};
  int found = 0;
  FindScores({term}, 10, 10, 0, 10, absl::MakeSpan(bounds), [&](int64_t, int64_t, double) { return ++found < 3; });
  EXPECT_EQ(found, 3);
}

}  // namespace
}  // namespace rutile
