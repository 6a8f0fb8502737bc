#include "lib/influence/lazy_products.h"

#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/influence/dense_products_testing.h"
#include "lib/influence/same_influence_testing.h"
#include "lib/influence/tracin.h"
#include "lib/influence/tracin_options.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

// Checkpoints that count how often they are opened, and how many are open at one time.
struct Problem {
  explicit Problem(int num_checkpoints) : train(40), tests(6) {
    std::iota(train.begin(), train.end(), 0);
    std::iota(tests.begin(), tests.end(), 0);
    for (int c = 0; c < num_checkpoints; ++c) {
      dense.push_back(std::make_unique<DenseProducts>(40, 6, c));
      all.push_back(dense.back().get());
      rates.push_back(0.1 * (c + 1));
      lazy.push_back(std::move(*LazyProducts::Create([this, c] { return Open(c); })));
      lazy.back()->Release();
      turns.push_back(lazy.back().get());
    }
    opened = 0;
  }
  absl::StatusOr<std::unique_ptr<GradientProducts>> Open(int c) {
    struct Counted : DenseProducts {
      Counted(Problem* problem, int c) : DenseProducts(40, 6, c), problem(problem) {
        ++problem->opened;
        problem->most = std::max(problem->most, ++problem->now);
      }
      ~Counted() override { --problem->now; }
      Problem* problem;
    };
    return std::unique_ptr<GradientProducts>(std::make_unique<Counted>(this, c));
  }
  InfluenceInputs inputs(const std::vector<GradientProducts*>& checkpoints) const {
    return {checkpoints, rates, train, tests, {}};
  }

  std::vector<std::unique_ptr<DenseProducts>> dense;
  std::vector<std::unique_ptr<LazyProducts>> lazy;
  std::vector<GradientProducts*> all, turns;
  std::vector<double> rates;
  std::vector<int64_t> train, tests;
  int opened = 0, now = 0, most = 0;
};

TracInOptions Everything() {
  TracInOptions options;
  options.top_k = 5;
  options.train_self = options.test_self = options.part_scores = true;
  options.parts = {{"front", {0, 1}}, {"back", {3}}};
  return options;
}

TEST(LazyProductsTest, InTurnsScoresAreTheSameBits) {
  Problem problem(5);
  for (const InfluenceNormalization normalization :
       {InfluenceNormalization::kNone, InfluenceNormalization::kCosine, InfluenceNormalization::kTrainNorm}) {
    for (const int64_t memory : {0, 4000, 20000}) {
      for (const bool weighted : {false, true}) {
        for (const int64_t at_once : {1, 2, 4, 5, 9}) {
          TracInOptions options = Everything();
          options.normalization = normalization;
          if (weighted) options.test_weight = {1, 0, 2, 0, 0, -1};
          const absl::StatusOr<Influence> whole = ComputeInfluence(problem.inputs(problem.all), options);
          ASSERT_TRUE(whole.ok()) << whole.status();
          options.memory_limit = memory;
          options.checkpoints_at_once = at_once;
          problem.most = 0;
          const absl::StatusOr<Influence> turns = ComputeInfluence(problem.inputs(problem.turns), options);
          ASSERT_TRUE(turns.ok()) << turns.status();
          ExpectSame(*turns, *whole);
          EXPECT_EQ(problem.most, std::min<int64_t>(at_once, 5));
          for (const auto& each : problem.lazy) each->Release();
        }
      }
    }
  }
}

TEST(LazyProductsTest, PartsOfTheOutputAlone) {
  Problem problem(3);
  for (const bool of_tests : {false, true}) {
    TracInOptions options = Everything();
    options.scores = false;
    options.test_self = of_tests;
    options.train_self = !of_tests;
    const absl::StatusOr<Influence> whole = ComputeInfluence(problem.inputs(problem.all), options);
    options.checkpoints_at_once = 1;
    options.memory_limit = 4000;
    ExpectSame(*ComputeInfluence(problem.inputs(problem.turns), options), *whole);
  }
}

TEST(LazyProductsTest, ABlockTakesEachCheckpointOnce) {
  Problem problem(4);
  TracInOptions options;
  options.checkpoints_at_once = 2;
  ASSERT_TRUE(ComputeInfluence(problem.inputs(problem.turns), options).ok());
  EXPECT_EQ(problem.opened, 4);
  // The limit is for two tiles of 7 rows and 6 tests; half of it is for sums.
  options.memory_limit = 2 * (14 * 6 * 8 + 7);
  problem.opened = 0;
  ASSERT_TRUE(ComputeInfluence(problem.inputs(problem.turns), options).ok());
  EXPECT_GT(problem.opened, 4 * 3 - 1);
}

TEST(LazyProductsTest, StoppedInABlockAndGoneOnWith) {
  Problem problem(3);
  TracInOptions options = Everything();
  options.checkpoints_at_once = 1;
  options.memory_limit = 8000;
  const absl::StatusOr<Influence> whole = ComputeInfluence(problem.inputs(problem.all), Everything());
  for (const int calls : {1, 3, 8, 15, 20}) {
    InfluenceState state;
    InfluenceHooks hooks;
    int left = calls;
    int64_t last = 0;
    hooks.progress = [&](int64_t done, int64_t total) {
      EXPECT_LE(last, done);
      EXPECT_LE(done, total);
      last = done;
      return --left > 0 ? absl::OkStatus() : absl::CancelledError("interrupted");
    };
    hooks.save = [&](const InfluenceState& s) {
      state = s;
      return absl::OkStatus();
    };
    EXPECT_EQ(ComputeInfluence(problem.inputs(problem.turns), options, hooks).status().code(),
              absl::StatusCode::kCancelled);
    InfluenceHooks resume;
    resume.resume = &state;
    const absl::StatusOr<Influence> resumed = ComputeInfluence(problem.inputs(problem.turns), options, resume);
    ASSERT_TRUE(resumed.ok()) << resumed.status();
    ExpectSame(*resumed, *whole);
  }
}

TEST(LazyProductsTest, ErrorsOfOpeningArePassedOn) {
  EXPECT_EQ(LazyProducts::Create([] { return absl::NotFoundError("gone"); }).status().code(),
            absl::StatusCode::kNotFound);
  int opened = 0;
  auto open = [&opened]() -> absl::StatusOr<std::unique_ptr<GradientProducts>> {
    if (++opened > 1) return absl::NotFoundError("gone since");
    return std::unique_ptr<GradientProducts>(std::make_unique<DenseProducts>(3, 2, 0));
  };
  std::unique_ptr<LazyProducts> lazy = std::move(*LazyProducts::Create(open));
  EXPECT_EQ(lazy->num_train(), 3);
  EXPECT_EQ(lazy->num_tests(), 2);
  lazy->Release();
  EXPECT_EQ(lazy->num_train(), 3);
  EXPECT_EQ(lazy->num_set_tests(), 0);
  EXPECT_THAT(std::string(lazy->SetTests({0}).message()), HasSubstr("gone since"));
}

}  // namespace
}  // namespace rutile
