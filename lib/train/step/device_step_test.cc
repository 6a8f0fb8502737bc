#include "lib/train/step/device_step.h"

#include <string>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/optimizer/optimizer_options.h"
#include "lib/testing/toy_task.h"
#include "lib/train/options/trainer_options.h"
#include "lib/train/step/resident_toy_testing.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

TEST(WhyHostStepsTest, SaysWhatKeepsStepsOnTheHost) {
  TrainerOptions options;
  const ToyTask task(ToyTaskOptions{});
  EXPECT_THAT(WhyHostSteps(options, task, true), HasSubstr("kernels"));
  options.compile_mode = CompileMode::kNone;
  EXPECT_THAT(WhyHostSteps(options, task, true), HasSubstr("host is the device"));
  options.device_steps_on_cpu = true;
  EXPECT_EQ(WhyHostSteps(options, task, true), "");
  options.device_steps_on_cpu = false;
  options.eager.device = "cuda:1";
  for (const absl::string_view name : kOptimizerWords) {
    options.optimizer = DefaultOptimizerOptions(name).value();
    EXPECT_EQ(WhyHostSteps(options, task, true), name == "lbfgs" ? "lbfgs evaluates the loss as often as it needs"
                                                 : name == "rowwise-adagrad" ? "the optimizer's state is of rows"
                                                                             : "");
  }
  options.optimizer = OptimizerOptions();
  options.eager.precision = Precision::kFp16Mixed;
  EXPECT_EQ(WhyHostSteps(options, task, true), "");
  EXPECT_THAT(WhyHostSteps(options, task, false), HasSubstr("processes"));
  options.groups.lazy_rows = true;
  EXPECT_THAT(WhyHostSteps(options, task, true), HasSubstr("lazily"));
  options.groups.alternate_steps = 2;
  EXPECT_THAT(WhyHostSteps(options, task, true), HasSubstr("turns"));
}

// With the task's own kernels it is the task that decides whether gradients are on a device.
TEST(WhyHostStepsTest, KernelsMayLeaveGradientsOnADevice) {
  TrainerOptions options;
  const ResidentToy resident(ToyTaskOptions{}, true), host(ToyTaskOptions{}, false);
  EXPECT_THAT(WhyHostSteps(options, host, true), HasSubstr("kernels"));
  for (const absl::string_view name : kOptimizerWords) {
    options.optimizer = DefaultOptimizerOptions(name).value();
    EXPECT_EQ(WhyHostSteps(options, resident, true).empty(), name != "lbfgs" && name != "rowwise-adagrad") << name;
  }
  options.optimizer = OptimizerOptions();
  EXPECT_THAT(WhyHostSteps(options, resident, false), HasSubstr("processes"));
  options.groups.lazy_rows = true;
  EXPECT_THAT(WhyHostSteps(options, resident, true), HasSubstr("lazily"));
  options.groups.alternate_steps = 2;
  EXPECT_THAT(WhyHostSteps(options, resident, true), HasSubstr("turns"));
}

}  // namespace
}  // namespace rutile
