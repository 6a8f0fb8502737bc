#include "lib/evaluation/evaluation_report.h"

#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Directory(const std::string& name) {
  const std::string path = ::testing::TempDir() + "/" + name;
  EXPECT_TRUE(MakeDirectories(path).ok());
  return path;
}

std::string Contents(const std::string& path) {
  const absl::StatusOr<FileContents> file = FileContents::Open(path);
  EXPECT_TRUE(file.ok()) << file.status();
  return file.ok() ? std::string(file->data()) : "";
}

StructurePrediction Example(int i) {
  StructurePrediction p;
  p.name = "frame" + std::to_string(i);
  p.config_type = i % 2 ? "rutile" : "anatase";
  p.composition = "TiO";
  p.num_atoms = 2;
  p.reference_energy = -50.0 - i;
  p.predicted_energy = -50.01 - i;
  p.element = {22, 8};
  p.reference_force = {0.1 * i, 0, 0, 0, 0.2 * i, 0};
  p.predicted_force = {0.1 * i + 0.01, 0, 0, 0, 0.2 * i, 0.03};
  p.reference_stress = std::array<double, 9>{0.01 * i};
  p.predicted_stress = std::array<double, 9>{0.01 * i + 0.001};
  p.energy_std = 0.01 + 0.001 * i;
  p.force_std = {0.01, 0.02, 0.03, 0.01, 0.02, 0.05 + 0.001 * i};
  p.atoms_outside = i == 7 ? 1 : 0;
  return p;
}

TEST(EvaluationReportTest, HoldsErrorsPicturesAndCommands) {
  std::vector<StructurePrediction> predictions;
  for (int i = 0; i < 20; ++i) predictions.push_back(Example(i));
  EvaluationReport report;
  report.title = "TiO2 <test>";
  report.facts = {{"radial cutoff", "6 Å"}};
  report.predictions = predictions;
  report.errors = ComputeErrors(predictions);
  report.log = TrainingLog{{"epoch", "train_loss[eV/atom]", "val_loss[eV/atom]"}, {{1, 2}, {0.5, 0.25}, {0.6, 0.3}}};
  report.kept.epoch = 2;
  report.commands = {"featurize a > b"};
  const std::string directory = Directory("report");
  const absl::StatusOr<std::string> warning = WriteEvaluationReport(directory, report);
  ASSERT_TRUE(warning.ok()) << warning.status();
  EXPECT_EQ(*warning, "");
  const std::string html = Contents(directory + "/report.html");
  for (const char* text : {"TiO2 &lt;test&gt;", "config_type rutile", "meV/atom", "force_vector", "featurize a &gt; b",
                           "1 of 20 structures have atoms", "frame7", "Uncertainty", "calibration_force"}) {
    EXPECT_THAT(html, HasSubstr(text));
  }
  EXPECT_THAT(html, Not(HasSubstr("frame8")));
  for (const char* picture :
       {"parity_energy.svg", "error_histogram.svg", "parity_force.svg", "force_histogram.svg", "parity_stress.svg",
        "learning_curve.svg", "calibration_energy.svg", "calibration_force.svg"}) {
    EXPECT_THAT(Contents(directory + "/" + picture), HasSubstr("<svg")) << picture;
  }
}

TEST(EvaluationReportTest, WorstGroupsComeFirstAndTheRestIsFolded) {
  EvaluationReport report;
  report.title = "groups";
  report.errors = {{"all", "", "energy", "meV/atom", 90, 10, 8, 30}};
  for (int g = 0; g < 12; ++g) {
    report.errors.push_back({"config_type", absl::StrCat("g", g), "energy", "meV/atom", 6, 1.0 + g, 1, 2});
  }
  report.errors.push_back({"species", "Ti", "force", "eV/Å", 90, 0.5, 0.4, 1});
  const std::string directory = Directory("groups");
  ASSERT_TRUE(WriteEvaluationReport(directory, report).ok());
  const std::string html = Contents(directory + "/report.html");
  const auto place = [&](const char* text) { return html.find(text); };
  EXPECT_LT(place("species Ti"), place("config_type g11"));
  EXPECT_LT(place("config_type g11"), place("config_type g2<"));
  EXPECT_LT(place("config_type g2<"), place("<label for=\"fold1\">2 more rows"));
  EXPECT_LT(place("<label for=\"fold1\">2 more rows"), place("config_type g0<"));
  EXPECT_NE(place("config_type g0<"), std::string::npos);
}

TEST(EvaluationReportTest, ManyAtomsMakeNoLargePage) {
  std::vector<StructurePrediction> predictions = {Example(1)};
  StructurePrediction& p = predictions[0];
  p.num_atoms = 20000;
  p.force_std.assign(3 * p.num_atoms, 0.01);
  p.element.assign(p.num_atoms, 22);
  p.reference_force.assign(3 * p.num_atoms, 0.0);
  for (size_t c = 0; c < p.reference_force.size(); ++c) p.reference_force[c] = 1e-4 * c;
  p.predicted_force = p.reference_force;
  for (size_t c = 0; c < p.reference_force.size(); c += 3) p.predicted_force[c] += 1e-6 * c;
  EvaluationReport report;
  report.title = "large";
  report.predictions = predictions;
  report.errors = ComputeErrors(predictions);
  const std::string directory = Directory("large");
  ASSERT_TRUE(WriteEvaluationReport(directory, report).ok());
  const std::string html = Contents(directory + "/report.html");
  EXPECT_LT(html.size(), 1000000u);
  EXPECT_THAT(html, HasSubstr("components drawn"));
}

// A label of 1e308 is left out of pictures; where nothing is left, the page says so.
TEST(EvaluationReportTest, ValuesThatNoAxisCanHoldDoNotEndIt) {
  for (const double odd : {1e308, -1e308, std::numeric_limits<double>::infinity()}) {
    std::vector<StructurePrediction> predictions = {Example(1), Example(2)};
    predictions[1].reference_energy = odd;
    predictions[1].reference_force[0] = odd;
    (*predictions[1].reference_stress)[0] = odd;
    EvaluationReport report;
    report.title = "odd";
    report.predictions = predictions;
    report.errors = ComputeErrors(predictions);
    const std::string directory = Directory("odd");
    const absl::StatusOr<std::string> warning = WriteEvaluationReport(directory, report);
    ASSERT_TRUE(warning.ok()) << odd << ": " << warning.status();
    EXPECT_EQ(*warning, "");
    EXPECT_THAT(Contents(directory + "/parity_energy.svg"), HasSubstr("1 more structures is left out"));
    predictions[0].reference_energy = odd;
    report.errors = ComputeErrors(predictions);
    const absl::StatusOr<std::string> all = WriteEvaluationReport(directory, report);
    ASSERT_TRUE(all.ok()) << all.status();
    EXPECT_THAT(*all, HasSubstr("parity_energy.svg"));
    EXPECT_THAT(Contents(directory + "/report.html"), HasSubstr("parity_energy.svg was not drawn"));
  }
}

TEST(EvaluationReportTest, IsWrittenWithoutGnuplot) {
  std::vector<StructurePrediction> predictions = {Example(1), Example(2)};
  EvaluationReport report;
  report.title = "bare";
  report.predictions = predictions;
  report.errors = ComputeErrors(predictions);
  const std::string path = std::getenv("PATH");
  ASSERT_EQ(::setenv("PATH", "/nonexistent", 1), 0);
  const std::string directory = Directory("bare");
  const absl::StatusOr<std::string> warning = WriteEvaluationReport(directory, report);
  ::setenv("PATH", path.c_str(), 1);
  ASSERT_TRUE(warning.ok()) << warning.status();
  EXPECT_THAT(*warning, HasSubstr("gnuplot is not installed"));
  EXPECT_THAT(Contents(directory + "/report.html"), HasSubstr("parity_force.svg was not drawn: gnuplot"));
  EXPECT_THAT(Contents(directory + "/report.html"), HasSubstr("meV/atom"));
  EXPECT_FALSE(FileExists(directory + "/parity_energy.svg"));
}

TEST(EvaluationReportTest, DataWithoutEnergiesHasNothingToPlot) {
  StructurePrediction p;
  p.composition = "H2";
  p.num_atoms = 2;
  p.reference_energy = std::numeric_limits<double>::quiet_NaN();
  EvaluationReport report;
  report.title = "no energies";
  report.predictions = absl::MakeConstSpan(&p, 1);
  const std::string directory = Directory("no_energies");
  ASSERT_TRUE(WriteEvaluationReport(directory, report).ok());
  EXPECT_THAT(Contents(directory + "/report.html"), HasSubstr("no energies or forces to compare"));
  EXPECT_FALSE(FileExists(directory + "/parity_energy.svg"));
  EXPECT_FALSE(FileExists(directory + "/parity_force.svg"));
}

}  // namespace
}  // namespace rutile
