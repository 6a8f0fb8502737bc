#include "lib/evaluation/training_log.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<TrainingLog> Read(absl::string_view text) {
  const std::string path = ::testing::TempDir() + "/log.tsv";
  EXPECT_TRUE(WriteFileAtomically(path, text).ok());
  return ReadTrainingLog(path);
}

TEST(TrainingLogTest, FindsColumnsWithTheirUnits) {
  const absl::StatusOr<TrainingLog> log = Read("epoch\tval_loss[eV/atom]\n1\t0.5\n2\t\n3\tnan\n");
  ASSERT_TRUE(log.ok()) << log.status();
  ASSERT_NE(log->Find("val_loss"), nullptr);
  EXPECT_EQ(log->Find("val_loss"), log->Find("val_loss[eV/atom]"));
  EXPECT_EQ((*log->Find("epoch"))[2], 3);
  EXPECT_EQ((*log->Find("val_loss"))[0], 0.5);
  EXPECT_TRUE(std::isnan((*log->Find("val_loss"))[1]));
  EXPECT_TRUE(std::isnan((*log->Find("val_loss"))[2]));
  EXPECT_EQ(log->Unit("val_loss"), "eV/atom");
  EXPECT_EQ(log->Unit("epoch"), "");
  EXPECT_EQ(log->Find("train_loss"), nullptr);
}

TEST(TrainingLogTest, SaysWhereATableIsBroken) {
  EXPECT_THAT(Read("a\tb\n").status().message(), HasSubstr("log.tsv:1: no column \"epoch\""));
  EXPECT_THAT(Read("epoch\tb\n1\n").status().message(), HasSubstr("log.tsv:2: 1 columns"));
  EXPECT_THAT(Read("epoch\tb\n1\tx\n").status().message(), HasSubstr("log.tsv:2: b is \"x\""));
  EXPECT_TRUE(absl::IsNotFound(ReadTrainingLog("none").status()));
}

TEST(TrainingLogTest, ReadsJsonLines) {
  for (const absl::string_view units : {"", "{\"units\":{\"epoch\":\"\",\"val_mrr\":\"\"}}\n"}) {
    const absl::StatusOr<TrainingLog> log =
        Read(absl::StrCat(units, "{\"epoch\":1,\"val_mrr\":0.25}\n{\"epoch\":2,\"val_mrr\":null}\n"));
    ASSERT_TRUE(log.ok()) << log.status();
    EXPECT_THAT(log->columns, ElementsAre("epoch", "val_mrr"));
    EXPECT_THAT(*log->Find("epoch"), ElementsAre(1, 2));
    EXPECT_EQ((*log->Find("val_mrr"))[0], 0.25);
    EXPECT_TRUE(std::isnan((*log->Find("val_mrr"))[1]));
  }
}

TEST(TrainingLogTest, JsonLinesHaveTheUnitsOfAFirstLineOrOfTheConfiguration) {
  constexpr char kRow[] = "{\"epoch\":1,\"val_loss\":0.25}\n";
  const std::string directory = ::testing::TempDir() + "/run";
  ASSERT_TRUE(MakeDirectories(directory).ok());
  const std::string path = directory + "/log.jsonl", config = directory + "/config.json";
  const auto columns = [&](absl::string_view text) {
    EXPECT_TRUE(WriteFileAtomically(path, text).ok());
    const absl::StatusOr<TrainingLog> log = ReadTrainingLog(path);
    EXPECT_TRUE(log.ok()) << log.status();
    return log.ok() ? log->columns : std::vector<std::string>();
  };
  EXPECT_THAT(columns(kRow), ElementsAre("epoch", "val_loss"));
  for (const absl::string_view other : {"[1]", "{", "{\"log_units\":3}", "{\"log_units\":{\"val_loss\":1}}"}) {
    ASSERT_TRUE(WriteFileAtomically(config, other).ok());
    EXPECT_THAT(columns(kRow), ElementsAre("epoch", "val_loss")) << other;
  }
  ASSERT_TRUE(WriteFileAtomically(config, "{\"log_units\":{\"epoch\":\"\",\"val_loss\":\"eV/atom\"}}").ok());
  EXPECT_THAT(columns(absl::StrCat(kRow, kRow)), ElementsAre("epoch", "val_loss[eV/atom]"));
  EXPECT_THAT(columns(absl::StrCat("{\"units\":{\"epoch\":\"\",\"val_loss\":\"meV/atom\"}}\n", kRow)),
              ElementsAre("epoch", "val_loss[meV/atom]"));
  const absl::StatusOr<TrainingLog> log = ReadTrainingLog(path);
  ASSERT_TRUE(log.ok()) << log.status();
  EXPECT_EQ(log->Unit("val_loss"), "meV/atom");
  EXPECT_THAT(*log->Find("val_loss"), ElementsAre(0.25));
}

TEST(TrainingLogTest, SaysWhereJsonIsBroken) {
  EXPECT_THAT(Read("{\"a\":1}\n").status().message(), HasSubstr("log.tsv:1: no \"epoch\""));
  EXPECT_THAT(Read("{\"epoch\":1}\n{\"epoch\":").status().message(), HasSubstr("log.tsv:2: is not a JSON object"));
  EXPECT_THAT(Read("{\"epoch\":1}\n[1]\n").status().message(), HasSubstr("log.tsv:2: is not a JSON object"));
  EXPECT_THAT(Read("{\"epoch\":1}\n{\"epoch\":\"x\"}\n").status().message(), HasSubstr("log.tsv:2: epoch is \"x\""));
  EXPECT_THAT(Read("{\"epoch\":1}\n{\"step\":1}\n").status().message(), HasSubstr("log.tsv:2: 1 names"));
  EXPECT_THAT(Read("{\"epoch\":1}\n{\"epoch\":1,\"b\":2}\n").status().message(), HasSubstr("log.tsv:2: 2 names"));
  EXPECT_THAT(Read("{\"units\":{}}\n").status().message(), HasSubstr("log.tsv: has no row"));
}

}  // namespace
}  // namespace rutile
