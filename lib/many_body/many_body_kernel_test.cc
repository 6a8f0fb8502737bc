// Tests what follows from the formulas alone: derivatives, invariance, blocks, threads; many_body_reference_test.cc
// compares numbers with the definition.

#include "lib/many_body/many_body_kernel.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/descriptor/moment_harmonics.h"
#include "lib/machine/parallel_for.h"
#include "lib/many_body/many_body_testing.h"
#include "lib/testing/for_each_target.h"

namespace rutile {
namespace {

double LossOf(const ManyBodyExample<double>& e, const std::vector<double>& parameters, const std::vector<double>& x) {
  ManyBodyKernel<double> kernel(e.shape);
  std::vector<double> sums(e.num_structures), x_gradients(x.size());
  kernel.ForwardWithInputGradients(parameters, {x, e.species_offset, e.structure}, absl::MakeSpan(sums),
                                   absl::MakeSpan(x_gradients));
  double loss = 0;
  for (int s = 0; s < e.num_structures; ++s) loss += e.slopes[s] * sums[s];
  for (size_t i = 0; i < x.size(); ++i) loss += e.tangents[i] * x_gradients[i];
  return loss;
}

double EnergyOf(const ManyBodyExample<double>& e, const std::vector<double>& x) {
  std::vector<double> sums(e.num_structures);
  ManyBodyKernel<double>(e.shape).Evaluate(e.parameters, {x, e.species_offset, e.structure}, absl::MakeSpan(sums));
  double energy = 0;
  for (const double sum : sums) energy += sum;
  return energy;
}

constexpr double kStep = 1e-4;  // errors: 1e-8 times third derivatives, and rounding, 1e-15 / 1e-4 times the loss

TEST(ManyBodyKernelTest, GradientsAgreeWithFiniteDifferences) {
  for (const int max_l : {1, 3}) {
    const ManyBodyExample<double> e = MakeManyBodyExample<double>(ManyBodyShape(2, 3, 2, max_l, {4}), {2, 1}, 2);
    ManyBodyKernel<double> kernel(e.shape);
    std::vector<double> sums(2), x_gradients(e.x.size()), gradients(e.parameters.size(), 0.0);
    kernel.ForwardWithInputGradients(e.parameters, e.rows(), absl::MakeSpan(sums), absl::MakeSpan(x_gradients));
    kernel.AddEnergyAndTangentGradients(e.parameters, e.rows(), e.slopes, e.tangents, absl::MakeSpan(gradients));
    for (size_t i = 0; i < e.parameters.size(); ++i) {
      std::vector<double> low = e.parameters, high = low;
      low[i] -= kStep;
      high[i] += kStep;
      EXPECT_NEAR(gradients[i], (LossOf(e, high, e.x) - LossOf(e, low, e.x)) / (2 * kStep), 1e-5) << i;
    }
    for (size_t i = 0; i < e.x.size(); ++i) {
      std::vector<double> low = e.x, high = low;
      low[i] -= kStep;
      high[i] += kStep;
      EXPECT_NEAR(x_gradients[i], (EnergyOf(e, high) - EnergyOf(e, low)) / (2 * kStep), 1e-6) << i;
    }
  }
}

// Atoms that have no energies, only something that depends on M, have the slopes of that alone.
TEST(ManyBodyKernelTest, SlopesWithoutEnergiesAreTheRest) {
  const ManyBodyExample<double> e = MakeManyBodyExample<double>(ManyBodyShape(2, 3, 2, 2, {4}), {5, 2}, 2);
  ManyBodyKernel<double> kernel(e.shape);
  std::vector<double> sums(2), m_slopes(7 * kernel.padded_channels());
  RandomStream random(4, "slopes");
  for (double& each : m_slopes) each = random.Normal();
  std::vector<double> energies(e.x.size()), both(e.x.size()), rest(e.x.size());
  kernel.ForwardInvariants(e.parameters, e.rows(), absl::MakeSpan(sums));
  kernel.FinishForward(e.rows(), nullptr, energies.data());
  kernel.ForwardInvariants(e.parameters, e.rows(), {});
  const std::vector<double> m(kernel.invariants(), kernel.invariants() + m_slopes.size());
  kernel.FinishForward(e.rows(), m_slopes.data(), rest.data());
  kernel.ForwardInvariants(e.parameters, e.rows(), absl::MakeSpan(sums));
  EXPECT_EQ(std::vector<double>(kernel.invariants(), kernel.invariants() + m_slopes.size()), m);
  kernel.FinishForward(e.rows(), m_slopes.data(), both.data());
  for (size_t i = 0; i < e.x.size(); ++i) EXPECT_NEAR(rest[i], both[i] - energies[i], 1e-13) << i;
}

// Moments of some neighbors in random directions, with random radial functions.
std::vector<double> MomentsOf(const NetworkShape& shape, const std::vector<std::vector<double>>& directions) {
  const int q = shape.moments.num_components(), rows = shape.num_species * shape.moments.num_radial;
  RandomStream random(8, "radial functions");
  std::vector<double> x(shape.num_features, 0.0), y(q);
  for (const std::vector<double>& u : directions) {
    RealHarmonics(shape.moments.max_l, u, absl::MakeSpan(y), {});
    for (int row = 0; row < rows; ++row) {
      const double radial = random.Normal();
      for (int i = 0; i < q; ++i) x[row * q + i] += radial * y[i];
    }
  }
  return x;
}

TEST(ManyBodyKernelTest, RotationsAndReflectionsLeaveTheEnergy) {
  for (int max_l = 1; max_l <= 4; ++max_l) {
    ManyBodyExample<double> e = MakeManyBodyExample<double>(ManyBodyShape(1, 7, 3, max_l, {4}), {1}, 1);
    RandomStream random(4, "directions");
    // An orthonormal basis (rows of `turn`), by Gram and Schmidt; its determinant may have either sign.
    std::vector<std::vector<double>> turn(3, std::vector<double>(3)), directions, turned;
    for (int i = 0; i < 3; ++i) {
      for (double& value : turn[i]) value = random.Normal();
      for (int j = 0; j <= i; ++j) {
        double dot = 0;
        for (int c = 0; c < 3; ++c) dot += turn[i][c] * turn[j][c];
        for (int c = 0; c < 3; ++c) turn[i][c] = j == i ? turn[i][c] / std::sqrt(dot) : turn[i][c] - dot * turn[j][c];
      }
    }
    for (int neighbor = 0; neighbor < 9; ++neighbor) {
      std::vector<double> u(3), v(3, 0.0);
      double square = 0;
      for (double& value : u) square += std::pow(value = random.Normal(), 2);
      for (double& value : u) value /= std::sqrt(square);
      for (int i = 0; i < 3; ++i) {
        for (int c = 0; c < 3; ++c) v[i] += turn[i][c] * u[c];
      }
      directions.push_back(u);
      turned.push_back(v);
    }
    const double energy = EnergyOf(e, MomentsOf(e.shape, directions));
    EXPECT_NEAR(EnergyOf(e, MomentsOf(e.shape, turned)), energy, 1e-12 * std::max(1.0, std::abs(energy)));
    for (std::vector<double>& v : turned) v[1] = -v[1];
    EXPECT_NEAR(EnergyOf(e, MomentsOf(e.shape, turned)), energy, 1e-12 * std::max(1.0, std::abs(energy)));
    turned[0] = directions[1];
    EXPECT_GT(std::abs(EnergyOf(e, MomentsOf(e.shape, turned)) - energy), 1e-6);  // it does depend on angles
  }
}

// All results of a kernel for one example.
template <typename T>
struct Results {
  Results(const ManyBodyExample<T>& e, const AtomRows<T>& values, ManyBodyKernel<T>* kernel)
      : sums(e.num_structures, 99.0),
        evaluated(sums),
        second_sums(sums),
        energies(e.num_atoms(), T(99)),
        gradients(e.parameters.size(), T(2)),  // 2, as gradients are added to
        both(gradients),
        inputs(e.x.size(), T(99)),
        second_inputs(inputs) {
    kernel->Forward(e.parameters, values, absl::MakeSpan(sums));
    kernel->Backward(e.parameters, values, e.slopes, absl::MakeSpan(gradients));
    kernel->Evaluate(e.parameters, values, absl::MakeSpan(evaluated), absl::MakeSpan(energies));
    kernel->InputGradients(e.parameters, e.rows(), absl::MakeSpan(inputs));
    kernel->ForwardWithInputGradients(e.parameters, e.rows(), absl::MakeSpan(second_sums),
                                      absl::MakeSpan(second_inputs));
    kernel->AddEnergyAndTangentGradients(e.parameters, e.rows(), e.slopes, e.tangents, absl::MakeSpan(both));
  }
  bool operator==(const Results& o) const {
    return sums == o.sums && evaluated == o.evaluated && second_sums == o.second_sums && energies == o.energies &&
           gradients == o.gradients && both == o.both && inputs == o.inputs && second_inputs == o.second_inputs;
  }
  std::vector<double> sums, evaluated, second_sums;
  std::vector<T> energies, gradients, both, inputs, second_inputs;
};

template <typename T>
class ManyBodyKernelTypedTest : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(ManyBodyKernelTypedTest, Types);

TYPED_TEST(ManyBodyKernelTypedTest, ThreadsDoNotChangeABit) {
  using T = TypeParam;
  const ManyBodyExample<T> e = MakeManyBodyExample<T>(ManyBodyShape(2, 20, 3, 3, {8}), {150, 311}, 20);
  ManyBodyKernel<T> alone(e.shape);
  ThreadPool two(2), four(4);
  ManyBodyKernel<T> with_two(e.shape, &two), with_four(e.shape, &four);
  const Results<T> expected(e, e.rows(), &alone);
  EXPECT_TRUE(Results<T>(e, e.rows(), &with_two) == expected);
  EXPECT_TRUE(Results<T>(e, e.rows(), &with_four) == expected);
}

TYPED_TEST(ManyBodyKernelTypedTest, EnergiesOfAtomsAddUpAndRowsMayLieAnywhere) {
  using T = TypeParam;
  const ManyBodyExample<T> e = MakeManyBodyExample<T>(ManyBodyShape(2, 5, 3, 2, {8}), {19, 3}, 3);
  const int64_t f = e.shape.num_features;
  std::vector<T> elsewhere(2 * e.x.size(), T(7));
  std::vector<int64_t> row;
  for (int64_t a = 0; a < e.num_atoms(); ++a) {
    row.push_back(2 * (e.num_atoms() - 1 - a));
    std::copy_n(e.x.begin() + a * f, f, elsewhere.begin() + row[a] * f);
  }
  ForEachTarget([&] {
    ManyBodyKernel<T> kernel(e.shape);
    const Results<T> expected(e, e.rows(), &kernel);
    EXPECT_TRUE(Results<T>(e, {elsewhere, e.species_offset, e.structure, row}, &kernel) == expected);
    std::vector<double> sums(3, 0.0);
    for (int64_t a = 0; a < e.num_atoms(); ++a) sums[e.structure[a]] += expected.energies[a];
    // Sums of 22 numbers of order 10 in the precision of T.
    for (int s = 0; s < 3; ++s) EXPECT_NEAR(expected.evaluated[s], sums[s], sizeof(T) == 4 ? 1e-3 : 1e-12);
  });
}

TYPED_TEST(ManyBodyKernelTypedTest, FrozenSpeciesAreLeftAlone) {
  using T = TypeParam;
  const ManyBodyExample<T> e = MakeManyBodyExample<T>(ManyBodyShape(3, 5, 2, 2, {4}), {20, 30, 40}, 3);
  ManyBodyKernel<T> kernel(e.shape), frozen(e.shape);
  frozen.SetFrozen({false, true, false});
  const Results<T> all(e, e.rows(), &kernel), some(e, e.rows(), &frozen);
  EXPECT_EQ(all.inputs, some.inputs);
  const int64_t begin = e.shape.parameters_per_species(), end = 2 * begin;
  for (int64_t i = 0; i < static_cast<int64_t>(all.both.size()); ++i) {
    const bool is_frozen = i >= begin && i < end;
    EXPECT_EQ(some.both[i], is_frozen ? T(2) : all.both[i]) << i;
    EXPECT_EQ(some.gradients[i], is_frozen ? T(2) : all.gradients[i]) << i;
  }
}

TYPED_TEST(ManyBodyKernelTypedTest, EveryCallSeesItsOwnParameters) {
  using T = TypeParam;
  ManyBodyExample<T> e = MakeManyBodyExample<T>(ManyBodyShape(2, 20, 3, 3, {8}), {20, 30}, 3);
  ManyBodyKernel<T> kernel(e.shape);
  const Results<T> before(e, e.rows(), &kernel);
  // The last number of each species alone: its own block of parameters is compared as a whole.
  for (int species = 0; species < 2; ++species) {
    e.parameters[(species + 1) * e.shape.parameters_per_species() - 1] += T(0.5);
    ManyBodyKernel<T> fresh(e.shape);
    const Results<T> expected(e, e.rows(), &fresh);
    EXPECT_TRUE(Results<T>(e, e.rows(), &kernel) == expected);
    EXPECT_FALSE(before == expected);
  }
}

TYPED_TEST(ManyBodyKernelTypedTest, NoAtomsAddNothing) {
  using T = TypeParam;
  const ManyBodyExample<T> e = MakeManyBodyExample<T>(ManyBodyShape(2, 5, 2, 2, {4}), {0, 0}, 2);
  ManyBodyKernel<T> kernel(e.shape);
  const Results<T> results(e, e.rows(), &kernel);
  const std::vector<double> zeros(2, 0.0);
  EXPECT_EQ(results.sums, zeros);
  EXPECT_EQ(results.evaluated, zeros);
  EXPECT_EQ(results.second_sums, zeros);
  EXPECT_EQ(results.gradients, std::vector<T>(e.parameters.size(), T(2)));
  EXPECT_EQ(results.both, results.gradients);
}

TYPED_TEST(ManyBodyKernelTypedTest, HasNoTransposedForm) {
  const ManyBodyExample<TypeParam> e = MakeManyBodyExample<TypeParam>(ManyBodyShape(1, 2, 1, 0, {}), {1}, 1);
  EXPECT_EQ(ManyBodyKernel<TypeParam>(e.shape).TransposedSize(e.rows()), 0);
}

TEST(ManyBodyKernelDeathTest, RefusesWhatItCannotDo) {
  const ManyBodyExample<float> e = MakeManyBodyExample<float>(ManyBodyShape(1, 2, 1, 1, {}), {3}, 1);
  ManyBodyKernel<float> kernel(e.shape);
  std::vector<float> gradients(e.parameters.size());
  std::vector<double> sums(1);
  EXPECT_DEATH(kernel.SetRounding(true), "mixed precision");
  EXPECT_DEATH(kernel.Backward(e.parameters, e.rows(), e.slopes, absl::MakeSpan(gradients)), "Forward comes first");
  EXPECT_DEATH(kernel.AddEnergyGradients(e.parameters, e.rows(), e.slopes, absl::MakeSpan(gradients)),
               "ForwardWithInputGradients comes first");
  EXPECT_DEATH(kernel.Evaluate(absl::MakeConstSpan(e.parameters).subspan(1), e.rows(), absl::MakeSpan(sums)),
               "Check failed");
  EXPECT_DEATH(ManyBodyKernel<float>({1, 4, {}, Activation::kTanh}), "has_moments");
}

}  // namespace
}  // namespace rutile
