#include "lib/kge/layers/kge_shard.h"

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "lib/distributed/communicator.h"
#include "lib/distributed/thread_communicator.h"
#include "lib/kge/model/kge_options.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/task/gradients/gradient_observer.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {
namespace {

KgeShape Shape(KgeModel model) {
  KgeShape shape;
  shape.options.model = model;
  shape.options.embedding_dim = 6;
  shape.options.embedding_height = 3;
  shape.options.embedding_width = 2;
  shape.options.output_channels = 3;
  shape.options.kernel_height = shape.options.kernel_width = 2;
  shape.num_entities = 10;
  shape.num_relations = 2;
  return shape;
}

// Each number of entities, relations and fc.weight has one owner, in ascending order; no other has any.
TEST(KgeShardTest, EachParameterOfTheLargeOnesHasOneOwner) {
  for (const KgeModel model :
       {KgeModel::kConvE, KgeModel::kDistMult, KgeModel::kRescal, KgeModel::kCp, KgeModel::kTucker}) {
    const KgeShape shape = Shape(model);
    const KgeShape::Offsets at = shape.offsets();
    for (const int size : {1, 2, 3, 5}) {
      std::vector<int> owners(at.size, 0);
      for (const std::vector<GradientRange>& ranges : OwnedParameters(shape, size)) {
        int64_t end = 0;
        for (const GradientRange& range : ranges) {
          EXPECT_LE(end, range.begin);
          EXPECT_LT(range.begin, range.end);
          end = range.end;
          for (int64_t i = range.begin; i < range.end; ++i) ++owners[i];
        }
      }
      const int64_t tables = at.relation + shape.num_relations * shape.relation_dim();
      for (int64_t i = 0; i < at.size; ++i) {
        const bool fc = shape.is_conve() && i >= at.fc_weight && i < at.fc_bias;
        EXPECT_EQ(owners[i], i < tables || fc ? 1 : 0) << i << " of " << size;
      }
    }
  }
}

TEST(KgeShardTest, PartsFollowOneAnother) {
  const KgeShape shape = Shape(KgeModel::kConvE);
  std::vector<ShardRange> entities(3), channels(3);
  RunAsThreads(3, [&](Communicator* communicator) {
    const KgeShard shard(shape, communicator);
    entities[communicator->rank()] = shard.entities();
    channels[communicator->rank()] = shard.channels();
  });
  EXPECT_EQ(entities[0].begin, 0);
  EXPECT_EQ(entities[2].end, 10);
  EXPECT_EQ(entities[0].end, entities[1].begin);
  EXPECT_EQ(entities[1].end, entities[2].begin);
  for (const ShardRange& range : channels) EXPECT_EQ(range.size(), 1);
  EXPECT_TRUE(entities[1].holds(entities[1].begin));
  EXPECT_FALSE(entities[1].holds(entities[1].end));
}

// Numbers in fp64 that travel among those in fp32 keep 48 bits.
TEST(KgeShardTest, NumbersTravelTogether) {
  const KgeShape shape = Shape(KgeModel::kConvE);
  RunAsThreads(2, [&](Communicator* communicator) {
    KgeShard shard(shape, communicator);
    Tensor memory = Tensor::Of<float>({1, 2, 3, 0, 0, 0, 0});
    std::vector<double> values = {1.0 / 3, 1e10 + communicator->rank()};
    shard.Sum<float>(&memory, absl::MakeSpan(values));
    EXPECT_EQ(memory.values<float>()[2], 6.0f);
    EXPECT_NEAR(values[0], 2.0 / 3, 1e-14);
    EXPECT_NEAR(values[1], 2e10 + 1, 1e-3);
    EXPECT_TRUE(shard.status().ok());
  });
}

}  // namespace
}  // namespace rutile
