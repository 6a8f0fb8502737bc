#include "lib/optimizer/methods/rowwise_adagrad.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/machine/parallel_for.h"
#include "lib/optimizer/grouped_optimizer.h"
#include "lib/optimizer/lazy_rows.h"
#include "lib/task/gradients/row_gradients.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

OptimizerOptions Options() {
  OptimizerOptions options = DefaultOptimizerOptions("rowwise-adagrad").value();
  options.lr_decay = 0.1;
  options.initial_accumulator = 0.05;
  return options;
}

// Three numbers of their own, a table of `rows` rows of `width` numbers, two numbers, a table of width 1.
std::vector<ParameterRange> Ranges(int64_t rows, int64_t width) {
  return {{0, 3}, {3, rows * width, true, width}, {3 + rows * width, 2, false}, {5 + rows * width, rows}};
}

int64_t SizeOf(const std::vector<ParameterRange>& ranges) { return ranges.back().begin + ranges.back().size; }

std::vector<double> Normal(int64_t n, const char* purpose, int step = 0) {
  RandomStream stream(5, purpose, step);
  std::vector<double> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(stream.Normal());
  return values;
}

Tensor Of(DType dtype, const std::vector<double>& values) {
  if (dtype == DType::kF64) return Tensor::Of(values);
  return Tensor::Of(std::vector<float>(values.begin(), values.end()));
}

// In plain loops, in fp64.
void Define(const OptimizerOptions& options, const std::vector<ParameterRange>& ranges, int64_t step, double rate,
            const std::vector<double>& gradient, double scale, std::vector<double>* sums, std::vector<double>* p) {
  size_t row = 0;
  for (const ParameterRange& range : ranges) {
    for (int64_t begin = range.begin; begin < range.begin + range.size; begin += range.row, ++row) {
      std::vector<double> g;
      for (int64_t i = begin; i < begin + range.row; ++i) {
        g.push_back(scale * gradient[i] + (range.decays ? options.weight_decay : 0) * (*p)[i]);
        (*sums)[row] += g.back() * g.back() / static_cast<double>(range.row);
      }
      const double size = rate / (1 + static_cast<double>(step) * options.lr_decay);
      for (int64_t i = 0; i < range.row; ++i) {
        (*p)[begin + i] -= size * g[i] / (std::sqrt((*sums)[row]) + options.epsilon);
      }
    }
  }
}

TEST(RowwiseAdagradTest, FollowsItsDefinition) {
  for (const DType dtype : {DType::kF64, DType::kF32}) {
    for (const int64_t width : {1, 3, 8, 19}) {  // below, at and above the sums' lanes
      OptimizerOptions options = Options();
      options.weight_decay = 0.02;
      const std::vector<ParameterRange> ranges = Ranges(4, width);
      const int64_t size = SizeOf(ranges);
      RowwiseAdagrad optimizer(options, dtype, ranges);
      std::vector<double> expected = Normal(size, "p"), sums(3 + 4 + 2 + 4, options.initial_accumulator);
      Tensor parameters = Of(dtype, expected);
      for (int step = 0; step < 3; ++step) {
        const std::vector<double> gradient = Normal(size, "g", step);
        Define(options, ranges, step, 0.3, gradient, 0.5, &sums, &expected);
        optimizer.Step(0.3, Of(dtype, gradient), &parameters, 0.5);
      }
      const double tolerance = dtype == DType::kF64 ? 1e-14 : 1e-5;
      for (int64_t i = 0; i < size; ++i) EXPECT_NEAR(parameters.ToDoubles()[i], expected[i], tolerance) << i;
      const std::vector<double> state = optimizer.State().At("sum").ToDoubles();
      ASSERT_EQ(state.size(), sums.size());
      for (size_t i = 0; i < sums.size(); ++i) EXPECT_NEAR(state[i], sums[i], tolerance * (1 + sums[i]));
    }
  }
}

// A row of one number is ordinary Adagrad's, to the bit.
TEST(RowwiseAdagradTest, EqualsAdagradWithoutTables) {
  OptimizerOptions options = Options();
  const auto rowwise = MakeOptimizer(options, DType::kF32, 37);
  options.kind = OptimizerKind::kAdagrad;
  const auto adagrad = MakeOptimizer(options, DType::kF32, 37);
  Tensor a = Of(DType::kF32, Normal(37, "p")), b = Of(DType::kF32, Normal(37, "p"));
  for (int step = 0; step < 3; ++step) {
    const Tensor gradient = Of(DType::kF32, Normal(37, "g", step));
    rowwise->Step(0.1, gradient, &a);
    adagrad->Step(0.1, gradient, &b);
  }
  EXPECT_EQ(a.ToDoubles(), b.ToDoubles());
}

TEST(RowwiseAdagradTest, ThreadsPartsAndStateDoNotChangeABit) {
  const std::vector<ParameterRange> ranges = Ranges(9000, 7);
  const int64_t size = SizeOf(ranges);
  ThreadPool two(2);
  RowwiseAdagrad one(Options(), DType::kF32, ranges), many(Options(), DType::kF32, ranges);
  many.SetThreads(&two);
  Tensor a = Of(DType::kF32, Normal(size, "p")), b = Of(DType::kF32, Normal(size, "p"));
  for (int step = 0; step < 2; ++step) {
    const Tensor gradient = Of(DType::kF32, Normal(size, "g", step));
    one.Step(0.1, gradient, &a);
    many.Step(0.1, gradient, &b);
  }
  EXPECT_EQ(a.ToDoubles(), b.ToDoubles());
  RowwiseAdagrad resumed(Options(), DType::kF32, ranges);
  ASSERT_TRUE(resumed.SetState(one.State()).ok());
  const Tensor gradient = Of(DType::kF32, Normal(size, "g", 2));
  one.Step(0.1, gradient, &a);
  resumed.BeginStep(0.1);
  for (const auto& [begin, n] : std::vector<std::pair<int64_t, int64_t>>{{0, 17}, {17, size - 17}}) {
    resumed.StepPart(begin, gradient.Slice(begin, {n}), 1, &b);
  }
  EXPECT_EQ(a.ToDoubles(), b.ToDoubles());
}

TEST(RowwiseAdagradDeathTest, APartThatCutsARow) {
  RowwiseAdagrad optimizer(Options(), DType::kF32, Ranges(4, 5));
  Tensor parameters = Tensor::Zeros(DType::kF32, {29});
  optimizer.BeginStep(0.1);
  EXPECT_DEATH(optimizer.StepPart(0, Tensor::Zeros(DType::kF32, {10}), 1, &parameters), "cuts a row: 0 to 10");
}

// Steps of the rows with a gradient alone give the bits of steps of all.
TEST(StepRowsTest, EqualsTheStepOfAllParameters) {
  constexpr int64_t kRows = 700, kWidth = 6;
  std::vector<ParameterSlice> slices = {{"entity.weight", 0, {kRows, kWidth}}, {"fc.weight", kRows * kWidth, {5}}};
  slices[0].table = true;
  constexpr int64_t kSize = kRows * kWidth + 5;
  for (const char* name : {"rowwise-adagrad", "adagrad", "sgd", "adam"}) {
    const OptimizerOptions options = DefaultOptimizerOptions(name).value();
    ParameterGroupOptions groups;
    groups.lazy_rows = options.kind == OptimizerKind::kAdam;
    ASSERT_EQ(WhyNotRowsAlone(options, groups), "") << name;
    std::vector<ParameterRange> ranges = {{0, kRows * kWidth, true, kWidth}, {kRows * kWidth, 5}};
    std::unique_ptr<Optimizer> all = MakeOptimizer(options, DType::kF32, ranges);
    std::unique_ptr<Optimizer> rows = MakeOptimizer(options, DType::kF32, ranges);
    if (groups.lazy_rows) {
      all = std::make_unique<LazyRows>(std::move(all), slices);
      rows = std::make_unique<LazyRows>(std::move(rows), slices);
    }
    ThreadPool two(2);
    rows->SetThreads(&two);
    Tensor a = Of(DType::kF32, Normal(kSize, "p")), b = Of(DType::kF32, Normal(kSize, "p"));
    for (int step = 0; step < 4; ++step) {
      std::vector<double> dense = Normal(kSize, "g", step), values;
      RowGradient gradient;
      for (int64_t row = 0; row < kRows; ++row) {
        const auto begin = dense.begin() + row * kWidth;
        if ((row + step) % 3 == 0) {
          std::fill(begin, begin + kWidth, 0.0);
        } else {
          gradient.ranges.push_back({row * kWidth, kWidth, static_cast<int64_t>(values.size())});
          values.insert(values.end(), begin, begin + kWidth);
        }
      }
      gradient.ranges.push_back({kRows * kWidth, 5, static_cast<int64_t>(values.size())});
      values.insert(values.end(), dense.end() - 5, dense.end());
      gradient.values = Of(DType::kF32, values);
      all->Step(0.1, Of(DType::kF32, dense), &a, 0.25);
      rows->StepRows(0.1, gradient, 0.25, &b);
    }
    EXPECT_EQ(a.ToDoubles(), b.ToDoubles()) << name;
    for (const auto& [key, tensor] : all->State()) EXPECT_EQ(rows->State().At(key).ToDoubles(), tensor.ToDoubles());
  }
}

TEST(StepRowsTest, OnlyOptimizersThatLeaveRowsAlone) {
  const auto alone = [](const char* name, double decay = 0, double momentum = 0, double epsilon = 1e-10) {
    OptimizerOptions options = DefaultOptimizerOptions(name).value();
    options.weight_decay = decay;
    options.momentum = momentum;
    options.epsilon = epsilon;
    return WhyNotRowsAlone(options, {}).empty();
  };
  EXPECT_TRUE(alone("sgd"));
  EXPECT_TRUE(alone("adagrad"));
  EXPECT_TRUE(alone("rowwise-adagrad"));
  EXPECT_FALSE(alone("sgd", 0.1));
  EXPECT_FALSE(alone("sgd", 0, 0.9));
  EXPECT_FALSE(alone("adagrad", 0.1));
  EXPECT_FALSE(alone("rowwise-adagrad", 0.1));
  EXPECT_FALSE(alone("rowwise-adagrad", 0, 0, 0));
  for (const char* name : {"adam", "adamw", "rmsprop", "schedule-free-adamw", "lbfgs"}) EXPECT_FALSE(alone(name));
  // A group by other rules, and groups that take turns.
  const OptimizerOptions run = DefaultOptimizerOptions("adagrad").value();
  ParameterGroupOptions groups;
  groups.groups.push_back({"*", DefaultOptimizerOptions("adam").value()});
  EXPECT_THAT(WhyNotRowsAlone(run, groups), HasSubstr("optimizer adam of a parameter group"));
  groups.lazy_rows = true;
  EXPECT_EQ(WhyNotRowsAlone(run, groups), "");
  groups.groups.clear();
  groups.alternate_steps = 2;
  EXPECT_THAT(WhyNotRowsAlone(run, groups), HasSubstr("alternate_steps"));
}

}  // namespace
}  // namespace rutile
