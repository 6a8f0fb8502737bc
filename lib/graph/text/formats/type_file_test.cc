#include "lib/graph/text/formats/type_file.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Vocabulary ThreeEntities() {
  Vocabulary entities;
  for (const char* name : {"aspirin", "#pain", "PTGS2"}) entities.Add(name);
  return entities;
}

absl::Status Read(const std::string& text, Handling on_malformed, EntityTypesBuilder* types, Finding* malformed,
                  Finding* unknown, std::vector<std::string>* formats = nullptr) {
  std::vector<std::string> ignored;
  const std::string path = ::testing::TempDir() + "/types.tsv";
  EXPECT_TRUE(WriteFileAtomically(path, text).ok());
  return ReadTypeFile(path, ThreeEntities(), on_malformed, types, malformed, unknown,
                      formats == nullptr ? &ignored : formats);
}

TEST(TypeFileTest, SeveralTypesInALineOrInSeveralLines) {
  EntityTypesBuilder builder;
  Finding malformed, unknown;
  ASSERT_TRUE(Read("aspirin\tDrug\tSmall molecule\r\n\nPTGS2\tGene\nother\tGene\naspirin\tMetabolite\n#pain\tSymptom",
                   Handling::kRefuse, &builder, &malformed, &unknown)
                  .ok());
  const EntityTypes types = builder.Build(3);
  EXPECT_THAT(types.names, ElementsAre("Drug", "Gene", "Metabolite", "Small molecule", "Symptom"));
  EXPECT_THAT(types.Of(0), ElementsAre(0, 2, 3));
  EXPECT_THAT(types.Of(1), ElementsAre(4));
  EXPECT_THAT(types.Of(2), ElementsAre(1));
  EXPECT_EQ(unknown.count, 1);
  EXPECT_THAT(unknown.first, HasSubstr("types.tsv:4: \"other\""));
  EXPECT_EQ(malformed.count, 0);
}

TEST(TypeFileTest, OtherSeparatorsInFilesWithoutTabs) {
  for (const char separator : {',', ';', '|'}) {
    std::string text = "aspirin~Drug~\"Small ~ molecule\"\r\n\n\"PTGS2\"~Gene\n";
    std::replace(text.begin(), text.end(), '~', separator);
    EntityTypesBuilder builder;
    Finding malformed, unknown;
    std::vector<std::string> formats;
    ASSERT_TRUE(Read(text, Handling::kRefuse, &builder, &malformed, &unknown, &formats).ok());
    EXPECT_THAT(builder.Build(3).names, ElementsAre("Drug", "Gene", std::string("Small ") + separator + " molecule"));
    EXPECT_EQ(formats.size(), 1);
  }
  // With tabs, commas are part of names; a line without a comma among others with one is no CSV.
  EntityTypesBuilder builder;
  Finding malformed, unknown;
  std::vector<std::string> formats;
  ASSERT_TRUE(Read("aspirin\tDrug, old\n", Handling::kRefuse, &builder, &malformed, &unknown, &formats).ok());
  EXPECT_THAT(builder.Build(3).names, ElementsAre("Drug, old"));
  EXPECT_THAT(formats, IsEmpty());
  EXPECT_THAT(Read("aspirin,Drug\nPTGS2\n", Handling::kRefuse, &builder, &malformed, &unknown),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"types.tsv:1", "aspirin,Drug", "CSV"}));
}

TEST(TypeFileTest, MalformedLines) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {"PTGS2\tGene\naspirin\n", {"types.tsv:2", "no type in \"aspirin\""}},
      {"PTGS2\tGene\n\naspirin\t\tDrug\n", {"types.tsv:3", "an empty field"}},
      {"PTGS2\tGene\n\tDrug\n", {"types.tsv:2", "an empty field"}},
      {"PTGS2\tGene\naspirin\t\xff\n", {"types.tsv:2", "not UTF-8"}},
  };
  for (const auto& [text, facts] : cases) {
    EntityTypesBuilder builder;
    Finding malformed, unknown;
    EXPECT_THAT(Read(text, Handling::kRefuse, &builder, &malformed, &unknown),
                ErrorNames(absl::StatusCode::kInvalidArgument, facts));
    EXPECT_TRUE(Read(text, Handling::kDrop, &builder, &malformed, &unknown).ok());
    EXPECT_EQ(malformed.count, 1);
    EXPECT_THAT(malformed.first, HasSubstr(facts[0]));
    EXPECT_THAT(builder.Build(3).Of(0), IsEmpty());
  }
}

TEST(TypeFileTest, AFileOfOtherNamesIsRefused) {
  EntityTypesBuilder builder;
  Finding malformed, unknown;
  std::vector<std::string> formats;
  EXPECT_THAT(
      Read("Aspirin\tDrug\nPain\tSymptom\n", Handling::kDrop, &builder, &malformed, &unknown),
      ErrorNames(absl::StatusCode::kInvalidArgument, {"types.tsv", "no entity", "2", "types.tsv:1: \"Aspirin\""}));
  EXPECT_THAT(Read("", Handling::kDrop, &builder, &malformed, &unknown),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"types.tsv", "no entity"}));
  EXPECT_EQ(ReadTypeFile("none", ThreeEntities(), Handling::kDrop, &builder, &malformed, &unknown, &formats).code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace rutile
