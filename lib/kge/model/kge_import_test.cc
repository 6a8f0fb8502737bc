// Imports a model under TiePin's names, compared with golden values, and one under PyKEEN's, compared with the same
// layers under our names.

#include "lib/kge/model/kge_import.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/kge/layers/conve/golden_conve_testing.h"
#include "lib/kge/model/kge_init.h"
#include "lib/kge/training/model_scorer.h"
#include "lib/ranking/kge_scorer.h"
#include "lib/testing/error_names.h"
#include "lib/trace/peak_rss.h"

namespace rutile {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

KnowledgeGraph Names(int64_t entities, int64_t relations, bool inverse) {
  KnowledgeGraph graph;
  for (int64_t k = 0; k < entities; ++k) graph.entities.push_back(absl::StrCat("e", k));
  for (int64_t k = 0; k < relations; ++k) graph.relations.push_back(absl::StrCat("r", k));
  graph.inverse_relations = inverse;
  graph.train = {Triple{}};
  return graph;
}

std::string ForeignName(absl::string_view slice, const std::vector<std::pair<std::string, std::string>>& prefixes) {
  for (const auto& [ours, theirs] : prefixes) {
    absl::string_view rest = slice;
    if (absl::ConsumePrefix(&rest, ours)) return absl::StrCat(theirs, rest);
  }
  return std::string(slice);
}

// Returns the parameters as a state dictionary with each prefix replaced by the other project's.
TensorFile StateDictionary(const KgeShape& shape, const Tensor& parameters,
                           const std::vector<std::pair<std::string, std::string>>& prefixes) {
  TensorFile file;
  file.path = "model.safetensors";
  for (const ParameterSlice& slice : shape.Slices()) {
    file.tensors.Set(ForeignName(slice.name, prefixes), parameters.Slice(slice.offset, slice.shape));
  }
  file.tensors.Set("bn0.num_batches_tracked", Tensor::Scalar<int64_t>(3));
  return file;
}

const std::vector<std::pair<std::string, std::string>>& TiepinNames() {
  static const auto& names =
      *new std::vector<std::pair<std::string, std::string>>{{"entity.weight", "entity_embeddings.weight"},
                                                            {"relation.weight", "relation_embeddings.weight"},
                                                            {"conv.", "conv1."}};
  return names;
}

const std::vector<std::pair<std::string, std::string>>& PykeenNames() {
  static const auto& names = *new std::vector<std::pair<std::string, std::string>>{
      {"entity.weight", "entity_representations.0._embeddings.weight"},
      {"entity.bias", "entity_representations.1._embeddings.weight"},
      {"relation.weight", "relation_representations.0._embeddings.weight"},
      {"bn0.", "interaction.hr2d.0."},
      {"conv.", "interaction.hr2d.2."},
      {"bn1.", "interaction.hr2d.3."},
      {"fc.", "interaction.hr1d.0."},
      {"bn2.", "interaction.hr1d.2."}};
  return names;
}

// A model of 3 x 4 images, one above the other, in F64, whose norms are far from the identity.
struct Example {
  KgeShape shape;
  Tensor parameters;
};
Example Dettmers(int64_t relations) {
  Example example;
  KgeOptions& options = example.shape.options;
  options.embedding_dim = 12;
  options.embedding_height = 3;
  options.embedding_width = 4;
  options.output_channels = 2;
  options.precision = DType::kF64;
  example.shape.num_entities = 5;
  example.shape.num_relations = relations;
  std::vector<double> values = InitialKgeParameters(example.shape, 3);
  for (size_t k = 0; k < values.size(); ++k) values[k] += 0.1 * (1 + std::sin(static_cast<double>(k)));
  example.parameters = Tensor::Of<double>(values);
  return example;
}

TEST(KgeImportTest, TiepinsModelScoresAsTheirs) {
  const GoldenConve golden("tiepin");
  const TensorFile file = StateDictionary(golden.shape(), golden.Flat("param."), TiepinNames());
  ASSERT_TRUE(IsForeignKge(file));
  const absl::StatusOr<ForeignKge> foreign = ReadForeignKge(file, /*embedding_height=*/3);
  ASSERT_TRUE(foreign.ok()) << foreign.status();
  const KnowledgeGraph graph = Names(12, 4, false);
  const absl::StatusOr<TrainedKge> model = NameForeignKge(*foreign, graph);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->shape.options.variant, ConveVariant::kTiepin);
  EXPECT_TRUE(model->names.train.empty());

  const OwnedKgeBatch batch = golden.Batch(true);
  const KgeScorer scorer = MakeScorer(model->shape, model->parameters, 1);
  std::vector<double> hidden(batch.head.size() * 12);
  ASSERT_TRUE(FillHidden<double>(scorer, batch.head, batch.relation, absl::MakeSpan(hidden)).ok());
  const std::vector<double> expected = golden.Array("eval.hidden").ToDoubles();
  ASSERT_EQ(hidden.size(), expected.size());
  for (size_t k = 0; k < hidden.size(); ++k) EXPECT_NEAR(hidden[k], expected[k], 1e-12);
}

TEST(KgeImportTest, PykeensInversesAreInterleavedOnesBehind) {
  const Example example = Dettmers(/*relations=*/6);
  const absl::StatusOr<ForeignKge> foreign =
      ReadForeignKge(StateDictionary(example.shape, example.parameters, PykeenNames()), 3);
  ASSERT_TRUE(foreign.ok()) << foreign.status();
  EXPECT_EQ(foreign->project, "PyKEEN");
  EXPECT_EQ(foreign->shape.options.embedding_height, 3);
  const absl::StatusOr<TrainedKge> model = NameForeignKge(*foreign, Names(5, 3, true));
  ASSERT_TRUE(model.ok()) << model.status();
  std::vector<double> expected = example.parameters.ToDoubles();
  const std::vector<double> theirs = expected;
  const int64_t at = example.shape.offsets().relation;
  const int from[] = {0, 2, 4, 1, 3, 5};
  for (int row = 0; row < 6; ++row) {
    for (int k = 0; k < 12; ++k) expected[at + row * 12 + k] = theirs[at + from[row] * 12 + k];
  }
  EXPECT_EQ(model->parameters.ToDoubles(), expected);
}

// A state dictionary does not say what loss the model was trained with; TiePin has one.
TEST(KgeImportTest, TheLossIsKnownWhereItIsGiven) {
  const Example example = Dettmers(/*relations=*/6);
  absl::StatusOr<ForeignKge> foreign =
      ReadForeignKge(StateDictionary(example.shape, example.parameters, PykeenNames()), 3);
  ASSERT_TRUE(foreign.ok()) << foreign.status();
  const auto unknown = NameForeignKge(*foreign, Names(5, 3, true));
  ASSERT_TRUE(unknown.ok()) << unknown.status();
  EXPECT_THAT(
      CheckLossIsKnown(unknown->metadata, "m.safetensors", "--new_triples"),
      ErrorNames(absl::StatusCode::kInvalidArgument, {"m.safetensors", "PyKEEN", "--new_triples", "--loss=1vsAll"}));
  foreign->shape.options.loss = KgeLoss::kOneVsAll;
  foreign->loss_known = true;
  const auto known = NameForeignKge(*foreign, Names(5, 3, true));
  ASSERT_TRUE(known.ok()) << known.status();
  EXPECT_EQ(known->shape.options.loss, KgeLoss::kOneVsAll);
  EXPECT_TRUE(CheckLossIsKnown(known->metadata, "m.safetensors", "--new_triples").ok());
  const GoldenConve golden("tiepin");
  const auto tiepin = ReadForeignKge(StateDictionary(golden.shape(), golden.Flat("param."), TiepinNames()), 3);
  ASSERT_TRUE(tiepin.ok()) << tiepin.status();
  const auto named = NameForeignKge(*tiepin, Names(12, 4, false));
  ASSERT_TRUE(named.ok()) << named.status();
  EXPECT_TRUE(CheckLossIsKnown(named->metadata, "m", "--new_triples").ok());
  EXPECT_TRUE(CheckLossIsKnown({}, "m", "--new_triples").ok());  // trained by rutile
  EXPECT_TRUE(CheckLossIsKnown({{"imported_from", "TiePin"}}, "m", "--new_triples").ok());
  EXPECT_FALSE(CheckLossIsKnown({{"imported_from", "PyKEEN"}}, "m", "--new_triples").ok());
}

TEST(KgeImportTest, ABiasOfTheConvolutionGoesIntoTheMean) {
  const Example example = Dettmers(2);
  TensorFile file = StateDictionary(example.shape, example.parameters, PykeenNames());
  file.tensors.Set("interaction.hr2d.2.bias", Tensor::Of<double>(std::vector<double>{0.25, -0.5}));
  const absl::StatusOr<ForeignKge> foreign = ReadForeignKge(file, 3);
  ASSERT_TRUE(foreign.ok()) << foreign.status();
  std::vector<double> expected = example.parameters.ToDoubles();
  expected[example.shape.offsets().bn1_mean] -= 0.25;
  expected[example.shape.offsets().bn1_mean + 1] += 0.5;
  EXPECT_EQ(foreign->parameters.ToDoubles(), expected);
}

TEST(KgeImportTest, LayersOfPykeenAreFoundWithoutDropoutToo) {
  const Example example = Dettmers(2);
  std::vector<std::pair<std::string, std::string>> names = PykeenNames();
  names[4].second = "interaction.hr2d.1.";
  names[5].second = "interaction.hr2d.2.";
  names[7].second = "interaction.hr1d.1.";
  const absl::StatusOr<ForeignKge> foreign =
      ReadForeignKge(StateDictionary(example.shape, example.parameters, names), 3);
  ASSERT_TRUE(foreign.ok()) << foreign.status();
  EXPECT_EQ(foreign->parameters.ToDoubles(), example.parameters.ToDoubles());
}

TEST(KgeImportTest, SeveralImagesThatFitAreListed) {
  KgeShape shape;
  shape.options.variant = ConveVariant::kTiepin;  // 10 x 20 and 40 x 5 have as many features
  shape.options.embedding_height = 10;
  shape.options.embedding_width = 20;
  shape.options.output_channels = 1;
  shape.num_entities = 2;
  shape.num_relations = 1;
  const TensorFile file = StateDictionary(shape, Tensor::Zeros(DType::kF32, {shape.offsets().size}), TiepinNames());
  const absl::StatusOr<ForeignKge> foreign = ReadForeignKge(file, 0);
  EXPECT_THAT(std::string(foreign.status().message()),
              AllOf(HasSubstr("model.safetensors: images of"), HasSubstr("10 x 20"), HasSubstr("40 x 5"),
                    HasSubstr("--embedding_height=")));
  EXPECT_EQ(ReadForeignKge(file, 40)->shape.options.embedding_width, 5);
  EXPECT_THAT(std::string(ReadForeignKge(file, 20).status().message()), HasSubstr("with --embedding_height=20"));
}

// Tensors of single dimensions that fit, whose products would take 25 GB: sizes are compared before memory is taken.
TEST(KgeImportTest, SizesAreComparedBeforeMemoryIsTaken) {
  TensorFile file;
  file.path = "model.safetensors";
  const auto set = [&](const char* name, std::vector<int64_t> shape) {
    file.tensors.Set(name, Tensor::Zeros(DType::kF32, std::move(shape)));
  };
  set("entity_embeddings.weight", {1, 40000});
  set("relation_embeddings.weight", {1, 40000});
  set("conv1.weight", {1, 1, 1, 1});
  set("conv1.bias", {1});
  set("fc.weight", {1, 80000});
  for (const char* norm : {"bn0", "bn1"}) {
    for (const char* part : {".weight", ".bias", ".running_mean", ".running_var"}) {
      set(absl::StrCat(norm, part).c_str(), {1});
    }
  }
  const int64_t before = PeakRssBytes();
  EXPECT_THAT(ReadForeignKge(file, 200).status(),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"model.safetensors", "\"fc.weight\"", "[1,80000]"}));
  EXPECT_LT(PeakRssBytes() - before, int64_t{100} << 20);
}

TEST(KgeImportTest, WhatIsMissingOrStrangeIsNamed) {
  const Example example = Dettmers(4);
  TensorFile file = StateDictionary(example.shape, example.parameters, PykeenNames());
  const absl::StatusOr<ForeignKge> foreign = ReadForeignKge(file, 3);
  ASSERT_TRUE(foreign.ok());
  EXPECT_THAT(std::string(NameForeignKge(*foreign, Names(5, 4, true)).status().message()),
              AllOf(HasSubstr("has 5 entities and 4 relations, the triples have 5 and 8"),
                    HasSubstr("--inverse_relations=false")));
  EXPECT_THAT(std::string(NameForeignKge(*foreign, Names(6, 2, true)).status().message()), HasSubstr("--entity_to_id"));

  file.tensors.Set("interaction.hr1d.0.bias", Tensor::Of<double>(std::vector<double>(11)));
  EXPECT_THAT(std::string(ReadForeignKge(file, 3).status().message()),
              HasSubstr("tensor \"interaction.hr1d.0.bias\" has the shape [11], expected 12 numbers"));
  file.tensors.Set("interaction.hr1d.0.bias", Tensor::Of<double>(std::vector<double>(12, NAN)));
  EXPECT_THAT(std::string(ReadForeignKge(file, 3).status().message()), HasSubstr("holds NaN or infinity"));
  file.tensors.Set("interaction.hr1d.0.bias", Tensor::Of<int64_t>(std::vector<int64_t>(12)));
  EXPECT_THAT(std::string(ReadForeignKge(file, 3).status().message()), HasSubstr("is I64, expected F32 or F64"));

  TensorFile part;
  part.path = "part.safetensors";
  part.tensors.Set("entity_representations.0._embeddings.weight", Tensor::Zeros(DType::kF32, {2, 4}));
  EXPECT_THAT(std::string(ReadForeignKge(part, 3).status().message()), HasSubstr("but not the convolution"));
  TensorFile other;
  other.tensors.Set("weight", Tensor::Zeros(DType::kF32, {2, 4}));
  EXPECT_FALSE(IsForeignKge(other));
  file.metadata["kind"] = "kge/1";
  EXPECT_FALSE(IsForeignKge(file));
}

}  // namespace
}  // namespace rutile
