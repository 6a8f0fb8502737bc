// Compares the kernel with autograd at awkward sizes in both precisions, and the two forms of the definition.

#include "lib/many_body/many_body_reference.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "lib/many_body/many_body_kernel.h"
#include "lib/many_body/many_body_testing.h"
#include "lib/network/network_reference.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensorfile_torch.h"
#include "lib/testing/for_each_target.h"

namespace rutile {
namespace {

constexpr int kStructures = 5;

// Returns the largest difference, relative to the largest component.
double Difference(const at::Tensor& actual, const at::Tensor& expected) {
  if (expected.numel() == 0) return actual.numel() == 0 ? 0 : 1;
  const double scale = std::max(1e-30, expected.abs().max().item<double>());
  return (actual.to(at::kDouble).flatten() - expected.flatten()).abs().max().item<double>() / scale;
}

template <typename T>
void CompareWithKernel(const NetworkShape& shape, const std::vector<int64_t>& num_atoms, double tolerance) {
  SCOPED_TRACE("K=" + std::to_string(shape.moments.channels) + " L=" + std::to_string(shape.moments.max_l) +
               " S=" + std::to_string(shape.num_species));
  const ManyBodyExample<T> e = MakeManyBodyExample<T>(shape, num_atoms, kStructures);
  // The reference runs in fp64 on the same (rounded) numbers.
  const auto in_double = [](Tensor t) { return ToTorch(std::move(t)).to(at::kDouble); };
  const at::Tensor p = in_double(Tensor::Of(e.parameters)).requires_grad_();
  const at::Tensor x = in_double(Tensor::Of<T>(e.x, {e.num_atoms(), shape.num_features})).requires_grad_();
  const at::Tensor expected =
      ReferenceSumsOfAtoms(shape, p, x, Tensor::Of(e.species_offset), Tensor::Of(e.structure), kStructures);
  using torch::autograd::grad;
  const at::Tensor energy_gradients =
      grad({(expected * ToTorch(Tensor::Of(e.slopes))).sum()}, {p}, {}, /*retain_graph=*/true)[0];
  const at::Tensor x_gradients = grad({expected.sum()}, {x}, {}, true, /*create_graph=*/true)[0];
  const at::Tensor tangent_gradients =
      grad({(x_gradients.flatten() * in_double(Tensor::Of(e.tangents))).sum()}, {p}, {}, {}, false, true)[0];

  ForEachTarget([&] {
    ManyBodyKernel<T> kernel(shape);
    const AtomRows<T> rows = e.rows();
    std::vector<double> sums(kStructures, 99);
    std::vector<T> gradients(e.parameters.size(), T(0)), g(e.x.size()), atoms(e.num_atoms());
    const auto compare = [&](const at::Tensor& expected_gradients) {
      EXPECT_LT(Difference(ToTorch(Tensor::Of(gradients)), expected_gradients), tolerance);
      std::fill(gradients.begin(), gradients.end(), T(0));
    };
    kernel.Forward(e.parameters, rows, absl::MakeSpan(sums));
    kernel.Backward(e.parameters, rows, e.slopes, absl::MakeSpan(gradients));
    EXPECT_LT(Difference(ToTorch(Tensor::Of(sums)), expected.detach()), tolerance);
    compare(energy_gradients);
    kernel.Evaluate(e.parameters, rows, absl::MakeSpan(sums), absl::MakeSpan(atoms));
    EXPECT_LT(Difference(ToTorch(Tensor::Of(sums)), expected.detach()), tolerance);
    kernel.InputGradients(e.parameters, rows, absl::MakeSpan(g));
    EXPECT_LT(Difference(ToTorch(Tensor::Of(g)), x_gradients.detach()), tolerance);
    kernel.ForwardWithInputGradients(e.parameters, rows, absl::MakeSpan(sums), absl::MakeSpan(g));
    EXPECT_LT(Difference(ToTorch(Tensor::Of(sums)), expected.detach()), tolerance);
    EXPECT_LT(Difference(ToTorch(Tensor::Of(g)), x_gradients.detach()), tolerance);
    kernel.AddEnergyGradients(e.parameters, rows, e.slopes, absl::MakeSpan(gradients));
    compare(energy_gradients);
    kernel.AddTangentGradients(e.parameters, rows, e.tangents, absl::MakeSpan(gradients));
    compare(tangent_gradients);
    kernel.AddEnergyAndTangentGradients(e.parameters, rows, e.slopes, e.tangents, absl::MakeSpan(gradients));
    compare(energy_gradients + tangent_gradients);
  });
}

// Rounding errors of sums of some hundred products of three.
constexpr double kTolerance64 = 1e-12, kTolerance32 = 1e-4;

void CompareBoth(const NetworkShape& shape, const std::vector<int64_t>& num_atoms) {
  CompareWithKernel<double>(shape, num_atoms, kTolerance64);
  CompareWithKernel<float>(shape, num_atoms, kTolerance32);
}

TEST(ManyBodyReferenceTest, KernelAgreesForAllDegrees) {
  for (int max_l = 0; max_l <= 4; ++max_l) CompareBoth(ManyBodyShape(2, 5, 3, max_l, {4}), {7, 33});
}

TEST(ManyBodyReferenceTest, KernelAgreesForAllNumbersOfChannels) {
  for (const int channels : {1, 5, 16, 33, 64, 112}) CompareBoth(ManyBodyShape(2, channels, 8, 3, {16, 5}), {1, 17});
}

TEST(ManyBodyReferenceTest, KernelAgreesForAllNumbersOfSpecies) {
  CompareBoth(ManyBodyShape(1, 16, 5, 2, {6}), {33});
  CompareBoth(ManyBodyShape(3, 16, 5, 2, {6}), {7, 0, 1});
  CompareBoth(ManyBodyShape(3, 16, 1, 1, {6}), {0, 150, 16});
}

TEST(ManyBodyReferenceTest, KernelAgreesForAllNetworks) {
  CompareBoth(ManyBodyShape(2, 6, 2, 2, {}), {7, 3});  // linear
  for (const Activation activation : {Activation::kTanh, Activation::kTwist, Activation::kSigmoid}) {
    CompareBoth(ManyBodyShape(2, 6, 2, 2, {5, 3}, activation), {7, 3});
  }
}

TEST(ManyBodyReferenceTest, NoAtomsHaveNoEnergy) {
  const NetworkShape shape = ManyBodyShape(2, 6, 2, 2, {5});
  const ManyBodyExample<double> e = MakeManyBodyExample<double>(shape, {0, 0}, 3);
  const at::Tensor x = at::zeros({0, shape.num_features}, at::kDouble);
  const at::Tensor sums = ReferenceSumsOfAtoms(shape, ToTorch(Tensor::Of(e.parameters)), x,
                                               Tensor::Of(e.species_offset), Tensor::Of(e.structure), 3);
  EXPECT_TRUE(sums.equal(at::zeros({3}, at::kDouble)));
}

TEST(ManyBodyReferenceTest, AtomsInAnyOrderGiveTheSame) {
  const NetworkShape shape = ManyBodyShape(2, 6, 3, 3, {5});
  const ManyBodyExample<double> e = MakeManyBodyExample<double>(shape, {1, 2}, 1);
  const at::Tensor p = ToTorch(Tensor::Of(e.parameters));
  const at::Tensor x = ToTorch(Tensor::Of<double>(e.x, {3, shape.num_features}));
  const at::Tensor order = at::tensor({1, 0, 2}, at::kLong);
  const at::Tensor energies = ReferenceEnergiesOfAtoms(shape, p, x.index_select(0, order), {1, 0, 1});
  const std::vector<int32_t> each = {1, 0, 2};
  const at::Tensor sums = ReferenceSumsOfAtoms(shape, p, x, Tensor::Of(e.species_offset), Tensor::Of(each), 3);
  EXPECT_LT(Difference(energies, sums), 1e-14);
}

TEST(ManyBodyReferenceTest, PlainShapesAreThoseOfNetworkReference) {
  const NetworkShape shape = {1, 2, {3}, Activation::kTanh};
  const at::Tensor p = at::arange(shape.num_parameters(), at::kDouble) * 0.1, x = at::ones({1, 2}, at::kDouble);
  const std::vector<int64_t> offset = {0, 1};
  const std::vector<int32_t> structure = {0};
  const at::Tensor plain = ReferenceEnergySums(shape, p, x, Tensor::Of(offset), Tensor::Of(structure), 1);
  EXPECT_TRUE(ReferenceSumsOfAtoms(shape, p, x, Tensor::Of(offset), Tensor::Of(structure), 1).equal(plain));
  EXPECT_TRUE(ReferenceEnergiesOfAtoms(shape, p, x, {0}).equal(ReferenceAtomEnergies(shape, p, x, {0})));
}

TEST(ManyBodyReferenceDeathTest, RefusesScripts) {
  const NetworkShape shape = ManyBodyShape(1, 2, 1, 0, {});
  const at::Tensor p = at::zeros({shape.num_parameters()}, at::kDouble), x = at::ones({1, 1}, at::kDouble);
  EagerOptions eager;
  eager.script = true;
  EXPECT_DEATH(ReferenceEnergiesOfAtoms(shape, p, x, {0}, eager), "no script");
}

}  // namespace
}  // namespace rutile
