#include "lib/kge/model/embedding_export.h"

#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"
#include "lib/graph/name_lines.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

TrainedKge Model(bool inverses) {
  TrainedKge model;
  model.names.entities = {"a", "b", "c"};
  model.names.entity_labels = {"A", "B", "C"};
  model.names.relations = {"r", "s"};
  model.names.inverse_relations = inverses;
  model.shape.options.model = KgeModel::kDistMult;
  model.shape.options.embedding_dim = 2;
  model.shape.num_entities = 3;
  model.shape.num_relations = inverses ? 4 : 2;
  std::vector<float> values;
  for (int i = 0; i < model.shape.offsets().size; ++i) values.push_back(0.1F * static_cast<float>(i) - 0.3F);
  model.parameters = Tensor::Of<float>(values);
  return model;
}

TEST(EmbeddingExportTest, TableReadsBackToTheSameBits) {
  const std::string path = ::testing::TempDir() + "/embeddings.tsv";
  const TrainedKge model = Model(true);
  ASSERT_TRUE(ExportEmbeddings(path, model, {}).ok());
  const FileContents file = *FileContents::Open(path);
  const std::vector<std::string> lines = absl::StrSplit(file.data(), '\n');
  ASSERT_EQ(lines.size(), 1 + 3 + 2 + 2 + 1);
  EXPECT_EQ(lines[0], "kind\tid\tname\tlabel\tx0\tx1");
  EXPECT_THAT(lines[2], HasSubstr("entity\t1\tb\tB\t"));
  EXPECT_THAT(lines[4], HasSubstr("relation\t0\tr\t\t"));
  EXPECT_THAT(lines[7], HasSubstr("inverse\t3\ts\t\t"));
  const absl::Span<const float> values = model.parameters.values<float>();
  for (int row = 0; row < 7; ++row) {
    const std::vector<std::string> cells = absl::StrSplit(lines[row + 1], '\t');
    for (int k = 0; k < 2; ++k) {
      float value = 0;
      ASSERT_TRUE(absl::SimpleAtof(cells[4 + k], &value));
      EXPECT_EQ(value, values[2 * row + k]);
    }
  }
}

TEST(EmbeddingExportTest, TensorsHaveNames) {
  const std::string path = ::testing::TempDir() + "/embeddings.safetensors";
  for (const bool inverses : {true, false}) {
    ASSERT_TRUE(ExportEmbeddings(path, Model(inverses), {{"tool", "evaluate"}}).ok());
    const TensorFile file = *ReadTensorFile(path);
    EXPECT_TRUE(CheckSchema(EmbeddingsSchema(), file).ok());
    EXPECT_EQ(file.tensors.At("entity").shape(), (std::vector<int64_t>{3, 2}));
    EXPECT_EQ(file.tensors.At("relation").dim(0), inverses ? 4 : 2);
    EXPECT_EQ(NamesFromTensor(file, "entity_names")->at(2), "c");
    EXPECT_EQ(file.metadata.at("inverse_relations"), inverses ? "true" : "false");
    EXPECT_EQ(file.metadata.at("tool"), "evaluate");
  }
}

// Relations of RESCAL are matrices: a tensor file has them, and a table, whose rows have the same columns, does not.
TEST(EmbeddingExportTest, RelationsOfOtherSizesAreTensors) {
  TrainedKge model = Model(true);
  model.shape.options.model = KgeModel::kRescal;
  std::vector<float> values;
  for (int i = 0; i < model.shape.offsets().size; ++i) values.push_back(static_cast<float>(i));
  model.parameters = Tensor::Of<float>(values);
  const std::string path = ::testing::TempDir() + "/rescal.safetensors", table = ::testing::TempDir() + "/rescal.tsv";
  ASSERT_TRUE(ExportEmbeddings(path, model, {}).ok());
  const TensorFile file = *ReadTensorFile(path);
  EXPECT_TRUE(CheckSchema(EmbeddingsSchema(), file).ok());
  EXPECT_EQ(file.tensors.At("relation").shape(), (std::vector<int64_t>{4, 4}));
  EXPECT_EQ(file.tensors.At("relation").values<float>()[15], 21);
  EXPECT_THAT(ExportEmbeddings(table, model, {}), ErrorNames({table, "rescal", "2 numbers", "4", ".safetensors"}));
  EXPECT_FALSE(FileContents::Open(table).ok());
}

TEST(EmbeddingExportTest, OtherEndingsAreRefused) {
  EXPECT_THAT(std::string(ExportEmbeddings("x.csv", Model(true), {}).message()), HasSubstr(".tsv or .safetensors"));
}

}  // namespace
}  // namespace rutile
