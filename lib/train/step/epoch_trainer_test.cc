#include "lib/train/step/epoch_trainer.h"

#include "gtest/gtest.h"
#include "lib/testing/toy_task.h"
#include "lib/train/options/trainer_options.h"
#include "lib/train/step/data_loader.h"

namespace rutile {
namespace {

TEST(EpochWorkTest, CountsExamplesAndTheirCost) {
  ToyTaskOptions toy;
  toy.example_cost = 23;
  const ToyTask task(toy);
  EpochWork work;
  work.Add(task, {1, 2});
  work.Add(task, {2});
  EXPECT_EQ(work.examples, 3);
  EXPECT_EQ(work.cost, 69);
}

TEST(LoaderOptionsTest, AreTheTrainers) {
  TrainerOptions options;
  options.batch_size = 7;
  options.shuffle = false;
  options.seed = 9;
  options.num_workers = 3;
  options.prefetch_factor = 4;
  options.persistent_workers = false;
  const DataLoaderOptions loader = LoaderOptions(options);
  EXPECT_EQ(loader.batch_size, 7);
  EXPECT_FALSE(loader.shuffle);
  EXPECT_EQ(loader.seed, 9u);
  EXPECT_EQ(loader.num_workers, 3);
  EXPECT_EQ(loader.prefetch_factor, 4);
  EXPECT_FALSE(loader.persistent_workers);
}

}  // namespace
}  // namespace rutile
