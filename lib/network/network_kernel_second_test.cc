// Tests NetworkKernel::AddGradientsAndInputSlopes, which lib/many_body builds on, against finite differences.

#include <cmath>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "lib/network/kernel_plan.h"
#include "lib/network/network_kernel.h"
#include "lib/network/network_kernel_testing.h"
#include "lib/network/network_shape.h"
#include "lib/testing/for_each_target.h"

namespace rutile {
namespace {

// What x_second differentiates, atom by atom: slope times energy (where there are slopes) + tangent . d energy / d x.
std::vector<double> ValuesOfAtoms(const KernelExample<double>& e, bool with_slopes, NetworkKernel<double>* kernel) {
  std::vector<double> sums(e.num_structures), energies(e.num_atoms()), x_gradients(e.x.size());
  kernel->Evaluate(e.parameters, e.rows(), absl::MakeSpan(sums), absl::MakeSpan(energies));
  kernel->InputGradients(e.parameters, e.rows(), absl::MakeSpan(x_gradients));
  std::vector<double> values;
  const int num_features = e.shape.num_features;
  for (int64_t a = 0; a < e.num_atoms(); ++a) {
    double value = with_slopes ? e.slopes[e.structure[a]] * energies[a] : 0;
    for (int f = 0; f < num_features; ++f) {
      value += e.tangents[a * num_features + f] * x_gradients[a * num_features + f];
    }
    values.push_back(value);
  }
  return values;
}

void ExpectInputSlopes(const KernelExample<double>& e, const KernelPlan& plan, bool with_slopes) {
  NetworkKernel<double> kernel(e.shape);
  kernel.SetPlan(plan);
  std::vector<double> sums(e.num_structures), x_gradients(e.x.size()), second(e.x.size(), 99);
  std::vector<double> gradients(e.parameters.size(), 2), expected = gradients;
  kernel.ForwardWithInputGradients(e.parameters, e.rows(), absl::MakeSpan(sums), absl::MakeSpan(x_gradients));
  const absl::Span<const double> slopes = with_slopes ? absl::MakeConstSpan(e.slopes) : absl::Span<const double>();
  kernel.AddGradientsAndInputSlopes(e.parameters, e.rows(), slopes, e.tangents, absl::MakeSpan(gradients),
                                    absl::MakeSpan(second));
  if (with_slopes) {
    kernel.AddEnergyAndTangentGradients(e.parameters, e.rows(), slopes, e.tangents, absl::MakeSpan(expected));
  } else {
    kernel.AddTangentGradients(e.parameters, e.rows(), e.tangents, absl::MakeSpan(expected));
  }
  EXPECT_EQ(gradients, expected);
  constexpr double kStep = 1e-5;  // errors: third derivatives times 1e-10, and rounding, 1e-16 / 1e-5
  const int num_features = e.shape.num_features;
  for (int f = 0; f < num_features; ++f) {
    KernelExample<double> low = e, high = e;
    for (int64_t a = 0; a < e.num_atoms(); ++a) {
      low.x[a * num_features + f] -= kStep;
      high.x[a * num_features + f] += kStep;
    }
    const std::vector<double> below = ValuesOfAtoms(low, with_slopes, &kernel);
    const std::vector<double> above = ValuesOfAtoms(high, with_slopes, &kernel);
    for (int64_t a = 0; a < e.num_atoms(); ++a) {
      EXPECT_NEAR(second[a * num_features + f], (above[a] - below[a]) / (2 * kStep), 1e-7) << "atom " << a << " " << f;
    }
  }
}

TEST(NetworkKernelSecondTest, InputSlopesAgreeWithFiniteDifferencesOnEveryTarget) {
  for (const std::vector<int>& hidden : {std::vector<int>{}, {3}, {5, 16}}) {
    for (const Activation activation : {Activation::kTanh, Activation::kTwist, Activation::kSilu}) {
      const KernelExample<double> e = MakeKernelExample<double>({2, 7, hidden, activation}, {17, 5}, 4);
      for (const NetworkAlgorithm algorithm : {NetworkAlgorithm::kFused, NetworkAlgorithm::kGemm}) {
        for (const bool with_slopes : {false, true}) {
          SCOPED_TRACE(std::to_string(hidden.size()) + (algorithm == NetworkAlgorithm::kFused ? " fused" : " gemm"));
          ForEachTarget([&] { ExpectInputSlopes(e, {64, GradientForm::kAuto, algorithm}, with_slopes); });
        }
      }
    }
  }
}

TEST(NetworkKernelSecondTest, LeavesRowsOfFrozenNetworks) {
  const KernelExample<double> e = MakeKernelExample<double>({2, 3, {4}, Activation::kTanh}, {2, 2}, 1);
  NetworkKernel<double> kernel(e.shape);
  kernel.SetFrozen({true, false});
  std::vector<double> sums(1), x_gradients(e.x.size()), second(e.x.size(), 99), gradients(e.parameters.size());
  kernel.ForwardWithInputGradients(e.parameters, e.rows(), absl::MakeSpan(sums), absl::MakeSpan(x_gradients));
  kernel.AddGradientsAndInputSlopes(e.parameters, e.rows(), {}, e.tangents, absl::MakeSpan(gradients),
                                    absl::MakeSpan(second));
  for (int i = 0; i < 6; ++i) EXPECT_EQ(second[i], 99);
  for (int i = 6; i < 12; ++i) EXPECT_NE(second[i], 99);
}

}  // namespace
}  // namespace rutile
