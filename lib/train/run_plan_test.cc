#include "lib/train/run_plan.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/distributed/communicator.h"
#include "lib/distributed/thread_communicator.h"
#include "lib/optimizer/averages/ema.h"
#include "lib/optimizer/optimizer.h"
#include "lib/optimizer/schedule/schedule.h"
#include "lib/train/files/run_directory.h"
#include "lib/train/options/batch_limit.h"
#include "lib/train/step/epoch_trainer.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Split MakeSplit(int train, int validation) {
  Split split;
  split.train.resize(train);
  std::iota(split.train.begin(), split.train.end(), 0);
  split.validation.resize(validation);
  std::iota(split.validation.begin(), split.validation.end(), 100);
  return split;
}

TrainerOptions Options() {
  TrainerOptions options;
  options.batch_size = 5;
  options.stop.max_epochs = 10;
  return options;
}

TEST(RunPlanTest, CountsBatchesAndSteps) {
  TrainerOptions options = Options();
  RunPlan plan = MakeRunPlan(MakeSplit(32, 8), options).value();
  EXPECT_EQ(plan.num_batches, 7);
  EXPECT_EQ(plan.steps_per_epoch, 7);
  EXPECT_EQ(plan.run_steps, 70);
  options.accumulate_grad_batches = 3;
  options.stop.max_steps = 20;
  plan = MakeRunPlan(MakeSplit(32, 8), options).value();
  EXPECT_EQ(plan.steps_per_epoch, 3);
  EXPECT_EQ(plan.run_steps, 20);
  options.limit_train_batches.batches = 4;
  options.stop.max_epochs = -1;
  options.stop.max_steps = -1;
  plan = MakeRunPlan(MakeSplit(32, 8), options).value();
  EXPECT_EQ(plan.num_batches, 4);
  EXPECT_EQ(plan.steps_per_epoch, 2);
  EXPECT_EQ(plan.run_steps, -1);
  options = Options();
  options.optimizer = DefaultOptimizerOptions("lbfgs").value();
  EXPECT_EQ(MakeRunPlan(MakeSplit(32, 8), options)->steps_per_epoch, 1);
}

TEST(RunPlanTest, LimitsExamples) {
  TrainerOptions options = Options();
  options.limit_val_batches.batches = 1;
  // A sample of five, in their order, and the same for each seed.
  const std::vector<int64_t> sample = MakeRunPlan(MakeSplit(32, 8), options)->validation;
  EXPECT_EQ(sample.size(), 5);
  EXPECT_THAT(MakeRunPlan(MakeSplit(32, 8), options)->first_validation, ElementsAre(100, 101, 102, 103, 104));
  EXPECT_TRUE(MakeRunPlan(MakeSplit(32, 8), Options())->first_validation.empty());
  EXPECT_TRUE(std::is_sorted(sample.begin(), sample.end()));
  EXPECT_NE(sample, std::vector<int64_t>({100, 101, 102, 103, 104}));
  for (const int64_t example : sample) EXPECT_TRUE(100 <= example && example < 108) << example;
  options.seed = 77;
  EXPECT_EQ(MakeRunPlan(MakeSplit(32, 8), options)->validation, sample);
  options.limit_val_batches = {};
  options.limit_val_batches.batches = 99;
  EXPECT_EQ(MakeRunPlan(MakeSplit(32, 8), options)->validation, MakeSplit(32, 8).validation);
  // A sample of one batch comes from all over the 1000 examples.
  options.limit_val_batches.batches = 1;
  const std::vector<int64_t> wide = MakeRunPlan(MakeSplit(32, 1000), options)->validation;
  EXPECT_GT(wide.back() - wide.front(), 200);
  options = Options();
  options.overfit_batches.batches = 1;
  const RunPlan plan = MakeRunPlan(MakeSplit(32, 8), options).value();
  EXPECT_THAT(plan.train, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(plan.validation, plan.train);
  EXPECT_FALSE(plan.options.shuffle);
  const Split used = UsedSplit(MakeSplit(32, 8), options).value();
  EXPECT_EQ(used.train, plan.train);
  EXPECT_EQ(used.validation, plan.train);
  EXPECT_EQ(UsedSplit(MakeSplit(32, 8), Options())->validation, MakeSplit(32, 8).validation);
  options.overfit_batches.batches = 7;
  EXPECT_EQ(MakeRunPlan(MakeSplit(32, 8), options)->train.size(), 32);
  options.overfit_batches.batches = 8;
  EXPECT_EQ(MakeRunPlan(MakeSplit(32, 8), options).status().message(),
            "overfit_batches is 8, but the 32 training examples make 7 batches of 5");
  EXPECT_THAT(MakeRunPlan(MakeSplit(3, 0), Options())->validation, IsEmpty());
}

// With a sharded model each process trains on whole batches, but validates its share with the whole model.
TEST(RunPlanTest, ValidationIsAlwaysDealtOut) {
  RunAsThreads(2, [](Communicator* communicator) {
    TrainerOptions options = Options();
    options.communicator = communicator;
    for (const bool parts : {false, true}) {
      options.shard_model = parts;
      EXPECT_EQ(LoaderOptions(options).num_ranks, parts ? 1 : 2);
      EXPECT_EQ(LoaderOptions(options).rank, parts ? 0 : communicator->rank());
      EXPECT_EQ(ValidationLoaderOptions(options).num_ranks, 2);
      EXPECT_EQ(ValidationLoaderOptions(options).rank, communicator->rank());
    }
  });
}

TEST(RunPlanTest, RefusesWhatCannotBeKnown) {
  const auto message = [](const Split& split, void (*change)(TrainerOptions*)) {
    TrainerOptions options = Options();
    change(&options);
    return std::string(MakeRunPlan(split, options).status().message());
  };
  EXPECT_THAT(message(MakeSplit(0, 8), [](TrainerOptions*) {}), HasSubstr("no example to train on"));
  EXPECT_THAT(message(MakeSplit(5, 0), [](TrainerOptions* o) { o->validation.every_epochs = 2; }),
              HasSubstr("no effect without a validation set"));
  EXPECT_THAT(message(MakeSplit(5, 5),
                      [](TrainerOptions* o) {
                        o->stop.max_epochs = -1;
                        o->ema.emplace().type = EmaDecay::kExponential;
                      }),
              HasSubstr("ema_decay_type exp"));
  EXPECT_NE(message(MakeSplit(5, 5),
                    [](TrainerOptions* o) {
                      o->stop.max_epochs = -1;
                      o->schedule.kind = ScheduleKind::kCosine;
                    }),
            "");
}

TEST(RunPlanTest, RefusesWhatCannotBeReached) {
  const auto message = [](void (*change)(TrainerOptions*)) {
    TrainerOptions options = Options();  // 10 epochs of 7 steps
    change(&options);
    return std::string(MakeRunPlan(MakeSplit(32, 8), options).status().message());
  };
  EXPECT_EQ(message([](TrainerOptions* o) { o->schedule.warmup_steps = 71; }),
            "lr schedule: the warm-up takes 71 steps, expected no more than the 70 of the run");
  EXPECT_THAT(message([](TrainerOptions* o) { o->schedule.warmup_epochs = 11; }), HasSubstr("takes 77 steps"));
  EXPECT_EQ(message([](TrainerOptions* o) { o->schedule.warmup_epochs = 10; }), "");
  EXPECT_EQ(message([](TrainerOptions* o) { o->ema.emplace().start_step = 71; }),
            "ema_start_step is 71, expected no more than the 70 steps of the run: there would be no average");
  EXPECT_EQ(message([](TrainerOptions* o) { o->ema.emplace().start_step = 70; }), "");
  // Long schedules are accepted if the run's end is unknown, if it is trained in sessions, and if it is only a trial.
  EXPECT_EQ(message([](TrainerOptions* o) {
              o->stop.max_epochs = -1;
              o->ema.emplace().start_step = o->schedule.warmup_steps = 1000;
            }),
            "");
  EXPECT_EQ(message([](TrainerOptions* o) {
              o->mode = RunMode::kResumeOrNew;
              o->ema.emplace().start_step = o->schedule.warmup_steps = 1000;
            }),
            "");
  EXPECT_EQ(message([](TrainerOptions* o) {
              o->files = RunFiles::kNone;
              o->ema.emplace().start_step = o->schedule.warmup_steps = 1000;
            }),
            "");
  EXPECT_EQ(message([](TrainerOptions* o) {
              o->optimizer.learning_rate = 0.001;
              o->schedule.min_learning_rate = 5;
            }),
            "min_learning_rate is 5, expected no more than the learning_rate of 0.001");
  EXPECT_EQ(message([](TrainerOptions* o) { o->schedule.min_learning_rate = o->optimizer.learning_rate; }), "");
}

}  // namespace
}  // namespace rutile
