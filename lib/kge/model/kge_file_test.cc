#include "lib/kge/model/kge_file.h"

#include <cstring>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/kge/model/kge_init.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/tensorfile/tensor_writer.h"

namespace rutile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Path() { return absl::StrCat(::testing::TempDir(), "/model.safetensors"); }

TrainedKge Model(KgeModel kind = KgeModel::kConvE, ConveVariant variant = ConveVariant::kDettmers,
                 DType precision = DType::kF32) {
  TrainedKge model;
  model.names.entities = {"hydrogen", "helium", "lithium", "a name"};
  model.names.relations = {"below", "beside"};
  model.names.entity_labels = {"H", "He", "Li", ""};
  KgeOptions& options = model.shape.options;
  options.model = kind;
  options.variant = variant;
  options.embedding_dim = 6;
  options.embedding_height = 2;
  options.embedding_width = 3;
  options.output_channels = 2;
  options.kernel_height = options.kernel_width = 2;
  options.relation_embedding_dim = 5;
  options.precision = precision;
  model.shape.num_entities = 4;
  model.shape.num_relations = 4;
  const std::vector<double> values = InitialKgeParameters(model.shape, 5);
  model.parameters = Tensor::Zeros(precision, {model.shape.offsets().size});
  for (size_t k = 0; k < values.size(); ++k) {
    if (precision == DType::kF64) {
      model.parameters.mutable_values<double>()[k] = values[k];
    } else {
      model.parameters.mutable_values<float>()[k] = static_cast<float>(values[k]);
    }
  }
  model.metadata["epoch"] = "3";
  return model;
}

TEST(KgeFileTest, IsReadBack) {
  for (const DType precision : {DType::kF32, DType::kF64}) {
    for (const auto& [kind, variant] :
         {std::pair(KgeModel::kConvE, ConveVariant::kDettmers), std::pair(KgeModel::kConvE, ConveVariant::kTiepin),
          std::pair(KgeModel::kConvE, ConveVariant::kLibkge), std::pair(KgeModel::kDistMult, ConveVariant::kDettmers),
          std::pair(KgeModel::kComplEx, ConveVariant::kDettmers), std::pair(KgeModel::kRescal, ConveVariant::kDettmers),
          std::pair(KgeModel::kCp, ConveVariant::kDettmers), std::pair(KgeModel::kSimple, ConveVariant::kDettmers),
          std::pair(KgeModel::kTransE, ConveVariant::kDettmers), std::pair(KgeModel::kRotatE, ConveVariant::kDettmers),
          std::pair(KgeModel::kTucker, ConveVariant::kDettmers)}) {
      TrainedKge model = Model(kind, variant, precision);
      model.shape.options.distance_norm = IsDistanceModel(kind) ? 2 : 1;
      EntityTypesBuilder types;
      if (precision == DType::kF64) types.Add(2, "metal");
      model.names.entity_types = types.Build(4);
      ASSERT_TRUE(WriteKgeModel(Path(), model).ok());
      const absl::StatusOr<TrainedKge> read = ReadKgeModel(Path());
      ASSERT_TRUE(read.ok()) << read.status();
      EXPECT_EQ(read->shape.options.model, kind);
      EXPECT_EQ(read->shape.options.precision, precision);
      EXPECT_EQ(read->shape.options.distance_norm, IsDistanceModel(kind) ? 2 : 1);
      EXPECT_EQ(read->shape.options.relation_embedding_dim, kind == KgeModel::kTucker ? 5 : 30);
      EXPECT_EQ(read->shape.num_relations, 4);
      EXPECT_EQ(read->shape.options.kernel_width, kind == KgeModel::kConvE ? 2 : 3);
      EXPECT_EQ(read->names.entities, model.names.entities);
      EXPECT_EQ(read->names.entity_labels, model.names.entity_labels);
      EXPECT_TRUE(read->names.relation_labels.empty());
      EXPECT_EQ(read->names.entity_types, model.names.entity_types);
      EXPECT_TRUE(read->names.inverse_relations);
      EXPECT_EQ(read->metadata.at("epoch"), "3");
      ASSERT_EQ(read->parameters.num_bytes(), model.parameters.num_bytes());
      EXPECT_EQ(std::memcmp(read->parameters.data(), model.parameters.data(), model.parameters.num_bytes()), 0);
    }
  }
}

// The message of reading a file that `change` has damaged.
template <typename Change>
std::string Refusal(const Change& change) {
  EXPECT_TRUE(WriteKgeModel(Path(), Model()).ok());
  TensorFile file = *ReadTensorFile(Path());
  change(&file);
  const std::string damaged = absl::StrCat(::testing::TempDir(), "/damaged.safetensors");
  EXPECT_TRUE(WriteTensorFile(damaged, file.metadata, file.tensors).ok());
  const absl::Status status = ReadKgeModel(damaged).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("damaged.safetensors"));
  return std::string(status.message());
}

TEST(KgeFileTest, RefusesWhatDoesNotFit) {
  const auto metadata = [](const char* key, const char* value) {
    return Refusal([=](TensorFile* file) { file->metadata[key] = value; });
  };
  EXPECT_THAT(metadata("kind", "potential/1"), HasSubstr("expected kge/1"));
  EXPECT_THAT(metadata("kge_model", "quate"), HasSubstr("transe"));
  EXPECT_THAT(metadata("kge_model", "tucker"), HasSubstr("relation_embedding_dim"));
  EXPECT_THAT(metadata("embedding_dim", "200"), HasSubstr("what fits"));
  EXPECT_THAT(metadata("inverse_relations", "perhaps"), HasSubstr("expected true or false"));
  EXPECT_THAT(metadata("inverse_relations", "false"), HasSubstr("vocabulary_sha256"));
  EXPECT_THAT(metadata("vocabulary_sha256", "0"), HasSubstr("the file was changed"));
  EXPECT_THAT(metadata("output_channels", "3"), AllOf(HasSubstr("\"conv.weight\""), HasSubstr("[3,1,2,2]")));
  EXPECT_THAT(metadata("output_channels", "1000000"), AllOf(HasSubstr("\"conv.weight\""), HasSubstr("1000000")));
  for (const char* key : {"embedding_dim", "embedding_height", "output_channels", "kernel_width"}) {
    EXPECT_THAT(metadata(key, "9223372036854775807"), AllOf(HasSubstr(key), HasSubstr("9223372036854775807"))) << key;
  }
  EXPECT_THAT(metadata("conve_variant", "libkge"), HasSubstr("\"conv.bias\" is missing"));
}

TEST(KgeFileTest, RefusesDamagedTensors) {
  const auto tensor = [](const char* name, const Tensor& value) {
    return Refusal([&](TensorFile* file) { file->tensors.Set(name, value); });
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(tensor("fc.bias", Tensor::Of<float>({1, 2, 3, nan, 5, 6})), HasSubstr("\"fc.bias\" holds NaN"));
  EXPECT_THAT(tensor("bn2.running_var", Tensor::Of<float>({1, 2, 3, -1, 5, 6})), HasSubstr("negative variance"));
  EXPECT_THAT(tensor("fc.bias", Tensor::Of<double>({1, 2, 3, 4, 5, 6})), HasSubstr("expected F32 [6]"));
  EXPECT_THAT(tensor("entity_names", Tensor::Of<uint8_t>({'a', '\n', 'a', '\n'})), HasSubstr("comes twice"));
  EXPECT_THAT(tensor("entity_names", Tensor::Of<uint8_t>({'a', '\n', 'b', '\n'})), HasSubstr("labels for 2 names"));
}

TEST(KgeFileTest, AMissingFileIsNotFound) {
  ASSERT_EQ(ReadKgeModel(absl::StrCat(::testing::TempDir(), "/none")).status().code(), absl::StatusCode::kNotFound);
}

TEST(WriteKgeModelTest, RefusesNamesThatCannotBeRead) {
  TrainedKge model = Model();
  model.names.entities[1] = model.names.entities[0];
  EXPECT_THAT(std::string(WriteKgeModel(Path(), model).message()), HasSubstr("comes twice"));
}

TEST(VocabularyTest, HashAndComparisonSeeNamesAndOrder) {
  const TrainedKge model = Model();
  KnowledgeGraph graph = model.names;
  EXPECT_EQ(VocabularySha256(graph), VocabularySha256(model.names));
  EXPECT_TRUE(CheckSameVocabulary(model, graph).ok());
  graph.entity_labels.clear();
  EXPECT_EQ(VocabularySha256(graph), VocabularySha256(model.names));
  std::swap(graph.entities[0], graph.entities[2]);
  EXPECT_NE(VocabularySha256(graph), VocabularySha256(model.names));
  EXPECT_THAT(std::string(CheckSameVocabulary(model, graph).message()),
              AllOf(HasSubstr("entity 0"), HasSubstr("hydrogen"), HasSubstr("lithium")));
  graph = model.names;
  graph.relations.pop_back();
  EXPECT_THAT(std::string(CheckSameVocabulary(model, graph).message()), HasSubstr("knows 2 relation names"));
  graph = model.names;
  graph.inverse_relations = false;
  EXPECT_THAT(std::string(CheckSameVocabulary(model, graph).message()), HasSubstr("with inverse relations"));
}

// KGX relations: the same name means something else in the other file.
TEST(VocabularyTest, LabelsOfRelationsAreComparedWhereBothHaveThem) {
  TrainedKge model = Model();
  KnowledgeGraph graph = model.names;
  graph.relation_labels = {"activates", "inhibits"};
  EXPECT_TRUE(CheckSameVocabulary(model, graph).ok());
  model.names.relation_labels = {"activates", "inhibits"};
  EXPECT_TRUE(CheckSameVocabulary(model, graph).ok());
  std::swap(graph.relation_labels[0], graph.relation_labels[1]);
  EXPECT_THAT(std::string(CheckSameVocabulary(model, graph).message()),
              AllOf(HasSubstr("relation 0"), HasSubstr("\"activates\" in the model"),
                    HasSubstr("\"inhibits\" in the triples"), HasSubstr("--edge_map")));
}

TEST(SplitWarningsTest, SayWhatTheModelLearnedFrom) {
  KnowledgeGraph graph = Model().names;
  graph.train = {{0, 0, 1}, {1, 1, 2}, {2, 0, 3}};
  graph.valid = {{3, 1, 0}};
  graph.test = {{3, 0, 0}};
  const Metadata model = DescribeSplits(graph);
  EXPECT_THAT(SplitWarnings(model, graph, "test"), IsEmpty());
  EXPECT_THAT(SplitWarnings(model, graph, "train"), IsEmpty());
  EXPECT_THAT(SplitWarnings({}, graph, "test"), IsEmpty()) << "a model of an older version";
  std::swap(graph.train[0], graph.train[2]);
  EXPECT_THAT(SplitWarnings(model, graph, "test"), IsEmpty()) << "the order of lines";
  std::swap(graph.valid, graph.test);
  EXPECT_THAT(SplitWarnings(model, graph, "test"), ElementsAre(HasSubstr("validation that chose the model")));
  EXPECT_THAT(SplitWarnings(model, graph, "valid"), IsEmpty());
  std::swap(graph.train, graph.test);
  EXPECT_THAT(
      SplitWarnings(model, graph, "test"),
      ElementsAre(HasSubstr("other training triples"), HasSubstr("test triples are those that the model learned")));
}

}  // namespace
}  // namespace rutile
