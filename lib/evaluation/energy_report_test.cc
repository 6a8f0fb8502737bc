#include "lib/evaluation/energy_report.h"

#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/file.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Directory(const std::string& name) {
  const std::string path = ::testing::TempDir() + "/" + name;
  EXPECT_TRUE(MakeDirectories(path).ok());
  return path;
}

TEST(EnergyReportTest, HoldsErrorsPicturesAndCommands) {
  EnergyReport report;
  report.title = "TiO2 <test>";
  report.facts = {{"radial cutoff", "6 Å"}};
  for (int i = 0; i < 20; ++i) {
    report.predictions.push_back({"s", i % 2 ? "rutile" : "anatase", "Ti2O4", 6, -50.0 - i, -50.01 - i});
  }
  report.errors = ComputeEnergyErrors(report.predictions);
  report.log = TrainingLog{{"epoch", "train_loss[eV/atom]", "val_loss[eV/atom]"}, {{1, 2}, {0.5, 0.25}, {0.6, 0.3}}};
  report.best_epoch = 2;
  report.commands = {"featurize a > b"};
  const std::string directory = Directory("report");
  const absl::Status status = WriteEnergyReport(directory, report);
  ASSERT_TRUE(status.ok()) << status;
  const std::string html(FileContents::Open(directory + "/report.html")->data());
  EXPECT_THAT(html, HasSubstr("TiO2 &lt;test&gt;"));
  EXPECT_THAT(html, HasSubstr("config_type rutile"));
  EXPECT_THAT(html, HasSubstr("meV/atom"));
  EXPECT_THAT(html, HasSubstr("featurize a &gt; b"));
  for (const char* picture : {"parity_energy.svg", "error_histogram.svg", "learning_curve.svg"}) {
    const absl::StatusOr<FileContents> svg = FileContents::Open(directory + "/" + picture);
    ASSERT_TRUE(svg.ok()) << svg.status();
    EXPECT_THAT(std::string(svg->data()), HasSubstr("<svg"));
  }
}

TEST(EnergyReportTest, DataWithoutEnergiesHasNothingToPlot) {
  EnergyReport report;
  report.title = "no energies";
  report.predictions = {{"s", "", "H2", 2, std::numeric_limits<double>::quiet_NaN(), -1}};
  const std::string directory = Directory("no_energies");
  ASSERT_TRUE(WriteEnergyReport(directory, report).ok());
  EXPECT_THAT(std::string(FileContents::Open(directory + "/report.html")->data()), HasSubstr("no energies to compare"));
  EXPECT_FALSE(FileExists(directory + "/parity_energy.svg"));
}

}  // namespace
}  // namespace rutile
