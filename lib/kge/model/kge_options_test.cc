#include "lib/kge/model/kge_options.h"

#include <limits>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

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
  for (const KgeModel model : {KgeModel::kConvE, KgeModel::kDistMult, KgeModel::kComplEx}) {
    EXPECT_EQ(*ParseKgeModel(KgeModelName(model)), model);
  }
  for (const ConveVariant variant : {ConveVariant::kDettmers, ConveVariant::kTiepin, ConveVariant::kLibkge}) {
    EXPECT_EQ(*ParseConveVariant(ConveVariantName(variant)), variant);
  }
  for (const KgeLoss loss : {KgeLoss::kOneToN, KgeLoss::kOneOfN, KgeLoss::kOneVsAll, KgeLoss::kKvsAll}) {
    EXPECT_EQ(*ParseKgeLoss(KgeLossName(loss)), loss);
  }
  for (const LabelSmoothing form : {LabelSmoothing::kDettmers, LabelSmoothing::kStandard, LabelSmoothing::kPykeen}) {
    EXPECT_EQ(*ParseLabelSmoothing(LabelSmoothingName(form)), form);
  }
}

TEST(KgeOptionsTest, NamesAreReadInAnyCaseWithoutDashes) {
  for (const auto& [name, loss] : {std::pair("1n", KgeLoss::kOneToN), std::pair("1-n", KgeLoss::kOneToN),
                                   std::pair("1ofN", KgeLoss::kOneOfN), std::pair("1_of_n", KgeLoss::kOneOfN),
                                   std::pair("1vsall", KgeLoss::kOneVsAll), std::pair("ce", KgeLoss::kOneVsAll),
                                   std::pair("kvsall", KgeLoss::kKvsAll), std::pair("k-vs-all", KgeLoss::kKvsAll)}) {
    const absl::StatusOr<KgeLoss> parsed = ParseKgeLoss(name);
    ASSERT_TRUE(parsed.ok()) << name;
    EXPECT_EQ(*parsed, loss) << name;
  }
  EXPECT_EQ(*ParseKgeModel("DistMult"), KgeModel::kDistMult);
  EXPECT_FALSE(ParseKgeLoss("").ok());
  EXPECT_FALSE(ParseKgeLoss("-").ok());
}

TEST(KgeOptionsTest, OtherNamesAreRefusedWithTheChoices) {
  EXPECT_THAT(std::string(ParseKgeModel("transe").status().message()),
              AllOf(HasSubstr("transe"), HasSubstr("conve, distmult, complex")));
  EXPECT_THAT(std::string(ParseConveVariant("").status().message()), HasSubstr("dettmers, tiepin, libkge"));
  EXPECT_THAT(std::string(ParseKgeLoss("bce").status().message()), HasSubstr("1-N, 1-of-N, 1vsAll, KvsAll"));
  EXPECT_THAT(std::string(ParseLabelSmoothing("none").status().message()), HasSubstr("dettmers, standard, pykeen"));
}

TEST(CheckKgeOptionsTest, DefaultsAreValid) { EXPECT_TRUE(CheckKgeOptions(KgeOptions()).ok()); }

TEST(CheckKgeOptionsTest, SaysWhichImagesFitAnEmbedding) {
  KgeOptions options;
  options.embedding_dim = 12;
  EXPECT_THAT(Refusal(options), AllOf(HasSubstr("embedding_dim = 12"), HasSubstr("20 x 10"),
                                      HasSubstr("1 x 12, 2 x 6, 3 x 4, 4 x 3, 6 x 2, 12 x 1")));
  // Sizes whose product overflows are refused, too.
  options.embedding_height = options.embedding_width = std::numeric_limits<int64_t>::max() / 2;
  EXPECT_THAT(Refusal(options), HasSubstr("embedding_dim = 12"));
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

TEST(CheckKgeOptionsTest, NamesWhatIsOutOfRange) {
  KgeOptions options;
  options.input_dropout = 1;
  EXPECT_THAT(Refusal(options), HasSubstr("input_dropout = 1"));
  options = KgeOptions();
  options.feature_map_dropout = -0.1;
  EXPECT_THAT(Refusal(options), HasSubstr("feature_map_dropout"));
  options = KgeOptions();
  options.output_dropout = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(Refusal(options), HasSubstr("output_dropout"));
  options = KgeOptions();
  options.label_smoothing = 1;
  EXPECT_THAT(Refusal(options), HasSubstr("label_smoothing"));
  options = KgeOptions();
  options.kernel_width = 0;
  EXPECT_THAT(Refusal(options), HasSubstr("kernel_width = 0"));
  options = KgeOptions();
  options.embedding_dim = 0;
  EXPECT_THAT(Refusal(options), HasSubstr("embedding_dim = 0"));
  options = KgeOptions();
  options.precision = DType::kBF16;
  EXPECT_THAT(Refusal(options), HasSubstr("BF16"));
}

TEST(CheckKgeOptionsTest, ImagesAreConvesAlone) {
  KgeOptions options;
  options.model = KgeModel::kDistMult;
  options.embedding_dim = 7;
  EXPECT_TRUE(CheckKgeOptions(options).ok());
  options.model = KgeModel::kComplEx;
  EXPECT_THAT(Refusal(options), AllOf(HasSubstr("embedding_dim = 7"), HasSubstr("even")));
}

}  // namespace
}  // namespace rutile
