#include "lib/base/setting_record.h"

#include <map>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::Pair;
using ::testing::UnorderedElementsAre;
using Record = std::map<std::string, std::string>;

enum class Material { kSteel, kRubber };

constexpr absl::string_view kMaterialWords[] = {"steel", "rubber"};
constexpr EnumNames<Material> kMaterialNames("no material", kMaterialWords);

struct SpringOptions {
  Material material = Material::kSteel;
  double stiffness = 1e-5;
  int64_t turns = 7;
  bool damped = false;
  double friction = 0.1;
  std::string maker = "unknown";
  double preload = 0;
};

absl::Span<const Setting<SpringOptions>> SpringSettings() {
  using O = SpringOptions;
  static constexpr Setting<O> kSettings[] = {
      Setting<O>::Choice<&O::material, &kMaterialNames>("material", "What it is made of."),
      Setting<O>("stiffness", &O::stiffness, "Force by distance."),
      Setting<O>("turns", &O::turns, "How often the wire goes round."),
      Setting<O>("damped", &O::damped, "Lose energy to friction."),
      Setting<O>("friction", &O::friction, "Force by velocity.")
          .NeedsOneOf("damped", [](const O& o) { return o.damped; }),
      Setting<O>("maker", &O::maker, "Who made it.").RecordedIf([](const O&) { return false; }),
      Setting<O>("preload", &O::preload, "Force at rest.").RecordedIf([](const O& o) { return o.preload != 0; }),
  };
  return kSettings;
}

Record RecordOf(const SpringOptions& options) {
  Record record;
  RecordSettings(SpringSettings(), options, &record);
  return record;
}

TEST(SettingRecordTest, HoldsWhatCounts) {
  EXPECT_THAT(RecordOf({}), UnorderedElementsAre(Pair("material", "steel"), Pair("stiffness", "1e-05"),
                                                 Pair("turns", "7"), Pair("damped", "false")));
}

TEST(SettingRecordTest, OtherNamesStay) {
  Record record = {{"color", "red"}};
  RecordSettings(SpringSettings(), {}, &record);
  EXPECT_EQ(record.at("color"), "red");
  EXPECT_EQ(record.size(), 5);
}

TEST(SettingRecordTest, IsReadBackToTheLastBit) {
  SpringOptions options;
  options.material = Material::kRubber;
  options.stiffness = 1.0 / 3;
  options.turns = -2;
  options.damped = true;
  options.friction = 1e-300;
  Record record = RecordOf(options);
  record["color"] = "red";
  SpringOptions read;
  read.maker = "somebody";
  ASSERT_EQ(ReadRecord(SpringSettings(), record, &read), absl::OkStatus());
  EXPECT_TRUE(read.material == Material::kRubber && read.turns == -2 && read.damped);
  EXPECT_EQ(read.stiffness, options.stiffness);
  EXPECT_EQ(read.friction, options.friction);
  EXPECT_EQ(read.maker, "somebody") << "not recorded, so that it stays";
}

// Such as an option that older versions did not have.
TEST(SettingRecordTest, WhatIsRecordedIfNotTheDefaultIsReadBack) {
  SpringOptions options;
  EXPECT_EQ(RecordOf(options).count("preload"), 0);
  options.preload = 3;
  SpringOptions read;
  ASSERT_EQ(ReadRecord(SpringSettings(), RecordOf(options), &read), absl::OkStatus());
  EXPECT_EQ(read.preload, 3);
}

TEST(SettingRecordTest, NamesWhatIsWrong) {
  const auto error = [](const char* name, const char* text) {
    SpringOptions options;
    options.damped = true;
    Record record = RecordOf(options);
    record.erase(name);
    if (text != nullptr) record[name] = text;
    return ReadRecord(SpringSettings(), record, &options);
  };
  const auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(error("stiffness", nullptr), ErrorNames(kInvalid, {"no \"stiffness\""}));
  EXPECT_THAT(error("friction", nullptr), ErrorNames(kInvalid, {"no \"friction\""}));
  EXPECT_THAT(error("turns", "1.5"), ErrorNames(kInvalid, {"\"turns\" is \"1.5\"", "a number"}));
  EXPECT_THAT(error("stiffness", "high"), ErrorNames(kInvalid, {"\"stiffness\" is \"high\"", "a number"}));
  EXPECT_THAT(error("damped", "much"), ErrorNames(kInvalid, {"\"damped\" is \"much\"", "true or false"}));
  EXPECT_THAT(error("material", "wood"), ErrorNames(kInvalid, {"\"material\" is \"wood\"", "steel, rubber"}));
}

}  // namespace
}  // namespace rutile
