// A run that goes on with another limit_val_batches or another sample of its task, or after an older version's: its
// sets stay, and what is best is judged anew.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/testing/error_names.h"
#include "lib/train/files/checkpoint.h"
#include "lib/train/resume_config.h"
#include "lib/train/run_plan.h"
#include "lib/train/starting_state.h"
#include "lib/train/tests/resumed_run_testing.h"

namespace rutile {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class LimitedValidationTest : public ResumedRunTest {
 protected:
  LimitedValidationTest() : ResumedRunTest({{0, 1, 2}, {3, 4, 5, 6, 7, 8}, {}}) {}
};

// Values on a sample are not compared with those on the whole set, or on a sample of another size. The sets stay.
TEST_F(LimitedValidationTest, ALimitOfValidationIsJudgedAnew) {
  options_.batch_size = 2;
  options_.save_top_k = 2;
  Checkpoint state = NewState(task_, MakeRunPlan(split_, options_).value());
  state.step = 10;
  state.best_epoch = 2;
  state.best_loss = 0.5;
  ASSERT_EQ(Save(state), absl::OkStatus());
  options_.limit_val_batches.batches = 2;
  const auto resume = [this] { return ResumedState(task_, MakeRunPlan(split_, options_).value(), directory_); };
  EXPECT_THAT(resume().status(), ErrorNames(absl::StatusCode::kFailedPrecondition, {"--override=limit_val_batches "}));
  options_.overrides = {"limit_val_batches"};
  absl::StatusOr<StartingState> resumed = resume();
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_TRUE(resumed->new_parts.judgment);
  EXPECT_FALSE(resumed->new_parts.epoch || resumed->new_parts.loss);
  EXPECT_EQ(resumed->state.best_epoch, 0);
  EXPECT_TRUE(resumed->state.top.empty());
  EXPECT_FALSE(WentOnWithOtherData(resumed->state.changes));
  // A number of batches is of other examples if batches are larger.
  state = resumed->state;
  state.best_epoch = 3;
  ASSERT_EQ(Save(state), absl::OkStatus());
  EXPECT_EQ(resume()->state.best_epoch, 3);
  options_.batch_size = 1;
  options_.overrides = {"batch_size"};
  resumed = resume();
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_TRUE(resumed->new_parts.judgment);
  EXPECT_EQ(resumed->state.best_epoch, 0);
  EXPECT_THAT(resumed->messages, Contains(HasSubstr("a sample of another size")));
  // A checkpoint whose fingerprint has the sample is of the same data.
  RunPlan older = MakeRunPlan(split_, options_).value();
  older.whole_validation.clear();
  Checkpoint with_sample = NewState(task_, older);
  with_sample.best_epoch = 4;
  ASSERT_NE(with_sample.data, NewState(task_, MakeRunPlan(split_, options_).value()).data);
  ASSERT_EQ(Save(with_sample), absl::OkStatus());
  options_.overrides.clear();
  EXPECT_EQ(resume()->state.best_epoch, 4);
}

// A task may validate on a sample of its own (rank_sample of triples): the set stays what it is, and what is best is
// judged anew.
TEST_F(LimitedValidationTest, ASampleOfTheTaskIsJudgedAnew) {
  const auto plan = [this] { return MakeRunPlan(split_, options_).value(); };
  const std::vector<int64_t> all = split_.validation;
  split_.whole_validation = all;
  split_.validation = {4, 6, 8};
  options_.config = {{"rank_sample", "3"}, {"width", "1"}};
  options_.average_best = 2;
  options_.batch_size = 2;
  Checkpoint state = NewState(task_, plan());
  state.step = 10, state.batch = 1, state.best_epoch = 2, state.best_loss = 0.5;
  state.epoch_sums.sum.assign(state.epoch_sums.sum.size(), 7);
  ASSERT_EQ(Save(state), absl::OkStatus());
  // A run with the same sample goes on as it was.
  EXPECT_EQ(ResumedState(task_, plan(), directory_)->state.best_epoch, 2);
  const auto expect_anew = [&] {
    const absl::Status refused = ResumedState(task_, plan(), directory_).status();
    EXPECT_THAT(refused, ErrorNames(absl::StatusCode::kFailedPrecondition, {"--override=rank_sample "}));
    options_.overrides = {"rank_sample"};
    const absl::StatusOr<StartingState> resumed = ResumedState(task_, plan(), directory_);
    ASSERT_TRUE(resumed.ok()) << resumed.status();
    EXPECT_TRUE(resumed->new_parts.judgment);
    EXPECT_FALSE(resumed->new_parts.epoch || resumed->new_parts.loss || resumed->new_parts.optimizer);
    EXPECT_EQ(resumed->state.best_epoch, 0);
    EXPECT_EQ(resumed->state.batch, 1);
    EXPECT_EQ(resumed->state.epoch_sums.sum, state.epoch_sums.sum);
    EXPECT_THAT(resumed->state.changes, HasSubstr("step 10: rank_sample is "));
    EXPECT_FALSE(WentOnWithOtherData(resumed->state.changes));
    options_.overrides.clear();
  };
  split_.validation = {3, 4, 5, 6};
  options_.config["rank_sample"] = "4";
  expect_anew();
  options_.config.erase("rank_sample");
  split_.validation = all;
  split_.whole_validation.clear();
  expect_anew();
  // Another validation set is other data.
  split_.validation = {3, 4, 5, 6, 7};
  EXPECT_THAT(ResumedState(task_, plan(), directory_).status(),
              ErrorNames(absl::StatusCode::kFailedPrecondition, {"other examples or another split", "data"}));
}

// The fingerprint of older versions had the sample, with limit_val_batches what that took of it.
TEST_F(LimitedValidationTest, ASampleOfTheTaskInOlderVersions) {
  split_.whole_validation = split_.validation;
  split_.validation = {3, 4, 6, 8};
  options_.config = {{"rank_sample", "4"}};
  options_.batch_size = 2;
  for (const int64_t limit : {0, 1}) {
    options_.limit_val_batches = {};
    if (limit > 0) options_.limit_val_batches.batches = limit;
    const RunPlan plan = MakeRunPlan(split_, options_).value();
    std::vector<std::vector<int64_t>> sets = {plan.validation};
    if (limit > 0) sets.push_back(split_.validation);
    for (const std::vector<int64_t>& set : sets) {
      RunPlan older = plan;
      older.whole_validation = set;
      Checkpoint state = NewState(task_, older);
      state.best_epoch = 4;
      ASSERT_NE(state.data, NewState(task_, plan).data);
      ASSERT_EQ(Save(state), absl::OkStatus());
      const absl::StatusOr<StartingState> resumed = ResumedState(task_, plan, directory_);
      ASSERT_TRUE(resumed.ok()) << resumed.status();
      EXPECT_EQ(resumed->state.best_epoch, 4);
    }
  }
}

// Older versions took the first examples of limit_val_batches: the data are the same, and what is best is judged anew.
TEST_F(LimitedValidationTest, ValidatesOnASampleWhereOlderVersionsTookTheFirst) {
  options_.limit_val_batches.batches = 1;
  options_.batch_size = 2;
  options_.data_sha256 = "a";
  RunPlan older = MakeRunPlan(split_, options_).value();
  ASSERT_EQ(older.validation.size(), 2);
  ASSERT_NE(older.validation, std::vector<int64_t>({3, 4}));
  older.validation = {3, 4};
  older.whole_validation.clear();
  Checkpoint state = NewState(task_, older);
  state.epoch = 3;
  state.batch = 1;
  state.step = 10;
  state.best_epoch = 2;
  state.best_loss = 0.5;
  ASSERT_EQ(Save(state), absl::OkStatus());
  const RunPlan plan = MakeRunPlan(split_, options_).value();
  const absl::StatusOr<StartingState> resumed = ResumedState(task_, plan, directory_);
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_THAT(resumed->messages, Contains(HasSubstr("limit_val_batches validates on a random sample")));
  EXPECT_TRUE(resumed->new_parts.judgment);
  EXPECT_FALSE(resumed->new_parts.epoch || resumed->new_parts.loss || resumed->new_parts.optimizer);
  EXPECT_EQ(resumed->state.best_epoch, 0);
  EXPECT_EQ(resumed->state.batch, 1);
  EXPECT_THAT(resumed->state.changes, HasSubstr("step 10: limit_val_batches validates on a random sample"));
  EXPECT_FALSE(WentOnWithOtherData(resumed->state.changes));
  // It is told once.
  Checkpoint next = resumed->state;
  next.best_epoch = 4;
  ASSERT_EQ(Save(next), absl::OkStatus());
  const absl::StatusOr<StartingState> again = ResumedState(task_, plan, directory_);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_THAT(again->messages, ElementsAre(HasSubstr("goes on from")));
  EXPECT_EQ(again->state.best_epoch, 4);
  // Data that changed are refused as ever, and with no word of older versions.
  ASSERT_EQ(Save(state), absl::OkStatus());
  options_.data_sha256 = "b";
  const absl::Status files = ResumedState(task_, MakeRunPlan(split_, options_).value(), directory_).status();
  EXPECT_THAT(files, ErrorNames(absl::StatusCode::kFailedPrecondition, {"the inputs are not the files", "data"}));
  options_.data_sha256 = "a";
  split_.train = {0, 1, 9};
  const absl::Status others = ResumedState(task_, MakeRunPlan(split_, options_).value(), directory_).status();
  EXPECT_THAT(others, ErrorNames(absl::StatusCode::kFailedPrecondition, {"other examples or another split"}));
  EXPECT_THAT(std::string(others.message()), Not(HasSubstr("older version")));
}

}  // namespace
}  // namespace rutile
