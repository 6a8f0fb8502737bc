#include "lib/influence/top_scores.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct List {
  std::vector<int64_t> train;
  std::vector<double> score, part;
};

List Take(TopScores* top) {
  List list;
  top->AppendSorted(&list.train, &list.score, &list.part);
  return list;
}

double NoPart(int64_t) { return 0; }

// Adds the scores in this order, after the comparison with low() and high() that callers make.
List Top(InfluenceRanking ranking, int64_t k, const std::vector<std::pair<double, int64_t>>& scores) {
  TopScores top(ranking, k, 0);
  for (const auto& [score, train] : scores) {
    if (!(top.low() < score && score < top.high())) top.Add(score, train, NoPart);
  }
  return Take(&top);
}

// Computes the list by its definition, sorting all.
List Sorted(InfluenceRanking ranking, int64_t k, std::vector<std::pair<double, int64_t>> scores) {
  const auto key = [ranking](double s) {
    return ranking == InfluenceRanking::kLowest ? -s : ranking == InfluenceRanking::kAbsolute ? std::abs(s) : s;
  };
  std::sort(scores.begin(), scores.end(), [&](const auto& a, const auto& b) {
    return key(a.first) != key(b.first) ? key(a.first) > key(b.first) : a.second < b.second;
  });
  List list;
  if (ranking == InfluenceRanking::kBoth && k > 0) {
    const List high = Sorted(InfluenceRanking::kHighest, k, scores), low = Sorted(InfluenceRanking::kLowest, k, scores);
    for (const auto& [score, train] : scores) {
      const auto in = [train = train](const List& l) {
        return std::find(l.train.begin(), l.train.end(), train) != l.train.end();
      };
      if (in(high) || in(low)) {
        list.train.push_back(train);
        list.score.push_back(score);
      }
    }
    return list;
  }
  for (size_t i = 0; i < scores.size() && (k == 0 || i < static_cast<size_t>(k)); ++i) {
    list.train.push_back(scores[i].second);
    list.score.push_back(scores[i].first);
  }
  return list;
}

constexpr InfluenceRanking kAll[] = {InfluenceRanking::kHighest, InfluenceRanking::kLowest, InfluenceRanking::kAbsolute,
                                     InfluenceRanking::kBoth};

TEST(TopScoresTest, ListsInTheRankingsOrder) {
  const std::vector<std::pair<double, int64_t>> scores = {{1, 0}, {-3, 1}, {2, 2}, {0, 3}, {-1, 4}};
  EXPECT_THAT(Top(InfluenceRanking::kHighest, 2, scores).train, ElementsAre(2, 0));
  EXPECT_THAT(Top(InfluenceRanking::kLowest, 2, scores).train, ElementsAre(1, 4));
  EXPECT_THAT(Top(InfluenceRanking::kAbsolute, 3, scores).train, ElementsAre(1, 2, 0));
  EXPECT_THAT(Top(InfluenceRanking::kBoth, 2, scores).train, ElementsAre(2, 0, 4, 1));
  EXPECT_THAT(Top(InfluenceRanking::kBoth, 2, scores).score, ElementsAre(2, 1, -1, -3));
}

TEST(TopScoresTest, ListsEachOnceWhereThereAreFew) {
  const std::vector<std::pair<double, int64_t>> scores = {{1, 7}, {-3, 1}, {2, 2}};
  EXPECT_THAT(Top(InfluenceRanking::kBoth, 2, scores).train, ElementsAre(2, 7, 1));
  EXPECT_THAT(Top(InfluenceRanking::kHighest, 100, scores).train, ElementsAre(2, 7, 1));
  EXPECT_THAT(Top(InfluenceRanking::kHighest, 100, {}).train, IsEmpty());
}

// Scores have few values, so that most are tied; sizes are around the points where lists are pruned.
TEST(TopScoresTest, EqualsFullSortWithTiesInAnyOrder) {
  for (const InfluenceRanking ranking : kAll) {
    for (const int64_t n : {1, 15, 16, 17, 200, 1000}) {
      for (const int64_t k : {0, 1, 3, 8, 16, 150, 2000}) {
        for (const int values : {2, 7, 1000000}) {
          RandomStream stream(n, "scores", k, values);
          std::vector<std::pair<double, int64_t>> scores;
          for (int64_t i = 0; i < n; ++i) {
            scores.emplace_back(static_cast<double>(stream.Below(values)) - values / 2, i);
          }
          const List expected = Sorted(ranking, k, scores);
          for (int order = 0; order < 3; ++order) {
            const List list = Top(ranking, k, scores);
            ASSERT_EQ(list.train, expected.train) << InfluenceRankingName(ranking) << " n " << n << " k " << k;
            ASSERT_EQ(list.score, expected.score);
            if (order == 0) std::reverse(scores.begin(), scores.end());
            for (size_t i = 0; order == 1 && i < scores.size(); ++i) {
              std::swap(scores[i], scores[stream.Below(scores.size())]);
            }
          }
        }
      }
    }
  }
}

TEST(TopScoresTest, PartsStayWithTheirScores) {
  for (const InfluenceRanking ranking : kAll) {
    TopScores top(ranking, 5, 3);
    RandomStream stream(3, "parts");
    for (int64_t i = 0; i < 500; ++i) {
      const double score = stream.Uniform(-1, 1);
      top.Add(score, i, [&](int64_t p) { return score * static_cast<double>(p + 1); });
    }
    const List list = Take(&top);
    ASSERT_EQ(list.part.size(), 3 * list.score.size());
    for (size_t i = 0; i < list.score.size(); ++i) {
      for (int p = 0; p < 3; ++p) EXPECT_EQ(list.part[3 * i + p], list.score[i] * (p + 1));
    }
  }
}

// Scores that are not finite must reach the caller, whatever has been added.
TEST(TopScoresTest, WhatIsNotFiniteIsNeverBetweenLowAndHigh) {
  const double bad[] = {std::nan(""), INFINITY, -INFINITY};
  for (const InfluenceRanking ranking : kAll) {
    TopScores top(ranking, 3, 0);
    for (int64_t i = 0; i < 100; ++i) {
      for (const double score : bad) EXPECT_FALSE(top.low() < score && score < top.high());
      top.Add(static_cast<double>(i % 10) - 5, i, NoPart);
    }
  }
}

}  // namespace
}  // namespace rutile
