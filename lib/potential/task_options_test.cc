#include "lib/potential/task_options.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::Contains;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

TEST(CourseOfTest, NamesWhatDecides) {
  AtomisticTaskOptions options;
  options.hidden = {16, 8};
  options.atomic_energies = {{8, -432.5}, {22, -1604.6}};
  options.loss.force_weight = 0.1;
  options.loss.energy_weight = 0.9;
  auto course = CourseOf(options);
  EXPECT_THAT(course, Contains(Pair("hidden", "16,8")));
  EXPECT_THAT(course, Contains(Pair("activation", "tanh")));
  EXPECT_THAT(course, Contains(Pair("atomic_energies", "8=-432.5,22=-1604.6")));
  EXPECT_THAT(course, Contains(Pair("loss", "rmse")));
  EXPECT_THAT(course, Contains(Pair("force_weight", "0.1")));
  EXPECT_THAT(course, Contains(Pair("energy_weight", "0.9")));
  EXPECT_THAT(course, Not(Contains(Key("huber_delta"))));
  EXPECT_THAT(course, Not(Contains(Key("force_fraction"))));
  options.loss.kind = LossKind::kHuber;
  options.force_sampling.fraction = 1.0 / 3;
  options.force_sampling.unit = ForceSampleUnit::kAtom;
  course = CourseOf(options);
  EXPECT_THAT(course, Contains(Pair("huber_delta_force", "0.1")));
  EXPECT_THAT(course, Contains(Pair("force_fraction", "0.3333333333333333")));
  EXPECT_THAT(course, Contains(Pair("force_sample_unit", "atom")));
}

// Threads, caches and the way of summing angles change no number beyond rounding.
TEST(CourseOfTest, LeavesOutHowTheWorkIsDone) {
  AtomisticTaskOptions options, other;
  other.angular = AngularMethod::kTriplets;
  other.cached_features = true;
  other.num_threads = 7;
  EXPECT_EQ(CourseOf(options), CourseOf(other));
}

}  // namespace
}  // namespace rutile
