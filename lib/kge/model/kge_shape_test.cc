#include "lib/kge/model/kge_shape.h"

#include <string>

#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

KgeShape Shape(KgeModel model, ConveVariant variant) {
  KgeShape shape;
  shape.options.model = model;
  shape.options.variant = variant;
  shape.num_entities = 14541;
  shape.num_relations = 474;
  return shape;
}

std::string Names(const KgeShape& shape) {
  return absl::StrJoin(shape.Slices(), " ",
                       [](std::string* out, const ParameterSlice& slice) { out->append(slice.name); });
}

TEST(KgeShapeTest, SizesOfThePublishedModel) {
  const KgeShape shape = Shape(KgeModel::kConvE, ConveVariant::kDettmers);
  EXPECT_EQ(shape.image_height(), 40);
  EXPECT_EQ(shape.image_width(), 10);
  EXPECT_EQ(shape.map_height(), 38);
  EXPECT_EQ(shape.map_width(), 8);
  EXPECT_EQ(shape.num_features(), 9728);
  // Entities and their biases, relations, bn0, conv, bn1, fc, bn2.
  EXPECT_EQ(shape.offsets().size, 14541 * 201 + 474 * 200 + 4 + 288 + 4 * 32 + 200 * 9729 + 4 * 200);
}

TEST(KgeShapeTest, TiepinStacksAlongWidth) {
  KgeShape shape = Shape(KgeModel::kConvE, ConveVariant::kTiepin);
  shape.options.embedding_dim = 32;
  shape.options.embedding_height = 8;
  shape.options.embedding_width = 4;
  EXPECT_EQ(shape.num_features(), 32 * 6 * 6);
  shape.options.variant = ConveVariant::kDettmers;
  EXPECT_EQ(shape.num_features(), 32 * 14 * 2);
}

TEST(KgeShapeTest, RelationsMayHaveOtherSizesThanEntities) {
  for (const auto& [model, size] :
       {std::pair(KgeModel::kDistMult, 200), std::pair(KgeModel::kSimple, 200), std::pair(KgeModel::kRescal, 40000),
        std::pair(KgeModel::kCp, 100), std::pair(KgeModel::kTransE, 200), std::pair(KgeModel::kRotatE, 100)}) {
    const KgeShape shape = Shape(model, ConveVariant::kDettmers);
    EXPECT_EQ(shape.relation_dim(), size);
    EXPECT_EQ(shape.Slices()[1].shape, (std::vector<int64_t>{474, size}));
    EXPECT_EQ(shape.offsets().size, 14541 * 200 + 474 * size);
  }
}

TEST(KgeShapeTest, TheCoreOfTuckerJoinsTailsRelationsAndHeads) {
  KgeShape shape = Shape(KgeModel::kTucker, ConveVariant::kDettmers);
  shape.options.relation_embedding_dim = 7;
  EXPECT_EQ(shape.relation_dim(), 7);
  EXPECT_EQ(shape.num_features(), 7 * 200);
  EXPECT_EQ(shape.Slices()[2].shape, (std::vector<int64_t>{200, 7, 200}));
  EXPECT_EQ(shape.Slices()[2].offset, shape.offsets().fc_weight);
  EXPECT_FALSE(shape.Slices()[2].table);
  EXPECT_EQ(shape.offsets().size, 14541 * 200 + 474 * 7 + 7 * 200 * 200);
}

TEST(KgeShapeTest, NamesOfEachModel) {
  EXPECT_EQ(Names(Shape(KgeModel::kDistMult, ConveVariant::kDettmers)), "entity.weight relation.weight");
  EXPECT_EQ(Names(Shape(KgeModel::kComplEx, ConveVariant::kLibkge)), "entity.weight relation.weight");
  EXPECT_EQ(Names(Shape(KgeModel::kTucker, ConveVariant::kDettmers)), "entity.weight relation.weight core.weight");
  EXPECT_EQ(Names(Shape(KgeModel::kConvE, ConveVariant::kDettmers)),
            "entity.weight entity.bias relation.weight bn0.weight bn0.bias bn0.running_mean bn0.running_var "
            "conv.weight bn1.weight bn1.bias bn1.running_mean bn1.running_var fc.weight fc.bias bn2.weight bn2.bias "
            "bn2.running_mean bn2.running_var");
  EXPECT_EQ(Names(Shape(KgeModel::kConvE, ConveVariant::kTiepin)),
            "entity.weight relation.weight bn0.weight bn0.bias bn0.running_mean bn0.running_var conv.weight conv.bias "
            "bn1.weight bn1.bias bn1.running_mean bn1.running_var fc.weight fc.bias bn2.weight bn2.bias "
            "bn2.running_mean bn2.running_var");
  EXPECT_EQ(Names(Shape(KgeModel::kConvE, ConveVariant::kLibkge)),
            "entity.weight entity.bias relation.weight conv.weight conv.bias bn1.running_mean bn1.running_var "
            "fc.weight fc.bias bn2.running_mean bn2.running_var");
}

TEST(KgeShapeTest, SlicesCoverTheParametersInOrder) {
  for (const ConveVariant variant : {ConveVariant::kDettmers, ConveVariant::kTiepin, ConveVariant::kLibkge}) {
    const KgeShape shape = Shape(KgeModel::kConvE, variant);
    const KgeShape::Offsets at = shape.offsets();
    int64_t end = 0;
    for (const ParameterSlice& slice : shape.Slices()) {
      EXPECT_EQ(slice.offset, end) << slice.name;
      const int64_t size = slice.num_elements();
      end += size;
      EXPECT_EQ(slice.buffer, slice.name.find("running") != std::string::npos) << slice.name;
      if (slice.name == "fc.weight") {
        EXPECT_EQ(slice.offset, at.fc_weight);
      }
      if (slice.name == "bn2.running_var") {
        EXPECT_EQ(slice.offset, at.bn2_variance);
      }
    }
    EXPECT_EQ(end, at.size);
    EXPECT_EQ(at.entity, 0);
    EXPECT_EQ(at.entity_bias == -1, variant == ConveVariant::kTiepin);
    EXPECT_EQ(at.conv_bias == -1, variant == ConveVariant::kDettmers);
    EXPECT_EQ(at.bn0_mean == -1, variant == ConveVariant::kLibkge);
    EXPECT_EQ(at.bn1_weight == -1, variant == ConveVariant::kLibkge);
  }
}

}  // namespace
}  // namespace rutile
