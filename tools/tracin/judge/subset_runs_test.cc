#include "tools/tracin/judge/subset_runs.h"

#include "gtest/gtest.h"

namespace rutile {
namespace {

// What decides the model stays; where it goes, how long it is watched and what is shown does not.
TEST(SubsetRunsTest, FlagsThatTrainingsShareWithTheRun) {
  EXPECT_EQ(
      FlagsOfSubsetRuns("# train 0.1.0: makes this run again\n"
                        "--output_dir=run\n--seed=7\n--hidden=8,8\n--force_weight=0.1\n--patience=20\n"
                        "--min_delta=0.1\n--max_epochs=100\n--keep_every_epochs=10\n--noplot\n--progress=false\n"
                        "--noshuffle\n--committee=4\n--split_seed=3\n--save_top_k=2\n--threads=2\nf.safetensors\n"),
      "--hidden=8,8\n--force_weight=0.1\n--max_epochs=100\n--noshuffle\n--split_seed=3\nf.safetensors\n");
}

}  // namespace
}  // namespace rutile
