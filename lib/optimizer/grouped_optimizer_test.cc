#include "lib/optimizer/grouped_optimizer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/machine/parallel_for.h"
#include "lib/optimizer/optimizer.h"
#include "lib/optimizer/parameter_groups.h"
#include "lib/task/task.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/testing/toy_task.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kSize = 36;
constexpr double kRate = 0.01;

// Slices of two networks; the second begins at 16.
std::vector<ParameterSlice> Slices() {
  return {{"Ti.weight", 0, {4, 3}}, {"Ti.bias", 12, {4}}, {"O.weight", 16, {4, 4}}, {"O.bias", 32, {4}}};
}

OptimizerOptions OptionsOfRun(const char* name) {
  OptimizerOptions run = DefaultOptimizerOptions(name).value();
  run.learning_rate = kRate;
  run.weight_decay = 0.1;
  return run;
}

std::unique_ptr<Optimizer> Make(const OptimizerOptions& run, const char* groups, int64_t alternate_steps = 0,
                                bool decay_biases = true) {
  ParameterGroupOptions options;
  options.groups = ParseParameterGroups(groups, run).value();
  options.alternate_steps = alternate_steps;
  options.decay_biases = decay_biases;
  return std::make_unique<GroupedOptimizer>(run, options, DType::kF32, Slices());
}

Tensor Random(const char* purpose, int step = 0) {
  RandomStream stream(3, purpose, step);
  Tensor tensor = Tensor::Zeros(DType::kF32, {kSize});
  for (float& value : tensor.mutable_values<float>()) value = static_cast<float>(stream.Normal());
  return tensor;
}

Tensor Copy(const Tensor& tensor) {
  Tensor copy = Tensor::Zeros(tensor.dtype(), tensor.shape());
  std::memcpy(copy.mutable_data(), tensor.data(), tensor.num_bytes());
  return copy;
}

Tensor Trained(Optimizer* optimizer, int steps, double rate = kRate) {
  Tensor parameters = Random("p");
  for (int i = 0; i < steps; ++i) optimizer->Step(rate, Random("g", i), &parameters);
  return parameters;
}

std::vector<double> Part(const Tensor& tensor, int64_t begin, int64_t size) {
  return tensor.Slice(begin, {size}).ToDoubles();
}

// Each group moves as a whole run with its options would move it; changes of the schedule reach all groups.
TEST(GroupedOptimizerTest, GroupsMoveAsRunsOfTheirOwn) {
  OptimizerOptions run = OptionsOfRun("adam"), sgd = OptionsOfRun("sgd");
  sgd.learning_rate = 0.03;
  sgd.weight_decay = 0;
  sgd.momentum = 0.9;
  const auto grouped = Make(run, "O.*:optimizer=sgd,learning_rate=0.03,momentum=0.9,weight_decay=0");
  const Tensor found = Trained(grouped.get(), 5, 0.5 * kRate);
  const Tensor adam = Trained(MakeOptimizer(run, DType::kF32, kSize).get(), 5, 0.5 * kRate);
  const Tensor other = Trained(MakeOptimizer(sgd, DType::kF32, kSize).get(), 5, 0.5 * kRate * (0.03 / kRate));
  EXPECT_EQ(Part(found, 0, 16), Part(adam, 0, 16));
  EXPECT_EQ(Part(found, 16, 20), Part(other, 16, 20));
}

TEST(GroupedOptimizerTest, BiasesNeedNotDecay) {
  OptimizerOptions run = OptionsOfRun("adamw"), still = run;
  still.weight_decay = 0;
  const Tensor found = Trained(Make(run, "Ti.*:lr_scale=1,beta1=0.9", 0, false).get(), 5);
  const Tensor decaying = Trained(MakeOptimizer(run, DType::kF32, kSize).get(), 5);
  const Tensor plain = Trained(MakeOptimizer(still, DType::kF32, kSize).get(), 5);
  EXPECT_EQ(Part(found, 0, 12), Part(decaying, 0, 12));
  EXPECT_EQ(Part(found, 12, 4), Part(plain, 12, 4));
  EXPECT_EQ(Part(found, 16, 16), Part(decaying, 16, 16));
  EXPECT_EQ(Part(found, 32, 4), Part(plain, 32, 4));
}

TEST(GroupedOptimizerTest, TurnsAreTakenInOrder) {
  const auto optimizer = Make(OptionsOfRun("adam"), "O.*;Ti.bias", 2);
  Tensor parameters = Random("p");
  std::vector<std::string> moved;
  for (int i = 0; i < 8; ++i) {
    const Tensor before = Copy(parameters);
    const std::vector<bool> frozen = optimizer->frozen();
    ASSERT_EQ(frozen.size(), 4u);
    optimizer->Step(kRate, Random("g", i), &parameters);
    std::string names;
    const std::vector<ParameterSlice> slices = Slices();
    for (size_t s = 0; s < slices.size(); ++s) {
      const int64_t size = s == 0 ? 12 : s == 2 ? 16 : 4;
      const bool changed = Part(before, slices[s].offset, size) != Part(parameters, slices[s].offset, size);
      EXPECT_NE(changed, frozen[s]) << i << " " << slices[s].name;
      if (changed) names += slices[s].name + " ";
    }
    moved.push_back(names);
  }
  const std::string first = "O.weight O.bias ", second = "Ti.bias ", rest = "Ti.weight ";
  EXPECT_THAT(moved, ElementsAre(first, first, second, second, rest, rest, first, first));
}

// A frozen group counts no step and keeps its moments: it behaves as if only its own turns existed, and the gradients
// in others' turns are not read.
TEST(GroupedOptimizerTest, RestIsNoStep) {
  const auto optimizer = Make(OptionsOfRun("adam"), "O.*", 1);
  const auto alone = MakeOptimizer(OptionsOfRun("adam"), DType::kF32, kSize);
  Tensor parameters = Random("p"), expected = Random("p");
  const std::vector<bool>* const first = &optimizer->frozen();
  for (int i = 0; i < 6; ++i) {
    Tensor gradient = Random("g", i);
    const bool own = i % 2 == 0;
    EXPECT_EQ(&optimizer->frozen() == first, own);
    for (int64_t k = own ? 0 : 16; k < (own ? 16 : kSize); ++k) gradient.mutable_values<float>()[k] = NAN;
    optimizer->Step(kRate, gradient, &parameters);
    if (own) alone->Step(kRate, Random("g", i), &expected);
  }
  EXPECT_EQ(Part(parameters, 16, 20), Part(expected, 16, 20));
}

TEST(GroupedOptimizerTest, OneGroupForAllLeavesNoDefaultGroup) {
  const auto optimizer = Make(OptionsOfRun("adam"), "O.*:lr_scale=2;*:lr_scale=3");
  EXPECT_FALSE(optimizer->State().Has("group2.step"));
  EXPECT_TRUE(optimizer->State().Has("group1.step"));
}

// Restored at any step, inside a turn or between turns, an optimizer continues with the same bits.
TEST(GroupedOptimizerTest, StateSurvives) {
  for (const int64_t alternate_steps : {0, 3}) {
    for (int saved_at = 1; saved_at < 8; ++saved_at) {
      const auto make = [&] {
        return Make(OptionsOfRun("schedule-free-adamw"),
                    "O.weight:optimizer=rmsprop,centered=true;Ti.*:optimizer=adagrad", alternate_steps);
      };
      const auto first = make(), second = make();
      Tensor parameters = Trained(first.get(), saved_at);
      ASSERT_TRUE(second->SetState(first->State()).ok());
      Tensor copy = Copy(parameters);
      for (int i = 0; i < 9; ++i) {
        EXPECT_EQ(first->frozen(), second->frozen());
        first->Step(kRate, Random("g", i), &parameters);
        second->Step(kRate, Random("g", i), &copy);
      }
      EXPECT_EQ(parameters.ToDoubles(), copy.ToDoubles());
      EXPECT_EQ(first->EvaluationParameters(parameters).ToDoubles(), second->EvaluationParameters(copy).ToDoubles());
    }
  }
}

TEST(GroupedOptimizerTest, StateThatDoesNotFitChangesNothing) {
  const auto optimizer = Make(OptionsOfRun("adam"), "O.*:lr_scale=2"),
             twin = Make(OptionsOfRun("adam"), "O.*:lr_scale=2");
  const auto sgd = Make(OptionsOfRun("adam"), "O.*:lr_scale=2;Ti.*:optimizer=sgd"),
             other = Make(OptionsOfRun("sgd"), "O.*:lr_scale=2");
  Trained(sgd.get(), 3);
  Tensor parameters = Trained(optimizer.get(), 4), expected = Trained(twin.get(), 4);
  EXPECT_THAT(std::string(optimizer->SetState(other->State()).message()), HasSubstr("group0: no tensor \"exp_avg\""));
  EXPECT_THAT(std::string(optimizer->SetState(sgd->State()).message()), HasSubstr("group1: no tensor \"exp_avg\""));
  optimizer->Step(kRate, Random("g", 9), &parameters);
  twin->Step(kRate, Random("g", 9), &expected);
  EXPECT_EQ(parameters.ToDoubles(), expected.ToDoubles());
  const auto turns = Make(OptionsOfRun("adam"), "O.*:lr_scale=2", 3);
  EXPECT_THAT(std::string(turns->SetState(optimizer->State()).message()), HasSubstr("no tensor \"turns_step\""));
}

// The parameters to evaluate differ in the ranges of averaging groups alone, and two such groups do not interfere.
TEST(GroupedOptimizerTest, EvaluatesTheAverageOfGroupsThatHaveOne) {
  const OptimizerOptions free = OptionsOfRun("schedule-free-adamw");
  const auto whole = MakeOptimizer(free, DType::kF32, kSize);
  const Tensor expected = whole->EvaluationParameters(Trained(whole.get(), 6));
  const auto both = Make(free, "O.*:lr_scale=1");
  EXPECT_EQ(both->EvaluationParameters(Trained(both.get(), 6)).ToDoubles(), expected.ToDoubles());
  const auto one = Make(OptionsOfRun("adam"), "O.*:optimizer=schedule-free-adamw,learning_rate=0.01,weight_decay=0.1");
  const Tensor trained = Trained(one.get(), 6);
  const Tensor evaluated = one->EvaluationParameters(trained);
  EXPECT_EQ(Part(evaluated, 0, 16), Part(trained, 0, 16));
  EXPECT_EQ(Part(evaluated, 16, 20), Part(expected, 16, 20));
}

TEST(MakeTrainingOptimizerTest, OneGroupIsThePlainOptimizer) {
  const ToyTask task({});
  const auto names = [&](const ParameterGroupOptions& options) {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : MakeTrainingOptimizer(OptionsOfRun("adam"), options, task)->State()) {
      names.push_back(name + " " + std::to_string(tensor.num_elements()));
    }
    return names;
  };
  EXPECT_THAT(names({}), ElementsAre("exp_avg 4", "exp_avg_sq 4", "step 1"));
  ParameterGroupOptions options;
  options.decay_biases = false;
  EXPECT_THAT(names(options), ElementsAre("exp_avg 4", "exp_avg_sq 4", "step 1"));
  options.groups = ParseParameterGroups("bias:lr_scale=2", OptionsOfRun("adam")).value();
  EXPECT_THAT(names(options), ElementsAre("group0.exp_avg 1", "group0.exp_avg_sq 1", "group0.step 1",
                                          "group1.exp_avg 3", "group1.exp_avg_sq 3", "group1.step 1"));
}

// Weight decay applies to the toy's weights, not to its bias.
TEST(MakeTrainingOptimizerTest, BiasesOfOneGroupNeedNotDecay) {
  const ToyTask task({});
  ParameterGroupOptions options;
  options.decay_biases = false;
  OptimizerOptions run = DefaultOptimizerOptions("adamw").value();
  run.weight_decay = 0.5;
  Tensor parameters = Tensor::Of<double>({1, 1, 1, 1});
  MakeTrainingOptimizer(run, options, task)->Step(0.1, Tensor::Zeros(DType::kF64, {4}), &parameters);
  EXPECT_EQ(parameters.ToDoubles(), (std::vector<double>{0.95, 0.95, 0.95, 1}));
}

// A step of many parameters is cut into parts for threads, which must not cut a row.
TEST(GroupedOptimizerTest, RowsAreWholeInPartsOfAStep) {
  constexpr int64_t kRows = 1000, kWidth = 100;
  const std::vector<ParameterSlice> slices = {{"entity.weight", 0, {kRows, kWidth}},
                                              {"relation.weight", kRows * kWidth, {kRows, kWidth}}};
  const int64_t size = 2 * kRows * kWidth;
  const OptimizerOptions run = DefaultOptimizerOptions("rowwise-adagrad").value();
  Tensor gradient = Tensor::Zeros(DType::kF32, {size}), expected;
  for (int64_t p = 0; p < size; ++p) gradient.mutable_values<float>()[p] = static_cast<float>(std::sin(p));
  for (const int64_t alternate : {0, 1}) {
    for (const int threads : {0, 1, 2}) {
      ParameterGroupOptions options;
      options.groups = ParseParameterGroups("relation.*:learning_rate=0.05", run).value();
      options.alternate_steps = alternate;
      GroupedOptimizer optimizer(run, options, DType::kF32, slices);
      ThreadPool pool(std::max(threads, 1));
      if (threads > 0) optimizer.SetThreads(&pool);
      Tensor parameters = Tensor::Zeros(DType::kF32, {size});
      for (int step = 0; step < 2; ++step) optimizer.Step(0.1, gradient, &parameters);
      if (threads == 0) expected = Copy(parameters);
      EXPECT_EQ(std::memcmp(expected.data(), parameters.data(), parameters.num_bytes()), 0) << threads << alternate;
    }
  }
}

// A step without a gradient takes its part of a turn and moves nothing.
TEST(GroupedOptimizerTest, PassedStepsCountForTurns) {
  const auto some = Make(OptionsOfRun("adam"), "O.*", 2);
  Tensor parameters = Random("p");
  const Tensor start = Copy(parameters);
  EXPECT_TRUE(some->frozen()[0]);
  some->PassStep();
  some->PassStep();
  EXPECT_FALSE(some->frozen()[0]);
  EXPECT_TRUE(some->frozen()[2]);
  EXPECT_EQ(some->State().At("turns_step").values<int64_t>()[0], 2);
  some->Step(kRate, Random("g"), &parameters);
  EXPECT_NE(Part(parameters, 0, 16), Part(start, 0, 16));
  EXPECT_EQ(Part(parameters, 16, 20), Part(start, 16, 20));
}

}  // namespace
}  // namespace rutile
