#include "lib/optimizer/parameter_groups.h"

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/optimizer/optimizer_options.h"
#include "lib/task/parameter_slice.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

OptimizerOptions OptionsOfRun() {
  OptimizerOptions run = DefaultOptimizerOptions("adam").value();
  run.learning_rate = 0.01;
  run.beta1 = 0.8;
  run.weight_decay = 0.1;
  return run;
}

std::vector<ParameterSlice> Slices() {
  return {{"network.Ti.0.weight", 0, {4, 3}},
          {"network.Ti.0.bias", 12, {4}},
          {"network.O.0.weight", 16, {4, 3}},
          {"network.O.0.bias", 28, {4}}};
}

ParameterGroupOptions Groups(absl::string_view text) {
  ParameterGroupOptions options;
  options.groups = ParseParameterGroups(text, OptionsOfRun()).value();
  return options;
}

TEST(ParameterGroupsTest, TakesFromTheRunWhatItDoesNotSay) {
  const auto groups = ParseParameterGroups(
      "network.Ti.*:lr_scale=0.5,weight_decay=0;*.bias:optimizer=sgd,momentum=0.9;*", OptionsOfRun());
  ASSERT_TRUE(groups.ok()) << groups.status();
  ASSERT_EQ(groups->size(), 3u);
  const OptimizerOptions& first = (*groups)[0].optimizer;
  EXPECT_EQ((*groups)[0].glob, "network.Ti.*");
  EXPECT_EQ(first.learning_rate, 0.005);
  EXPECT_EQ(first.weight_decay, 0);
  EXPECT_EQ(first.beta1, 0.8);
  const OptimizerOptions& second = (*groups)[1].optimizer;
  EXPECT_EQ(second.kind, OptimizerKind::kSgd);
  EXPECT_EQ(second.momentum, 0.9);
  EXPECT_EQ(second.learning_rate, 0.01);  // SGD's own, as is its weight decay
  EXPECT_EQ(second.weight_decay, 0);
  EXPECT_EQ((*groups)[2].glob, "*");
  EXPECT_EQ((*groups)[2].optimizer.beta1, 0.8);
  EXPECT_TRUE(ParseParameterGroups("", OptionsOfRun())->empty());
}

// Wherever it stands among the options, the optimizer is chosen first; and naming the run's own changes nothing.
TEST(ParameterGroupsTest, OptimizerMayComeLast) {
  EXPECT_EQ(Groups("a:momentum=0.5,optimizer=rmsprop").groups[0].optimizer.momentum, 0.5);
  EXPECT_EQ(Groups("a:optimizer=adam,beta2=0.5").groups[0].optimizer.beta1, 0.8);
  EXPECT_EQ(Groups("a:optimizer=sgd,lr_scale=3").groups[0].optimizer.learning_rate, 0.03);
}

TEST(ParameterGroupsTest, RefusesWhatItCannotRead) {
  const auto message = [](absl::string_view text) {
    return std::string(ParseParameterGroups(text, OptionsOfRun()).status().message());
  };
  EXPECT_THAT(message("a:learning_rate=1,lr_scale=1"), ErrorNames({"learning_rate", "lr_scale"}));
  EXPECT_THAT(message("a:lr_scale=0"), ErrorNames({"\"a:lr_scale=0\"", "lr_scale", "0", "number"}));
  EXPECT_THAT(message("a:lr_scale=x"), ErrorNames({"lr_scale", "x"}));
  EXPECT_THAT(message("a:momentum=0.9"), ErrorNames({"momentum", "adam"}));
  EXPECT_THAT(message("a:beta1=1.5"), ErrorNames({"beta1", "1.5", "0", "1"}));
  EXPECT_THAT(message("a:beta1=0.5,beta1=0.6"), ErrorNames({"beta1", "twice"}));
  EXPECT_THAT(message("a:beta1"), ErrorNames({"\"beta1\"", "OPTION", "VALUE"}));
  EXPECT_THAT(message("a:"), ErrorNames({"OPTION", "VALUE"}));
  EXPECT_THAT(message("a:speed=1"), HasSubstr("no option \"speed\""));
  EXPECT_THAT(message("a:optimizer=fast"), HasSubstr("no optimizer \"fast\""));
  EXPECT_THAT(message("a:beta1=0.5;"), ErrorNames({"\"\"", "GLOB"}));
  EXPECT_THAT(message(":beta1=0.5"), HasSubstr("expected GLOB"));
}

TEST(ParameterGroupsTest, ChecksTheOptions) {
  const auto message = [](ParameterGroupOptions options, const OptimizerOptions& run = OptionsOfRun()) {
    return std::string(CheckParameterGroupOptions(options, run).message());
  };
  ParameterGroupOptions options = Groups("network.Ti.*:lr_scale=0.5");
  EXPECT_EQ(message(options), "");
  EXPECT_EQ(message({}), "");
  options.alternate_steps = -1;
  EXPECT_THAT(message(options), ErrorNames({"alternate_groups", "-1", "0"}));
  options.groups.clear();
  options.alternate_steps = 2;
  EXPECT_THAT(message(options), HasSubstr("no parameter groups to take turns"));

  // A group as all others is one only where groups take turns.
  options = Groups("network.Ti.*");
  EXPECT_THAT(message(options), HasSubstr("trained as all others are"));
  options.alternate_steps = 2;
  EXPECT_EQ(message(options), "");

  const OptimizerOptions lbfgs = DefaultOptimizerOptions("lbfgs").value();
  EXPECT_THAT(message(options, lbfgs), HasSubstr("do not go with lbfgs"));
  EXPECT_THAT(message(Groups("a:optimizer=lbfgs")), HasSubstr("do not go with lbfgs"));

  options = Groups("network.Ti.*:weight_decay=0");
  options.decay_biases = false;
  EXPECT_EQ(message(options), "");
  OptimizerOptions still = OptionsOfRun();
  still.weight_decay = 0;
  ParameterGroupOptions weights;
  weights.decay_biases = false;
  EXPECT_THAT(message(weights, still), HasSubstr("nothing decays"));
  weights.groups = Groups("network.Ti.*:weight_decay=1").groups;
  EXPECT_EQ(message(weights, still), "");
}

TEST(ParameterGroupsTest, FirstGlobThatFitsCounts) {
  EXPECT_THAT(AssignGroups(Groups("*.Ti.*:lr_scale=2;*.bias:lr_scale=3"), Slices()).value(), ElementsAre(0, 0, 2, 1));
  EXPECT_THAT(AssignGroups({}, Slices()).value(), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(AssignGroups(Groups("*[Oi].0.w*:lr_scale=2"), Slices()).value(), ElementsAre(0, 1, 0, 1));
}

TEST(ParameterGroupsTest, EveryGlobMustFit) {
  const auto message = [](const ParameterGroupOptions& options) {
    return std::string(AssignGroups(options, Slices()).status().message());
  };
  EXPECT_THAT(message(Groups("network.Zr.*:lr_scale=2")),
              HasSubstr("parameter group network.Zr.* fits no parameter; there are network.Ti.0.weight, "
                        "network.Ti.0.bias, network.O.0.weight, network.O.0.bias"));
  EXPECT_THAT(message(Groups("*:lr_scale=2;*.bias:lr_scale=3")),
              HasSubstr("*.bias fits only parameters of groups before"));
  ParameterGroupOptions alone = Groups("*");
  alone.alternate_steps = 1;
  EXPECT_THAT(message(alone), HasSubstr("there is no other to take turns"));
}

TEST(ParameterGroupsTest, BiasesAndNorms) {
  EXPECT_TRUE(IsBiasOrNorm({"network.Ti.0.bias", 0, {4}}));
  EXPECT_TRUE(IsBiasOrNorm({"entity.bias", 0, {4, 1}}));
  EXPECT_TRUE(IsBiasOrNorm({"bias", 0, {4, 1}}));
  EXPECT_TRUE(IsBiasOrNorm({"batch_norm.weight", 0, {4}}));
  EXPECT_TRUE(IsBiasOrNorm({"scale", 0, {}}));
  EXPECT_FALSE(IsBiasOrNorm({"network.Ti.0.weight", 0, {4, 3}}));
  EXPECT_FALSE(IsBiasOrNorm({"unbias", 0, {4, 3}}));
}

}  // namespace
}  // namespace rutile
