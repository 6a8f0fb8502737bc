#include "lib/potential/influence/potential_tests.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/potential/influence/gradient_testing.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

TEST(PotentialQuantityTest, NamesRoundTrip) {
  for (const PotentialQuantity quantity : {PotentialQuantity::kLoss, PotentialQuantity::kEnergy,
                                           PotentialQuantity::kAtomForce, PotentialQuantity::kForceComponent}) {
    EXPECT_EQ(*ParsePotentialQuantity(PotentialQuantityName(quantity)), quantity);
  }
  EXPECT_THAT(ParsePotentialQuantity("force").status().message(), HasSubstr("loss, energy, atom-force and force-comp"));
}

TEST(PotentialTestsTest, StructuresOrAtoms) {
  const AtomicData data = AwkwardStructures();
  PotentialTestOptions options;
  std::vector<PotentialTest> tests = *PotentialTests(data, options);
  ASSERT_EQ(tests.size(), kNumAwkward);
  EXPECT_EQ(tests[3].structure, 3);
  EXPECT_EQ(tests[3].atom, -1);

  options.quantity = PotentialQuantity::kForceComponent;
  tests = *PotentialTests(data, options);
  ASSERT_EQ(tests.size(), kNumAwkward);
  EXPECT_EQ(tests[3].atom, 0);

  options.atom = kAllAtoms;
  tests = *PotentialTests(data, options);
  int64_t atoms = 0;
  for (int64_t s = 0; s < data.num_structures(); ++s) atoms += data.num_atoms(s);
  ASSERT_EQ(tests.size(), atoms);
  EXPECT_EQ(tests[1].structure, 1);
  EXPECT_EQ(tests[4].structure, 2);
  EXPECT_EQ(tests[4].atom, 2);
}

TEST(PotentialTestsTest, Errors) {
  const AtomicData data = AwkwardStructures();
  const auto error = [&](const PotentialTestOptions& options) {
    const absl::Status status = PotentialTests(data, options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  PotentialTestOptions options;
  options.quantity = PotentialQuantity::kForceComponent;
  options.atom = 1;
  EXPECT_THAT(error(options), HasSubstr("has 1 atoms, numbered from 0"));
  options.atom = -2;
  EXPECT_THAT(error(options), HasSubstr("--test_atom=-2: expected an atom's number, from 0, or -1 for all"));
  options.atom = 0;
  options.component = 3;
  EXPECT_THAT(error(options), HasSubstr("--test_component=3: expected 0 (x), 1 (y) or 2 (z)"));
  options.component = 0;
  options.quantity = PotentialQuantity::kAtomForce;
  EXPECT_THAT(error(options), HasSubstr("has no forces, but --test_quantity=atom-force"));
}

}  // namespace
}  // namespace rutile
