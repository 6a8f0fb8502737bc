#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/gpu/device_array-inl.h"
#include "lib/gpu/host_backend-inl.h"
#include "lib/network/network_kernel.h"
#include "lib/network/network_kernel_testing.h"
#include "lib/network/network_shape.h"
#include "lib/potential/gpu/bodies/network_passes-inl.h"
#include "lib/potential/gpu/plain_network_shape.h"

namespace rutile {
namespace {

constexpr int kStructures = 6;

// The rows of an example scattered among resident atoms, as many again of which are in no row and hold NaN.
template <typename T>
struct Resident {
  explicit Resident(const KernelExample<T>& example, HostBackend* backend)
      : example(example),
        num_rows(example.num_atoms()),
        row_atom(backend),
        row_structure(backend),
        x(backend),
        energy_slope(backend),
        force(backend),
        stress(backend),
        has_force(backend),
        has_stress(backend),
        slopes(backend) {
    const int f = example.shape.num_features;
    RandomStream random(5, "resident");
    for (int64_t r = 0; r < num_rows; ++r) atom_of.push_back(static_cast<int32_t>(2 * r + random.Below(2)));
    for (int64_t r = num_rows - 1; r > 0; --r) std::swap(atom_of[r], atom_of[random.Below(r + 1)]);
    for (int i = 0; i < example.shape.num_species * f; ++i) slope.push_back(static_cast<T>(0.5 + random.Below(8)));
    for (int s = 0; s < kStructures; ++s) {
      flags[0].push_back(s % 3 != 0);
      flags[1].push_back(s % 2);
    }
    stress_tangents = example.tangents;
    std::reverse(stress_tangents.begin(), stress_tangents.end());
    row_atom.Upload(atom_of);
    row_structure.Upload(example.structure);
    x.Upload(Scatter(example.x, {}));
    energy_slope.Upload(slope);
    force.Upload(Scatter(example.tangents, flags[0]));
    stress.Upload(Scatter(stress_tangents, flags[1]));
    has_force.Upload(flags[0]);
    has_stress.Upload(flags[1]);
    slopes.Upload(example.slopes);
  }

  // Rows to atoms; NaN where a row's structure has no such term.
  std::vector<T> Scatter(const std::vector<T>& rows, const std::vector<uint8_t>& has_term) const {
    const int f = example.shape.num_features;
    std::vector<T> atoms(2 * num_rows * f, std::numeric_limits<T>::quiet_NaN());
    for (int64_t r = 0; r < num_rows; ++r) {
      if (!has_term.empty() && !has_term[example.structure[r]]) continue;
      std::copy_n(&rows[r * f], f, &atoms[int64_t{atom_of[r]} * f]);
    }
    return atoms;
  }

  NetworkBatch<T> batch() const {
    return {x.data(), energy_slope.data(), row_atom.data(), row_structure.data(), example.species_offset.data()};
  }

  // What NetworkKernel gets for a term: sign * energy_slope * tangents, 0 without the term.
  std::vector<T> KernelTangents(const std::vector<T>& tangents, int term, T sign) const {
    const int f = example.shape.num_features;
    std::vector<T> result(tangents.size());
    for (int s = 0; s < example.shape.num_species; ++s) {
      for (int64_t r = example.species_offset[s]; r < example.species_offset[s + 1]; ++r) {
        for (int k = 0; k < f && flags[term][example.structure[r]]; ++k) {
          result[r * f + k] = sign * slope[s * f + k] * tangents[r * f + k];
        }
      }
    }
    return result;
  }

  const KernelExample<T>& example;
  const int64_t num_rows;
  std::vector<int32_t> atom_of;
  std::vector<T> slope, stress_tangents;
  std::vector<uint8_t> flags[2];
  DeviceArray<int32_t, HostBackend> row_atom, row_structure;
  DeviceArray<T, HostBackend> x, energy_slope, force, stress;
  DeviceArray<uint8_t, HostBackend> has_force, has_stress;
  DeviceArray<double, HostBackend> slopes;
};

// A bound on rounding errors relative to the largest number of an array.
template <typename T>
constexpr double kTolerance = sizeof(T) == sizeof(float) ? 3e-5 : 1e-12;

template <typename T>
void ExpectClose(const std::vector<T>& actual, const std::vector<T>& expected, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size());
  double largest = 1e-3, worst = 0;
  for (const T e : expected) largest = std::max(largest, std::abs(static_cast<double>(e)));
  for (size_t i = 0; i < actual.size(); ++i) {
    const double error = std::abs(static_cast<double>(actual[i]) - static_cast<double>(expected[i]));
    if (!(error <= worst) && worst == worst) worst = error;  // stays NaN
  }
  EXPECT_LE(worst, kTolerance<T> * largest) << what;
}

template <typename T>
void Compare(const NetworkShape& shape, const std::vector<int64_t>& atoms, const std::vector<bool>& frozen = {}) {
  std::string what = std::string(kActivationWords[static_cast<int>(shape.activation)]) + " F " +
                     std::to_string(shape.num_features) + " rows " + std::to_string(atoms[0]) + " hidden";
  for (const int n : shape.hidden) what += " " + std::to_string(n);
  SCOPED_TRACE(what);
  KernelExample<T> example = MakeKernelExample<T>(shape, atoms, kStructures);
  // Biases begin at 0, where some second derivatives are.
  for (size_t i = 0; i < example.parameters.size(); ++i) example.parameters[i] += T(0.01) * std::sin(T(i));
  HostBackend backend;
  const Resident<T> data(example, &backend);
  DeviceArray<T, HostBackend> parameters(&backend), energies(&backend), q(&backend);
  parameters.Upload(example.parameters);
  energies.Resize(data.num_rows);
  q.Resize(data.x.size());

  NetworkKernel<T> kernel(shape);
  kernel.SetFrozen(frozen);
  std::vector<double> sums(kStructures);
  std::vector<T> x_gradients(example.x.size()), atom_energies(data.num_rows);
  kernel.Evaluate(example.parameters, example.rows(), absl::MakeSpan(sums), absl::MakeSpan(atom_energies));
  kernel.ForwardWithInputGradients(example.parameters, example.rows(), absl::MakeSpan(sums),
                                   absl::MakeSpan(x_gradients));

  NetworkPasses<T, HostBackend> passes(PlainShapeOf(shape), &backend);
  passes.SetFrozen(frozen);
  std::vector<T> actual, alone, actual_q, expected_q;
  passes.Forward(parameters.data(), data.batch(), energies.data(), nullptr);
  energies.Download(&alone);
  passes.Forward(parameters.data(), data.batch(), energies.data(), q.data());
  energies.Download(&actual);
  EXPECT_EQ(actual, alone);
  ExpectClose(actual, atom_energies, "energies");
  q.Download(&actual_q);
  const int f = shape.num_features;
  std::vector<T> rows_q;
  for (int s = 0; s < shape.num_species; ++s) {
    for (int64_t r = example.species_offset[s]; r < example.species_offset[s + 1]; ++r) {
      for (int k = 0; k < f; ++k) {
        rows_q.push_back(actual_q[int64_t{data.atom_of[r]} * f + k]);
        expected_q.push_back(x_gradients[r * f + k] * data.slope[s * f + k]);
      }
    }
  }
  ExpectClose(rows_q, expected_q, "q");
  EXPECT_EQ(std::count_if(actual_q.begin(), actual_q.end(), [](T each) { return each == each; }), rows_q.size())
      << "other atoms were written to";

  const int64_t size = shape.num_parameters();
  std::vector<T> expected[3];
  for (auto& each : expected) each.resize(size);
  kernel.AddEnergyGradients(example.parameters, example.rows(), example.slopes, absl::MakeSpan(expected[0]));
  kernel.AddTangentGradients(example.parameters, example.rows(), data.KernelTangents(example.tangents, 0, T(-1)),
                             absl::MakeSpan(expected[1]));
  kernel.AddTangentGradients(example.parameters, example.rows(), data.KernelTangents(data.stress_tangents, 1, T(1)),
                             absl::MakeSpan(expected[2]));
  for (const int terms : {7, 1, 2, 6, 4, 5}) {  // bits: energy, force, stress
    if (terms != 7 && data.num_rows > 300) continue;
    SCOPED_TRACE(terms);
    std::vector<DeviceArray<T, HostBackend>> gradients;
    for (int t = 0; t < 3; ++t) {
      gradients.emplace_back(&backend);
      if (terms >> t & 1) gradients.back().Resize(size);
    }
    passes.Gradients(parameters.data(), data.batch(), {data.slopes.data(), gradients[0].data()},
                     {data.force.data(), data.has_force.data(), T(-1), gradients[1].data()},
                     {data.stress.data(), data.has_stress.data(), T(1), gradients[2].data()});
    for (int t = 0; t < 3; ++t) {
      if (!(terms >> t & 1)) continue;
      gradients[t].Download(&actual);
      ExpectClose(actual, expected[t], "gradient of term " + std::to_string(t));
    }
  }
}

void CompareBoth(const NetworkShape& shape, const std::vector<int64_t>& atoms, const std::vector<bool>& frozen = {}) {
  Compare<float>(shape, atoms, frozen);
  Compare<double>(shape, atoms, frozen);
}

constexpr Activation kActivations[] = {Activation::kLinear, Activation::kTanh,  Activation::kSigmoid,
                                       Activation::kMtanh,  Activation::kTwist, Activation::kSilu};

TEST(NetworkBodiesTest, AgreesWithKernelForAllActivations) {
  for (const Activation activation : kActivations) {
    CompareBoth({2, 7, {16, 16}, activation}, {33, 20});
    CompareBoth({1, 5, {33, 17, 5}, activation}, {70});
    CompareBoth({1, 52, {32, 32}, activation}, {65});
  }
}

TEST(NetworkBodiesTest, AgreesWithKernelForAnyNumberOfRows) {
  for (const int64_t rows : {1, 31, 32, 33, 63, 64, 65, 200}) {
    CompareBoth({2, 7, {5, 6}, Activation::kTanh}, {rows, 3});
  }
  CompareBoth({2, 52, {16, 16}, Activation::kSilu}, {1000, 500});
}

TEST(NetworkBodiesTest, AgreesWithKernelForSpeciesWithoutRows) {
  CompareBoth({3, 7, {16, 16}, Activation::kTanh}, {0, 40, 0});
  CompareBoth({4, 7, {4}, Activation::kTanh}, {10, 0, 0, 300});
  CompareBoth({2, 7, {4}, Activation::kTanh}, {0, 0});
}

TEST(NetworkBodiesTest, AgreesWithKernelForAwkwardShapes) {
  for (const int features : {1, 7, 52}) {
    for (const std::vector<int>& hidden : std::vector<std::vector<int>>{{}, {1}, {16, 16}, {33, 17, 5}}) {
      CompareBoth({2, features, hidden, Activation::kTwist}, {65, 33});
    }
  }
  CompareBoth({1, 3, std::vector<int>(kMaxHiddenLayers, 4), Activation::kTanh}, {40});
}

// 90-90 does not leave room for the weights, and 300-200 for no tile either.
TEST(NetworkBodiesTest, AgreesWithKernelForWideNetworks) {
  CompareBoth({2, 52, {90, 90}, Activation::kTanh}, {65, 33});
  CompareBoth({1, 52, {130, 90}, Activation::kSigmoid}, {33});
  CompareBoth({1, 52, {300, 200}, Activation::kTanh}, {33});
  CompareBoth({2, 7, {300, 200}, Activation::kSilu}, {65, 2});
}

TEST(NetworkBodiesTest, GradientsOfFrozenSpeciesAreZero) {
  CompareBoth({3, 7, {16, 16}, Activation::kTanh}, {40, 70, 33}, {false, true, false});
  CompareBoth({2, 7, {16, 16}, Activation::kTanh}, {40, 70}, {true, true});
}

TEST(NetworkBodiesTest, HasTermMayBeNull) {
  const NetworkShape shape = {1, 7, {16, 16}, Activation::kTanh};
  const KernelExample<double> example = MakeKernelExample<double>(shape, {50}, kStructures);
  HostBackend backend;
  Resident<double> data(example, &backend);
  data.force.Upload(data.Scatter(example.tangents, {}));
  DeviceArray<double, HostBackend> parameters(&backend), gradient(&backend);
  parameters.Upload(example.parameters);
  gradient.Resize(shape.num_parameters());
  NetworkPasses<double, HostBackend> passes(PlainShapeOf(shape), &backend);
  passes.Gradients(parameters.data(), data.batch(), {}, {data.force.data(), nullptr, 1, gradient.data()}, {});
  std::vector<double> actual, expected(shape.num_parameters()), sums(kStructures), x_gradients(example.x.size());
  gradient.Download(&actual);
  data.flags[0].assign(kStructures, 1);
  NetworkKernel<double> kernel(shape);
  kernel.ForwardWithInputGradients(example.parameters, example.rows(), absl::MakeSpan(sums),
                                   absl::MakeSpan(x_gradients));
  kernel.AddTangentGradients(example.parameters, example.rows(), data.KernelTangents(example.tangents, 0, 1),
                             absl::MakeSpan(expected));
  ExpectClose(actual, expected, "gradient");
}

}  // namespace
}  // namespace rutile
