#include "lib/kge/model/kge_transfer.h"

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/kge/model/kge_init.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

TrainedKge Model(std::vector<std::string> entities, std::vector<std::string> relations, bool inverse, uint64_t seed) {
  TrainedKge model;
  model.names.entities = std::move(entities);
  model.names.relations = std::move(relations);
  model.names.inverse_relations = inverse;
  KgeOptions& options = model.shape.options;
  options.embedding_dim = 6;
  options.embedding_height = 2;
  options.embedding_width = 3;
  options.output_channels = 2;
  options.kernel_height = options.kernel_width = 2;
  options.precision = DType::kF64;
  model.shape.num_entities = model.names.num_entities();
  model.shape.num_relations = model.names.num_query_relations();
  model.parameters = Tensor::Of<double>(InitialKgeParameters(model.shape, seed));
  return model;
}

// Returns row `row` of a table.
std::vector<double> Row(const TrainedKge& model, int64_t offset, int64_t row, int64_t width = 6) {
  const std::vector<double> all = model.parameters.ToDoubles();
  return {all.begin() + offset + row * width, all.begin() + offset + (row + 1) * width};
}

TEST(KgeTransferTest, RowsGoByTheirNamesAndLayersAsTheyAre) {
  const TrainedKge from = Model({"a", "b", "c"}, {"r", "s"}, true, 1);
  TrainedKge to = Model({"c", "new", "a"}, {"s", "fresh"}, true, 2);
  const TrainedKge start = to;
  const absl::StatusOr<KgeTransfer> transfer = TransferKge(from, to.shape, to.names, to.parameters);
  ASSERT_TRUE(transfer.ok()) << transfer.status();
  to.parameters = transfer->parameters;
  const KgeShape::Offsets at = to.shape.offsets(), source = from.shape.offsets();
  EXPECT_EQ(Row(to, at.entity, 0), Row(from, source.entity, 2));
  EXPECT_EQ(Row(to, at.entity, 1), Row(start, at.entity, 1));
  EXPECT_EQ(Row(to, at.entity, 2), Row(from, source.entity, 0));
  EXPECT_EQ(Row(to, at.relation, 0), Row(from, source.relation, 1));
  EXPECT_EQ(Row(to, at.relation, 1), Row(start, at.relation, 1));
  EXPECT_EQ(Row(to, at.relation, 2), Row(from, source.relation, 3)) << "the inverse of s";
  EXPECT_EQ(Row(to, at.relation, 3), Row(start, at.relation, 3));
  EXPECT_EQ(Row(to, at.fc_weight, 0, at.size - at.fc_weight), Row(from, source.fc_weight, 0, at.size - at.fc_weight));
  EXPECT_EQ(transfer->entities_taken, 2);
  EXPECT_EQ(transfer->entities_begun, 1);
  EXPECT_EQ(transfer->relations_taken, 2);
  EXPECT_EQ(transfer->relations_begun, 2);
}

TEST(KgeTransferTest, RelationsGoByTheirLabelsWhereBothHaveThem) {
  TrainedKge from = Model({"a", "b"}, {"predicate:0", "predicate:1"}, true, 1);
  from.names.relation_labels = {"activates", "inhibits"};
  TrainedKge to = Model({"a", "b"}, {"predicate:0", "predicate:1"}, true, 2);
  const TrainedKge start = to;
  to.names.relation_labels = {"inhibits", "binds"};
  const absl::StatusOr<KgeTransfer> transfer = TransferKge(from, to.shape, to.names, to.parameters);
  ASSERT_TRUE(transfer.ok()) << transfer.status();
  to.parameters = transfer->parameters;
  const int64_t at = to.shape.offsets().relation;
  EXPECT_EQ(Row(to, at, 0), Row(from, at, 1));
  EXPECT_EQ(Row(to, at, 1), Row(start, at, 1));
  EXPECT_EQ(Row(to, at, 2), Row(from, at, 3)) << "the inverse";
  EXPECT_EQ(transfer->relations_taken, 2);
}

TEST(KgeTransferTest, InversesBeginAnewWhereTheModelHasNone) {
  const TrainedKge from = Model({"a", "b"}, {"r"}, false, 1);
  const TrainedKge to = Model({"a", "b"}, {"r"}, true, 2);
  const absl::StatusOr<KgeTransfer> transfer = TransferKge(from, to.shape, to.names, to.parameters);
  ASSERT_TRUE(transfer.ok()) << transfer.status();
  EXPECT_EQ(transfer->relations_taken, 1);
  EXPECT_EQ(transfer->relations_begun, 1);
}

TEST(KgeTransferTest, AnotherPrecisionIsRounded) {
  const TrainedKge from = Model({"a", "b"}, {"r"}, true, 1);
  KgeShape shape = from.shape;
  shape.options.precision = DType::kF32;
  const absl::StatusOr<KgeTransfer> transfer =
      TransferKge(from, shape, from.names, Tensor::Zeros(DType::kF32, {shape.offsets().size}));
  ASSERT_TRUE(transfer.ok()) << transfer.status();
  ASSERT_EQ(transfer->parameters.dtype(), DType::kF32);
  EXPECT_EQ(transfer->parameters.values<float>()[3], static_cast<float>(from.parameters.values<double>()[3]));
}

TEST(KgeTransferTest, OtherModelsAndNothingInCommonAreErrors) {
  const TrainedKge from = Model({"a", "b"}, {"r"}, true, 1);
  TrainedKge to = Model({"a", "b"}, {"r"}, true, 2);
  KgeShape shape = to.shape;
  shape.options.embedding_height = 3;
  shape.options.embedding_width = 2;
  absl::StatusOr<KgeTransfer> transfer =
      TransferKge(from, shape, to.names, Tensor::Zeros(DType::kF64, {shape.offsets().size}));
  EXPECT_THAT(std::string(transfer.status().message()), HasSubstr("image 2 x 3, 2 channels"));
  to.names.entities = {"x", "y"};
  transfer = TransferKge(from, to.shape, to.names, to.parameters);
  EXPECT_THAT(std::string(transfer.status().message()),
              HasSubstr("no entity in common: the first is \"a\" in the model, \"x\" in the triples"));
}

}  // namespace
}  // namespace rutile
