#include "lib/kge/influence/kge_part_plan.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lib/kge/model/kge_options.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/task/gradient_products.h"
#include "lib/task/parameter_slice.h"

namespace rutile {
namespace {

KgeShape Shape(ConveVariant variant, KgeModel model = KgeModel::kConvE) {
  KgeShape shape;
  shape.options.model = model;
  shape.options.variant = variant;
  shape.options.embedding_dim = 12;
  shape.options.embedding_height = 3;
  shape.options.embedding_width = 4;
  shape.options.output_channels = 4;
  shape.num_entities = 5;
  shape.num_relations = 2;
  return shape;
}

ProductPart Part(const KgeShape& shape, const std::vector<std::string>& names) {
  ProductPart part;
  const std::vector<ParameterSlice> slices = shape.Slices();
  for (size_t s = 0; s < slices.size(); ++s) {
    for (const std::string& name : names) {
      if (slices[s].name == name) part.slices.push_back(static_cast<int>(s));
    }
  }
  return part;
}

TEST(SmallColumnsTest, AreThoseOfTheSlicesThatAreThere) {
  const SmallColumns dettmers(Shape(ConveVariant::kDettmers));
  EXPECT_EQ(dettmers.bn0_weight, 0);
  EXPECT_EQ(dettmers.conv_weight, 2);
  EXPECT_EQ(dettmers.conv_bias, -1);
  EXPECT_EQ(dettmers.bn1_weight, 2 + 36);
  EXPECT_EQ(dettmers.size, 2 + 36 + 8 + 24);
  const SmallColumns libkge(Shape(ConveVariant::kLibkge));
  EXPECT_EQ(libkge.conv_weight, 0);
  EXPECT_EQ(libkge.bn2_weight, -1);
  EXPECT_EQ(libkge.size, 36 + 4);
  EXPECT_EQ(SmallColumns(Shape(ConveVariant::kDettmers, KgeModel::kComplEx)).size, 0);
}

TEST(KgePartPlanTest, NeighborsOfOnePartAreOneRange) {
  const KgeShape shape = Shape(ConveVariant::kDettmers);
  const KgePartPlan plan(shape, {Part(shape, {"bn0.weight", "bn0.bias", "conv.weight", "bn2.bias"}),
                                 Part(shape, {"entity.weight", "bn1.weight"})});
  EXPECT_EQ(plan.num_parts, 2);
  EXPECT_EQ(plan.entity, 1);
  EXPECT_EQ(plan.relation, -1);
  ASSERT_EQ(plan.small.size(), 3u);
  EXPECT_EQ(plan.small[0].begin, 0);
  EXPECT_EQ(plan.small[0].end, 38);
  EXPECT_EQ(plan.small[1].part, 1);
  EXPECT_EQ(plan.small[2].end, SmallColumns(shape).size);
}

TEST(KgePartPlanTest, KnowsHowFarBackGradientsAreNeeded) {
  const KgeShape shape = Shape(ConveVariant::kDettmers);
  const auto plan = [&](const std::vector<std::string>& names) { return KgePartPlan(shape, {Part(shape, names)}); };
  EXPECT_FALSE(plan({"fc.weight", "bn2.weight"}).below_fc);
  EXPECT_TRUE(plan({"fc.weight", "bn2.weight"}).at_fc);
  EXPECT_FALSE(plan({"entity.bias"}).below_fc);
  EXPECT_FALSE(plan({"entity.bias"}).at_fc);
  EXPECT_TRUE(plan({"entity.weight"}).below_fc);
  EXPECT_TRUE(plan({"bn1.bias"}).below_fc);
}

TEST(KgePartPlanDeathTest, RefusesBuffersAndSlicesInTwoParts) {
  const KgeShape shape = Shape(ConveVariant::kDettmers);
  EXPECT_DEATH(KgePartPlan(shape, {Part(shape, {"bn0.running_mean"})}), "slice");
  const ProductPart part = Part(shape, {"conv.weight"});
  EXPECT_DEATH(KgePartPlan(shape, {part, part}), "conv.weight is in two parts");
}

}  // namespace
}  // namespace rutile
