// An interrupted computation resumes to the same bits.

#include <memory>
#include <numeric>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/influence/dense_products_testing.h"
#include "lib/influence/same_influence_testing.h"
#include "lib/influence/tracin.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

struct Problem {
  Problem() : train(33), tests(5) {
    std::iota(train.rbegin(), train.rend(), 0);
    std::iota(tests.begin(), tests.end(), 1);
    for (int c = 0; c < 2; ++c) {
      products.push_back(std::make_unique<DenseProducts>(33, 7, c));
      checkpoints.push_back(products.back().get());
    }
  }
  InfluenceInputs inputs() const { return {checkpoints, rates, train, tests, {}}; }

  std::vector<std::unique_ptr<DenseProducts>> products;
  std::vector<GradientProducts*> checkpoints;
  std::vector<double> rates = {0.3, 0.1};
  std::vector<int64_t> train, tests;
};

// Ends a computation after `tiles` tiles and returns its state.
InfluenceState CutOff(const Problem& problem, const TracInOptions& options, int tiles, const InfluenceState* resume) {
  InfluenceState state;
  InfluenceHooks hooks;
  hooks.resume = resume;
  hooks.progress = [&](int64_t, int64_t) {
    return --tiles > 0 ? absl::OkStatus() : absl::CancelledError("interrupted");
  };
  hooks.save = [&](const InfluenceState& s) {
    state = s;
    return absl::OkStatus();
  };
  const absl::Status status = ComputeInfluence(problem.inputs(), options, hooks).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  return state;
}

TEST(TracInResumeTest, EqualsTheUninterrupted) {
  const Problem problem;
  TracInOptions options;
  options.top_k = 4;
  for (const InfluenceRanking ranking : {InfluenceRanking::kHighest, InfluenceRanking::kBoth}) {
    for (const bool parts : {false, true}) {
      for (const int64_t tests_per_pass : {0, 2}) {  // 0: one pass
        options.ranking = ranking;
        options.normalization = parts ? InfluenceNormalization::kCosine : InfluenceNormalization::kNone;
        options.train_self = options.test_self = options.part_scores = parts;
        options.parts = parts ? std::vector<ProductPart>{{"a", {0}}, {"c", {3}}} : std::vector<ProductPart>{};
        options.memory_limit = tests_per_pass * 2 * (100 + 8 * 7 * (parts ? 2 : 1));
        const absl::StatusOr<Influence> whole = ComputeInfluence(problem.inputs(), options);
        ASSERT_TRUE(whole.ok());
        // A pass has five tiles, and there are three passes with two tests at a time.
        for (const int cut : {1, 2, 4, 5, 6, 14}) {
          if (tests_per_pass == 0 && cut > 5) continue;
          InfluenceState state = CutOff(problem, options, cut, nullptr);
          if (cut == 2) state = CutOff(problem, options, 2, &state);  // and once more
          InfluenceHooks hooks;
          hooks.resume = &state;
          const absl::StatusOr<Influence> resumed = ComputeInfluence(problem.inputs(), options, hooks);
          ASSERT_TRUE(resumed.ok()) << resumed.status() << " cut " << cut;
          ExpectSame(*resumed, *whole);
        }
      }
    }
  }
}

TEST(TracInResumeTest, SavesAsOftenAsAskedAndGoesOnFromAnyState) {
  const Problem problem;
  TracInOptions options;
  std::vector<InfluenceState> states;
  InfluenceHooks hooks;
  hooks.save_seconds = 0;
  hooks.save = [&](const InfluenceState& state) {
    states.push_back(state);
    return absl::OkStatus();
  };
  const absl::StatusOr<Influence> whole = ComputeInfluence(problem.inputs(), options, hooks);
  ASSERT_EQ(states.size(), 5);
  for (const InfluenceState& state : states) {
    InfluenceHooks resume;
    resume.resume = &state;
    ExpectSame(*ComputeInfluence(problem.inputs(), options, resume), *whole);
  }
  states.clear();
  hooks.save_seconds = 1000;
  ASSERT_TRUE(ComputeInfluence(problem.inputs(), options, hooks).ok());
  EXPECT_TRUE(states.empty());
}

TEST(TracInResumeTest, ProgressCountsAllPasses) {
  const Problem problem;
  TracInOptions options;
  options.memory_limit = 2 * 2 * (100 + 8 * 7);
  std::vector<int64_t> done;
  InfluenceHooks hooks;
  hooks.progress = [&](int64_t d, int64_t total) {
    EXPECT_EQ(total, 3 * 33);
    done.push_back(d);
    return absl::OkStatus();
  };
  ASSERT_TRUE(ComputeInfluence(problem.inputs(), options, hooks).ok());
  EXPECT_EQ(done.size(), 15);
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
  EXPECT_EQ(done.front(), 7);
  EXPECT_EQ(done.back(), 99);
}

TEST(TracInResumeTest, ErrorOfSavingEndsTheComputation) {
  const Problem problem;
  InfluenceHooks hooks;
  hooks.save_seconds = 0;
  hooks.save = [](const InfluenceState&) { return absl::ResourceExhaustedError("disk full"); };
  EXPECT_EQ(ComputeInfluence(problem.inputs(), {}, hooks).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(TracInResumeTest, StateOfAnotherComputationIsRefused) {
  Problem problem;
  TracInOptions options;
  const InfluenceState state = CutOff(problem, options, 2, nullptr);
  const auto error = [&](const Problem& s, const TracInOptions& o) {
    InfluenceHooks hooks;
    hooks.resume = &state;
    return std::string(ComputeInfluence(s.inputs(), o, hooks).status().message());
  };
  EXPECT_EQ(error(problem, options), "");
  TracInOptions other = options;
  other.threads = 2;  // does not affect the result
  EXPECT_EQ(error(problem, other), "");
  other = options;
  other.top_k = 3;
  EXPECT_THAT(error(problem, other), HasSubstr("another computation"));
  problem.rates[1] = 0.11;
  EXPECT_THAT(error(problem, options), HasSubstr("another computation"));
  problem.rates[1] = 0.1;
  std::swap(problem.tests[0], problem.tests[1]);
  EXPECT_THAT(error(problem, options), HasSubstr("another computation"));
}

TEST(TracInResumeTest, StateThatContradictsItselfIsRefused) {
  const Problem problem;
  TracInOptions options;
  options.train_self = true;
  const InfluenceState good = CutOff(problem, options, 2, nullptr);
  const std::vector<std::vector<int64_t>> places = {{0, 13}, {0, 21}, {1, 14}, {-1, 14}, {0, -7}, {0, 1000}};
  for (const std::vector<int64_t>& place : places) {
    InfluenceState bad = good;
    bad.tensors.Set("place", Tensor::Of(place));
    InfluenceHooks hooks;
    hooks.resume = &bad;
    EXPECT_THAT(std::string(ComputeInfluence(problem.inputs(), options, hooks).status().message()),
                HasSubstr("does not fit"));
  }
}

}  // namespace
}  // namespace rutile
