#include "lib/potential/data/prediction_source.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/descriptor/files/featurizer.h"
#include "lib/neighbor/neighbor_file.h"
#include "lib/neighbor/neighbor_list.h"
#include "lib/potential/model/potential_testing.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

constexpr char kTio2[] = "data/tio2-pbe/tio2-pbe.extxyz";

bool All(const std::string&) { return true; }

// Writes the structures of the data with neighbors to `cutoff`, and returns the path.
std::string NeighborPath(double cutoff) {
  const std::string path = ::testing::TempDir() + "/neighbors.safetensors";
  NeighborFileOptions options;
  options.cutoff = cutoff;
  NeighborWriter writer = *NeighborWriter::Create(path, options);
  NeighborSearch search(cutoff);
  NeighborList list;
  Structure structure;
  auto reader = *StructureReader::Open(kTio2);
  while (*reader->Next(&structure)) {
    EXPECT_TRUE(search.Compute(structure, &list).ok());
    EXPECT_TRUE(writer.Append(structure, list, nullptr).ok());
  }
  EXPECT_TRUE(writer.Finish({{"config_key", "config_type"}}).ok());
  return path;
}

std::string FeaturePath(const DescriptorOptions& descriptor) {
  FeaturizeOptions featurize;
  featurize.descriptor = descriptor.chebyshev();
  const std::string path = ::testing::TempDir() + "/features.safetensors";
  EXPECT_TRUE(Featurize({kTio2}, path, featurize, {}).ok());
  return path;
}

TEST(PredictionSourceTest, AllKindsHoldTheSameStructures) {
  const DescriptorOptions descriptor = SmallTiO2Potential(1).descriptor;
  auto raw = PredictionSource::Open(kTio2, descriptor, {});
  auto features = PredictionSource::Open(FeaturePath(descriptor), descriptor, {});
  auto neighbors = PredictionSource::Open(NeighborPath(4.5), descriptor, {});
  ASSERT_TRUE(raw.ok() && features.ok() && neighbors.ok()) << features.status() << neighbors.status();
  SourceStructure a, b, c;
  NeighborList list;
  NeighborSearch search(4.5);
  int structures = 0;
  while (*(*raw)->Next(All, &a)) {
    ASSERT_TRUE(*(*features)->Next(All, &b));
    ASSERT_TRUE(*(*neighbors)->Next(All, &c));
    ++structures;
    for (const SourceStructure* other : {&b, &c}) {
      EXPECT_EQ(other->structure.name, a.structure.name);
      EXPECT_EQ(other->structure.element, a.structure.element);
      EXPECT_EQ(other->structure.position, a.structure.position);
      EXPECT_EQ(other->structure.cell, a.structure.cell);
      EXPECT_EQ(other->structure.energy, a.structure.energy);
      EXPECT_EQ(other->structure.force, a.structure.force);
      EXPECT_EQ(other->config_type, a.config_type);
    }
    EXPECT_FALSE(a.has_pairs || b.has_pairs);
    EXPECT_EQ(b.features32.size(), b.structure.size() * descriptor.num_features());
    ASSERT_TRUE(c.has_pairs);
    ASSERT_TRUE(search.Compute(a.structure, &list).ok());
    EXPECT_EQ(c.pairs.num_pairs(), list.num_pairs());
  }
  EXPECT_EQ(structures, 403);
  EXPECT_FALSE(*(*features)->Next(All, &b));
  EXPECT_FALSE(*(*neighbors)->Next(All, &c));
}

TEST(PredictionSourceTest, AsksOnceForEachStructure) {
  const DescriptorOptions descriptor = SmallTiO2Potential(1).descriptor;
  for (const std::string& path : {std::string(kTio2), FeaturePath(descriptor)}) {
    auto source = *PredictionSource::Open(path, descriptor, {});
    int asked = 0, given = 0;
    SourceStructure item;
    while (*source->Next([&](const std::string& config_type) { return ++asked % 100 == 0; }, &item)) ++given;
    EXPECT_EQ(asked, 403) << path;
    EXPECT_EQ(given, 4) << path;
  }
}

TEST(PredictionSourceTest, RefusesWhatDoesNotFit) {
  DescriptorOptions descriptor = SmallTiO2Potential(1).descriptor;
  const std::string features = FeaturePath(descriptor), neighbors = NeighborPath(4.5);
  const std::string model = ::testing::TempDir() + "/model.safetensors";
  ASSERT_TRUE(WritePotential(model, SmallTiO2Potential(1)).ok());
  EXPECT_THAT(PredictionSource::Open(model, descriptor, {}).status().message(), HasSubstr("is a model, not data"));
  descriptor.chebyshev().rad_cutoff = 5;
  EXPECT_THAT(PredictionSource::Open(features, descriptor, {}).status().message(),
              HasSubstr("made with the descriptor"));
  EXPECT_THAT(PredictionSource::Open(neighbors, descriptor, {}).status().message(),
              HasSubstr("has neighbors to 4.5 Å, but the model's descriptor needs 5 Å"));
  EXPECT_TRUE(absl::IsNotFound(PredictionSource::Open("none.xyz", descriptor, {}).status()));
}

}  // namespace
}  // namespace rutile
