#include "tools/train/trainer_flags/optimizer_flags.h"

#include <gflags/gflags.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/optimizer/optimizer_options.h"
#include "lib/optimizer/parameter_groups.h"
#include "lib/train/options/trainer_options.h"
#include "tools/train/trainer_flags/trainer_flags.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

using Flags = std::vector<std::pair<const char*, const char*>>;

// The trainer's options as if these flags had been given.
absl::StatusOr<TrainerOptions> Parse(const Flags& flags) {
  const gflags::FlagSaver saver;
  for (const auto& [name, value] : flags) EXPECT_NE(gflags::SetCommandLineOption(name, value), "") << name;
  return TrainerOptionsFromFlags();
}

std::string Message(const Flags& flags) { return std::string(Parse(flags).status().message()); }

TEST(OptimizerFlagsTest, DefaultsAreThoseOfTheOptimizer) {
  for (const char* name : {"adam", "adamw", "sgd", "rmsprop", "adagrad", "schedule-free-adamw", "lbfgs"}) {
    const auto found = Parse({{"optimizer", name}});
    ASSERT_TRUE(found.ok()) << found.status();
    const OptimizerOptions expected = DefaultOptimizerOptions(name).value();
    EXPECT_EQ(found->optimizer.kind, expected.kind);
    EXPECT_EQ(found->optimizer.learning_rate, expected.learning_rate) << name;
    EXPECT_EQ(found->optimizer.weight_decay, expected.weight_decay) << name;
    EXPECT_EQ(found->optimizer.epsilon, expected.epsilon) << name;
    EXPECT_EQ(found->optimizer.alpha, expected.alpha) << name;
    EXPECT_EQ(found->optimizer.beta1, expected.beta1) << name;
    EXPECT_EQ(found->optimizer.beta2, expected.beta2) << name;
  }
}

TEST(OptimizerFlagsTest, ReachTheOptions) {
  const OptimizerOptions rmsprop = Parse({{"optimizer", "rmsprop"},
                                          {"alpha", "0.9"},
                                          {"centered", "true"},
                                          {"momentum", "0.5"},
                                          {"epsilon", "0"},
                                          {"weight_decay", "0"},
                                          {"learning_rate", "0.5"}})
                                       ->optimizer;
  EXPECT_EQ(rmsprop.alpha, 0.9);
  EXPECT_TRUE(rmsprop.centered);
  EXPECT_EQ(rmsprop.momentum, 0.5);
  EXPECT_EQ(rmsprop.epsilon, 0);
  EXPECT_EQ(rmsprop.learning_rate, 0.5);
  EXPECT_TRUE(Parse({{"optimizer", "adamw"}, {"amsgrad", "true"}})->optimizer.amsgrad);
  const OptimizerOptions adagrad =
      Parse({{"optimizer", "adagrad"}, {"lr_decay", "0.1"}, {"initial_accumulator", "0.2"}})->optimizer;
  EXPECT_EQ(adagrad.lr_decay, 0.1);
  EXPECT_EQ(adagrad.initial_accumulator, 0.2);
  const auto groups = Parse({{"parameter_groups", "a*:lr_scale=2;b:optimizer=sgd"},
                             {"alternate_groups", "5"},
                             {"weight_decay", "0.1"},
                             {"weight_decay_biases", "false"},
                             {"lazy_rows", "true"}})
                          ->groups;
  ASSERT_EQ(groups.groups.size(), 2u);
  EXPECT_EQ(groups.groups[0].optimizer.learning_rate, 2e-3);
  EXPECT_EQ(groups.groups[0].optimizer.weight_decay, 0.1);
  EXPECT_EQ(groups.alternate_steps, 5);
  EXPECT_FALSE(groups.decay_biases);
  EXPECT_TRUE(groups.lazy_rows);
}

// Nobody tunes a flag in vain.
TEST(OptimizerFlagsTest, RefusesWhatTheOptimizerDoesNotUse) {
  EXPECT_EQ(Message({{"momentum", "0.9"}}), "--momentum has no effect with --optimizer=adam: leave it out");
  EXPECT_THAT(
      Message({{"alpha", "0.9"}}),
      HasSubstr("--alpha has no effect with --optimizer=adam: it is rmsprop's; aenet's alpha, the weight of forces"));
  EXPECT_THAT(Message({{"optimizer", "sgd"}, {"centered", "true"}}), HasSubstr("--centered has no effect"));
  EXPECT_THAT(Message({{"optimizer", "sgd"}, {"epsilon", "1e-8"}}), HasSubstr("--epsilon has no effect"));
  EXPECT_THAT(Message({{"optimizer", "rmsprop"}, {"lr_decay", "0.1"}}), HasSubstr("--lr_decay has no effect"));
  EXPECT_THAT(Message({{"optimizer", "rmsprop"}, {"nesterov", "true"}}), HasSubstr("--nesterov has no effect"));
  EXPECT_THAT(Message({{"optimizer", "rmsprop"}, {"initial_accumulator", "1"}}),
              HasSubstr("--initial_accumulator has no effect"));
  EXPECT_THAT(Message({{"optimizer", "adagrad"}, {"beta1", "0.9"}}), HasSubstr("--beta1 has no effect"));
  EXPECT_EQ(Message({{"optimizer", "sgd"}, {"amsgrad", "true"}}),
            "--amsgrad has no effect with --optimizer=sgd: leave it out");
  EXPECT_THAT(Message({{"optimizer", "schedule-free-adamw"}, {"history_size", "9"}}),
              HasSubstr("--history_size has no effect"));
  for (const char* flag : {"parameter_groups", "alternate_groups", "weight_decay", "batch_size"}) {
    EXPECT_THAT(Message({{"optimizer", "lbfgs"}, {flag, "1"}}), HasSubstr("has no effect with --optimizer=lbfgs"));
  }
  EXPECT_THAT(Message({{"optimizer", "lbfgs"}, {"weight_decay_biases", "false"}}), HasSubstr("has no effect"));
}

TEST(OptimizerFlagsTest, RefusesWhatCannotBe) {
  EXPECT_THAT(Message({{"optimizer", "rprop"}}), HasSubstr("the choices are adam, adamw, sgd"));
  EXPECT_THAT(Message({{"optimizer", "rmsprop"}, {"alpha", "1"}}), HasSubstr("alpha is 1, expected 0 <= alpha < 1"));
  EXPECT_THAT(Message({{"optimizer", "schedule-free-adamw"}, {"beta1", "0"}}),
              HasSubstr("beta1 is 0, expected above 0"));
  EXPECT_THAT(Message({{"weight_decay_biases", "false"}}), HasSubstr("nothing decays"));
  EXPECT_THAT(Message({{"alternate_groups", "3"}}), HasSubstr("no parameter groups to take turns"));
  EXPECT_THAT(Message({{"parameter_groups", "a"}}), HasSubstr("trained as all others are"));
  EXPECT_THAT(Message({{"parameter_groups", "a:learning_rate=1,lr_scale=1"}}), HasSubstr("exclude each other"));
  EXPECT_THAT(Message({{"parameter_groups", "a:momentum=1"}}), HasSubstr("momentum has no effect with adam"));
  EXPECT_THAT(Message({{"lazy_rows", "true"}, {"optimizer", "schedule-free-adamw"}}),
              HasSubstr("lazy_rows does not go with schedule-free-adamw, whose average"));
  EXPECT_THAT(Message({{"lazy_rows", "true"}, {"parameter_groups", "a:optimizer=schedule-free-adamw"}}),
              HasSubstr("lazy_rows does not go with schedule-free-adamw"));
  EXPECT_THAT(Message({{"parameter_groups", "a:optimizer=lbfgs"}}), HasSubstr("do not go with lbfgs"));
}

}  // namespace
}  // namespace rutile
