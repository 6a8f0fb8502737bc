#include "lib/potential/model/model_frame.h"

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "lib/potential/model/potential_file.h"
#include "lib/potential/model/potential_testing.h"
#include "lib/task/framed_model.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

TEST(ModelFrameTest, ComesBackWhole) {
  const Potential potential = SmallTiO2Potential(1);
  const absl::StatusOr<Potential> read = PotentialOfFrame(FrameOf(potential));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->descriptor, potential.descriptor);
  EXPECT_EQ(read->shape.hidden, potential.shape.hidden);
  EXPECT_EQ(read->shape.activation, potential.shape.activation);
  EXPECT_EQ(read->shape.num_parameters(), potential.shape.num_parameters());
  EXPECT_EQ(read->feature_scaling.mean, potential.feature_scaling.mean);
  EXPECT_EQ(read->feature_scaling.scale, potential.feature_scaling.scale);
  EXPECT_EQ(read->atomic_energies, potential.atomic_energies);
  EXPECT_EQ(read->energy_scaling.scale, potential.energy_scaling.scale);
  EXPECT_EQ(read->energy_scaling.shift, potential.energy_scaling.shift);
}

TEST(ModelFrameTest, HoldsMessagesAndVectors) {
  MomentOptions moments;
  moments.species = {22, 8};
  moments.num_radial = 2;
  moments.max_l = 1;
  for (const int vectors : {0, 2}) {
    Potential potential = SmallTiO2Potential(1);
    potential.descriptor = moments;
    SetInputs(potential.descriptor, /*channels=*/3, /*messages=*/4, vectors, &potential.shape);
    potential.feature_scaling.num_features = potential.shape.num_features;
    potential.feature_scaling.mean.assign(2 * potential.shape.num_features, 0.0);
    potential.feature_scaling.scale.assign(2 * potential.shape.num_features, 2.0);
    const absl::StatusOr<Potential> read = PotentialOfFrame(FrameOf(potential));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_TRUE(read->shape.moments == potential.shape.moments) << vectors;
  }
}

TEST(ModelFrameTest, NamesWhatIsMissing) {
  const ModelFrame whole = FrameOf(SmallTiO2Potential(1));
  for (const auto& [name, tensor] : whole.tensors) {
    ModelFrame frame = whole;
    frame.tensors.Set(name, Tensor::Of<double>({1, 2, 3, 4, 5, 6, 7}));
    EXPECT_THAT(PotentialOfFrame(frame).status(), ErrorNames(absl::StatusCode::kInvalidArgument, {name}));
  }
  EXPECT_THAT(PotentialOfFrame({"{}", {}}).status(), ErrorNames(absl::StatusCode::kInvalidArgument, {"descriptor"}));
  EXPECT_THAT(PotentialOfFrame({"odd", {}}).status(), ErrorNames(absl::StatusCode::kInvalidArgument, {"descriptor"}));
  EXPECT_THAT(PotentialOfFrame({R"({"descriptor": "{}", "hidden": [], "activation": 1})", {}}).status(),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"activation"}));
}

TEST(ModelFrameTest, HoldsTheRepulsion) {
  Potential potential = SmallTiO2Potential(1);
  EXPECT_TRUE(PotentialOfFrame(FrameOf(potential))->repulsion.empty());
  potential.repulsion = {{0.5, 0.6, 0.6, 0.7}, {1.5, 1.6, 1.6, 1.7}};
  ModelFrame frame = FrameOf(potential);
  const absl::StatusOr<Potential> read = PotentialOfFrame(frame);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->repulsion == potential.repulsion);
  frame.tensors.Set("repulsion_outer", Tensor::Of<double>({1, 1, 1, 0.1}));
  EXPECT_THAT(PotentialOfFrame(frame).status(), ErrorNames(absl::StatusCode::kInvalidArgument, {"repulsion_outer"}));
}

}  // namespace
}  // namespace rutile
