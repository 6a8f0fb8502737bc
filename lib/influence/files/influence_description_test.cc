#include "lib/influence/files/influence_description.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

InfluenceDescription Example() {
  InfluenceDescription d;
  d.model = "ConvE";
  d.test_quantity = "energy";
  d.checkpoints = {"a.safetensors", "b, \"quoted\".safetensors"};
  d.checkpoint_sha256 = {"12", "34"};
  d.rates = {0.001, 1.0 / 3};
  d.train_sha256 = "56";
  d.test_sha256 = "78";
  d.test_names = {"Paris, capital_of, France", "x"};
  d.normalization = InfluenceNormalization::kTrainNorm;
  d.ranking = InfluenceRanking::kBoth;
  d.top_k = 7;
  d.shard = 2;
  d.num_shards = 3;
  d.settings = {{"precondition", "adam"}, {"sample_rate", "0.5"}};
  return d;
}

TEST(InfluenceDescriptionTest, ReadsWhatItWrites) {
  const absl::StatusOr<InfluenceDescription> read = DescriptionFromMetadata(DescriptionToMetadata(Example()));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(DescriptionDifference(*read, Example(), true), "");
  EXPECT_EQ(read->rates, Example().rates);
  EXPECT_EQ(read->checkpoints, Example().checkpoints);
  EXPECT_EQ(read->settings, Example().settings);
  EXPECT_EQ(read->ranking, InfluenceRanking::kBoth);
  EXPECT_EQ(read->shard, 2);
}

TEST(InfluenceDescriptionTest, RulesNameEveryKey) {
  const Metadata metadata = DescriptionToMetadata(Example());
  EXPECT_EQ(InfluenceDescriptionRules().size(), metadata.size());
  for (const MetadataRule& rule : InfluenceDescriptionRules()) EXPECT_EQ(metadata.count(rule.key), 1) << rule.key;
}

TEST(InfluenceDescriptionTest, DifferencesAreNamed) {
  InfluenceDescription other = Example();
  other.shard = 3;
  EXPECT_EQ(DescriptionDifference(Example(), other, false), "");
  EXPECT_EQ(DescriptionDifference(Example(), other, true), "shard: 2 and 3");
  other = Example();
  other.rates[1] = std::nextafter(other.rates[1], 1);
  EXPECT_THAT(DescriptionDifference(Example(), other, false), HasSubstr("rates: [0.001,0.333"));
  other = Example();
  other.test_names[0] = std::string(200, 'x');
  EXPECT_EQ(DescriptionDifference(Example(), other, false), "test_names");  // too long to quote
}

TEST(InfluenceDescriptionTest, NamesThatAreNotUtf8AreEqualToThemselves) {
  InfluenceDescription d = Example();
  d.test_names[1] = "\xff";
  const absl::StatusOr<InfluenceDescription> read = DescriptionFromMetadata(DescriptionToMetadata(d));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(DescriptionDifference(*read, d, true), "");
}

TEST(InfluenceDescriptionTest, AQuestionIsThatOfOneTest) {
  const InfluenceDescription d = Example();
  InfluenceDescription other = d;
  other.test_names.pop_back();
  other.num_shards = 7;
  other.checkpoints[0] = "elsewhere/" + other.checkpoints[0];
  EXPECT_EQ(QuestionSha256(other), QuestionSha256(d));
  other.top_k = 1234;
  EXPECT_NE(QuestionSha256(other), QuestionSha256(d));
  other = d;
  other.train_sha256 = "x";
  EXPECT_NE(QuestionSha256(other), QuestionSha256(d));
}

TEST(InfluenceDescriptionTest, BadKeysAreNamed) {
  struct Case {
    const char* key;
    const char* value;
    const char* message;
  };
  const Case cases[] = {
      {"checkpoints", "[1]", "\"checkpoints\": [1], expected a JSON list of strings"},
      {"checkpoints", "[\"a\"", "\"checkpoints\""},
      {"rates", "[0.1]", "\"rates\": [0.1], expected 2 of them"},
      {"rates", "[\"a\"]", "expected a JSON list of numbers"},
      {"checkpoint_sha256", "[]", "\"checkpoint_sha256\": [], expected 2"},
      {"test_names", "{}", "\"test_names\""},
      {"normalisation", "l2", "\"l2\""},
      {"ranking", "", "ranking \"\""},
      {"top_k", "-1", "\"top_k\": -1, expected an integer of at least 0"},
      {"top_k", "x", "\"top_k\""},
      {"shard", "0", "\"shard\": 0, expected an integer of at least 1"},
      {"num_shards", "1", "\"num_shards\": 1, expected an integer of at least 2"},
      {"settings", "[]", "\"settings\""},
  };
  for (const Case& c : cases) {
    Metadata metadata = DescriptionToMetadata(Example());
    metadata[c.key] = c.value;
    EXPECT_THAT(std::string(DescriptionFromMetadata(metadata).status().message()), HasSubstr(c.message)) << c.key;
  }
}

}  // namespace
}  // namespace rutile
