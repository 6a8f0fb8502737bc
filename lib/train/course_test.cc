#include "lib/train/course.h"

#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/task/sampling_policy.h"
#include "lib/train/optimizer.h"
#include "lib/train/schedule.h"
#include "lib/train/trainer_options.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

TEST(CourseTest, NamesWhatDiffers) {
  TrainerOptions then, now;
  EXPECT_EQ(CheckSameCourse(CourseJson(then), CourseJson(now)), absl::OkStatus());
  now.batch_size = 64;
  EXPECT_THAT(std::string(CheckSameCourse(CourseJson(then), CourseJson(now)).message()),
              HasSubstr("batch_size is 64, but the run to resume has 32"));
  now = then;
  now.optimizer = DefaultOptimizerOptions("sgd").value();
  EXPECT_THAT(std::string(CheckSameCourse(CourseJson(then), CourseJson(now)).message()),
              HasSubstr("optimizer is \"sgd\", but the run to resume has \"adam\""));
  now = then;
  now.sampling_policy = SamplingPolicy::kEnergyWeighted;
  EXPECT_THAT(std::string(CheckSameCourse(CourseJson(then), CourseJson(now)).message()),
              HasSubstr("sampling_policy is \"energy_weighted\", but the run to resume has not set"));
  EXPECT_THAT(std::string(CheckSameCourse(CourseJson(now), CourseJson(then)).message()),
              HasSubstr("sampling_policy is not set, but the run to resume has \"energy_weighted\""));
  now = then;
  now.optimizer.epsilon = 1e-9;
  EXPECT_FALSE(CheckSameCourse(CourseJson(then), CourseJson(now)).ok());
  now = then;
  now.schedule.kind = ScheduleKind::kExponential;
  EXPECT_FALSE(CheckSameCourse(CourseJson(then), CourseJson(now)).ok());
  EXPECT_FALSE(CheckSameCourse("{", CourseJson(now)).ok());
  EXPECT_THAT(
      std::string(CheckSameCourse(CourseJson(then, {{"loss", "mse"}}), CourseJson(then, {{"loss", "rmse"}})).message()),
      HasSubstr("loss is \"rmse\", but the run to resume has \"mse\""));
}

TEST(CourseTest, LimitsAreNotPartOfTheCourse) {
  TrainerOptions then, now;
  now.stop.max_epochs = 7;
  now.stop.patience = 3;
  now.num_workers = 2;
  now.persistent_workers = false;
  now.check_cost = 1;
  now.compile_mode = CompileMode::kNone;
  now.mode = RunMode::kResume;
  EXPECT_EQ(CheckSameCourse(CourseJson(then), CourseJson(now)), absl::OkStatus());
}

TEST(CourseTest, ConfigIsJson) {
  TrainerOptions options;
  options.stop.max_time = absl::Hours(2);
  const nlohmann::json json = nlohmann::json::parse(
      ConfigJson(options, {{"force_weight", "0.1"}}, {{"command", "train \"x\""}, {"tool", "\xff"}}));
  EXPECT_EQ(json["optimizer"], "adam");
  EXPECT_EQ(json["learning_rate"], 1e-3);
  EXPECT_EQ(json["max_time"], "2h");
  EXPECT_EQ(json["compile_mode"], "compile");
  EXPECT_EQ(json["provenance"]["command"], "train \"x\"");
}

}  // namespace
}  // namespace rutile
