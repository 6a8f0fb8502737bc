#include "lib/optimizer/optimizer_options.h"

#include <cmath>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

TEST(OptimizerOptionsTest, DefaultsArePytorchs) {
  EXPECT_EQ(DefaultOptimizerOptions("adam")->learning_rate, 1e-3);
  EXPECT_EQ(DefaultOptimizerOptions("adam")->weight_decay, 0);
  EXPECT_EQ(DefaultOptimizerOptions("adamw")->weight_decay, 1e-2);
  EXPECT_EQ(DefaultOptimizerOptions("sgd")->learning_rate, 1e-2);
  EXPECT_EQ(DefaultOptimizerOptions("lbfgs")->learning_rate, 1);
  EXPECT_EQ(DefaultOptimizerOptions("rmsprop")->learning_rate, 1e-2);
  EXPECT_EQ(DefaultOptimizerOptions("rmsprop")->epsilon, 1e-8);
  EXPECT_EQ(DefaultOptimizerOptions("adagrad")->learning_rate, 1e-2);
  EXPECT_EQ(DefaultOptimizerOptions("adagrad")->epsilon, 1e-10);
  EXPECT_EQ(DefaultOptimizerOptions("schedule-free-adamw")->learning_rate, 2.5e-3);
  EXPECT_EQ(DefaultOptimizerOptions("schedule-free-adamw")->weight_decay, 0);
  EXPECT_THAT(std::string(DefaultOptimizerOptions("rprop").status().message()),
              HasSubstr("the choices are adam, adamw, sgd, lbfgs, rmsprop, adagrad, schedule-free-adamw"));
}

TEST(OptimizerOptionsTest, RefusesOptionsOutOfRange) {
  const auto message = [](const char* name, void (*change)(OptimizerOptions*)) {
    OptimizerOptions options = DefaultOptimizerOptions(name).value();
    change(&options);
    return std::string(CheckOptimizerOptions(options).message());
  };
  EXPECT_EQ(message("adam", [](OptimizerOptions*) {}), "");
  EXPECT_THAT(message("adam", [](OptimizerOptions* o) { o->learning_rate = 0; }), ErrorNames({"learning_rate", "0"}));
  EXPECT_THAT(message("adam", [](OptimizerOptions* o) { o->learning_rate = NAN; }),
              ErrorNames({"learning_rate", "nan"}));
  EXPECT_THAT(message("adam", [](OptimizerOptions* o) { o->beta1 = 1; }), ErrorNames({"beta1", "1"}));
  EXPECT_THAT(message("adam", [](OptimizerOptions* o) { o->beta2 = -0.1; }), HasSubstr("beta2"));
  EXPECT_THAT(message("adam", [](OptimizerOptions* o) { o->epsilon = -1; }), HasSubstr("epsilon"));
  EXPECT_THAT(message("adam", [](OptimizerOptions* o) { o->weight_decay = -1; }), ErrorNames({"weight_decay"}));
  EXPECT_THAT(message("rmsprop", [](OptimizerOptions* o) { o->alpha = 1; }), ErrorNames({"alpha", "1", "0"}));
  EXPECT_THAT(message("adagrad", [](OptimizerOptions* o) { o->lr_decay = -1; }), ErrorNames({"lr_decay", "-1"}));
  EXPECT_THAT(message("adagrad", [](OptimizerOptions* o) { o->initial_accumulator = -1; }),
              ErrorNames({"initial_accumulator", "-1"}));
  EXPECT_THAT(message("schedule-free-adamw", [](OptimizerOptions* o) { o->beta1 = 0; }),
              ErrorNames({"beta1", "0", "schedule-free-adamw"}));
  EXPECT_THAT(message("schedule-free-adamw", [](OptimizerOptions* o) { o->weight_lr_power = NAN; }),
              ErrorNames({"weight_lr_power", "nan"}));
  EXPECT_THAT(message("schedule-free-adamw", [](OptimizerOptions* o) { o->weight_step_power = -1; }),
              ErrorNames({"weight_step_power", "-1"}));
  EXPECT_THAT(message("sgd", [](OptimizerOptions* o) { o->momentum = 1; }), HasSubstr("momentum"));
  EXPECT_EQ(message("sgd", [](OptimizerOptions* o) { o->nesterov = true; }),
            "nesterov needs momentum above 0, as in --momentum=0.9");
  EXPECT_THAT(message("sgd",
                      [](OptimizerOptions* o) {
                        o->nesterov = true;
                        o->momentum = 0.9;
                        o->dampening = 0.5;
                      }),
              HasSubstr("dampening is 0.5, expected 0 with nesterov"));
  EXPECT_THAT(message("lbfgs", [](OptimizerOptions* o) { o->weight_decay = 0.1; }),
              HasSubstr("does not go with lbfgs"));
  EXPECT_THAT(message("lbfgs", [](OptimizerOptions* o) { o->history_size = 0; }), ErrorNames({"history_size"}));
}

TEST(OptimizerOptionsTest, SomeOptionsAreOfSomeOptimizers) {
  const auto uses = [](OptimizerKind kind, const char* option) {
    return FindSetting(OptimizerSettings(), option)->HasEffect(DefaultOptimizerOptions(kind));
  };
  EXPECT_TRUE(uses(OptimizerKind::kRmsprop, "momentum"));
  EXPECT_TRUE(uses(OptimizerKind::kScheduleFreeAdamW, "beta1"));
  EXPECT_TRUE(uses(OptimizerKind::kLbfgs, "learning_rate"));
  EXPECT_TRUE(uses(OptimizerKind::kLbfgs, "history_size"));
  EXPECT_TRUE(uses(OptimizerKind::kAdamW, "amsgrad"));
  EXPECT_FALSE(uses(OptimizerKind::kScheduleFreeAdamW, "amsgrad"));
  EXPECT_FALSE(uses(OptimizerKind::kAdam, "momentum"));
  EXPECT_FALSE(uses(OptimizerKind::kSgd, "epsilon"));
  EXPECT_FALSE(uses(OptimizerKind::kLbfgs, "weight_decay"));
}

TEST(OptimizerOptionsTest, NamesAndKindsAreInverse) {
  for (const absl::string_view name : kOptimizerNames.names()) {
    EXPECT_EQ(kOptimizerNames.Name(DefaultOptimizerOptions(name)->kind), name);
  }
  EXPECT_EQ(kOptimizerNames.Name(OptimizerKind::kScheduleFreeAdamW), "schedule-free-adamw");
}

TEST(OptimizerOptionsTest, OptionsFromText) {
  OptimizerOptions options = DefaultOptimizerOptions("rmsprop").value();
  EXPECT_TRUE(SetOptimizerOption("momentum", "0.5", &options).ok());
  EXPECT_TRUE(SetOptimizerOption("centered", "true", &options).ok());
  EXPECT_TRUE(SetOptimizerOption("epsilon", "1e-3", &options).ok());
  EXPECT_EQ(options.momentum, 0.5);
  EXPECT_TRUE(options.centered);
  EXPECT_EQ(options.epsilon, 1e-3);
  const auto message = [&](const char* option, const char* text) {
    return std::string(SetOptimizerOption(option, text, &options).message());
  };
  EXPECT_THAT(message("speed", "1"), ErrorNames({"optimizer, learning_rate, weight_decay", "\"speed\""}));
  EXPECT_THAT(message("history_size", "1"), HasSubstr("no option"));
  EXPECT_THAT(message("optimizer", "sgd"), HasSubstr("no option"));
  EXPECT_THAT(message("beta1", "0.5"), ErrorNames({"beta1", "rmsprop"}));
  EXPECT_THAT(message("momentum", "much"), ErrorNames({"momentum=much", "number"}));
  EXPECT_THAT(message("centered", "maybe"), ErrorNames({"centered=maybe"}));
}

}  // namespace
}  // namespace rutile
