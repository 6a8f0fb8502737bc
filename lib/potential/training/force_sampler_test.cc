#include "lib/potential/training/force_sampler.h"

#include <algorithm>
#include <numeric>

#include "gtest/gtest.h"

namespace rutile {
namespace {

AtomicData Tio2() {
  AtomicDataOptions options;
  options.descriptor.emplace();
  options.descriptor->chebyshev().species = {22, 8};
  options.descriptor->chebyshev().rad_cutoff = 3;
  options.descriptor->chebyshev().ang_cutoff = 3;
  return *AtomicData::Read({"data/tio2-pbe/tio2-pbe.extxyz"}, options);
}

std::vector<int64_t> Range(int64_t begin, int64_t end) {
  std::vector<int64_t> range(end - begin);
  std::iota(range.begin(), range.end(), begin);
  return range;
}

int64_t Structures(const ForceSampler& sampler, int64_t begin, int64_t end) {
  int64_t count = 0;
  for (int64_t s = begin; s < end; ++s) count += sampler.num_sampled(s) > 0;
  return count;
}

int64_t Atoms(const ForceSampler& sampler, int64_t begin, int64_t end) {
  int64_t count = 0;
  for (int64_t s = begin; s < end; ++s) count += sampler.num_sampled(s);
  return count;
}

TEST(ForceSamplerTest, AllByDefault) {
  const AtomicData data = Tio2();
  const ForceSampler sampler(data, {}, Range(0, 100));
  for (int64_t s = 0; s < data.num_structures(); ++s) EXPECT_EQ(sampler.num_sampled(s), data.num_atoms(s));
}

TEST(ForceSamplerTest, TakesTheShareOfStructuresThatWasAskedFor) {
  const AtomicData data = Tio2();
  ForceSamplingOptions options;
  options.fraction = 0.117;
  ForceSampler sampler(data, options, Range(0, 100));
  EXPECT_EQ(Structures(sampler, 0, 100), 11);
  EXPECT_EQ(Structures(sampler, 100, 403), 303);
  options.fraction = 0.29;
  EXPECT_EQ(Structures(ForceSampler(data, options, Range(0, 100)), 0, 100), 29);
  options.min_structures = 40;
  EXPECT_EQ(Structures(ForceSampler(data, options, Range(0, 100)), 0, 100), 40);
  options.fraction = 1e-9;
  options.min_structures = 1;
  EXPECT_EQ(Structures(ForceSampler(data, options, Range(0, 100)), 0, 100), 1);
}

TEST(ForceSamplerTest, TakesAtoms) {
  const AtomicData data = Tio2();
  ForceSamplingOptions options;
  options.fraction = 0.25;
  options.unit = ForceSampleUnit::kAtom;
  const ForceSampler sampler(data, options, Range(0, 100));
  int64_t atoms = 0;
  for (int64_t s = 0; s < 100; ++s) {
    atoms += data.num_atoms(s);
    const absl::Span<const uint8_t> sampled = sampler.sampled(s);
    if (sampled.empty()) continue;
    EXPECT_EQ(std::count(sampled.begin(), sampled.end(), 1), sampler.num_sampled(s));
  }
  EXPECT_EQ(Atoms(sampler, 0, 100), atoms / 4);
}

// An evaluation between two epochs with the same sample does not change it.
TEST(ForceSamplerTest, TakesAllUntilTheNextEpoch) {
  const AtomicData data = Tio2();
  for (const ForceSampleUnit unit : {ForceSampleUnit::kStructure, ForceSampleUnit::kAtom}) {
    for (const double fraction : {0.25, 1.0}) {
      ForceSamplingOptions options;
      options.fraction = fraction;
      options.unit = unit;
      options.resample_epochs = 10;
      ForceSampler sampler(data, options, Range(0, 40)), plain(data, options, Range(0, 40));
      sampler.StartEpoch(3);
      sampler.TakeAll();
      for (int64_t s = 0; s < data.num_structures(); ++s) {
        EXPECT_EQ(sampler.num_sampled(s), data.num_atoms(s));
        EXPECT_TRUE(sampler.sampled(s).empty());
      }
      sampler.StartEpoch(4);
      for (int64_t s = 0; s < data.num_structures(); ++s) {
        EXPECT_EQ(sampler.num_sampled(s), plain.num_sampled(s));
        EXPECT_EQ(sampler.sampled(s), plain.sampled(s));
      }
    }
  }
}

// In the long run all structures are drawn equally often.
TEST(ForceSamplerTest, DrawsEvenly) {
  const AtomicData data = Tio2();
  ForceSamplingOptions options;
  options.fraction = 0.25;
  ForceSampler sampler(data, options, Range(0, 40));
  std::vector<int> drawn(40);
  for (int64_t epoch = 0; epoch < 2000; ++epoch) {
    sampler.StartEpoch(epoch);
    for (int64_t s = 0; s < 40; ++s) drawn[s] += sampler.num_sampled(s) > 0;
  }
  for (const int count : drawn) EXPECT_NEAR(count, 500, 5 * 19.4);
}

TEST(ForceSamplerTest, DependsOnSeedAndWindowAlone) {
  const AtomicData data = Tio2();
  ForceSamplingOptions options;
  options.fraction = 0.25;
  options.resample_epochs = 3;
  ForceSampler a(data, options, Range(0, 40)), b(data, options, Range(0, 40));
  const auto chosen = [](const ForceSampler& sampler) {
    std::vector<int64_t> structures;
    for (int64_t s = 0; s < 40; ++s) {
      if (sampler.num_sampled(s) > 0) structures.push_back(s);
    }
    return structures;
  };
  const std::vector<int64_t> first = chosen(a);
  for (const int64_t epoch : {1, 2}) {
    a.StartEpoch(epoch);
    EXPECT_EQ(chosen(a), first);
  }
  a.StartEpoch(3);
  EXPECT_NE(chosen(a), first);
  b.StartEpoch(5);
  EXPECT_EQ(chosen(a), chosen(b));
  options.resample_epochs = 0;
  ForceSampler fixed(data, options, Range(0, 40));
  fixed.StartEpoch(100);
  EXPECT_EQ(chosen(fixed), first);
  options.seed = 1;
  EXPECT_NE(chosen(ForceSampler(data, options, Range(0, 40))), first);
}

}  // namespace
}  // namespace rutile
