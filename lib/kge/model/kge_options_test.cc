#include "lib/kge/model/kge_options.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string Refusal(const KgeOptions& options) {
  const absl::Status status = CheckKgeOptions(options);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  return std::string(status.message());
}

TEST(KgeOptionsTest, NamesAreReadBack) {
  for (const KgeModel model :
       {KgeModel::kConvE, KgeModel::kDistMult, KgeModel::kComplEx, KgeModel::kRescal, KgeModel::kCp, KgeModel::kSimple,
        KgeModel::kTransE, KgeModel::kRotatE, KgeModel::kTucker}) {
    EXPECT_EQ(*kKgeModelNames.Parse(kKgeModelNames.Name(model)), model);
  }
  for (const ConveVariant variant : {ConveVariant::kDettmers, ConveVariant::kTiepin, ConveVariant::kLibkge}) {
    EXPECT_EQ(*kConveVariantNames.Parse(kConveVariantNames.Name(variant)), variant);
  }
  for (const KgeLoss loss : {KgeLoss::kOneToN, KgeLoss::kOneOfN, KgeLoss::kOneVsAll, KgeLoss::kKvsAll}) {
    EXPECT_EQ(*kKgeLossNames.Parse(kKgeLossNames.Name(loss)), loss);
  }
  for (const LabelSmoothing form : {LabelSmoothing::kDettmers, LabelSmoothing::kStandard, LabelSmoothing::kPykeen}) {
    EXPECT_EQ(*kLabelSmoothingNames.Parse(kLabelSmoothingNames.Name(form)), form);
  }
}

TEST(KgeOptionsTest, NamesAreReadInAnyCaseWithoutDashes) {
  for (const auto& [name, loss] : {std::pair("1n", KgeLoss::kOneToN), std::pair("1-n", KgeLoss::kOneToN),
                                   std::pair("1ofN", KgeLoss::kOneOfN), std::pair("1_of_n", KgeLoss::kOneOfN),
                                   std::pair("1vsall", KgeLoss::kOneVsAll), std::pair("ce", KgeLoss::kOneVsAll),
                                   std::pair("kvsall", KgeLoss::kKvsAll), std::pair("k-vs-all", KgeLoss::kKvsAll)}) {
    const absl::StatusOr<KgeLoss> parsed = kKgeLossNames.Parse(name);
    ASSERT_TRUE(parsed.ok()) << name;
    EXPECT_EQ(*parsed, loss) << name;
  }
  EXPECT_EQ(*kKgeModelNames.Parse("DistMult"), KgeModel::kDistMult);
  EXPECT_FALSE(kKgeLossNames.Parse("").ok());
  EXPECT_FALSE(kKgeLossNames.Parse("-").ok());
}

TEST(KgeOptionsTest, OtherNamesAreRefusedWithTheChoices) {
  EXPECT_THAT(
      std::string(kKgeModelNames.Parse("tuckers").status().message()),
      AllOf(HasSubstr("tuckers"), HasSubstr("conve, distmult, complex, rescal, cp, simple, transe, rotate, tucker")));
  EXPECT_THAT(std::string(kConveVariantNames.Parse("").status().message()), HasSubstr("dettmers, tiepin, libkge"));
  EXPECT_THAT(std::string(kKgeLossNames.Parse("bce").status().message()), HasSubstr("1-N, 1-of-N, 1vsAll, KvsAll"));
  EXPECT_THAT(std::string(kLabelSmoothingNames.Parse("none").status().message()),
              HasSubstr("dettmers, standard, pykeen"));
}

TEST(CheckKgeOptionsTest, DefaultsAreValid) { EXPECT_TRUE(CheckKgeOptions(KgeOptions()).ok()); }

TEST(CheckKgeOptionsTest, SaysWhichImagesFitAnEmbedding) {
  KgeOptions options;
  options.embedding_dim = 12;
  EXPECT_THAT(Refusal(options),
              ErrorNames({"embedding_dim", "12", "20 x 10", "1 x 12, 2 x 6, 3 x 4, 4 x 3, 6 x 2, 12 x 1"}));
  // Sizes whose product overflows are refused, too.
  options.embedding_height = options.embedding_width = std::numeric_limits<int64_t>::max() / 2;
  EXPECT_THAT(Refusal(options), ErrorNames({"embedding_height", "4611686018427387903", "1 to 1048576"}));
}

// What would need the scores or the mask of all entities.
TEST(CheckKgeOptionsTest, ASampledSoftmaxRefusesWhatNeedsAllEntities) {
  KgeOptions options;
  options.model = KgeModel::kComplEx;
  options.loss = KgeLoss::kOneVsAll;
  options.label_smoothing = 0;
  options.negatives_per_batch = 100;
  EXPECT_TRUE(CheckKgeOptions(options).ok());
  EXPECT_FALSE(CanShard(options));
  options.label_smoothing = 0.1;
  EXPECT_THAT(Refusal(options), ErrorNames({"negatives_per_batch = 100", "label_smoothing = 0.1"}));
  options.label_smoothing = 0;
  options.candidate_dropout = 0.3;
  EXPECT_THAT(Refusal(options), ErrorNames({"negatives_per_batch = 100", "candidate_dropout = 0.3"}));
  options.candidate_dropout = 0;
  options.negatives_per_batch = 1;
  EXPECT_THAT(Refusal(options), ErrorNames({"negatives_per_batch = 1", "2 or more"}));
  options.negatives_by = NegativeKind::kFrequency;
  options.negatives_per_batch = 3;
  EXPECT_THAT(Refusal(options), ErrorNames({"negatives_per_batch = 3", "negatives_by = frequency", "4 or more"}));
  options.negatives_by = NegativeKind::kUniform;
  options.negatives_per_batch = -1;
  EXPECT_THAT(Refusal(options), ErrorNames({"negatives_per_batch", "-1"}));
}

// The list of images in a message was once made by trying all heights up to 2^63.
TEST(CheckKgeOptionsTest, RefusesHugeSizesAtOnce) {
  for (const int64_t size :
       {int64_t{1000000007}, int64_t{2147483647}, std::numeric_limits<int64_t>::max(), int64_t{1} << 20 | 1}) {
    for (const auto& [name, member] : {std::pair("embedding_dim", &KgeOptions::embedding_dim),
                                       std::pair("embedding_width", &KgeOptions::embedding_width),
                                       std::pair("output_channels", &KgeOptions::output_channels),
                                       std::pair("kernel_height", &KgeOptions::kernel_height),
                                       std::pair("kernel_width", &KgeOptions::kernel_width)}) {
      KgeOptions options;
      options.*member = size;
      EXPECT_THAT(Refusal(options), ErrorNames({name, std::to_string(size), "1 to 1048576"}));
    }
  }
  KgeOptions options;
  options.embedding_dim = int64_t{1} << 20;
  EXPECT_THAT(Refusal(options), AllOf(HasSubstr("1024 x 1024"), HasSubstr("1048576 x 1")));
}

TEST(CheckKgeOptionsTest, KernelFitsIntoTheImageOfBoth) {
  KgeOptions options;
  options.embedding_dim = 12;
  options.embedding_height = 3;
  options.embedding_width = 4;
  options.kernel_height = 6;
  EXPECT_TRUE(CheckKgeOptions(options).ok());  // 6 x 4
  options.variant = ConveVariant::kTiepin;     // 3 x 8
  EXPECT_THAT(Refusal(options), AllOf(HasSubstr("6 x 3"), HasSubstr("3 x 8"), HasSubstr("along width")));
  options.kernel_height = 3;
  options.kernel_width = 8;
  EXPECT_TRUE(CheckKgeOptions(options).ok());
  options.variant = ConveVariant::kLibkge;
  EXPECT_THAT(Refusal(options), AllOf(HasSubstr("3 x 8"), HasSubstr("6 x 4"), HasSubstr("along height")));
}

TEST(CheckKgeOptionsTest, OneRateForHeadAndRelationOrTwo) {
  KgeOptions options;
  options.model = KgeModel::kDistMult;
  options.relation_dropout = 0.3;
  EXPECT_THAT(Refusal(options), ErrorNames({"input_dropout = 0.2", "relation_dropout = 0.3"}));
  options.candidate_dropout = 0.5;
  options.input_dropout = 0;
  EXPECT_TRUE(CheckKgeOptions(options).ok());
  options.candidate_dropout = 1;
  EXPECT_THAT(Refusal(options), ErrorNames({"candidate_dropout", "1"}));
}

TEST(CheckKgeOptionsTest, DuraMultipliesAndConveDoesNot) {
  KgeOptions options;
  options.regularizer = KgeRegularizer::kDura;
  EXPECT_THAT(Refusal(options), ErrorNames({"dura", "conve", "none, n3, f2 or l3"}));
  for (const KgeModel model : {KgeModel::kRescal, KgeModel::kCp, KgeModel::kSimple}) {
    options.model = model;
    EXPECT_THAT(Refusal(options), ErrorNames({"dura", std::string(kKgeModelNames.Name(model)), "none, n3, f2 or l3"}));
  }
  options.model = KgeModel::kComplEx;
  EXPECT_TRUE(CheckKgeOptions(options).ok());
  options.relation_prediction = -1;
  EXPECT_THAT(Refusal(options), ErrorNames({"relation_prediction", "-1"}));
}

TEST(CheckKgeOptionsTest, NamesWhatIsOutOfRange) {
  KgeOptions options;
  options.input_dropout = 1;
  EXPECT_THAT(Refusal(options), ErrorNames({"input_dropout", "1"}));
  options = KgeOptions();
  options.feature_map_dropout = -0.1;
  EXPECT_THAT(Refusal(options), ErrorNames({"feature_map_dropout"}));
  options = KgeOptions();
  options.output_dropout = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(Refusal(options), ErrorNames({"output_dropout"}));
  options = KgeOptions();
  options.label_smoothing = 1;
  EXPECT_THAT(Refusal(options), ErrorNames({"label_smoothing"}));
  options = KgeOptions();
  options.kernel_width = 0;
  EXPECT_THAT(Refusal(options), ErrorNames({"kernel_width", "0"}));
  options = KgeOptions();
  options.embedding_dim = 0;
  EXPECT_THAT(Refusal(options), ErrorNames({"embedding_dim", "0"}));
  options = KgeOptions();
  options.precision = DType::kBF16;
  EXPECT_THAT(Refusal(options), HasSubstr("BF16"));
}

TEST(ParseEmbeddingInitTest, ReadsWhatItWrites) {
  for (const char* text : {"xavier", "normal:0.001", "uniform:0.8328", "normal:1e-30"}) {
    const absl::StatusOr<EmbeddingInit> init = ParseEmbeddingInit(text);
    ASSERT_TRUE(init.ok()) << init.status();
    EXPECT_EQ(EmbeddingInitText(*init), text);
  }
  for (const char* text : {"", "normal", "normal:", "normal:0", "normal:-1", "uniform:nan", "uniform:inf", "xavier:1",
                           "0.5", "normal:1x", "Normal:1"}) {
    EXPECT_THAT(ParseEmbeddingInit(text).status(),
                ErrorNames(absl::StatusCode::kInvalidArgument, {absl::StrCat("\"", text, "\""), "normal:0.001"}));
  }
}

TEST(CheckKgeOptionsTest, WeightsOfARegularizerAreAboveZero) {
  KgeOptions options;
  options.regularization = 0;
  EXPECT_TRUE(CheckKgeOptions(options).ok()) << "it has no effect";
  options.regularizer = KgeRegularizer::kL3;
  EXPECT_THAT(Refusal(options), ErrorNames({"regularization", "0"}));
}

TEST(CheckKgeOptionsTest, DistancesHaveANormAndAngles) {
  KgeOptions options;
  for (const KgeModel model : {KgeModel::kTransE, KgeModel::kRotatE}) {
    options.model = model;
    EXPECT_TRUE(IsDistanceModel(model));
    for (const int64_t norm : {1, 2}) {
      options.distance_norm = norm;
      EXPECT_TRUE(CheckKgeOptions(options).ok());
    }
    options.distance_norm = 3;
    EXPECT_THAT(Refusal(options), ErrorNames({"distance_norm", "3"}));
    options.distance_norm = 1;
  }
  options.regularizer = KgeRegularizer::kF2;
  EXPECT_THAT(Refusal(options), ErrorNames({"f2", "rotate", "angles"}));
  options.model = KgeModel::kTransE;
  EXPECT_TRUE(CheckKgeOptions(options).ok());
  options.regularizer = KgeRegularizer::kDura;
  EXPECT_THAT(Refusal(options), ErrorNames({"dura", "transe"}));
}

TEST(CheckKgeOptionsTest, ImagesAreConvesAlone) {
  KgeOptions options;
  options.model = KgeModel::kDistMult;
  options.embedding_dim = 7;
  EXPECT_TRUE(CheckKgeOptions(options).ok());
  options.model = KgeModel::kRescal;
  EXPECT_TRUE(CheckKgeOptions(options).ok());
  for (const KgeModel model : {KgeModel::kComplEx, KgeModel::kCp, KgeModel::kSimple, KgeModel::kRotatE}) {
    options.model = model;
    EXPECT_THAT(Refusal(options), ErrorNames({"embedding_dim = 7", "even", std::string(kKgeModelNames.Name(model))}));
  }
  options.model = KgeModel::kRescal;
  options.embedding_dim = 4097;
  EXPECT_THAT(Refusal(options), ErrorNames({"embedding_dim = 4097", "rescal", "at most 4096"}));
  options.model = KgeModel::kTucker;
  options.embedding_dim = 4096;
  options.relation_embedding_dim = 16;
  EXPECT_TRUE(CheckKgeOptions(options).ok());
  options.relation_embedding_dim = 17;
  EXPECT_THAT(Refusal(options), ErrorNames({"relation_embedding_dim = 17", "embedding_dim = 4096", "tucker"}));
  options.relation_embedding_dim = 0;
  EXPECT_THAT(Refusal(options), ErrorNames({"relation_embedding_dim is 0"}));
}

// What flags, configs and model files read of a row.
TEST(KgeSettingsTest, RowsCountForTheModelsThatHaveThem) {
  KgeOptions conve, distmult;
  conve.loss = distmult.loss = KgeLoss::kOneVsAll;
  conve.regularizer = distmult.regularizer = KgeRegularizer::kF2;
  conve.negatives_per_batch = distmult.negatives_per_batch = 4;
  distmult.model = KgeModel::kDistMult;
  distmult.label_smoothing = 0;
  std::vector<std::string> of_conve, of_products;
  for (const Setting<KgeOptions>& row : KgeSettings()) {
    if (!row.HasEffect(conve)) of_products.push_back(row.name);
    if (!row.HasEffect(distmult)) of_conve.push_back(row.name);
  }
  EXPECT_THAT(of_products, ::testing::ElementsAre("relation_embedding_dim", "distance_norm", "entity_dropout",
                                                  "relation_dropout", "relation_prediction"));
  EXPECT_THAT(of_conve,
              ::testing::ElementsAre("conve_variant", "relation_embedding_dim", "embedding_height", "embedding_width",
                                     "distance_norm", "output_channels", "kernel_height", "kernel_width",
                                     "feature_map_dropout", "output_dropout", "label_smoothing_form"));
}

// A row out of range is refused where it counts, and only there.
TEST(KgeSettingsTest, RangesAreCheckedWhereARowCounts) {
  for (const Setting<KgeOptions>& row : KgeSettings()) {
    KgeOptions options;
    options.model = KgeModel::kDistMult;
    options.regularizer = KgeRegularizer::kN3;
    options.loss = KgeLoss::kOneVsAll;
    const bool counts = row.HasEffect(options);
    if (!row.Set("-7", &options).ok()) continue;  // a name
    EXPECT_EQ(CheckKgeOptions(options).ok(), !counts) << row.name;
    options.model = KgeModel::kConvE;
    EXPECT_EQ(CheckKgeOptions(options).ok(), !row.HasEffect(options)) << row.name;
    if (!row.HasEffect(options)) options.model = KgeModel::kDistMult;
    if (!row.HasEffect(options)) {
      options.model = KgeModel::kTransE;
      if (!row.HasEffect(options)) options.model = KgeModel::kTucker;
      EXPECT_TRUE(row.HasEffect(options)) << row.name;
    }
    EXPECT_THAT(CheckKgeOptions(options), ErrorNames(absl::StatusCode::kInvalidArgument, {row.name, "-7"}));
  }
}

}  // namespace
}  // namespace rutile
