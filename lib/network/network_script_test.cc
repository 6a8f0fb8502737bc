// Compares TorchScript with LibTorch's single operations: values, gradients, and gradients of gradients.

#include "lib/network/network_script.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/network/network_init.h"
#include "lib/network/network_reference.h"
#include "lib/task/eager_options.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensorfile_torch.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

struct Results {
  at::Tensor energies, slopes, gradient, second;
};

// Computes d (energy of each structure) / d (parameters), and d |d energy / d x|^2 / d (parameters), which forces need.
Results Differentiate(const NetworkShape& shape, const at::Tensor& parameters, const at::Tensor& x,
                      const EagerOptions& eager) {
  const auto num_atoms = static_cast<int32_t>(x.size(0));
  std::vector<int32_t> structure(num_atoms);
  for (int32_t a = 0; a < num_atoms; ++a) structure[a] = a % 3;
  const Tensor offset = Tensor::Of<int64_t>({0, num_atoms / 3, num_atoms}, {3});
  const at::Tensor p = parameters.clone().requires_grad_();
  const at::Tensor rows = x.clone().requires_grad_();
  using torch::autograd::grad;
  Results r;
  r.energies = ReferenceEnergySums(shape, p, rows, offset, Tensor::Of(structure), 3, eager);
  r.gradient = grad({r.energies.square().sum()}, {p}, {}, /*retain_graph=*/true)[0];
  r.slopes = grad({r.energies.sum()}, {rows}, {}, /*retain_graph=*/true, /*create_graph=*/true)[0];
  r.second = grad({r.slopes.square().sum()}, {p}, {}, /*retain_graph=*/false, /*create_graph=*/false,
                  /*allow_unused=*/true)[0];
  return r;
}

double Difference(const at::Tensor& actual, const at::Tensor& expected) {
  if (!expected.defined()) return actual.defined() ? 1 : 0;  // a linear model's slopes do not depend on all
  const double scale = std::max(1e-30, expected.abs().max().item<double>());
  return (actual - expected).abs().max().item<double>() / scale;
}

class NetworkScriptTest : public ::testing::TestWithParam<Activation> {};

TEST_P(NetworkScriptTest, AgreesWithEagerToRounding) {
  at::manual_seed(3);
  for (const auto& hidden : {std::vector<int>{7, 5}, {}, {40}}) {
    const NetworkShape shape{2, 6, hidden, GetParam()};
    const at::Tensor parameters = ToTorch(Tensor::Of(InitialNetworkParameters(shape, 5))).clone();
    // LibTorch recompiles a function after it has seen it run, and sizes change from batch to batch.
    for (const int64_t atoms : {12, 12, 12, 7, 30}) {
      const at::Tensor x = at::randn({atoms, 6}, at::kDouble);
      EagerOptions script;
      script.script = true;
      const Results expected = Differentiate(shape, parameters, x, {}),
                    actual = Differentiate(shape, parameters, x, script);
      EXPECT_LT(Difference(actual.energies, expected.energies), 1e-13);
      EXPECT_LT(Difference(actual.slopes, expected.slopes), 1e-13);
      EXPECT_LT(Difference(actual.gradient, expected.gradient), 1e-13);
      EXPECT_LT(Difference(actual.second, expected.second), 1e-12);
    }
  }
}

// The tolerance is the rounding of bfloat16, 2^-9, some of it several times; script and operations round alike.
TEST_P(NetworkScriptTest, MixedPrecisionRoundsNetworksAlone) {
  at::manual_seed(3);
  const NetworkShape shape{2, 6, {16, 16}, GetParam()};
  const at::Tensor parameters = ToTorch(Tensor::Of(InitialNetworkParameters(shape, 5))).to(at::kFloat);
  const at::Tensor x = at::randn({48, 6}, at::kFloat);
  const Results expected = Differentiate(shape, parameters, x, {});
  for (const bool script : {false, true}) {
    EagerOptions eager;
    eager.precision = Precision::kBf16Mixed;
    eager.script = script;
    for (int repeat = 0; repeat < 3; ++repeat) {
      const Results actual = Differentiate(shape, parameters, x, eager);
      EXPECT_EQ(actual.energies.scalar_type(), at::kDouble);
      EXPECT_EQ(actual.gradient.scalar_type(), at::kFloat);
      EXPECT_EQ(actual.slopes.scalar_type(), at::kFloat);
      EXPECT_LT(Difference(actual.energies, expected.energies), 0.02);
      EXPECT_GT(Difference(actual.energies, expected.energies), 1e-5);  // output was bfloat16
      EXPECT_LT(Difference(actual.slopes, expected.slopes), 0.05);
      EXPECT_LT(Difference(actual.gradient, expected.gradient), 0.05);
      EXPECT_LT(Difference(actual.second, expected.second), 0.1);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Activations, NetworkScriptTest,
                         ::testing::Values(Activation::kLinear, Activation::kTanh, Activation::kSigmoid,
                                           Activation::kMtanh, Activation::kTwist, Activation::kSilu),
                         [](const auto& info) { return std::string(kActivationNames.Name(info.param)); });

TEST(NetworkScriptSourceTest, IsReadable) {
  EXPECT_EQ(NetworkScriptSource({2, 6, {3}, Activation::kSilu}),
            "def outputs(x: Tensor, w0: Tensor, b0: Tensor, w1: Tensor, b1: Tensor) -> Tensor:\n"
            "  h = x\n"
            "  h = torch.addmm(b0, h, w0.t())\n"
            "  h = h * torch.sigmoid(h)\n"
            "  h = torch.addmm(b1, h, w1.t())\n"
            "  return h.view([-1])\n");
}

}  // namespace
}  // namespace rutile
