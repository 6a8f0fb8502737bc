#include "lib/descriptor/chebyshev.h"

#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lib/potential/model/golden_potential_testing.h"

namespace rutile {
namespace {

std::vector<double> Features(const ChebyshevOptions& options, const Structure& structure) {
  NeighborList neighbors;
  const absl::Status status = BruteForceNeighborList(structure, options.cutoff(), &neighbors);
  EXPECT_TRUE(status.ok()) << status;
  const ChebyshevReference reference(options);
  std::vector<double> features(structure.size() * reference.num_features(), NAN);
  reference.Compute(SpeciesIndices(structure, options.species), neighbors, reference.MakeWorkspace().get(),
                    absl::MakeSpan(features));
  return features;
}

TEST(CosineCutoffTest, ClosedForm) {
  EXPECT_EQ(CosineCutoff(0, 4), 1);
  EXPECT_NEAR(CosineCutoff(2, 4), 0.5, 1e-16);
  EXPECT_NEAR(CosineCutoff(4.0 / 3, 4), 0.75, 1e-15);
  EXPECT_EQ(CosineCutoff(4, 4), 0);
  EXPECT_EQ(CosineCutoff(5, 4), 0);
}

class GoldenTest : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenTest, Features) {
  const GoldenCase golden = ReadGoldenCase(GetParam());
  const std::vector<double> features = Features(golden.descriptor, golden.structure);
  ASSERT_EQ(features.size(), golden.features.size());
  for (size_t i = 0; i < features.size(); ++i) {
    EXPECT_NEAR(features[i], golden.features[i], 1e-11 * std::max(1.0, std::abs(golden.features[i]))) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, GoldenTest, ::testing::ValuesIn(GoldenCaseNames()),
                         [](const auto& info) { return info.param; });

// Two neighbors at right angles, at r = 2 and 3, with orders up to 2: all values are computed by hand.
TEST(ChebyshevReferenceTest, RightAngleByHand) {
  ChebyshevOptions options;
  options.species = {1, 6, 8};  // typespins -1, 0, 1
  options.rad_order = 2;
  options.rad_cutoff = 4;
  options.ang_order = 2;
  options.ang_cutoff = 4;
  Structure structure;
  structure.element = {6, 1, 8};
  structure.position = {0, 0, 0, 2, 0, 0, 0, 3, 0};
  const std::vector<double> row = Features(options, structure);
  const double f2 = 0.5, f3 = 0.5 * (1 - std::sqrt(0.5));
  // T_n(0) = 1, 0, -1 at r = 2; T_n(1/2) = 1, 1/2, -1/2 at r = 3; T_n(cos 90) = 1, 0, -1.
  const double expected[] = {f2 + f3,  f3 / 2, -f2 - f3 / 2, f2 * f3,  0, -f2 * f3,  //
                             -f2 + f3, f3 / 2, f2 - f3 / 2,  -f2 * f3, 0, f2 * f3};
  for (int k = 0; k < 12; ++k) EXPECT_NEAR(row[k], expected[k], 1e-15) << k;
}

TEST(ChebyshevReferenceTest, LimitsOfDistances) {
  ChebyshevOptions options;
  options.species = {6};
  options.rad_order = 0;
  options.rad_cutoff = 4;
  options.ang_order = 0;
  options.ang_cutoff = 3;
  options.min_cutoff = 1;
  Structure structure;
  structure.element = {6, 6, 6, 6};
  // Distances from the first atom are min_cutoff (ignored), ang_cutoff and rad_cutoff (counted with f_c = 0).
  structure.position = {0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 4};
  const std::vector<double> features = Features(options, structure);
  EXPECT_EQ(features[0], CosineCutoff(3, 4));
  EXPECT_EQ(features[1], 0);
}

TEST(ChebyshevReferenceTest, AngularCutoffAboveRadial) {
  ChebyshevOptions options;
  options.species = {6};
  options.rad_order = 0;
  options.rad_cutoff = 3;
  options.ang_order = 0;
  options.ang_cutoff = 5;
  Structure structure;
  structure.element = {6, 6, 6};
  structure.position = {0, 0, 0, 2, 0, 0, 0, 4, 0};
  const std::vector<double> features = Features(options, structure);
  EXPECT_EQ(features[0], CosineCutoff(2, 3));
  EXPECT_NEAR(features[1], CosineCutoff(2, 5) * CosineCutoff(4, 5), 1e-15);
}

// The numbers were printed by an independent program: O of a water molecule, and fcc copper.
TEST(ChebyshevReferenceTest, PrintedNumbers) {
  const GoldenCase water = ReadGoldenCase("water_isolated");
  const std::vector<double> o = Features(water.descriptor, water.structure);
  const double radial[] = {1.7301634481, -0.901609285293, -0.790484247011, 1.72547125945, -1.00784401006};
  for (int n = 0; n < 5; ++n) EXPECT_NEAR(o[n], radial[n], 1e-11);
  const double angular[] = {0.682826878921, -0.170733566937, -0.597446669737, 0.469503882308};
  for (int n = 0; n < 4; ++n) EXPECT_NEAR(o[11 + n], angular[n], 1e-11);
  for (int n = 0; n < 3; ++n) EXPECT_NEAR(o[15 + n], radial[n], 1e-11);  // both neighbors have typespin 1

  const GoldenCase copper = ReadGoldenCase("fcc_cu_primitive_1atom");
  const std::vector<double> cu = Features(copper.descriptor, copper.structure);
  const double fcc[] = {14.1083976861, 1.73033292572, -11.0065919527, -2.26738556218};
  for (int n = 0; n < 4; ++n) EXPECT_NEAR(cu[n], fcc[n], 1e-9);
  const double fcc_angular[] = {13.19055444, -0.963007900043, -5.68086201339, -0.963007900043, -1.6954098988};
  for (int n = 0; n < 5; ++n) EXPECT_NEAR(cu[11 + n], fcc_angular[n], 1e-9);
}

TEST(ChebyshevReferenceTest, FloatIsDoubleRounded) {
  const GoldenCase water = ReadGoldenCase("water_isolated");
  NeighborList neighbors;
  ASSERT_TRUE(BruteForceNeighborList(water.structure, water.descriptor.rad_cutoff, &neighbors).ok());
  const ChebyshevReference reference(water.descriptor);
  std::vector<float> rounded(water.features.size());
  reference.Compute(water.species, neighbors, nullptr, absl::MakeSpan(rounded));
  const std::vector<double> exact = Features(water.descriptor, water.structure);
  for (size_t i = 0; i < exact.size(); ++i) EXPECT_EQ(rounded[i], static_cast<float>(exact[i]));
}

TEST(ChebyshevReferenceDeathTest, RefusesBadOptionsAndShapes) {
  ChebyshevOptions options;
  EXPECT_DEATH(ChebyshevReference{options}, "--species is empty");
  options.species = {6};
  const ChebyshevReference reference(options);
  NeighborList neighbors;
  neighbors.offset = {0, 0};
  std::vector<double> features(3);
  EXPECT_DEATH(reference.Compute({0}, neighbors, nullptr, absl::MakeSpan(features)), "3 vs. 15");
}

}  // namespace
}  // namespace rutile
