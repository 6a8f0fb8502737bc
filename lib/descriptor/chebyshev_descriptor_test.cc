#include "lib/descriptor/chebyshev_descriptor.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lib/base/logging.h"
#include "lib/base/random.h"
#include "lib/descriptor/chebyshev.h"
#include "lib/descriptor/descriptor_factory.h"
#include "lib/machine/parallel_for.h"
#include "lib/potential/model/golden_potential_testing.h"
#include "lib/testing/for_each_target.h"

namespace rutile {
namespace {

constexpr AngularMethod kMethods[] = {AngularMethod::kMoments, AngularMethod::kTriplets};

template <typename T>
std::vector<T> Features(const Descriptor& descriptor, const std::vector<uint8_t>& species, const Structure& structure) {
  NeighborList neighbors;
  const absl::Status status = BruteForceNeighborList(structure, descriptor.cutoff(), &neighbors);
  EXPECT_TRUE(status.ok()) << status;
  std::vector<T> features(structure.size() * descriptor.num_features(), std::nan(""));
  descriptor.Compute(SpeciesIndices(structure, species), neighbors, descriptor.MakeWorkspace().get(),
                     absl::MakeSpan(features));
  return features;
}

template <typename T>
void ExpectClose(const std::vector<T>& features, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(features.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(features[i], expected[i], tolerance * std::max(1.0, std::abs(expected[i]))) << "feature " << i;
  }
}

class GoldenTest : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenTest, Features) {
  const GoldenCase golden = ReadGoldenCase(GetParam());
  NeighborList neighbors;
  ASSERT_TRUE(BruteForceNeighborList(golden.structure, golden.descriptor.rad_cutoff, &neighbors).ok());
  ForEachTarget([&] {
    for (const AngularMethod method : kMethods) {
      const ChebyshevDescriptor descriptor(golden.descriptor, method);
      const auto workspace = descriptor.MakeWorkspace();
      std::vector<double> fp64(golden.features.size());
      descriptor.Compute(golden.species, neighbors, workspace.get(), absl::MakeSpan(fp64));
      ExpectClose(fp64, golden.features, 1e-11);
      std::vector<float> fp32(golden.features.size());
      descriptor.Compute(golden.species, neighbors, workspace.get(), absl::MakeSpan(fp32));
      ExpectClose(fp32, golden.features, 2e-4);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(All, GoldenTest, ::testing::ValuesIn(GoldenCaseNames()),
                         [](const auto& info) { return info.param; });

// Returns five atoms of three elements in a skew cell thinner than the cutoff.
Structure Skew() {
  Structure structure;
  structure.element = {56, 22, 8, 8, 8};
  structure.position = {0.1, 0.2, 0.3, 2.1, 1.9, 2.2, 2.0, 1.8, 0.1, 2.2, -0.2, 2.0, -0.1, 2.1, 1.7};
  structure.cell = {4.0, 0.3, -0.2, 0.5, 4.1, 0.4, -0.6, 0.2, 3.9};
  structure.pbc = {true, true, true};
  return structure;
}

ChebyshevOptions SkewOptions() {
  ChebyshevOptions options;
  options.species = {56, 22, 8};
  options.rad_order = 12;
  options.rad_cutoff = 6;
  options.ang_order = 5;
  options.ang_cutoff = 4.5;
  return options;
}

class InvarianceTest : public ::testing::TestWithParam<AngularMethod> {
 protected:
  std::unique_ptr<const Descriptor> descriptor_ = MakeDescriptor(SkewOptions(), GetParam());
  int width_ = SkewOptions().num_features();

  std::vector<double> Of(const Structure& structure) const {
    return Features<double>(*descriptor_, SkewOptions().species, structure);
  }
};

TEST_P(InvarianceTest, Rotation) {
  const double a = 0.7, b = -1.2, ca = std::cos(a), sa = std::sin(a), cb = std::cos(b), sb = std::sin(b);
  const double rotation[9] = {ca * cb, -sa, ca * sb, sa * cb, ca, sa * sb, -sb, 0, cb};
  Structure transposed = Skew();
  const auto rotate = [&](double* v) {
    const double old[3] = {v[0], v[1], v[2]};
    for (int i = 0; i < 3; ++i) {
      v[i] = rotation[3 * i] * old[0] + rotation[3 * i + 1] * old[1] + rotation[3 * i + 2] * old[2];
    }
  };
  for (int i = 0; i < 5; ++i) rotate(&transposed.position[3 * i]);
  for (int i = 0; i < 3; ++i) rotate(&transposed.cell[3 * i]);
  ExpectClose(Of(transposed), Of(Skew()), 1e-11);
  // Tests a reflection as well, because the descriptor does not see chirality.
  for (int i = 0; i < 5; ++i) transposed.position[3 * i] *= -1;
  for (int i = 0; i < 3; ++i) transposed.cell[3 * i] *= -1;
  ExpectClose(Of(transposed), Of(Skew()), 1e-11);
}

TEST_P(InvarianceTest, TranslationAndChoiceOfImage) {
  Structure moved = Skew();
  for (int i = 0; i < 5; ++i) {
    const int image[3] = {i % 3 - 1, 2 - i, i / 2};
    for (int k = 0; k < 3; ++k) {
      moved.position[3 * i + k] += 11.3 * (k + 1);
      for (int c = 0; c < 3; ++c) moved.position[3 * i + k] += image[c] * moved.cell[3 * c + k];
    }
  }
  ExpectClose(Of(moved), Of(Skew()), 1e-11);
}

TEST_P(InvarianceTest, PermutationOfAtoms) {
  const int order[5] = {3, 1, 4, 0, 2};
  const Structure structure = Skew();
  Structure permuted = structure;
  for (int i = 0; i < 5; ++i) {
    permuted.element[i] = structure.element[order[i]];
    std::copy_n(&structure.position[3 * order[i]], 3, &permuted.position[3 * i]);
  }
  const std::vector<double> features = Of(structure);
  std::vector<double> expected;
  for (const int i : order) {
    expected.insert(expected.end(), &features[i * width_], &features[i * width_] + width_);
  }
  ExpectClose(Of(permuted), expected, 1e-11);
}

TEST_P(InvarianceTest, Supercell) {
  const Structure structure = Skew();
  Structure super = structure;
  for (int i = 0; i < 5; ++i) {
    super.element.push_back(structure.element[i]);
    for (int k = 0; k < 3; ++k) super.position.push_back(structure.position[3 * i + k] + structure.cell[3 + k]);
  }
  for (int k = 0; k < 3; ++k) super.cell[3 + k] *= 2;
  std::vector<double> expected = Of(structure);
  expected.insert(expected.end(), expected.begin(), expected.begin() + 5 * width_);
  ExpectClose(Of(super), expected, 1e-11);
}

INSTANTIATE_TEST_SUITE_P(Methods, InvarianceTest, ::testing::ValuesIn(kMethods), [](const auto& info) {
  return info.param == AngularMethod::kMoments ? "Moments" : "Triplets";
});

// A list that reaches beyond the descriptor's cutoff gives the same.
TEST(ChebyshevDescriptorTest, LongerNeighborList) {
  const Structure structure = Skew();
  const ChebyshevDescriptor descriptor(SkewOptions(), AngularMethod::kMoments);
  NeighborList longer;
  ASSERT_TRUE(BruteForceNeighborList(structure, 8, &longer).ok());
  std::vector<double> features(5 * descriptor.num_features());
  descriptor.Compute(SpeciesIndices(structure, SkewOptions().species), longer, descriptor.MakeWorkspace().get(),
                     absl::MakeSpan(features));
  ExpectClose(features, Features<double>(ChebyshevReference(SkewOptions()), SkewOptions().species, structure), 1e-11);
}

// The bits of a row depend on its atom's neighbors alone, and so neither on threads nor on earlier uses of a workspace.
TEST(ChebyshevDescriptorTest, ThreadsGiveTheSameBits) {
  std::vector<Structure> structures;
  for (int k = 0; k < 24; ++k) {
    RandomStream stream(k, "displacement");
    structures.push_back(Skew());
    for (double& x : structures.back().position) x += stream.Uniform(-0.2, 0.2);
  }
  const ChebyshevDescriptor descriptor(SkewOptions(), AngularMethod::kMoments);
  const auto compute = [&](int num_threads) {
    std::vector<std::vector<double>> features(structures.size());
    std::vector<std::unique_ptr<Descriptor::Workspace>> workspaces;
    for (int t = 0; t < num_threads; ++t) workspaces.push_back(descriptor.MakeWorkspace());
    ThreadPool(num_threads).For(structures.size(), 1, [&](int64_t begin, int64_t end, int worker) {
      for (int64_t s = begin; s < end; ++s) {
        NeighborList neighbors;
        CHECK(BruteForceNeighborList(structures[s], descriptor.cutoff(), &neighbors).ok());
        features[s].resize(5 * descriptor.num_features());
        descriptor.Compute(SpeciesIndices(structures[s], SkewOptions().species), neighbors, workspaces[worker].get(),
                           absl::MakeSpan(features[s]));
      }
    });
    return features;
  };
  const auto one = compute(1);
  EXPECT_EQ(compute(2), one);
  EXPECT_EQ(compute(3), one);
}

TEST(ChebyshevDescriptorTest, NoAtoms) {
  NeighborList neighbors;
  neighbors.offset = {0};
  const ChebyshevDescriptor descriptor(SkewOptions(), AngularMethod::kMoments);
  descriptor.Compute({}, neighbors, descriptor.MakeWorkspace().get(), absl::Span<double>());
}

TEST(ChebyshevDescriptorTest, KnowsItself) {
  const auto descriptor = MakeDescriptor(SkewOptions(), AngularMethod::kTriplets);
  EXPECT_EQ(descriptor->num_features(), 38);
  EXPECT_EQ(descriptor->cutoff(), 6);
}

TEST(ChebyshevDescriptorDeathTest, RefusesAnotherWorkspace) {
  const ChebyshevDescriptor descriptor(SkewOptions(), AngularMethod::kMoments);
  NeighborList neighbors;
  neighbors.offset = {0};
  Descriptor::Workspace other;
  EXPECT_DEATH(descriptor.Compute({}, neighbors, &other, absl::Span<double>()), "MakeWorkspace");
  EXPECT_DEATH(descriptor.Compute({}, neighbors, nullptr, absl::Span<double>()), "MakeWorkspace");
}

}  // namespace
}  // namespace rutile
