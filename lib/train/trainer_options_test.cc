#include "lib/train/trainer_options.h"

#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/task/sampling_policy.h"
#include "lib/train/optimizer.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

TEST(TrainerOptionsTest, CompileModes) {
  EXPECT_EQ(ParseCompileMode("none").value(), CompileMode::kNone);
  EXPECT_EQ(ParseCompileMode("compile").value(), CompileMode::kCompile);
  EXPECT_THAT(std::string(ParseCompileMode("script").status().message()), HasSubstr("the choices are none, compile"));
}

TEST(TrainerOptionsTest, RefusesOptionsOutOfRange) {
  const auto message = [](void (*change)(TrainerOptions*)) {
    TrainerOptions options;
    change(&options);
    return std::string(CheckTrainerOptions(options).message());
  };
  EXPECT_EQ(message([](TrainerOptions*) {}), "");
  EXPECT_THAT(message([](TrainerOptions* o) { o->batch_size = 0; }), HasSubstr("batch_size is 0"));
  EXPECT_THAT(message([](TrainerOptions* o) { o->num_workers = -1; }), HasSubstr("num_workers is -1"));
  EXPECT_THAT(message([](TrainerOptions* o) { o->prefetch_factor = 0; }), HasSubstr("prefetch_factor is 0"));
  EXPECT_THAT(message([](TrainerOptions* o) { o->gradient_clip_norm = -1; }), HasSubstr("gradient_clip_norm is -1"));
  EXPECT_THAT(message([](TrainerOptions* o) { o->check_cost = -1; }), HasSubstr("check_cost is -1"));
  EXPECT_THAT(message([](TrainerOptions* o) { o->optimizer.beta1 = 2; }), HasSubstr("beta1 is 2"));
  EXPECT_THAT(message([](TrainerOptions* o) { o->stop.max_epochs = 0; }), HasSubstr("max_epochs is 0"));
  EXPECT_THAT(message([](TrainerOptions* o) { o->schedule.warmup_start = 2; }), HasSubstr("warmup_start is 2"));
  EXPECT_THAT(message([](TrainerOptions* o) {
                o->optimizer = DefaultOptimizerOptions("lbfgs").value();
                o->gradient_clip_norm = 1;
              }),
              HasSubstr("does not go with lbfgs"));
}

TEST(TrainerOptionsTest, RefusesPoliciesWhereTheyCannotWork) {
  TrainerOptions options;
  options.sampling_policy = SamplingPolicy::kErrorWeighted;
  EXPECT_EQ(CheckTrainerOptions(options), absl::OkStatus());
  options.shuffle = false;
  EXPECT_THAT(std::string(CheckTrainerOptions(options).message()), HasSubstr("shuffle off"));
  options.shuffle = true;
  options.compile_mode = CompileMode::kNone;
  EXPECT_THAT(std::string(CheckTrainerOptions(options).message()), HasSubstr("use compile_mode compile"));
  options.sampling_policy = SamplingPolicy::kEnergyWeighted;
  EXPECT_EQ(CheckTrainerOptions(options), absl::OkStatus());
  options.optimizer = DefaultOptimizerOptions("lbfgs").value();
  EXPECT_THAT(std::string(CheckTrainerOptions(options).message()),
              HasSubstr("sampling_policy energy_weighted does not go with lbfgs"));
  options.sampling_policy = SamplingPolicy::kUniform;
  EXPECT_EQ(CheckTrainerOptions(options), absl::OkStatus());
}

TEST(TrainerOptionsTest, CourseNamesWhatDiffers) {
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

TEST(TrainerOptionsTest, LimitsAreNotPartOfTheCourse) {
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

TEST(TrainerOptionsTest, ConfigIsJson) {
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
