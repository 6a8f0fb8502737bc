#include "lib/network/network_kernel.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "hwy/targets.h"
#include "lib/machine/parallel_for.h"
#include "lib/machine/simd.h"
#include "lib/network/kernel_plan.h"
#include "lib/network/kernels/network_fused.h"
#include "lib/network/network_kernel_testing.h"

namespace rutile {
namespace {

double Activate(Activation activation, double z) {
  const double m = 1.7159 * std::tanh(2 * z / 3);
  switch (activation) {
    case Activation::kLinear:
      return z;
    case Activation::kTanh:
      return std::tanh(z);
    case Activation::kSigmoid:
      return 1 / (1 + std::exp(-z));
    case Activation::kMtanh:
      return m;
    case Activation::kTwist:
      return m + 0.1 * z;
    case Activation::kSilu:
      return z / (1 + std::exp(-z));
  }
  return 0;
}

// Computes one atom's energy as the formula reads.
double PlainEnergy(const NetworkShape& shape, const std::vector<double>& p, int species, const double* x) {
  std::vector<double> h(x, x + shape.num_features);
  for (int l = 0; l < shape.num_layers(); ++l) {
    std::vector<double> next(shape.layer_outputs(l));
    // Looked up once a layer: in the inner loop, this took nine tenths of the test's time.
    const double* weights = &p[shape.weight_offset(species, l)];
    const double* bias = &p[shape.bias_offset(species, l)];
    for (int o = 0; o < next.size(); ++o) {
      double z = bias[o];
      for (int i = 0; i < h.size(); ++i) z += weights[o * h.size() + i] * h[i];
      next[o] = l + 1 == shape.num_layers() ? z : Activate(shape.activation, z);
    }
    h = next;
  }
  return h[0];
}

template <typename T>
std::vector<double> PlainSums(const KernelExample<T>& e, const std::vector<double>& parameters) {
  std::vector<double> sums(e.num_structures, 0.0);
  const std::vector<double> x(e.x.begin(), e.x.end());
  for (int s = 0; s < e.shape.num_species; ++s) {
    for (int64_t a = e.species_offset[s]; a < e.species_offset[s + 1]; ++a) {
      sums[e.structure[a]] += PlainEnergy(e.shape, parameters, s, &x[a * e.shape.num_features]);
    }
  }
  return sums;
}

template <typename T>
double PlainLoss(const KernelExample<T>& e, const std::vector<double>& parameters) {
  const std::vector<double> sums = PlainSums(e, parameters);
  double loss = 0;
  for (int s = 0; s < e.num_structures; ++s) loss += e.slopes[s] * sums[s];
  return loss;
}

// Computes sum over atoms of tangents . d energy / d x by a central difference.
template <typename T>
double PlainTangentLoss(const KernelExample<T>& e, const std::vector<double>& parameters) {
  const double h = 3e-4;
  const int n = e.shape.num_features;
  std::vector<double> up(n), down(n);
  double loss = 0;
  for (int s = 0; s < e.shape.num_species; ++s) {
    for (int64_t a = e.species_offset[s]; a < e.species_offset[s + 1]; ++a) {
      for (int f = 0; f < n; ++f) {
        up[f] = e.x[a * n + f] + h * e.tangents[a * n + f];
        down[f] = e.x[a * n + f] - h * e.tangents[a * n + f];
      }
      loss += PlainEnergy(e.shape, parameters, s, up.data()) - PlainEnergy(e.shape, parameters, s, down.data());
    }
  }
  return loss / (2 * h);
}

// A test case, printed as a name such as "tanh_f5_7x5".
struct Case {
  std::vector<int64_t> atoms;  // of each species
  int num_features;
  std::vector<int> hidden;
};

const Case kCases[] = {
    {{1}, 3, {}},                      // a linear model of one atom
    {{5}, 1, {1}},                     // every width 1
    {{17, 9}, 5, {7, 5}},              // odd widths
    {{227, 454}, 20, {16, 16}},        // a batch of 32 structures of TiO2
    {{0, 140, 3}, 26, {33, 17, 9}},    // a species without atoms, more than a block
    {{64, 0, 31, 128, 129}, 7, {15}},  // five species, at and above a block
};

class NetworkKernelTest : public testing::TestWithParam<std::tuple<Case, Activation>> {
 protected:
  NetworkShape Shape() const {
    const auto& [c, activation] = GetParam();
    return {static_cast<int>(c.atoms.size()), c.num_features, c.hidden, activation};
  }
  ~NetworkKernelTest() override { hwy::SetSupportedTargetsForTest(0); }
};

TEST_P(NetworkKernelTest, EnergiesAgreeWithThePlainLoopsOnEveryTarget) {
  const KernelExample<double> e = MakeKernelExample<double>(Shape(), std::get<0>(GetParam()).atoms, 4);
  const KernelExample<float> e32 = MakeKernelExample<float>(Shape(), std::get<0>(GetParam()).atoms, 4);
  const std::vector<double> plain = PlainSums(e, e.parameters);
  for (const uint32_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    std::vector<double> sums(4, 99.0), evaluated(4, 99.0), single(4);
    NetworkKernel<double> kernel(e.shape);
    kernel.Forward(e.parameters, e.rows(), absl::MakeSpan(sums));
    kernel.Evaluate(e.parameters, e.rows(), absl::MakeSpan(evaluated));
    EXPECT_EQ(sums, evaluated);
    NetworkKernel<float> kernel32(e.shape);
    kernel32.Forward(e32.parameters, e32.rows(), absl::MakeSpan(single));
    for (int s = 0; s < 4; ++s) {
      EXPECT_NEAR(sums[s], plain[s], 1e-15 * (10 + 3 * e.num_atoms()));
      EXPECT_NEAR(single[s], plain[s], 1e-6 * (1 + 0.3 * e.num_atoms()));  // errors of atoms add up
    }
  }
}

// Rows that are read through `row` give the bits of rows that were copied next to each other.
TEST_P(NetworkKernelTest, RowsMayLieAnywhere) {
  const auto check = [&](auto zero) {
    using T = decltype(zero);
    const KernelExample<T> e = MakeKernelExample<T>(Shape(), std::get<0>(GetParam()).atoms, 4);
    const int64_t n = e.rows().num_atoms(), f = e.shape.num_features;
    // The rows are every second row of a larger table, in reverse order.
    std::vector<T> table(2 * n * f, std::numeric_limits<T>::quiet_NaN());
    std::vector<int64_t> row(n);
    for (int64_t a = 0; a < n; ++a) {
      row[a] = 2 * (n - 1 - a) + 1;
      std::copy_n(&e.x[a * f], f, &table[row[a] * f]);
    }
    AtomRows<T> apart = e.rows();
    apart.x = table;
    apart.row = row;
    for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
      hwy::SetSupportedTargetsForTest(target);
      NetworkKernel<T> kernel(e.shape);
      std::vector<double> sums(e.num_structures), sums_apart(e.num_structures);
      std::vector<T> gradients(e.parameters.size()), gradients_apart(e.parameters.size());
      kernel.Forward(e.parameters, e.rows(), absl::MakeSpan(sums));
      kernel.Backward(e.parameters, e.rows(), e.slopes, absl::MakeSpan(gradients));
      kernel.Forward(e.parameters, apart, absl::MakeSpan(sums_apart));
      kernel.Backward(e.parameters, apart, e.slopes, absl::MakeSpan(gradients_apart));
      EXPECT_EQ(sums_apart, sums);
      EXPECT_EQ(gradients_apart, gradients);
      kernel.Evaluate(e.parameters, apart, absl::MakeSpan(sums_apart));
      EXPECT_EQ(sums_apart, sums);
    }
    hwy::SetSupportedTargetsForTest(0);
  };
  check(float());
  check(double());
}

// The loss is linear in the sums, so a central difference along one parameter has an error of h^2 and of 1e-16 / h.
TEST_P(NetworkKernelTest, GradientsAgreeWithFiniteDifferencesOnEveryTarget) {
  const KernelExample<double> e = MakeKernelExample<double>(Shape(), std::get<0>(GetParam()).atoms, 4);
  const KernelExample<float> e32 = MakeKernelExample<float>(Shape(), std::get<0>(GetParam()).atoms, 4);
  std::vector<double> first;
  for (const uint32_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    std::vector<double> gradients(e.parameters.size(), 2.0), sums(4);  // 2, as gradients are added to
    std::vector<float> gradients32(e.parameters.size(), 2.0f);
    NetworkKernel<double> kernel(e.shape);
    kernel.Forward(e.parameters, e.rows(), absl::MakeSpan(sums));
    kernel.Backward(e.parameters, e.rows(), e.slopes, absl::MakeSpan(gradients));
    NetworkKernel<float> kernel32(e.shape);
    kernel32.Forward(e32.parameters, e32.rows(), absl::MakeSpan(sums));
    kernel32.Backward(e32.parameters, e32.rows(), e.slopes, absl::MakeSpan(gradients32));
    const double size = std::sqrt(static_cast<double>(e.num_atoms()));
    if (first.empty()) {
      first = gradients;
      // Checks a sample of the parameters, with each layer's first and last among them.
      const int64_t step = std::max<int64_t>(1, e.parameters.size() / 60);
      for (int64_t i = 0; i < e.parameters.size(); i += (i + step < e.parameters.size() ? step : 1)) {
        std::vector<double> p = e.parameters;
        const double h = 1e-4;
        p[i] += h;
        const double up = PlainLoss(e, p);
        p[i] -= 2 * h;
        const double down = PlainLoss(e, p);
        EXPECT_NEAR(gradients[i] - 2, (up - down) / (2 * h), 3e-7 * (1 + size)) << "parameter " << i;
        if (i + step >= e.parameters.size() && step > 1 && i + 5 < e.parameters.size()) break;
      }
    }
    for (int64_t i = 0; i < gradients.size(); ++i) {
      EXPECT_NEAR(gradients[i], first[i], 1e-13 * (1 + e.num_atoms())) << "parameter " << i;
      EXPECT_NEAR(gradients32[i], first[i], 1e-5 * (1 + size)) << "parameter " << i;
    }
  }
}

TEST_P(NetworkKernelTest, InputGradientsAgreeWithFiniteDifferences) {
  const KernelExample<double> e = MakeKernelExample<double>(Shape(), std::get<0>(GetParam()).atoms, 4);
  const int num_features = e.shape.num_features;
  NetworkKernel<double> kernel(e.shape);
  std::vector<double> g(e.x.size(), 99.0);
  kernel.InputGradients(e.parameters, e.rows(), absl::MakeSpan(g));
  int64_t row = 0;
  for (int s = 0; s < e.shape.num_species; ++s) {
    for (; row < e.species_offset[s + 1]; ++row) {
      if (row % 7 != 0 && row + 1 != e.num_atoms()) continue;
      std::vector<double> x(e.x.begin() + row * num_features, e.x.begin() + (row + 1) * num_features);
      for (int f = 0; f < num_features; ++f) {
        const double at = x[f], h = 1e-4;
        x[f] = at + h;
        const double up = PlainEnergy(e.shape, e.parameters, s, x.data());
        x[f] = at - h;
        const double down = PlainEnergy(e.shape, e.parameters, s, x.data());
        x[f] = at;
        EXPECT_NEAR(g[row * num_features + f], (up - down) / (2 * h), 1e-7);
      }
    }
  }
}

// Compares tangent gradients with differences of the plain loops, and the rest with the first order, which is tested
// above.
TEST_P(NetworkKernelTest, SecondOrderAgreesOnEveryTarget) {
  const KernelExample<double> e = MakeKernelExample<double>(Shape(), std::get<0>(GetParam()).atoms, 4);
  const KernelExample<float> e32 = MakeKernelExample<float>(Shape(), std::get<0>(GetParam()).atoms, 4);
  const double size = std::sqrt(static_cast<double>(e.x.size()));
  std::vector<double> first;
  for (const uint32_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    std::vector<double> sums(4), x_gradients(e.x.size()), energy(e.parameters.size(), 0.0), plain_sums(4),
        plain_x_gradients(e.x.size()), plain_energy(e.parameters.size(), 0.0);
    NetworkKernel<double> kernel(e.shape);
    kernel.InputGradients(e.parameters, e.rows(), absl::MakeSpan(plain_x_gradients));
    kernel.Forward(e.parameters, e.rows(), absl::MakeSpan(plain_sums));
    kernel.Backward(e.parameters, e.rows(), e.slopes, absl::MakeSpan(plain_energy));
    kernel.ForwardWithInputGradients(e.parameters, e.rows(), absl::MakeSpan(sums), absl::MakeSpan(x_gradients));
    EXPECT_EQ(sums, plain_sums);
    EXPECT_EQ(x_gradients, plain_x_gradients);

    // The three methods may be called in any order and any number of times.
    std::vector<double> tangent(e.parameters.size(), 2.0), twice = tangent, both = tangent;
    kernel.AddTangentGradients(e.parameters, e.rows(), e.tangents, absl::MakeSpan(tangent));
    kernel.AddEnergyGradients(e.parameters, e.rows(), e.slopes, absl::MakeSpan(energy));
    kernel.AddTangentGradients(e.parameters, e.rows(), e.tangents, absl::MakeSpan(twice));
    kernel.AddEnergyAndTangentGradients(e.parameters, e.rows(), e.slopes, e.tangents, absl::MakeSpan(both));
    EXPECT_EQ(tangent, twice);
    NetworkKernel<float> kernel32(e.shape);
    std::vector<float> x_gradients32(e.x.size()), tangent32(e.parameters.size(), 2.0f);
    kernel32.ForwardWithInputGradients(e32.parameters, e32.rows(), absl::MakeSpan(sums), absl::MakeSpan(x_gradients32));
    kernel32.AddTangentGradients(e32.parameters, e32.rows(), e32.tangents, absl::MakeSpan(tangent32));

    if (first.empty()) {
      first = tangent;
      const int64_t step = std::max<int64_t>(1, e.parameters.size() / 40);
      for (int64_t i = 0; i < e.parameters.size(); i += (i + step < e.parameters.size() ? step : 1)) {
        std::vector<double> p = e.parameters;
        const double h = 3e-4;
        p[i] += h;
        const double up = PlainTangentLoss(e, p);
        p[i] -= 2 * h;
        const double down = PlainTangentLoss(e, p);
        EXPECT_NEAR(tangent[i] - 2, (up - down) / (2 * h), 3e-6 * (1 + size)) << "parameter " << i;
      }
    }
    for (int64_t i = 0; i < tangent.size(); ++i) {
      EXPECT_NEAR(energy[i], plain_energy[i], 1e-13 * (1 + e.num_atoms())) << "parameter " << i;
      EXPECT_NEAR(both[i], tangent[i] + energy[i], 1e-13 * (1 + e.num_atoms())) << "parameter " << i;
      EXPECT_NEAR(tangent[i], first[i], 1e-13 * (1 + e.num_atoms())) << "parameter " << i;
      EXPECT_NEAR(tangent32[i], first[i], 1e-5 * (1 + size)) << "parameter " << i;
    }
    for (int64_t i = 0; i < x_gradients.size(); ++i) EXPECT_NEAR(x_gradients32[i], x_gradients[i], 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, NetworkKernelTest,
                         testing::Combine(testing::ValuesIn(kCases),
                                          testing::Values(Activation::kLinear, Activation::kTanh, Activation::kSigmoid,
                                                          Activation::kMtanh, Activation::kTwist, Activation::kSilu)),
                         [](const auto& info) {
                           std::string name(kActivationNames.Name(std::get<1>(info.param)));
                           const Case& c = std::get<0>(info.param);
                           name += "_" + std::to_string(c.atoms.size()) + "species_f" + std::to_string(c.num_features);
                           for (const int width : c.hidden) name += "_" + std::to_string(width);
                           return name;
                         });

template <typename T>
class NetworkKernelTypedTest : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(NetworkKernelTypedTest, Types);

TYPED_TEST(NetworkKernelTypedTest, ThreadsDoNotChangeABit) {
  using T = TypeParam;
  // 31 blocks are more than there are gradient buffers.
  const KernelExample<T> e = MakeKernelExample<T>({3, 10, {12, 6}, Activation::kTanh}, {1500, 2300, 11}, 50);
  std::vector<std::vector<T>> gradients;
  std::vector<std::vector<double>> sums;
  std::vector<std::vector<T>> x_gradients, tangent_gradients;
  for (const int threads : {0, 1, 2, 3}) {
    ThreadPool pool(std::max(1, threads));
    NetworkKernel<T> kernel(e.shape, threads == 0 ? nullptr : &pool);
    gradients.emplace_back(e.parameters.size(), T(0));
    sums.emplace_back(50);
    x_gradients.emplace_back(e.x.size());
    kernel.InputGradients(e.parameters, e.rows(), absl::MakeSpan(x_gradients.back()));
    kernel.Forward(e.parameters, e.rows(), absl::MakeSpan(sums.back()));
    kernel.Backward(e.parameters, e.rows(), e.slopes, absl::MakeSpan(gradients.back()));
    EXPECT_EQ(gradients.back(), gradients.front()) << threads;
    EXPECT_EQ(sums.back(), sums.front()) << threads;
    EXPECT_EQ(x_gradients.back(), x_gradients.front()) << threads;
    kernel.ForwardWithInputGradients(e.parameters, e.rows(), absl::MakeSpan(sums.back()),
                                     absl::MakeSpan(x_gradients.back()));
    EXPECT_EQ(sums.back(), sums.front()) << threads;
    EXPECT_EQ(x_gradients.back(), x_gradients.front()) << threads;
    tangent_gradients.emplace_back(e.parameters.size(), T(0));
    kernel.AddEnergyGradients(e.parameters, e.rows(), e.slopes, absl::MakeSpan(tangent_gradients.back()));
    kernel.AddTangentGradients(e.parameters, e.rows(), e.tangents, absl::MakeSpan(tangent_gradients.back()));
    EXPECT_EQ(tangent_gradients.back(), tangent_gradients.front()) << threads;
  }
}

// Gradients of a frozen network stay as they are; those of the others and all other results do not change.
TYPED_TEST(NetworkKernelTypedTest, FrozenNetworksAreLeftAlone) {
  using T = TypeParam;
  const KernelExample<T> e = MakeKernelExample<T>({3, 10, {12, 6}, Activation::kTanh}, {300, 700, 11}, 50);
  const auto gradients = [&](NetworkKernel<T>* kernel, std::vector<double>* sums, bool second_order) {
    std::vector<T> found(e.parameters.size(), T(7)), x_gradients(e.x.size());
    sums->assign(50, 0);
    if (second_order) {
      kernel->ForwardWithInputGradients(e.parameters, e.rows(), absl::MakeSpan(*sums), absl::MakeSpan(x_gradients));
      kernel->AddEnergyGradients(e.parameters, e.rows(), e.slopes, absl::MakeSpan(found));
      kernel->AddTangentGradients(e.parameters, e.rows(), e.tangents, absl::MakeSpan(found));
    } else {
      kernel->Forward(e.parameters, e.rows(), absl::MakeSpan(*sums));
      kernel->Backward(e.parameters, e.rows(), e.slopes, absl::MakeSpan(found));
    }
    return found;
  };
  ThreadPool pool(2);
  NetworkKernel<T> kernel(e.shape, &pool), threadless(e.shape);
  const int64_t per_species = e.shape.parameters_per_species();
  for (const bool second_order : {false, true}) {
    std::vector<double> all_sums, sums;
    kernel.SetFrozen({});
    const std::vector<T> all = gradients(&kernel, &all_sums, second_order);
    for (const std::vector<bool>& frozen :
         {std::vector<bool>{true, false, false}, {false, true, false}, {true, false, true}, {true, true, true}}) {
      kernel.SetFrozen(frozen);
      threadless.SetFrozen(frozen);
      const std::vector<T> found = gradients(&kernel, &sums, second_order);
      EXPECT_EQ(found, gradients(&threadless, &sums, second_order));
      EXPECT_EQ(sums, all_sums);
      for (int64_t i = 0; i < all.size(); ++i) {
        const bool rests = frozen[i / per_species];
        const double expected = rests ? T(7) : all[i];
        EXPECT_NEAR(found[i], expected, rests ? 0 : (sizeof(T) == 4 ? 2e-4 : 1e-11) * (1 + std::abs(expected))) << i;
      }
    }
  }
}

// Plans agree up to rounding, and each gives the same bits for any number of threads.
TYPED_TEST(NetworkKernelTypedTest, PlansGiveTheSame) {
  using T = TypeParam;
  const KernelExample<T> e = MakeKernelExample<T>({2, 33, {40, 21}, Activation::kSilu}, {301, 77}, 9);
  const double tolerance = sizeof(T) == 4 ? 1e-4 : 1e-12;
  std::vector<double> expected;
  for (const int block_atoms : {kBlockAtoms, 1, 16, 50, 64}) {
    for (const GradientForm form : {GradientForm::kAuto, GradientForm::kLanes, GradientForm::kTransposed}) {
      std::vector<T> first;
      for (const int threads : {1, 3}) {
        ThreadPool pool(threads);
        NetworkKernel<T> kernel(e.shape, &pool);
        kernel.SetPlan({block_atoms, form});
        std::vector<double> sums(9);
        std::vector<T> gradients(e.parameters.size()), x_gradients(e.x.size());
        kernel.Forward(e.parameters, e.rows(), absl::MakeSpan(sums));
        kernel.Backward(e.parameters, e.rows(), e.slopes, absl::MakeSpan(gradients));
        kernel.ForwardWithInputGradients(e.parameters, e.rows(), absl::MakeSpan(sums), absl::MakeSpan(x_gradients));
        kernel.AddEnergyAndTangentGradients(e.parameters, e.rows(), e.slopes, e.tangents, absl::MakeSpan(gradients));
        if (first.empty()) first = gradients;
        EXPECT_EQ(gradients, first);
      }
      if (expected.empty()) expected.assign(first.begin(), first.end());
      double largest = 0, difference = 0;
      for (size_t i = 0; i < first.size(); ++i) {
        largest = std::max(largest, std::abs(expected[i]));
        difference = std::max(difference, std::abs(first[i] - expected[i]));
      }
      EXPECT_LT(difference, tolerance * largest) << KernelPlanText({block_atoms, form});
    }
  }
}

TYPED_TEST(NetworkKernelTypedTest, NoAtomsAndNaN) {
  using T = TypeParam;
  KernelExample<T> e = MakeKernelExample<T>({2, 4, {3}, Activation::kSilu}, {0, 0}, 2);
  NetworkKernel<T> kernel(e.shape);
  std::vector<double> sums(2, 5.0);
  std::vector<T> gradients(e.parameters.size(), T(0));
  kernel.Forward(e.parameters, e.rows(), absl::MakeSpan(sums));
  kernel.Backward(e.parameters, e.rows(), e.slopes, absl::MakeSpan(gradients));
  EXPECT_EQ(sums, std::vector<double>(2, 0.0));
  kernel.ForwardWithInputGradients(e.parameters, e.rows(), absl::MakeSpan(sums), absl::Span<T>());
  kernel.AddEnergyGradients(e.parameters, e.rows(), e.slopes, absl::MakeSpan(gradients));
  kernel.AddTangentGradients(e.parameters, e.rows(), e.tangents, absl::MakeSpan(gradients));
  EXPECT_EQ(sums, std::vector<double>(2, 0.0));
  EXPECT_EQ(gradients, std::vector<T>(gradients.size(), T(0)));
  // NaN of a diverged run appears in the results.
  e = MakeKernelExample<T>({2, 4, {3}, Activation::kTanh}, {3, 2}, 1);
  e.x[1] = std::numeric_limits<T>::quiet_NaN();
  sums.resize(1);
  kernel.Forward(e.parameters, e.rows(), absl::MakeSpan(sums));
  EXPECT_TRUE(std::isnan(sums[0]));
}

TEST(NetworkKernelDeathTest, RefusesLengthsThatDisagree) {
  const KernelExample<float> e = MakeKernelExample<float>({2, 4, {3}, Activation::kTanh}, {3, 2}, 1);
  NetworkKernel<float> kernel(e.shape);
  std::vector<double> sums(1);
  EXPECT_DEATH(kernel.Forward(absl::MakeSpan(e.parameters).first(5), e.rows(), absl::MakeSpan(sums)), "5 vs. 38");
}

TEST(NetworkKernelDeathTest, RefusesGradientsWithoutTheirForward) {
  const KernelExample<float> e = MakeKernelExample<float>({2, 4, {3}, Activation::kTanh}, {3, 2}, 1);
  NetworkKernel<float> kernel(e.shape);
  std::vector<double> sums(1);
  std::vector<float> gradients(e.parameters.size()), x_gradients(e.x.size());
  EXPECT_DEATH(kernel.Backward(e.parameters, e.rows(), e.slopes, absl::MakeSpan(gradients)), "Forward comes first");
  kernel.Forward(e.parameters, e.rows(), absl::MakeSpan(sums));
  EXPECT_DEATH(kernel.AddEnergyGradients(e.parameters, e.rows(), e.slopes, absl::MakeSpan(gradients)),
               "ForwardWithInputGradients comes first");
  kernel.ForwardWithInputGradients(e.parameters, e.rows(), absl::MakeSpan(sums), absl::MakeSpan(x_gradients));
  EXPECT_DEATH(kernel.AddTangentGradients(e.parameters, e.rows(), absl::MakeConstSpan(e.tangents).first(3),
                                          absl::MakeSpan(gradients)),
               "3 vs. 20");
}

}  // namespace
}  // namespace rutile
