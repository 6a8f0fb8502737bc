// Compares kGemm with kFused, which network_kernel_test.cc compares with plain loops; network_reference_test.cc
// compares both with LibTorch.

#include "lib/network/kernels/network_gemm.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "lib/machine/parallel_for.h"
#include "lib/network/kernel_plan.h"
#include "lib/network/network_kernel.h"
#include "lib/network/network_kernel_testing.h"
#include "lib/network/network_shape.h"
#include "lib/testing/for_each_target.h"

namespace rutile {
namespace {

constexpr KernelPlan kBlocks = {kBlockAtoms, GradientForm::kAuto, NetworkAlgorithm::kFused};
constexpr KernelPlan Matrices(int atoms = kWideAtoms) { return {atoms, GradientForm::kAuto, NetworkAlgorithm::kGemm}; }

// All results of a kernel for one example.
template <typename T>
struct Results {
  Results(const KernelExample<T>& e, NetworkKernel<T>* kernel) : Results(e, e.rows(), kernel) {}
  // values: the rows for the passes without derivatives by x.
  Results(const KernelExample<T>& e, const AtomRows<T>& values, NetworkKernel<T>* kernel)
      : sums(e.num_structures, 99.0),
        evaluated(sums),
        second_sums(sums),
        atom_energies(e.num_atoms(), T(99)),
        gradients(e.parameters.size(), T(2)),  // 2, as gradients are added to
        energy(gradients),
        tangent(gradients),
        both(gradients),
        inputs(e.x.size(), T(99)),
        second_inputs(inputs) {
    kernel->Forward(e.parameters, values, absl::MakeSpan(sums));
    kernel->Backward(e.parameters, values, e.slopes, absl::MakeSpan(gradients));
    kernel->Evaluate(e.parameters, values, absl::MakeSpan(evaluated), absl::MakeSpan(atom_energies));
    kernel->InputGradients(e.parameters, e.rows(), absl::MakeSpan(inputs));
    kernel->ForwardWithInputGradients(e.parameters, e.rows(), absl::MakeSpan(second_sums),
                                      absl::MakeSpan(second_inputs));
    kernel->AddTangentGradients(e.parameters, e.rows(), e.tangents, absl::MakeSpan(tangent));
    kernel->AddEnergyGradients(e.parameters, e.rows(), e.slopes, absl::MakeSpan(energy));
    const std::vector<T> moved = e.parameters;  // the same numbers at another address
    kernel->AddEnergyAndTangentGradients(moved, e.rows(), e.slopes, e.tangents, absl::MakeSpan(both));
  }

  std::vector<double> sums, evaluated, second_sums;
  std::vector<T> atom_energies, gradients, energy, tangent, both, inputs, second_inputs;
};

template <typename T>
Results<T> ResultsOf(const KernelExample<T>& e, const KernelPlan& plan, ThreadPool* pool = nullptr,
                     bool rounding = false) {
  NetworkKernel<T> kernel(e.shape, pool);
  kernel.SetPlan(plan);
  if (rounding) kernel.SetRounding(true);
  return Results<T>(e, &kernel);
}

// |actual - expected| / max |expected|.
template <typename Values>
double Difference(const Values& actual, const Values& expected) {
  double largest = 1e-30, difference = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(expected[i])));
    difference = std::max(difference, std::abs(static_cast<double>(actual[i]) - static_cast<double>(expected[i])));
    if (!std::isfinite(actual[i])) return std::numeric_limits<double>::infinity();
  }
  return difference / largest;
}

template <typename T>
void ExpectNear(const Results<T>& actual, const Results<T>& expected, double tolerance) {
  EXPECT_LT(Difference(actual.sums, expected.sums), tolerance);
  EXPECT_LT(Difference(actual.evaluated, expected.evaluated), tolerance);
  EXPECT_LT(Difference(actual.second_sums, expected.second_sums), tolerance);
  EXPECT_LT(Difference(actual.atom_energies, expected.atom_energies), tolerance);
  EXPECT_LT(Difference(actual.gradients, expected.gradients), tolerance);
  EXPECT_LT(Difference(actual.energy, expected.energy), tolerance);
  EXPECT_LT(Difference(actual.tangent, expected.tangent), tolerance);
  EXPECT_LT(Difference(actual.both, expected.both), tolerance);
  EXPECT_LT(Difference(actual.inputs, expected.inputs), tolerance);
  EXPECT_LT(Difference(actual.second_inputs, expected.second_inputs), tolerance);
}

template <typename T>
void ExpectTheSameBits(const Results<T>& actual, const Results<T>& expected) {
  EXPECT_EQ(actual.sums, expected.sums);
  EXPECT_EQ(actual.evaluated, expected.evaluated);
  EXPECT_EQ(actual.second_sums, expected.second_sums);
  EXPECT_EQ(actual.atom_energies, expected.atom_energies);
  EXPECT_EQ(actual.gradients, expected.gradients);
  EXPECT_EQ(actual.energy, expected.energy);
  EXPECT_EQ(actual.tangent, expected.tangent);
  EXPECT_EQ(actual.both, expected.both);
  EXPECT_EQ(actual.inputs, expected.inputs);
  EXPECT_EQ(actual.second_inputs, expected.second_inputs);
}

constexpr Activation kActivations[] = {Activation::kLinear, Activation::kTanh,  Activation::kSigmoid,
                                       Activation::kMtanh,  Activation::kTwist, Activation::kSilu};

struct Case {
  std::vector<int64_t> atoms;  // of each species
  int num_features;
  std::vector<int> hidden;
  int block_atoms;
};

const std::vector<Case>& Cases() {
  static const auto* const cases = new std::vector<Case>{
      {{1}, 3, {}, 256},                      // a linear model of one atom
      {{3, 0, 70}, 17, {}, 32},               // and of more
      {{5}, 1, {1}, 256},                     // every width 1
      {{17, 9}, 5, {7, 5}, 8},                // odd widths, small blocks
      {{0, 140, 3}, 26, {33, 17, 9}, 64},     // a species without atoms
      {{64, 0, 31, 128, 129}, 7, {15}, 100},  // five species
      {{300, 1}, 44, {65, 130}, 256},         // beyond tiles and blocks
      {{33}, 70, {130, 16, 48}, 512},
  };
  return *cases;
}

template <typename T>
class NetworkGemmTest : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(NetworkGemmTest, Types);

// The tolerance covers the rounding of sums in two orders, relative to the largest number: in fp32 about 1e-7 for each
// of up to eight products.
TYPED_TEST(NetworkGemmTest, AgreesWithBlocksOnEveryTarget) {
  using T = TypeParam;
  for (const Case& c : Cases()) {
    for (const Activation activation : kActivations) {
      SCOPED_TRACE(std::string(kActivationNames.Name(activation)) + " " + std::to_string(c.num_features));
      const NetworkShape shape = {static_cast<int>(c.atoms.size()), c.num_features, c.hidden, activation};
      const KernelExample<T> e = MakeKernelExample<T>(shape, c.atoms, 4);
      const Results<T> expected = ResultsOf(e, kBlocks);
      ForEachTarget([&] {
        const Results<T> wide = ResultsOf(e, Matrices(c.block_atoms));
        ExpectNear(wide, expected, sizeof(T) == 4 ? 2e-5 : 1e-13);
        EXPECT_EQ(wide.sums, wide.evaluated);
        EXPECT_EQ(wide.sums, wide.second_sums);
        EXPECT_EQ(wide.inputs, wide.second_inputs);
      });
    }
  }
}

// The example has more blocks than there are gradient buffers; some buffers hold blocks of one species, some of two.
TYPED_TEST(NetworkGemmTest, ThreadsDoNotChangeABit) {
  using T = TypeParam;
  const KernelExample<T> e = MakeKernelExample<T>({3, 10, {40, 20}, Activation::kSilu}, {1500, 2300, 11}, 50);
  for (const bool rounding : {false, true}) {
    if (rounding && sizeof(T) == 8) continue;
    const Results<T> expected = ResultsOf(e, Matrices(128), nullptr, rounding);
    for (const int threads : {1, 2, 3}) {
      ThreadPool pool(threads);
      ExpectTheSameBits(ResultsOf(e, Matrices(128), &pool, rounding), expected);
    }
  }
}

// Rows that are read through `row`, and rows that were transposed before, give the bits of rows that were copied next
// to each other.
TYPED_TEST(NetworkGemmTest, RowsMayLieAnywhere) {
  using T = TypeParam;
  const KernelExample<T> e = MakeKernelExample<T>({2, 19, {40, 20}, Activation::kTwist}, {100, 37}, 5);
  const int64_t n = e.num_atoms(), f = e.shape.num_features;
  std::vector<T> table(2 * n * f, std::numeric_limits<T>::quiet_NaN());
  std::vector<int64_t> row(n);
  for (int64_t a = 0; a < n; ++a) {
    row[a] = 2 * (n - 1 - a) + 1;
    std::copy_n(&e.x[a * f], f, &table[row[a] * f]);
  }
  AtomRows<T> apart = e.rows();
  apart.x = table;
  apart.row = row;
  NetworkKernel<T> kernel(e.shape);
  kernel.SetPlan(Matrices(48));
  const Results<T> expected(e, &kernel);
  ExpectTheSameBits(Results<T>(e, apart, &kernel), expected);
  std::vector<T> memory(kernel.TransposedSize(apart) + 16, std::numeric_limits<T>::quiet_NaN());
  const int64_t place = reinterpret_cast<uintptr_t>(memory.data()) % 64 / sizeof(T);
  T* const transposed = memory.data() + (place == 0 ? 0 : 64 / sizeof(T) - place);
  kernel.Transpose(apart, transposed);
  apart.x = {};
  apart.transposed = transposed;
  std::vector<double> sums(5);
  std::fill(row.begin(), row.end(), int64_t{1} << 60);  // garbage: Evaluate does not read it
  kernel.Evaluate(e.parameters, apart, absl::MakeSpan(sums));
  EXPECT_EQ(sums, expected.sums);
}

TYPED_TEST(NetworkGemmTest, FrozenNetworksAreLeftAlone) {
  using T = TypeParam;
  const KernelExample<T> e = MakeKernelExample<T>({3, 10, {40, 20}, Activation::kTanh}, {300, 700, 11}, 50);
  const Results<T> all = ResultsOf(e, Matrices(64));
  const int64_t per_species = e.shape.parameters_per_species();
  for (const std::vector<bool>& frozen :
       {std::vector<bool>{true, false, false}, {false, true, true}, {true, true, true}}) {
    ThreadPool pool(2);
    NetworkKernel<T> kernel(e.shape, &pool);
    kernel.SetPlan(Matrices(64));
    kernel.SetFrozen(frozen);
    const Results<T> found(e, &kernel);
    EXPECT_EQ(found.sums, all.sums);
    for (int64_t i = 0; i < static_cast<int64_t>(e.parameters.size()); ++i) {
      const bool rests = frozen[i / per_species];
      for (const auto& [some, every] : {std::make_pair(&found.gradients, &all.gradients), {&found.both, &all.both}}) {
        const double expected = rests ? 2 : (*every)[i];
        // With frozen networks, blocks are cut into other pieces, whose sums round differently.
        EXPECT_NEAR((*some)[i], expected, rests ? 0 : (sizeof(T) == 4 ? 2e-4 : 1e-11) * (1 + std::abs(expected))) << i;
      }
    }
  }
}

TYPED_TEST(NetworkGemmTest, NoAtomsAndNaN) {
  using T = TypeParam;
  for (const std::vector<int>& hidden : {std::vector<int>{}, {40, 20}}) {
    KernelExample<T> e = MakeKernelExample<T>({2, 4, hidden, Activation::kSilu}, {0, 0}, 2);
    const Results<T> none = ResultsOf(e, Matrices());
    EXPECT_EQ(none.sums, std::vector<double>(2, 0.0));
    EXPECT_EQ(none.gradients, std::vector<T>(e.parameters.size(), T(2)));
    EXPECT_EQ(none.both, none.gradients);
    // NaN of a diverged run appears in the results, and does not stay in the kernel's memory.
    NetworkKernel<T> kernel(e.shape);
    kernel.SetPlan(Matrices());
    e = MakeKernelExample<T>(e.shape, {40, 2}, 1);
    const Results<T> before(e, &kernel);
    const T x = e.x[1];
    e.x[1] = std::numeric_limits<T>::quiet_NaN();
    EXPECT_TRUE(std::isnan(Results<T>(e, &kernel).sums[0]));
    e.x[1] = x;
    ExpectTheSameBits(Results<T>(e, &kernel), before);
  }
}

// kAuto chooses kGemm for wide layers and enough atoms, else kFused.
TYPED_TEST(NetworkGemmTest, IsChosenByWidthAndAtoms) {
  using T = TypeParam;
  for (const int width : {40, 400}) {
    const NetworkShape shape = {2, 10, {width, width}, Activation::kTanh};
    for (const int64_t atoms : {kFewAtoms - 1, kFewAtoms + 5}) {
      const KernelExample<T> e = MakeKernelExample<T>(shape, {atoms - 3, 3}, 2);
      const bool wide = width > 100 && (sizeof(T) == 8 || atoms >= kFewAtoms);
      NetworkKernel<T> kernel(shape);
      kernel.Reserve({500, 500}, /*second_order=*/true);
      ExpectTheSameBits(Results<T>(e, &kernel), ResultsOf(e, wide ? Matrices() : kBlocks));
    }
  }
}

// Factors have 8 bits, so that each product is wrong by at most 2^-8 of the sizes of its terms, and by less where
// errors of many terms cancel. An energy goes through three products, a gradient of the second order through twice as
// many and the slopes of activations: 3 % of the largest number is seldom reached.
constexpr double kRoundingTolerance = 0.03;

TEST(NetworkGemmRoundingTest, IsNearTheExactResultsAndNotThem) {
  for (const Case& c : Cases()) {
    for (const Activation activation : kActivations) {
      SCOPED_TRACE(std::string(kActivationNames.Name(activation)) + " " + std::to_string(c.num_features));
      const NetworkShape shape = {static_cast<int>(c.atoms.size()), c.num_features, c.hidden, activation};
      const KernelExample<float> e = MakeKernelExample<float>(shape, c.atoms, 4);
      const Results<float> exact = ResultsOf(e, Matrices()), rounded = ResultsOf(e, KernelPlan(), nullptr, true);
      ExpectNear(rounded, exact, kRoundingTolerance);
      EXPECT_EQ(c.hidden.empty(), rounded.gradients == exact.gradients);
      EXPECT_EQ(rounded.sums, rounded.evaluated);
      EXPECT_EQ(rounded.sums, rounded.second_sums);
    }
  }
}

TEST(NetworkGemmRoundingTest, NumbersOfEightBitsAreNotChanged) {
  const NetworkShape shape = {1, 3, {2}, Activation::kLinear};
  KernelExample<float> e = MakeKernelExample<float>(shape, {40}, 2);
  for (std::vector<float>* values : {&e.parameters, &e.x, &e.tangents}) {
    for (size_t i = 0; i < values->size(); ++i) (*values)[i] = static_cast<float>(static_cast<int>(i * 7 % 11) - 5);
  }
  e.slopes = {2, -1};
  ExpectTheSameBits(ResultsOf(e, KernelPlan(), nullptr, true), ResultsOf(e, kBlocks));
}

TEST(NetworkGemmRoundingTest, CanBeSwitched) {
  const KernelExample<float> e = MakeKernelExample<float>({2, 10, {40, 20}, Activation::kTanh}, {30, 70}, 5);
  const Results<float> exact = ResultsOf(e, KernelPlan()), rounded = ResultsOf(e, KernelPlan(), nullptr, true);
  NetworkKernel<float> kernel(e.shape);
  for (int turn = 0; turn < 2; ++turn) {
    kernel.SetRounding(true);
    ExpectTheSameBits(Results<float>(e, &kernel), rounded);
    kernel.SetRounding(false);
    ExpectTheSameBits(Results<float>(e, &kernel), exact);
  }
}

TEST(NetworkGemmDeathTest, RefusesRoundingOfDoubles) {
  NetworkKernel<double> kernel({1, 3, {2}, Activation::kTanh});
  EXPECT_DEATH(kernel.SetRounding(true), "mixed precision is of fp32");
}

}  // namespace
}  // namespace rutile
