#include "lib/evaluation/prediction_parts.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/evaluation/predictions_file.h"
#include "lib/file/file.h"
#include "lib/file/sha256.h"
#include "lib/tensorfile/part_set.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

std::string Model() {
  const std::string path = ::testing::TempDir() + "/model";
  EXPECT_TRUE(WriteFileAtomically(path, "weights").ok());
  return path;
}

// Writes the structures first, first + step, ... below `size`.
std::string Write(const std::string& name, int first, int step, int size, Metadata metadata) {
  std::vector<StructurePrediction> predictions;
  for (int k = first; k < size; k += step) {
    StructurePrediction p;
    p.name = absl::StrCat("s", k);
    p.num_atoms = 1 + k % 3;
    p.predicted_energy = 0.1 * k;
    p.reference_energy = 0.2 * k;
    p.element.assign(p.num_atoms, 8);
    p.atom_energy.assign(p.num_atoms, 0.3);
    predictions.push_back(p);
  }
  metadata["inputs"] = absl::StrCat("{\"model\":\"", Sha256Hex("weights"), "\"}");
  const std::string path = absl::StrCat(::testing::TempDir(), "/", name);
  EXPECT_TRUE(WritePredictions(path, predictions, metadata).ok());
  return path;
}

std::string WritePart(int shard, int num_shards, int size) {
  return Write(absl::StrCat("part-", shard), shard - 1, num_shards, size,
               {{"shard", PartText(shard, num_shards)}, {"selection", "--frames=x"}});
}

TEST(PredictionPartsTest, AreInTheOrderOfTheData) {
  for (const int size : {3, 7, 9, 10}) {
    const std::vector<std::string> paths = {WritePart(2, 3, size), WritePart(1, 3, size), WritePart(3, 3, size)};
    const auto merged = ReadPredictionParts(paths, {Model()}, 1);
    ASSERT_TRUE(merged.ok()) << merged.status();
    ASSERT_EQ(merged->predictions.size(), static_cast<size_t>(size));
    for (int k = 0; k < size; ++k) {
      EXPECT_EQ(merged->predictions[k].name, absl::StrCat("s", k));
      EXPECT_EQ(merged->predictions[k].predicted_energy, 0.1 * k);
    }
    EXPECT_EQ(merged->selection, "--frames=x");
  }
}

TEST(PredictionPartsTest, OneMayBeWhole) {
  const auto merged = ReadPredictionParts({Write("whole", 0, 1, 4, {})}, {Model()}, 1);
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_EQ(merged->predictions.size(), 4u);
  EXPECT_EQ(merged->selection, "");
}

TEST(PredictionPartsTest, SaysWhatDoesNotFit) {
  const auto error = [](const std::vector<std::string>& paths, const std::string& model) {
    return std::string(ReadPredictionParts(paths, {model}, 1).status().message());
  };
  EXPECT_THAT(error({WritePart(1, 2, 6)}, Model()), HasSubstr("shard 2/2"));
  // The parts come from runs over different numbers of structures.
  EXPECT_THAT(error({WritePart(1, 2, 6), WritePart(2, 2, 10)}, Model()),
              HasSubstr("part-1: has 3 structures of 8 in all parts, expected 4"));
  const std::string other = ::testing::TempDir() + "/other";
  ASSERT_TRUE(WriteFileAtomically(other, "other weights").ok());
  EXPECT_THAT(error({WritePart(1, 1, 6)}, other), HasSubstr("was not made from the model"));
  EXPECT_THAT(error({other}, Model()), HasSubstr(other));
  EXPECT_THAT(error({Write("committee", 0, 1, 4, {{"members", "2"}})}, Model()),
              HasSubstr("committee: predictions of 2 models, but 1 are given"));
}

}  // namespace
}  // namespace rutile
