// Compares the kernel with autograd, for every activation, awkward shapes and both precisions.

#include "lib/network/network_reference.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "hwy/targets.h"
#include "lib/base/random.h"
#include "lib/machine/simd.h"
#include "lib/network/kernel_plan.h"
#include "lib/network/network_init.h"
#include "lib/network/network_kernel.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensorfile_torch.h"

namespace rutile {
namespace {

struct Case {
  std::vector<int64_t> atoms;  // of each species
  int num_features;
  std::vector<int> hidden;
};

class NetworkReferenceTest : public testing::TestWithParam<std::tuple<Case, Activation>> {};

constexpr int kStructures = 5;

// Returns the largest difference, relative to the largest component.
double Difference(const at::Tensor& actual, const at::Tensor& expected) {
  const double scale = std::max(1e-30, expected.abs().max().item<double>());
  return (actual.to(at::kDouble) - expected).abs().max().item<double>() / scale;
}

// rounding: whether factors are rounded to bfloat16.
template <typename T>
void CompareWithKernel(const Case& c, Activation activation, double tolerance, NetworkAlgorithm form,
                       bool rounding = false) {
  const NetworkShape shape{static_cast<int>(c.atoms.size()), c.num_features, c.hidden, activation};
  std::vector<T> parameters, x, tangents;
  for (const double p : InitialNetworkParameters(shape, 5)) parameters.push_back(static_cast<T>(p));
  std::vector<int64_t> offset = {0};
  std::vector<int32_t> structure;
  std::vector<double> slopes;
  RandomStream random(2, "reference");
  for (const int64_t n : c.atoms) {
    for (int64_t a = 0; a < n; ++a) structure.push_back(static_cast<int32_t>(random.Below(kStructures)));
    offset.push_back(static_cast<int64_t>(structure.size()));
  }
  for (size_t i = 0; i < structure.size() * c.num_features; ++i) x.push_back(static_cast<T>(random.Normal()));
  for (size_t i = 0; i < x.size(); ++i) tangents.push_back(static_cast<T>(random.Normal()));
  for (int s = 0; s < kStructures; ++s) slopes.push_back(random.Normal());

  // The reference runs in fp64 on the same (rounded) numbers.
  const auto in_double = [](Tensor t) { return ToTorch(std::move(t)).to(at::kDouble); };
  const at::Tensor p = in_double(Tensor::Of(parameters)).requires_grad_();
  const at::Tensor rows = in_double(Tensor::Of<T>(x, {offset.back(), c.num_features})).requires_grad_();
  const at::Tensor expected =
      ReferenceEnergySums(shape, p, rows, Tensor::Of(offset), Tensor::Of(structure), kStructures);
  using torch::autograd::grad;
  const at::Tensor energy_gradients =
      grad({(expected * ToTorch(Tensor::Of(slopes))).sum()}, {p}, {}, /*retain_graph=*/true)[0];
  const at::Tensor x_gradients = grad({expected.sum()}, {rows}, {}, true, /*create_graph=*/true)[0];
  const at::Tensor tangent_gradients = grad({(x_gradients.flatten() * in_double(Tensor::Of(tangents))).sum()}, {p})[0];

  for (const uint32_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    NetworkKernel<T> kernel(shape);
    kernel.SetPlan({96, GradientForm::kAuto, form});
    if (rounding) kernel.SetRounding(true);
    const AtomRows<T> atoms{x, offset, structure};
    std::vector<double> sums(kStructures);
    std::vector<T> gradients(parameters.size(), T(0)), g(x.size());
    kernel.Forward(parameters, atoms, absl::MakeSpan(sums));
    kernel.Backward(parameters, atoms, slopes, absl::MakeSpan(gradients));
    EXPECT_LT(Difference(ToTorch(Tensor::Of(sums)), expected.detach()), tolerance);
    EXPECT_LT(Difference(ToTorch(Tensor::Of(gradients)), energy_gradients), tolerance);

    kernel.ForwardWithInputGradients(parameters, atoms, absl::MakeSpan(sums), absl::MakeSpan(g));
    EXPECT_LT(Difference(ToTorch(Tensor::Of(sums)), expected.detach()), tolerance);
    EXPECT_LT(Difference(ToTorch(Tensor::Of(g)), x_gradients.detach().flatten()), tolerance);
    std::fill(gradients.begin(), gradients.end(), T(0));
    kernel.AddEnergyGradients(parameters, atoms, slopes, absl::MakeSpan(gradients));
    EXPECT_LT(Difference(ToTorch(Tensor::Of(gradients)), energy_gradients), tolerance);
    std::fill(gradients.begin(), gradients.end(), T(0));
    kernel.AddTangentGradients(parameters, atoms, tangents, absl::MakeSpan(gradients));
    EXPECT_LT(Difference(ToTorch(Tensor::Of(gradients)), tangent_gradients), tolerance);
    std::fill(gradients.begin(), gradients.end(), T(0));
    kernel.AddEnergyAndTangentGradients(parameters, atoms, slopes, tangents, absl::MakeSpan(gradients));
    EXPECT_LT(Difference(ToTorch(Tensor::Of(gradients)), energy_gradients + tangent_gradients), tolerance);
  }
  hwy::SetSupportedTargetsForTest(0);
}

constexpr double kTolerance64 = 1e-13, kTolerance32 = 5e-6;

TEST_P(NetworkReferenceTest, BlocksAgreeInDoublePrecision) {
  CompareWithKernel<double>(std::get<0>(GetParam()), std::get<1>(GetParam()), kTolerance64, NetworkAlgorithm::kFused);
}

TEST_P(NetworkReferenceTest, BlocksAgreeInSinglePrecision) {
  CompareWithKernel<float>(std::get<0>(GetParam()), std::get<1>(GetParam()), kTolerance32, NetworkAlgorithm::kFused);
}

TEST_P(NetworkReferenceTest, MatricesAgreeInDoublePrecision) {
  CompareWithKernel<double>(std::get<0>(GetParam()), std::get<1>(GetParam()), kTolerance64, NetworkAlgorithm::kGemm);
}

TEST_P(NetworkReferenceTest, MatricesAgreeInSinglePrecision) {
  CompareWithKernel<float>(std::get<0>(GetParam()), std::get<1>(GetParam()), kTolerance32, NetworkAlgorithm::kGemm);
}

// A factor is wrong by at most 2^-9 of itself, a product by 2^-8, and a gradient of the second order goes through up to
// six products: 2 %, except for differences of larger numbers. Errors of many terms cancel, so that most are far below.
TEST_P(NetworkReferenceTest, MatricesAgreeInMixedPrecision) {
  CompareWithKernel<float>(std::get<0>(GetParam()), std::get<1>(GetParam()), 0.03, NetworkAlgorithm::kGemm,
                           /*rounding=*/true);
}

constexpr Activation kActivations[] = {Activation::kLinear, Activation::kTanh,  Activation::kSigmoid,
                                       Activation::kMtanh,  Activation::kTwist, Activation::kSilu};

std::string NameOf(const testing::TestParamInfo<std::tuple<Case, Activation>>& info) {
  std::string name(kActivationNames.Name(std::get<1>(info.param)));
  const Case& c = std::get<0>(info.param);
  name += "_" + std::to_string(c.atoms.size()) + "species_f" + std::to_string(c.num_features);
  for (const int width : c.hidden) name += "_" + std::to_string(width);
  return name;
}

INSTANTIATE_TEST_SUITE_P(Shapes, NetworkReferenceTest,
                         testing::Combine(testing::Values(Case{{1}, 3, {}}, Case{{9, 4}, 1, {1}},
                                                          Case{{17, 9}, 5, {7, 5}}, Case{{227, 454}, 20, {16, 16}},
                                                          Case{{0, 140, 3}, 26, {33, 17, 9}},
                                                          Case{{64, 0, 31, 128, 129}, 7, {15}}),
                                          testing::ValuesIn(kActivations)),
                         NameOf);

// Covers both forms of gradients, with and without whole vectors and rows, below and above a whole block.
INSTANTIATE_TEST_SUITE_P(WideShapes, NetworkReferenceTest,
                         testing::Combine(testing::Values(Case{{1, 127}, 44, {64, 63}}, Case{{128, 1}, 31, {97, 32}},
                                                          Case{{129}, 33, {200, 16}}, Case{{130, 2}, 48, {65, 130}}),
                                          testing::ValuesIn(kActivations)),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(WidestShapes, NetworkReferenceTest,
                         testing::Combine(testing::Values(Case{{130}, 67, {520, 257}}),
                                          testing::Values(Activation::kTanh, Activation::kSilu)),
                         NameOf);

}  // namespace
}  // namespace rutile
