// Compares our optimizers with LibTorch's, step by step on the same gradients. It is a file of its own because
// torch/optim takes 20 s to compile.

#include <ATen/ATen.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

#include <memory>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/optimizer/optimizer.h"

namespace rutile {
namespace {

using ::testing::DoubleNear;
using ::testing::Pointwise;

constexpr int kSteps = 30;
constexpr int64_t kSize = 21;

std::vector<double> Normals(const char* purpose, int step) {
  RandomStream stream(5, purpose, step);
  std::vector<double> values(kSize);
  for (double& value : values) value = stream.Normal();
  return values;
}

void ExpectSameTrace(const OptimizerOptions& options, torch::optim::Optimizer* torch_optimizer) {
  at::Tensor theirs = torch_optimizer->param_groups()[0].params()[0];
  Tensor ours = Tensor::Of(Normals("p", 0));
  const auto optimizer = MakeOptimizer(options, DType::kF64, kSize);
  for (int step = 0; step < kSteps; ++step) {
    const std::vector<double> gradient = Normals("g", step + 1);
    theirs.mutable_grad() = at::tensor(gradient, at::kDouble);
    torch_optimizer->step();
    optimizer->Step(options.learning_rate, Tensor::Of(gradient), &ours);
    const double* values = theirs.data_ptr<double>();
    ASSERT_THAT(ours.ToDoubles(), Pointwise(DoubleNear(1e-12), std::vector<double>(values, values + kSize))) << step;
  }
}

at::Tensor Leaf() { return at::tensor(Normals("p", 0), at::kDouble).requires_grad_(true); }

TEST(OptimizerTorchTest, Adam) {
  for (const double weight_decay : {0.0, 0.2}) {
    OptimizerOptions options = DefaultOptimizerOptions("adam").value();
    options.weight_decay = weight_decay;
    torch::optim::Adam theirs({Leaf()}, torch::optim::AdamOptions(1e-3).weight_decay(weight_decay));
    ExpectSameTrace(options, &theirs);
  }
}

TEST(OptimizerTorchTest, AdamWithOtherNumbers) {
  OptimizerOptions options = DefaultOptimizerOptions("adam").value();
  options.learning_rate = 0.03;
  options.beta1 = 0.7;
  options.beta2 = 0.9;
  options.epsilon = 1e-3;
  torch::optim::Adam theirs({Leaf()}, torch::optim::AdamOptions(0.03).betas({0.7, 0.9}).eps(1e-3));
  ExpectSameTrace(options, &theirs);
}

TEST(OptimizerTorchTest, Amsgrad) {
  OptimizerOptions options = DefaultOptimizerOptions("adam").value();
  options.amsgrad = true;
  options.beta2 = 0.9;  // so that the mean of squares falls, too
  options.weight_decay = 0.2;
  torch::optim::Adam adam({Leaf()}, torch::optim::AdamOptions(1e-3).betas({0.9, 0.9}).weight_decay(0.2).amsgrad(true));
  ExpectSameTrace(options, &adam);
  options.kind = OptimizerKind::kAdamW;
  torch::optim::AdamW adamw({Leaf()},
                            torch::optim::AdamWOptions(1e-3).betas({0.9, 0.9}).weight_decay(0.2).amsgrad(true));
  ExpectSameTrace(options, &adamw);
}

TEST(OptimizerTorchTest, AdamW) {
  torch::optim::AdamW theirs({Leaf()}, torch::optim::AdamWOptions(1e-3));
  ExpectSameTrace(DefaultOptimizerOptions("adamw").value(), &theirs);
}

TEST(OptimizerTorchTest, Sgd) {
  struct Case {
    double momentum, dampening;
    bool nesterov;
  };
  for (const Case& c : {Case{0, 0, false}, Case{0.9, 0, false}, Case{0.9, 0.4, false}, Case{0.9, 0, true}}) {
    OptimizerOptions options = DefaultOptimizerOptions("sgd").value();
    options.weight_decay = 0.1;
    options.momentum = c.momentum;
    options.dampening = c.dampening;
    options.nesterov = c.nesterov;
    torch::optim::SGD theirs({Leaf()}, torch::optim::SGDOptions(1e-2)
                                           .weight_decay(0.1)
                                           .momentum(c.momentum)
                                           .dampening(c.dampening)
                                           .nesterov(c.nesterov));
    ExpectSameTrace(options, &theirs);
  }
}

TEST(OptimizerTorchTest, Rmsprop) {
  for (const double momentum : {0.0, 0.9}) {
    for (const bool centered : {false, true}) {
      OptimizerOptions options = DefaultOptimizerOptions("rmsprop").value();
      options.alpha = 0.9;
      options.epsilon = 1e-3;
      options.weight_decay = 0.1;
      options.momentum = momentum;
      options.centered = centered;
      torch::optim::RMSprop theirs(
          {Leaf()},
          torch::optim::RMSpropOptions(1e-2).alpha(0.9).eps(1e-3).weight_decay(0.1).momentum(momentum).centered(
              centered));
      ExpectSameTrace(options, &theirs);
    }
  }
}

TEST(OptimizerTorchTest, RmspropAsItComes) {
  torch::optim::RMSprop theirs({Leaf()}, torch::optim::RMSpropOptions());
  ExpectSameTrace(DefaultOptimizerOptions("rmsprop").value(), &theirs);
}

TEST(OptimizerTorchTest, Adagrad) {
  OptimizerOptions options = DefaultOptimizerOptions("adagrad").value();
  torch::optim::Adagrad plain({Leaf()}, torch::optim::AdagradOptions());
  ExpectSameTrace(options, &plain);
  options.lr_decay = 0.05;
  options.initial_accumulator = 0.3;
  options.weight_decay = 0.1;
  options.epsilon = 1e-3;
  torch::optim::Adagrad theirs(
      {Leaf()},
      torch::optim::AdagradOptions(1e-2).lr_decay(0.05).initial_accumulator_value(0.3).weight_decay(0.1).eps(1e-3));
  ExpectSameTrace(options, &theirs);
}

}  // namespace
}  // namespace rutile
