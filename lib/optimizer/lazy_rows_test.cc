#include "lib/optimizer/lazy_rows.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/machine/parallel_for.h"
#include "lib/optimizer/gradient_norm.h"
#include "lib/optimizer/optimizer_options.h"

namespace rutile {
namespace {

// A table of `rows` between other parameters, and a second table of single values.
std::vector<ParameterSlice> Slices(int64_t rows, int64_t width) {
  std::vector<ParameterSlice> slices = {{"first", 0, {7}},
                                        {"entity.weight", 7, {rows, width}},
                                        {"fc.weight", 7 + rows * width, {3, 5}},
                                        {"entity.bias", 22 + rows * width, {rows}}};
  slices[1].table = slices[3].table = true;
  return slices;
}

int64_t Size(const std::vector<ParameterSlice>& slices) { return slices.back().offset + slices.back().num_elements(); }

void Set(int64_t i, double value, Tensor* tensor) {
  if (tensor->dtype() == DType::kF32) {
    tensor->mutable_values<float>()[i] = static_cast<float>(value);
  } else {
    tensor->mutable_values<double>()[i] = value;
  }
}

Tensor RandomTensor(DType dtype, int64_t n, const char* purpose, int step = 0) {
  RandomStream stream(5, purpose, step);
  Tensor tensor = Tensor::Zeros(dtype, {n});
  for (int64_t i = 0; i < n; ++i) Set(i, stream.Normal(), &tensor);
  return tensor;
}

// [P] true for rows without a gradient in this step: two rows of three, others in each step.
std::vector<bool> Absent(const std::vector<ParameterSlice>& slices, int step) {
  std::vector<bool> absent(Size(slices));
  for (const ParameterSlice& slice : slices) {
    if (!slice.table) continue;
    const int64_t width = slice.num_elements() / slice.shape[0];
    for (int64_t i = 0; i < slice.num_elements(); ++i) absent[slice.offset + i] = (i / width + step) % 3 != 0;
  }
  return absent;
}

Tensor Gradient(DType dtype, const std::vector<ParameterSlice>& slices, int step) {
  Tensor gradient = RandomTensor(dtype, Size(slices), "g", step);
  const std::vector<bool> absent = Absent(slices, step);
  for (size_t i = 0; i < absent.size(); ++i) {
    if (absent[i]) Set(static_cast<int64_t>(i), 0, &gradient);
  }
  return gradient;
}

std::vector<OptimizerOptions> AllOptions() {
  std::vector<OptimizerOptions> all;
  for (const char* name : {"adam", "adamw", "rmsprop", "adagrad", "sgd"}) {
    all.push_back(DefaultOptimizerOptions(name).value());
    all.back().weight_decay = 0.1;
  }
  all[2].momentum = all[4].momentum = 0.9;
  return all;
}

std::unique_ptr<Optimizer> Lazy(const OptimizerOptions& options, DType dtype,
                                const std::vector<ParameterSlice>& slices) {
  return std::make_unique<LazyRows>(MakeOptimizer(options, dtype, Size(slices)), slices);
}

// Defines the lazy step: the dense step, after which rows without a gradient get their parameters and averages back.
void StepAndPutBack(double learning_rate, const Tensor& gradient, const std::vector<bool>& absent, Optimizer* dense,
                    Tensor* parameters) {
  const std::vector<double> before = parameters->ToDoubles();
  std::vector<std::vector<double>> state;
  for (const auto& [name, tensor] : dense->State()) state.push_back(tensor.ToDoubles());
  dense->Step(learning_rate, gradient, parameters);
  auto old = state.begin();
  for (auto [name, tensor] : dense->State()) {
    for (size_t i = 0; i < absent.size() && tensor.num_elements() > 1; ++i) {
      if (absent[i]) Set(static_cast<int64_t>(i), (*old)[i], &tensor);
    }
    ++old;
  }
  for (size_t i = 0; i < absent.size(); ++i) {
    if (absent[i]) Set(static_cast<int64_t>(i), before[i], parameters);
  }
}

TEST(LazyRowsTest, WhatHasNoGradientStays) {
  ThreadPool pool(3);
  for (const auto& [rows, width] : {std::make_pair(1, 1), {10, 4}, {400, 333}}) {
    const std::vector<ParameterSlice> slices = Slices(rows, width);
    for (const OptimizerOptions& options : AllOptions()) {
      for (const DType dtype : {DType::kF32, DType::kF64}) {
        SCOPED_TRACE(testing::Message() << kOptimizerNames.Name(options.kind) << " " << DTypeName(dtype) << " "
                                        << rows);
        const auto dense = MakeOptimizer(options, dtype, Size(slices));
        const auto lazy = Lazy(options, dtype, slices), threads = Lazy(options, dtype, slices);
        threads->SetThreads(&pool);
        Tensor a = RandomTensor(dtype, Size(slices), "p"), b = RandomTensor(dtype, Size(slices), "p"),
               c = RandomTensor(dtype, Size(slices), "p");
        for (int step = 0; step < 4; ++step) {
          const Tensor gradient = Gradient(dtype, slices, step);
          StepAndPutBack(0.05, gradient, Absent(slices, step), dense.get(), &a);
          lazy->Step(0.05, gradient, &b);
          threads->Step(0.05, gradient, &c);
        }
        EXPECT_EQ(a.ToDoubles(), b.ToDoubles());
        EXPECT_EQ(a.ToDoubles(), c.ToDoubles());
        for (const auto& [name, tensor] : dense->State()) {
          EXPECT_EQ(lazy->State().At(name).ToDoubles(), tensor.ToDoubles()) << name;
        }
      }
    }
  }
}

// If every row has a gradient, the lazy form equals the dense one.
TEST(LazyRowsTest, IsDenseWhereAllHaveGradients) {
  const std::vector<ParameterSlice> slices = Slices(10, 4);
  const OptimizerOptions options = DefaultOptimizerOptions("adam").value();
  const auto dense = MakeOptimizer(options, DType::kF32, Size(slices)), lazy = Lazy(options, DType::kF32, slices);
  Tensor a = RandomTensor(DType::kF32, Size(slices), "p"), b = RandomTensor(DType::kF32, Size(slices), "p");
  for (int step = 0; step < 3; ++step) {
    const Tensor gradient = RandomTensor(DType::kF32, Size(slices), "g", step);
    dense->Step(0.05, gradient, &a);
    lazy->Step(0.05, gradient, &b);
  }
  EXPECT_EQ(a.ToDoubles(), b.ToDoubles());
}

// StepPartKeeping saves all parameters of a part and returns the sum of the whole gradient.
TEST(LazyRowsTest, KeepsWhatItMoves) {
  const std::vector<ParameterSlice> slices = Slices(10, 4);
  const int64_t n = Size(slices);
  const auto whole = Lazy(AllOptions()[0], DType::kF64, slices), parts = Lazy(AllOptions()[0], DType::kF64, slices);
  Tensor a = RandomTensor(DType::kF64, n, "p"), b = RandomTensor(DType::kF64, n, "p");
  for (int step = 0; step < 3; ++step) {
    const Tensor gradient = Gradient(DType::kF64, slices, step);
    const std::vector<double> before = b.ToDoubles();
    whole->Step(0.05, gradient, &a, 0.5);
    parts->BeginStep(0.05);
    Tensor kept = Tensor::Zeros(DType::kF64, {n});
    double squares = 0;
    for (const auto& [begin, end] : {std::make_pair<int64_t, int64_t>(19, 50), {50, n}, {0, 19}}) {
      Tensor own = kept.Slice(begin, {end - begin});
      squares += parts->StepPartKeeping(begin, gradient.Slice(begin, {end - begin}), 0.5, &b, &own);
    }
    EXPECT_EQ(kept.ToDoubles(), before);
    EXPECT_NEAR(squares, SumOfSquares(0.5, gradient), 1e-12 * squares);
    EXPECT_EQ(a.ToDoubles(), b.ToDoubles());
  }
}

// Expected values: torch.optim.SparseAdam([w], lr=.1, betas=(.8, .9), eps=1e-12) of PyTorch 2.15, gradients of single
// rows (torch.sparse_coo_tensor) in four steps. It adds epsilon elsewhere, so epsilon is this small.
TEST(LazyRowsTest, IsSparseAdamOfPyTorch) {
  OptimizerOptions options = DefaultOptimizerOptions("adam").value();
  options.beta1 = 0.8;
  options.beta2 = 0.9;
  options.epsilon = 1e-12;
  std::vector<ParameterSlice> slices = {{"w", 0, {3, 2}}};
  slices[0].table = true;
  const auto lazy = Lazy(options, DType::kF64, slices);
  Tensor w = Tensor::Of<double>({.5, -.25, 1., 2., -1.5, .75});
  for (const std::vector<double>& gradient : {std::vector<double>{.1, -.2, 0, 0, .3, .4},
                                              {0, 0, -.5, .6, 0, 0},
                                              {.7, .8, -.9, 1., 0, 0},
                                              {0, 0, 0, 0, .2, -.1}}) {
    Tensor g = Tensor::Zeros(DType::kF64, {6});
    std::copy(gradient.begin(), gradient.end(), g.mutable_values<double>().begin());
    lazy->Step(0.1, g, &w);
  }
  const double expected[] = {0.32550293740161, -0.202517185715661, 1.16279010346317,
                             1.8366433708461,  -1.67946204287842,  0.614782213594398};
  for (int i = 0; i < 6; ++i) EXPECT_NEAR(w.values<double>()[i], expected[i], 1e-11) << i;
}

TEST(LazyRowsDeathTest, RefusesAPartThatCutsARow) {
  const std::vector<ParameterSlice> slices = Slices(10, 4);
  const auto lazy = Lazy(AllOptions()[0], DType::kF32, slices);
  Tensor parameters = RandomTensor(DType::kF32, Size(slices), "p");
  lazy->BeginStep(0.1);
  EXPECT_DEATH(lazy->StepPart(0, RandomTensor(DType::kF32, 9, "g"), 1, &parameters), "cuts a row: 0 to 9");
  EXPECT_DEATH(lazy->VisitStep(nullptr), "cannot describe");
}

}  // namespace
}  // namespace rutile
