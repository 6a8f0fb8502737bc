#include "lib/kge/model/kge_options_text.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

TEST(KgeOptionsTextTest, IsReadBack) {
  KgeOptions options;
  options.variant = ConveVariant::kTiepin;
  options.embedding_dim = 32;
  options.embedding_height = 8;
  options.embedding_width = 4;
  options.output_channels = 7;
  options.kernel_width = 2;
  options.input_dropout = 0.1;
  options.feature_map_dropout = 1.0 / 3;
  options.output_dropout = 0;
  options.loss = KgeLoss::kKvsAll;
  options.smoothing_form = LabelSmoothing::kPykeen;
  options.label_smoothing = 1e-3;
  const std::map<std::string, std::string> text = DescribeKgeOptions(options);
  EXPECT_EQ(text.at("input_dropout"), "0.1");
  EXPECT_EQ(text.at("conve_variant"), "tiepin");
  const KgeOptions read = *ParseKgeOptions(text);
  EXPECT_EQ(DescribeKgeOptions(read), text);
  EXPECT_EQ(read.feature_map_dropout, 1.0 / 3);
  EXPECT_EQ(read.kernel_width, 2);
  EXPECT_EQ(read.loss, KgeLoss::kKvsAll);
}

TEST(KgeOptionsTextTest, SaysOnlyWhatTheModelHas) {
  KgeOptions options;
  options.model = KgeModel::kDistMult;
  options.embedding_dim = 7;
  options.label_smoothing = 0;
  EXPECT_EQ(DescribeKgeOptions(options), (std::map<std::string, std::string>{{"kge_model", "distmult"},
                                                                             {"kge_loss", "1-N"},
                                                                             {"embedding_dim", "7"},
                                                                             {"input_dropout", "0.2"},
                                                                             {"label_smoothing", "0"}}));
  EXPECT_EQ(ParseKgeOptions(DescribeKgeOptions(options))->embedding_dim, 7);
}

// As model files of older versions have it: the texts of a run and of its model are compared.
TEST(KgeOptionsTextTest, TextsAreThoseOfOlderFiles) {
  KgeOptions options;
  options.label_smoothing = 1e-5;
  EXPECT_EQ(DescribeKgeOptions(options), (std::map<std::string, std::string>{{"conve_variant", "dettmers"},
                                                                             {"embedding_dim", "200"},
                                                                             {"embedding_height", "20"},
                                                                             {"embedding_width", "10"},
                                                                             {"feature_map_dropout", "0.2"},
                                                                             {"input_dropout", "0.2"},
                                                                             {"kernel_height", "3"},
                                                                             {"kernel_width", "3"},
                                                                             {"kge_loss", "1-N"},
                                                                             {"kge_model", "conve"},
                                                                             {"label_smoothing", "1e-05"},
                                                                             {"label_smoothing_form", "dettmers"},
                                                                             {"output_channels", "32"},
                                                                             {"output_dropout", "0.3"}}));
}

// What older versions did not have is told where it counts, and only there.
TEST(KgeOptionsTextTest, RegularizersInitAndGroupsAreReadBack) {
  KgeOptions options;
  options.group_queries = true;  // without effect with 1-N
  EXPECT_EQ(DescribeKgeOptions(options).count("group_queries"), 0);
  options.loss = KgeLoss::kOneVsAll;
  options.regularizer = KgeRegularizer::kN3;
  options.regularization = 1.0 / 3;
  options.init = {EmbeddingInitKind::kNormal, 1e-3};
  const std::map<std::string, std::string> text = DescribeKgeOptions(options);
  EXPECT_EQ(text.at("group_queries"), "true");
  EXPECT_EQ(text.at("regularizer"), "n3");
  EXPECT_EQ(text.at("init"), "normal:0.001");
  const KgeOptions read = *ParseKgeOptions(text);
  EXPECT_TRUE(read.group_queries);
  EXPECT_EQ(read.regularizer, KgeRegularizer::kN3);
  EXPECT_EQ(read.regularization, 1.0 / 3);
  EXPECT_EQ(DescribeKgeOptions(read), text);
}

TEST(KgeOptionsTextTest, DropoutByTableAndRelationPredictionAreReadBack) {
  KgeOptions options;
  options.entity_dropout = options.relation_prediction = 0.5;  // without effect in ConvE
  EXPECT_EQ(DescribeKgeOptions(options).count("entity_dropout"), 0);
  EXPECT_EQ(DescribeKgeOptions(options).count("relation_prediction"), 0);
  options.model = KgeModel::kComplEx;
  options.input_dropout = 0;
  options.relation_dropout = 0.25;
  options.candidate_dropout = 0.125;
  options.regularizer = KgeRegularizer::kDura;
  const std::map<std::string, std::string> text = DescribeKgeOptions(options);
  EXPECT_EQ(text.at("regularizer"), "dura");
  EXPECT_EQ(text.at("candidate_dropout"), "0.125");
  const KgeOptions read = *ParseKgeOptions(text);
  EXPECT_EQ(read.entity_dropout, 0.5);
  EXPECT_EQ(read.relation_dropout, 0.25);
  EXPECT_EQ(read.relation_prediction, 0.5);
  EXPECT_EQ(DescribeKgeOptions(read), text);
}

// Two records are the same where one says a default that the other leaves out.
TEST(KgeOptionsTextTest, SettingsIncludeTheDefaultsThatCount) {
  KgeOptions options;
  options.model = KgeModel::kComplEx;
  options.loss = KgeLoss::kOneVsAll;
  const std::map<std::string, std::string> text = DescribeKgeOptions(options);
  EXPECT_EQ(text.count("negatives_per_batch") + text.count("init") + text.count("entity_dropout"), 0);
  const auto settings = KgeSettingsOf(text);
  ASSERT_FALSE(settings.empty());
  EXPECT_EQ(settings.front(), std::make_pair(std::string("kge_model"), std::string("complex")));
  const std::map<std::string, std::string> all(settings.begin(), settings.end());
  for (const auto& [name, value] : text) EXPECT_EQ(all.at(name), value) << name;
  EXPECT_EQ(all.at("negatives_per_batch"), "0");
  EXPECT_EQ(all.at("group_queries"), "false");
  EXPECT_EQ(all.at("init"), "xavier");
  EXPECT_EQ(all.at("entity_dropout"), "0");
  EXPECT_EQ(all.count("conve_variant") + all.count("negatives_by") + all.count("regularization"), 0);
  options.negatives_per_batch = 8;
  const auto sampled = KgeSettingsOf(DescribeKgeOptions(options));
  const auto by = std::find_if(sampled.begin(), sampled.end(), [](const auto& s) { return s.first == "negatives_by"; });
  ASSERT_NE(by, sampled.end());
  EXPECT_EQ(by->second, "uniform");
  // A file that does not say its model has only the settings that it says; one of an older version lacks a setting that
  // has no default.
  EXPECT_EQ(KgeSettingsOf({{"kge_loss", "1-N"}, {"title", "x"}}).size(), 1);
  for (const auto& setting : KgeSettingsOf({{"kge_model", "distmult"}})) EXPECT_NE(setting.first, "embedding_dim");
}

TEST(ParseKgeOptionsTest, NamesWhatIsWrong) {
  const auto message = [](const char* key, const char* value) {
    std::map<std::string, std::string> text = DescribeKgeOptions(KgeOptions());
    if (value == nullptr) {
      text.erase(key);
    } else {
      text[key] = value;
    }
    return std::string(ParseKgeOptions(text).status().message());
  };
  EXPECT_THAT(message("kge_model", nullptr), HasSubstr("\"kge_model\""));
  EXPECT_THAT(message("kge_model", "hole"), HasSubstr("hole"));
  EXPECT_THAT(message("output_channels", "many"), HasSubstr("\"output_channels\" is \"many\""));
  EXPECT_THAT(message("output_dropout", nullptr), HasSubstr("\"output_dropout\""));
  EXPECT_THAT(message("output_dropout", "nan"), HasSubstr("output_dropout"));
  EXPECT_THAT(message("embedding_height", "3"), HasSubstr("what fits"));
}

}  // namespace
}  // namespace rutile
