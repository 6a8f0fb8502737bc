#include "tools/tracin/judge/subset_flags.h"

#include "gtest/gtest.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

// What decides the model stays; where it goes, how long it is watched and what is shown does not.
TEST(SubsetFlagsTest, FlagsThatTrainingsShareWithTheRun) {
  EXPECT_EQ(
      FlagsOfSubsetRuns("# train 0.1.0: makes this run again\n"
                        "--output_dir=run\n--seed=7\n--hidden=8,8\n--force_weight=0.1\n--patience=20\n"
                        "--min_delta=0.1\n--max_epochs=100\n--keep_every_epochs=10\n--noplot\n--progress=false\n"
                        "--noshuffle\n--committee=4\n--split_seed=3\n--save_top_k=2\n--threads=2\nf.safetensors\n"),
      "--hidden=8,8\n--force_weight=0.1\n--max_epochs=100\n--noshuffle\n--split_seed=3\nf.safetensors\n");
}

// Limits that would end a training on a subset elsewhere, and flags that train refuses without one that is dropped.
TEST(SubsetFlagsTest, LimitsAndFlagsThatNeedOthersGo) {
  EXPECT_EQ(FlagsOfSubsetRuns("--max_time=1h\n--stopping_threshold=0.1\n--divergence_threshold=9\n--min_epochs=3\n"
                              "--min_steps=30\n--num_processes=2\n--strategy=ddp\n--dist_interface=eth0\n"
                              "--dist_timeout=5m\n--sync_batchnorm\n--nosync_batchnorm\n--operators\n--timing\n"
                              "--max_steps=40\n--monitor=val_loss\n"),
            "--max_steps=40\n--monitor=val_loss\n");
}

// What train had chosen for the run is said, where flags.txt does not say it.
TEST(SubsetFlagsTest, WhatTheRunResolvedComesFirst) {
  EXPECT_EQ(
      FlagsOfSubsetRuns("--max_time=1h\n--species=Ti,O\nd.xyz\n", {{"max_epochs", "1000"}, {"potential", "many-body"}}),
      "--max_epochs=1000\n--potential=many-body\n--species=Ti,O\nd.xyz\n");
  EXPECT_EQ(FlagsOfSubsetRuns("--max_epochs=70\n--potential=chebyshev\nd.xyz\n",
                              {{"max_epochs", "70"}, {"potential", "chebyshev"}}),
            "--max_epochs=70\n--potential=chebyshev\nd.xyz\n");
}

TEST(SubsetFlagsTest, ARunThatWentOnOtherwiseIsRefused) {
  EXPECT_EQ(CheckMakesRunAgain("run/flags.txt", "# train 0.1.0: makes this run again\n--hidden=8\n"), absl::OkStatus());
  EXPECT_EQ(CheckMakesRunAgain("run/flags.txt", "--hidden=8\n"), absl::OkStatus());
  EXPECT_THAT(CheckMakesRunAgain("run/flags.txt",
                                 "# does not make this run again, which went on with other settings or data:\n"
                                 "#   step 20: learning_rate is 0.001, was 0.01; monitor is val_loss, was val_mrr\n"
                                 "#   step 30: shuffle is false, was true\n--hidden=8\n"),
              ErrorNames(absl::StatusCode::kInvalidArgument,
                         {"run/flags.txt",
                          "(step 20: learning_rate is 0.001, was 0.01; step 30: shuffle is false, was true)"}));
  EXPECT_EQ(CheckMakesRunAgain("run/flags.txt",
                               "# does not make this run again, which went on with other settings or data:\n"
                               "#   step 20: limit_val_batches is 0.5, was 1; monitor is val_loss, was val_mrr\n"
                               "#   step 30: rank_sample is \"5\", was not set\n"),
            absl::OkStatus());
}

TEST(SubsetFlagsTest, WhatDecidesAModel) {
  for (const char* flag : {"hidden", "learning_rate", "max_epochs", "subsets", "kge_loss"}) {
    EXPECT_TRUE(DecidesModel(flag)) << flag;
  }
  for (const char* flag : {"seed", "subset", "device", "cache_geometry", "mapped_memory", "output_dir", "max_time"}) {
    EXPECT_FALSE(DecidesModel(flag)) << flag;
  }
}

TEST(SubsetFlagsTest, FormerDefaultsAreWhatOlderFilesDoNotSay) {
  const std::map<std::string, std::string> resolved = {{"potential", "chebyshev"}, {"max_epochs", "1000"}};
  EXPECT_EQ(WithoutFormerDefaults("--max_epochs=1000\n--potential=chebyshev\n--hidden=4\nd.xyz\n", resolved),
            "--hidden=4\nd.xyz\n");
  const std::string other = "--max_epochs=200\n--potential=many-body\nd.xyz\n";
  EXPECT_EQ(WithoutFormerDefaults(other, {{"potential", "many-body"}, {"max_epochs", "200"}}), other);
  EXPECT_EQ(WithoutFormerDefaults("--kge_model=conve\nt\n", {{"kge_model", "conve"}}), "t\n");
  EXPECT_EQ(WithoutFormerDefaults("--kge_model=conve\nt\n", {}), "--kge_model=conve\nt\n");
  EXPECT_EQ(WithoutFormerDefaults("--lr_interval=epoch\nt\n", {{"lr_interval", "epoch"}}), "t\n");
  EXPECT_EQ(WithoutFormerDefaults("--lr_interval=step\nt\n", {{"lr_interval", "step"}}), "--lr_interval=step\nt\n");
  EXPECT_EQ(WithoutFormerDefaults("--kge_recipe=plain\nt\n", {{"kge_recipe", "plain"}}), "t\n");
  EXPECT_EQ(WithoutFormerDefaults("--kge_recipe=n3\nt\n", {{"kge_recipe", "n3"}}), "--kge_recipe=n3\nt\n");
}

}  // namespace
}  // namespace rutile
