#include "lib/kge/influence/kge_influence_options.h"

#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(KgeInfluenceOptionsTest, NamesAreReadBack) {
  for (const KgeInfluenceLoss loss : {KgeInfluenceLoss::kTriple, KgeInfluenceLoss::kOneToN, KgeInfluenceLoss::kOneOfN,
                                      KgeInfluenceLoss::kCrossEntropy, KgeInfluenceLoss::kKvsAll}) {
    EXPECT_EQ(*kKgeInfluenceLossNames.Parse(kKgeInfluenceLossNames.Name(loss)), loss);
  }
  for (const KgeQuantity quantity : {KgeQuantity::kLoss, KgeQuantity::kScore}) {
    EXPECT_EQ(*kKgeQuantityNames.Parse(kKgeQuantityNames.Name(quantity)), quantity);
  }
}

TEST(KgeInfluenceOptionsTest, LossesOfTrainingAreReadAsTrainingWritesThem) {
  for (const auto& [name, loss] :
       {std::pair("1n", KgeInfluenceLoss::kOneToN), std::pair("1-N", KgeInfluenceLoss::kOneToN),
        std::pair("1ofn", KgeInfluenceLoss::kOneOfN), std::pair("ce", KgeInfluenceLoss::kCrossEntropy),
        std::pair("kvsall", KgeInfluenceLoss::kKvsAll), std::pair("Triple", KgeInfluenceLoss::kTriple)}) {
    EXPECT_EQ(*kKgeInfluenceLossNames.Parse(name), loss) << name;
  }
}

TEST(KgeInfluenceOptionsTest, OtherNamesAreRefusedWithTheChoices) {
  EXPECT_THAT(std::string(kKgeInfluenceLossNames.Parse("bce").status().message()),
              AllOf(HasSubstr("\"bce\""), HasSubstr("triple, 1-N, 1-of-N, 1vsAll, KvsAll")));
  EXPECT_THAT(std::string(kKgeQuantityNames.Parse("").status().message()), HasSubstr("loss, score"));
}

// A training loss and its influence loss have the same name.
TEST(KgeInfluenceOptionsTest, TrainedLossesKeepTheirNames) {
  for (const KgeLoss loss : {KgeLoss::kOneToN, KgeLoss::kOneOfN, KgeLoss::kOneVsAll, KgeLoss::kKvsAll}) {
    EXPECT_EQ(kKgeInfluenceLossNames.Name(TrainedInfluenceLoss(loss)), kKgeLossNames.Name(loss));
  }
}

TEST(KgeInfluenceOptionsTest, SomeGradientsHaveNoLargeProducts) {
  EXPECT_FALSE(HasRoundedProducts(KgeModel::kDistMult, KgeInfluenceLoss::kTriple));
  EXPECT_FALSE(HasRoundedProducts(KgeModel::kComplEx, KgeInfluenceLoss::kTriple));
  EXPECT_TRUE(HasRoundedProducts(KgeModel::kConvE, KgeInfluenceLoss::kTriple));
  EXPECT_TRUE(HasRoundedProducts(KgeModel::kDistMult, KgeInfluenceLoss::kKvsAll));
}

TEST(KgeInfluenceOptionsTest, OptionsWithoutAnEffectAreRefused) {
  KgeInfluenceOptions options;
  EXPECT_TRUE(CheckKgeInfluenceOptions(options, DType::kF64).ok());
  options.bf16 = true;
  EXPECT_TRUE(CheckKgeInfluenceOptions(options, DType::kF32).ok());
  EXPECT_THAT(std::string(CheckKgeInfluenceOptions(options, DType::kF64).message()),
              AllOf(HasSubstr("bf16"), HasSubstr("F64")));

  options = KgeInfluenceOptions();
  options.label_test_tails = true;
  EXPECT_THAT(std::string(CheckKgeInfluenceOptions(options, DType::kF32).message()),
              AllOf(HasSubstr("label_test_tails"), HasSubstr("triple")));
  options.loss = KgeInfluenceLoss::kOneToN;
  EXPECT_TRUE(CheckKgeInfluenceOptions(options, DType::kF32).ok());
  options.quantity = KgeQuantity::kScore;
  EXPECT_THAT(std::string(CheckKgeInfluenceOptions(options, DType::kF32).message()), HasSubstr("score"));

  options = KgeInfluenceOptions();
  options.by_triple = true;
  EXPECT_THAT(std::string(CheckKgeInfluenceOptions(options, DType::kF32).message()),
              AllOf(HasSubstr("by_triple"), HasSubstr("triple")));
  options.loss = KgeInfluenceLoss::kKvsAll;
  EXPECT_TRUE(CheckKgeInfluenceOptions(options, DType::kF32).ok());

  options = KgeInfluenceOptions();
  options.rival = 2;
  EXPECT_THAT(std::string(CheckKgeInfluenceOptions(options, DType::kF32).message()), HasSubstr("rival is 2"));
  options.quantity = KgeQuantity::kDifference;
  EXPECT_TRUE(CheckKgeInfluenceOptions(options, DType::kF32).ok());
  options.rival = -1;
  EXPECT_FALSE(CheckKgeInfluenceOptions(options, DType::kF32).ok());

  options = KgeInfluenceOptions();
  options.curvature.emplace();
  EXPECT_TRUE(CheckKgeInfluenceOptions(options, DType::kF32).ok());
  options.bf16 = true;
  EXPECT_THAT(std::string(CheckKgeInfluenceOptions(options, DType::kF32).message()), HasSubstr("curvature"));
}

TEST(KgeInfluenceOptionsTest, WhichGradientsAreOverEntities) {
  EXPECT_FALSE(IsOverEntities(KgeInfluenceLoss::kKvsAll, KgeQuantity::kScore));
  EXPECT_FALSE(IsOverEntities(KgeInfluenceLoss::kTriple, KgeQuantity::kLoss));
  EXPECT_TRUE(IsOverEntities(KgeInfluenceLoss::kTriple, KgeQuantity::kMargin));
  EXPECT_TRUE(IsOverEntities(KgeInfluenceLoss::kOneOfN, KgeQuantity::kDifference));
}

}  // namespace
}  // namespace rutile
