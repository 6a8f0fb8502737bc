#include "lib/potential/training/force_batch.h"

#include <numeric>
#include <optional>

#include "gtest/gtest.h"

namespace rutile {
namespace {

// Makes batches of the first structures of data/tio2-pbe.
struct Fixture {
  Fixture(bool cache_neighbors, bool triplets, bool cached_features, double fraction) {
    AtomicDataOptions data_options;
    data_options.descriptor.emplace();
    data_options.descriptor->chebyshev().species = {22, 8};
    data_options.descriptor->chebyshev().rad_order = 3;
    data_options.descriptor->chebyshev().rad_cutoff = 3;
    data_options.descriptor->chebyshev().ang_cutoff = 2.5;
    data = *AtomicData::Read({"data/tio2-pbe/tio2-pbe.extxyz"}, data_options);
    if (cache_neighbors) {
      EXPECT_TRUE(data->CacheNeighbors(triplets, "", int64_t{1} << 30, 1).ok());
    }
    AtomisticTaskOptions options;
    options.precision = DType::kF64;
    options.loss.stress_weight = 1;
    options.force_sampling.fraction = fraction;
    features = *FeatureSource::Create(*data, AngularMethod::kMoments, DType::kF64, cached_features, 1);
    std::vector<int64_t> train(40);
    std::iota(train.begin(), train.end(), 0);
    model = *AtomisticModel::Create(*data, *features, options, train);
    sampler.emplace(*data, options.force_sampling, train);
  }
  ForceBatchMaker Maker(bool stress) { return {*data, *model, *features, &*sampler, stress}; }
  void Make(const std::vector<int64_t>& examples, bool stress, NamedTensors* batch) {
    ASSERT_TRUE(Maker(stress).Make<double>(examples, batch).ok());
  }
  std::optional<AtomicData> data;
  std::optional<FeatureSource> features;
  std::optional<AtomisticModel> model;
  std::optional<ForceSampler> sampler;
};

void ExpectSameStructure(const AtomicData& data, int64_t s, const ForceBatch<double>& batch, int64_t e) {
  const StructureGeometry geometry = batch.geometry(e);
  EXPECT_EQ(geometry.species, data.species(s));
  EXPECT_EQ(geometry.position, data.position(s));
  EXPECT_EQ(geometry.cell, data.cell(s));
  const PairView expected = data.pairs(s), &found = geometry.pairs;
  ASSERT_EQ(found.num_pairs(), expected.num_pairs());
  for (int64_t i = 0; i < data.num_atoms(s); ++i) {
    ASSERT_EQ(found.offset[i + 1] - found.offset[i], expected.offset[i + 1] - expected.offset[i]);
    for (int64_t k = 0; k < found.offset[i + 1] - found.offset[i]; ++k) {
      const int64_t p = found.offset[i] + k, q = expected.offset[i] + k;
      ASSERT_EQ(found.j[p] - found.first_atom, expected.j[q] - expected.first_atom);
      for (int a = 0; a < 3; ++a) ASSERT_EQ(found.shift[3 * p + a], expected.shift[3 * q + a]);
    }
  }
}

TEST(ForceBatchTest, HoldsTheStructuresAsked) {
  Fixture cached(true, true, false, 1), found_now(false, false, false, 1);
  NamedTensors batch;
  for (const std::vector<int64_t>& examples : {std::vector<int64_t>{39, 3, 3, 200, 7}, {1}, {12, 13, 14}}) {
    for (Fixture* setup : {&cached, &found_now}) {
      setup->Make(examples, true, &batch);  // reuses the memory of the batch before
      const ForceBatch<double> view(batch, *setup->data);
      ASSERT_EQ(view.num_structures(), examples.size());
      EXPECT_EQ(batch.Has("pair_j"), setup == &found_now) << "pairs in memory are not copied";
      const NamedTensors whole = setup->Maker(true).WithGeometry(batch);
      EXPECT_TRUE(whole.Has("pair_j"));
      const ForceBatch<double> whole_view(whole, *setup->data);
      for (size_t e = 0; e < examples.size(); ++e) {
        ExpectSameStructure(*cached.data, examples[e], view, e);
        ExpectSameStructure(*cached.data, examples[e], whole_view, e);
        EXPECT_EQ(view.forces(e), cached.data->force(examples[e]));
        EXPECT_EQ(view.stress.subspan(9 * e, 9), cached.data->stress(examples[e]));
        EXPECT_EQ(view.num_sampled[e], view.num_atoms(e));
        EXPECT_EQ(view.target[e], cached.model->targets()[examples[e]]);
        EXPECT_TRUE(view.has_geometry[e]);
        if (setup == &found_now) continue;
        const TripletView expected = cached.data->triplets(examples[e]);
        for (const ForceBatch<double>* each : {&view, &whole_view}) {
          const TripletView found = each->geometry(e).triplets;
          ASSERT_EQ(found.offset.back() - found.offset.front(), expected.offset.back() - expected.offset.front());
          for (int64_t t = 0; t < found.offset.back() - found.offset.front(); ++t) {
            ASSERT_EQ(found.a[found.offset[0] + t], expected.a[expected.offset[0] + t]);
          }
        }
      }
    }
    batch = NamedTensors();  // the two batches have different sets of tensors
  }
}

TEST(ForceBatchTest, StructuresWithoutSampledForcesTakeTheirFeatures) {
  Fixture setup(true, false, true, 0.25);
  NamedTensors batch;
  std::vector<int64_t> examples(40);
  std::iota(examples.begin(), examples.end(), 0);
  setup.Make(examples, false, &batch);
  const ForceBatch<double> view(batch, *setup.data);
  int64_t sampled = 0;
  double atoms = 0, labeled = 0;
  for (int64_t e = 0; e < 40; ++e) {
    labeled += static_cast<double>(view.num_atoms(e));
    atoms += static_cast<double>(view.num_sampled[e]);
    EXPECT_EQ(view.has_geometry[e], view.num_sampled[e] > 0);
    sampled += view.has_geometry[e];
    if (view.has_geometry[e]) continue;
    const int64_t f = setup.model->shape().num_features;
    EXPECT_EQ(view.feature.subspan(view.atom_offset[e] * f, view.num_atoms(e) * f),
              setup.features->features<double>(e));
    const NamedTensors whole = setup.Maker(false).WithGeometry(batch);
    EXPECT_EQ(ForceBatch<double>(whole, *setup.data).geometry(e).pairs.num_pairs(), 0);
  }
  EXPECT_EQ(sampled, 10);
  // The share is that of the training set, which these are, whatever a batch holds of it.
  EXPECT_EQ(view.sampled_share, atoms / labeled);
  NamedTensors two;
  setup.Make({3, 8}, false, &two);
  EXPECT_EQ(ForceBatch<double>(two, *setup.data).sampled_share, atoms / labeled);
}

}  // namespace
}  // namespace rutile
