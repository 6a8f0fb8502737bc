// MACE models of mace-torch through the C interface. two_layers_test has lists, parts and processes.

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/mace/mace_testing.h"
#include "lib/md/md_testing.h"
#include "lib/md/rutile.h"
#include "lib/potential/model/mace_potential.h"
#include "lib/structure/structure.h"

namespace rutile {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kOneLayer[] = "testdata/mace/one-layer.safetensors";
constexpr char kTwoLayers[] = "testdata/mace/two-layers.safetensors";

Structure GoldenStructure() {
  Structure structure;
  structure.element = {8, 1, 1, 8, 1};
  structure.position = {0, 0, 0, .96, 0, .1, -.24, .93, 0, 1.9, 1.2, .7, 2.2, .5, 1.5};
  return structure;
}

// Opens models, and returns the error, or "".
std::string OpenError(const std::vector<std::string>& paths, int precision) {
  std::vector<const char*> names;
  for (const std::string& path : paths) names.push_back(path.c_str());
  rutile_options options = {};
  options.struct_size = sizeof(options);
  options.precision = precision;
  rutile_model* model = nullptr;
  std::array<char, 1024> error = {};
  const int code =
      rutile_open(names.data(), static_cast<int>(names.size()), &options, &model, error.data(), error.size());
  rutile_close(model);
  EXPECT_EQ(code == RUTILE_OK, error[0] == '\0');
  return error.data();
}

TEST(MaceTest, AgreesWithMaceTorch) {
  const TestModel one({std::string(kOneLayer)}), two({std::string(kTwoLayers)});
  rutile_model_info info = {};
  info.struct_size = sizeof(info);
  ASSERT_EQ(rutile_get_info(two.model(), &info), RUTILE_OK);
  EXPECT_EQ(info.cutoff, 3);
  EXPECT_EQ(info.num_layers, 2);
  EXPECT_EQ(info.influence_distance, 6);
  EXPECT_EQ(info.num_messages, 4);
  EXPECT_EQ(info.precision, 64);
  EXPECT_EQ(info.has_training_range, 0);
  // lib/mace/mace_evaluator_test.cc has all numbers.
  const TestResult of_one = ComputeCell(one, GoldenStructure()), of_two = ComputeCell(two, GoldenStructure());
  ASSERT_EQ(of_one.code, RUTILE_OK) << of_one.error;
  ASSERT_EQ(of_two.code, RUTILE_OK) << of_two.error;
  EXPECT_NEAR(of_one.energy, -13.3578907065252, 1e-12);
  EXPECT_NEAR(of_two.energy, 4.268724478540927, 1e-12);
  EXPECT_NEAR(of_two.forces[14], 11.320456469147809, 1e-12);
}

TEST(MaceTest, CommitteesAreMeans) {
  const TestModel committee({std::string(kOneLayer), std::string(kTwoLayers)});
  const TestResult r = ComputeCell(committee, GoldenStructure());
  ASSERT_EQ(r.code, RUTILE_OK) << r.error;
  EXPECT_NEAR(r.energy, (-13.3578907065252 + 4.268724478540927) / 2, 1e-12);
  EXPECT_NEAR(r.energy_spread, (13.3578907065252 + 4.268724478540927) / 2, 1e-12);
  EXPECT_NEAR(r.forces[0], (4.673486276566246 - 3.9123929068454864) / 2, 1e-12);
}

TEST(MaceTest, WhatCannotBeIsRefused) {
  EXPECT_EQ(OpenError({kTwoLayers}, 64), "");
  EXPECT_EQ(OpenError({kTwoLayers}, 0), "");
  EXPECT_THAT(OpenError({kTwoLayers}, 32), AllOf(HasSubstr(kTwoLayers), HasSubstr("precision 32"), HasSubstr("MACE")));
  // Both kinds in one committee.
  const std::string ours = "testdata/md/tio2-many-body.safetensors";
  EXPECT_THAT(OpenError({ours, kTwoLayers}, 0), AllOf(HasSubstr(ours), HasSubstr(kTwoLayers), HasSubstr("one kind")));
  EXPECT_THAT(OpenError({kTwoLayers, ours}, 0), AllOf(HasSubstr(ours), HasSubstr(kTwoLayers), HasSubstr("one kind")));
  const Potential other =
      PotentialOfMace(std::make_shared<const MaceModel>(RandomMace({{8, 1}, 2.5, 4, 2, 4, 2, false}, 1)));
  const std::string path = WriteTestPotential(other, "other");
  EXPECT_THAT(OpenError({kTwoLayers, path}, 0), AllOf(HasSubstr(path), HasSubstr("descriptor")));
}

}  // namespace
}  // namespace rutile
