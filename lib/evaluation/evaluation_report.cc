#include "lib/evaluation/evaluation_report.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/decimal.h"
#include "lib/base/status_macros.h"
#include "lib/evaluation/deviation_check.h"
#include "lib/file/file.h"
#include "lib/plot/curves.h"
#include "lib/plot/html_report.h"
#include "lib/plot/plots.h"
#include "lib/plot/report_pictures.h"
#include "lib/structure/element.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

constexpr double kGigapascal = 160.21766208;  // GPa in 1 eV/Angstrom^3
constexpr size_t kMostListed = 20;            // structures in a table of the worst

// The points of a parity plot.
struct Points {
  std::vector<double> reference, predicted;
  std::vector<std::string> group;
};

std::string PartOf(int64_t part, int64_t whole) {
  return part == whole ? absl::StrCat(whole) : absl::StrCat(part, " of ", whole);
}

HtmlTable ErrorTable(const std::vector<const ErrorRow*>& errors) {
  HtmlTable table;
  table.columns = {{"group", "", true},    {"quantity", "", true},    {"unit", "", true},
                   {"values", "", false},  {"RMSE", "", false},       {"MAE", "", false},
                   {"largest", "", false}, {"structures", "", false}, {"atoms", "", false}};
  for (const ErrorRow* row : errors) {
    const ErrorRow& e = *row;
    const std::string group = e.grouping == "all" ? "all"
                              : e.grouping == "isolated_atoms"
                                  ? "isolated atoms"
                                  : absl::StrCat(e.grouping, " ", e.group.empty() ? "(none)" : e.group);
    table.rows.push_back({group, e.quantity, e.unit, absl::StrCat(e.count), FormatError(e, e.rmse),
                          FormatError(e, e.mae), FormatError(e, e.max), PartOf(e.structures, e.of_structures),
                          PartOf(e.atoms, e.of_atoms)});
  }
  return table;
}

// The errors of all structures and of elements, which a reader looks at first.
void AddTotals(absl::Span<const ErrorRow> errors, HtmlReport* html) {
  std::vector<const ErrorRow*> totals;
  for (const ErrorRow& e : errors) {
    if (e.grouping == "all" || e.grouping == "species") totals.push_back(&e);
  }
  if (totals.empty()) return;
  HtmlTable table = ErrorTable(totals);
  table.caption =
      "Energy: each structure's error divided by its number of atoms. Force: errors of components; force_vector: "
      "lengths of error vectors. Stress: all nine components. net_force: what the predicted forces of a structure add "
      "up to.";
  html->AddTable(table);
}

// The errors of groups of structures, those first that are worst beside the error of all; after ten, the rest is
// folded.
void AddGroups(absl::Span<const ErrorRow> errors, HtmlReport* html) {
  std::vector<std::pair<double, const ErrorRow*>> groups;  // the RMSE, as a multiple of that of all
  for (const ErrorRow& e : errors) {
    if (e.grouping == "all" || e.grouping == "species") continue;
    const ErrorRow* all = FindError(errors, e.quantity);
    const double ratio = all != nullptr && all->rmse > 0 ? e.rmse / all->rmse : 0;
    groups.emplace_back(std::isnan(ratio) ? 0 : ratio, &e);
  }
  if (groups.empty()) return;
  std::stable_sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  constexpr size_t kShown = 10;
  std::vector<const ErrorRow*> worst, others;
  for (const auto& group : groups) (worst.size() < kShown ? worst : others).push_back(group.second);
  html->AddSection("Errors by group");
  html->AddParagraph("The groups whose error is largest beside that of all structures come first.");
  html->AddTable(ErrorTable(worst));
  if (!others.empty()) html->AddTable(ErrorTable(others), absl::StrCat(others.size(), " more rows"));
}

Points EnergyPoints(absl::Span<const StructurePrediction> predictions) {
  Points points;
  for (const StructurePrediction& p : predictions) {
    if (std::isnan(p.reference_energy) || p.isolated) continue;
    points.reference.push_back(p.reference_energy / p.num_atoms);
    points.predicted.push_back(p.predicted_energy / p.num_atoms);
    points.group.push_back(p.config_type);
  }
  return points;
}

Points ForcePoints(absl::Span<const StructurePrediction> predictions) {
  Points points;
  for (const StructurePrediction& p : predictions) {
    if (!p.has_force_errors() || p.isolated) continue;
    for (size_t c = 0; c < p.predicted_force.size(); ++c) {
      points.reference.push_back(p.reference_force[c]);
      points.predicted.push_back(p.predicted_force[c]);
      points.group.emplace_back(ElementSymbol(p.element[c / 3]));
    }
  }
  return points;
}

Points StressPoints(absl::Span<const StructurePrediction> predictions) {
  Points points;
  for (const StructurePrediction& p : predictions) {
    if (!p.has_stress_errors() || p.isolated) continue;
    for (int k = 0; k < 9; ++k) {
      points.reference.push_back(kGigapascal * (*p.reference_stress)[k]);
      points.predicted.push_back(kGigapascal * (*p.predicted_stress)[k]);
      points.group.emplace_back(k % 4 == 0 ? "diagonal" : "shear");
    }
  }
  return points;
}

absl::Status AddPlots(const Points& points, ErrorPlotOptions options, absl::string_view parity_file,
                      absl::string_view histogram_file, ReportPictures* pictures) {
  if (points.reference.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(
      pictures->Add(parity_file, ParityPlot(points.reference, points.predicted, points.group, options),
                    absl::StrCat("Predicted over reference ", options.quantity, ", and the errors below.")));
  if (histogram_file.empty()) return absl::OkStatus();
  options.id = absl::StrCat(options.id, "_histogram");
  return pictures->Add(histogram_file, ErrorHistogram(points.reference, points.predicted, options),
                       absl::StrCat("How the errors of the ", options.quantity, " are distributed."));
}

absl::Status AddErrorPlots(absl::Span<const StructurePrediction> predictions, ReportPictures* pictures) {
  ErrorPlotOptions energy;
  energy.quantity = "energy per atom";
  RETURN_IF_ERROR(AddPlots(EnergyPoints(predictions), energy, "parity_energy.svg", "error_histogram.svg", pictures));
  ErrorPlotOptions force;
  force.id = "force";
  force.title = "Predicted against reference forces";
  force.quantity = "force";
  force.unit = force.error_unit = "eV/Å";
  force.error_scale = 1;
  force.items = "components";
  RETURN_IF_ERROR(AddPlots(ForcePoints(predictions), force, "parity_force.svg", "force_histogram.svg", pictures));
  ErrorPlotOptions stress = force;
  stress.id = "stress";
  stress.title = "Predicted against reference stress";
  stress.quantity = "stress";
  stress.unit = stress.error_unit = "GPa";
  return AddPlots(StressPoints(predictions), stress, "parity_stress.svg", "", pictures);
}

// Adds how errors compare with what was predicted of their sizes.
absl::Status AddCalibrations(absl::Span<const StructurePrediction> predictions, ReportPictures* pictures) {
  const std::vector<DeviationCheck> calibrations = DeviationChecksOf(predictions);
  if (calibrations.empty()) return absl::OkStatus();
  pictures->html()->AddSection("Uncertainty");
  HtmlTable table;
  table.caption =
      "Errors beside the standard deviations that were predicted for them: uncertainty, by the curvature of the "
      "training loss, or the spread of a committee. Of normally distributed errors 68.3 % are within one deviation and "
      "95.4 % within two. Correlation: of the absolute error with the deviation.";
  table.columns = {{"quantity", "", true},      {"unit", "", true},        {"measure", "", true},
                   {"values", "", false},       {"structures", "", false}, {"RMSE", "", false},
                   {"deviation", "rms", false}, {"within 1", "%", false},  {"within 2", "%", false},
                   {"correlation", "", false}};
  for (const DeviationCheck& c : calibrations) {
    table.rows.push_back({c.quantity, c.unit, c.measure, absl::StrCat(c.count),
                          PartOf(c.structures, static_cast<int64_t>(predictions.size())), Decimal(c.rmse, 4),
                          Decimal(c.rms_deviation, 4), Decimal(100 * c.within_1, 1), Decimal(100 * c.within_2, 1),
                          Decimal(c.correlation, 2)});
  }
  pictures->html()->AddTable(table);
  for (const absl::string_view quantity : {"energy", "force"}) {
    std::vector<Curve> curves;
    LearningCurveOptions options;
    double low = 0, high = 0;
    for (const DeviationCheck& c : calibrations) {
      if (c.quantity != quantity) continue;
      Curve curve;
      curve.name = c.measure;
      for (const DeviationBin& bin : c.bins) {
        curve.x.push_back(bin.deviation);
        curve.y.push_back(bin.error);
      }
      low = curves.empty() ? curve.x.front() : std::min(low, curve.x.front());
      high = std::max(high, curve.x.back());
      curves.push_back(std::move(curve));
      options.x_label = absl::StrCat("Predicted deviation (", c.unit, ")");
      options.y_label = absl::StrCat("RMSE (", c.unit, ")");
    }
    if (curves.empty()) continue;
    curves.push_back({"equal", {low, high}, {low, high}});
    options.id = absl::StrCat("calibration_", quantity);
    options.title = absl::StrCat("Errors of the ", quantity, " against their predicted size");
    RETURN_IF_ERROR(pictures->Add(absl::StrCat(options.id, ".svg"), LearningCurve(curves, options),
                                  "Each point is a tenth of the values, by their predicted deviation."));
  }
  return absl::OkStatus();
}

// Adds the structures with the most atoms outside the training range.
void AddExtrapolation(absl::Span<const StructurePrediction> predictions, HtmlReport* html) {
  std::vector<const StructurePrediction*> outside;
  bool known = false;
  for (const StructurePrediction& p : predictions) {
    known = known || p.atoms_outside.has_value();
    if (p.atoms_outside.value_or(0) > 0) outside.push_back(&p);
  }
  if (!known) return;
  html->AddSection("Extrapolation");
  html->AddParagraph(
      absl::StrCat(outside.size(), " of ", predictions.size(),
                   " structures have atoms with a feature outside the range that training has seen, or with a "
                   "neighbor that the descriptor does not see. "
                   "Their predictions are guesses."));
  if (outside.empty()) return;
  std::stable_sort(outside.begin(), outside.end(), [](const StructurePrediction* a, const StructurePrediction* b) {
    return *a->atoms_outside * b->num_atoms > *b->atoms_outside * a->num_atoms;
  });
  HtmlTable table;
  table.caption = "By the share of such atoms; predictions.tsv has all.";
  table.columns = {
      {"structure", "", true}, {"composition", "", true}, {"atoms outside", "", false}, {"atoms", "", false}};
  for (size_t s = 0; s < std::min(outside.size(), kMostListed); ++s) {
    table.rows.push_back({outside[s]->name, outside[s]->composition, absl::StrCat(*outside[s]->atoms_outside),
                          absl::StrCat(outside[s]->num_atoms)});
  }
  html->AddTable(table);
}

}  // namespace

absl::StatusOr<std::string> WriteEvaluationReport(absl::string_view directory, const EvaluationReport& report) {
  const ProfileScope scope(Stage::kReport);
  HtmlReport html(report.title);
  ReportPictures pictures(directory, &html);
  html.AddSection("Errors");
  if (FindError(report.errors, "energy") == nullptr && FindError(report.errors, "force") == nullptr) {
    html.AddParagraph("The data has no energies or forces to compare with.");
  }
  for (const std::string& sentence : PartialErrors(report.errors)) {
    html.AddParagraph(absl::StrCat("Note: ", sentence, "."));
  }
  AddTotals(report.errors, &html);
  RETURN_IF_ERROR(AddErrorPlots(report.predictions, &pictures));
  AddGroups(report.errors, &html);
  RETURN_IF_ERROR(AddCalibrations(report.predictions, &pictures));
  AddExtrapolation(report.predictions, &html);
  if (report.log.has_value()) RETURN_IF_ERROR(AddTraining(*report.log, report.kept, &pictures));
  html.AddSection("Model");
  HtmlTable facts;
  facts.columns = {{"", "", true}, {"", "", true}};
  for (const auto& [name, value] : report.facts) facts.rows.push_back({name, value});
  html.AddTable(facts);
  html.AddSection("Commands");
  html.AddParagraph("What made the features, the model and this page.");
  html.AddCode(absl::StrJoin(report.commands, "\n"));
  RETURN_IF_ERROR(WriteFileAtomically(absl::StrCat(directory, "/report.html"), html.ToString()));
  return pictures.warning();
}

}  // namespace rutile
