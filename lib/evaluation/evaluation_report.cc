#include "lib/evaluation/evaluation_report.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/file.h"
#include "lib/base/status_macros.h"
#include "lib/evaluation/learning_curve.h"
#include "lib/plot/html_report.h"
#include "lib/plot/plots.h"
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

// Writes the picture beside the page and adds it to the page.
absl::Status AddPicture(absl::string_view directory, absl::string_view file, const std::string& svg,
                        absl::string_view caption, HtmlReport* html) {
  RETURN_IF_ERROR(WriteFileAtomically(absl::StrCat(directory, "/", file), svg));
  return html->AddFigure(svg, caption);
}

HtmlTable ErrorTable(absl::Span<const ErrorRow> errors) {
  HtmlTable table;
  table.caption =
      "Energy: each structure's error divided by its number of atoms. Force: errors of components; force_vector: "
      "lengths of error vectors. Stress: all nine components. net_force: what the predicted forces of a structure add "
      "up to.";
  table.columns = {{"group", "", true}, {"quantity", "", true}, {"unit", "", true},    {"values", "", false},
                   {"RMSE", "", false}, {"MAE", "", false},     {"largest", "", false}};
  for (const ErrorRow& e : errors) {
    const std::string group =
        e.grouping == "all" ? "all" : absl::StrCat(e.grouping, " ", e.group.empty() ? "(none)" : e.group);
    table.rows.push_back({group, e.quantity, e.unit, absl::StrCat(e.count), FormatError(e, e.rmse),
                          FormatError(e, e.mae), FormatError(e, e.max)});
  }
  return table;
}

Points EnergyPoints(absl::Span<const StructurePrediction> predictions) {
  Points points;
  for (const StructurePrediction& p : predictions) {
    if (std::isnan(p.reference_energy)) continue;
    points.reference.push_back(p.reference_energy / p.num_atoms);
    points.predicted.push_back(p.predicted_energy / p.num_atoms);
    points.group.push_back(p.config_type);
  }
  return points;
}

Points ForcePoints(absl::Span<const StructurePrediction> predictions) {
  Points points;
  for (const StructurePrediction& p : predictions) {
    if (!p.has_force_errors()) continue;
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
    if (!p.has_stress_errors()) continue;
    for (int k = 0; k < 9; ++k) {
      points.reference.push_back(kGigapascal * (*p.reference_stress)[k]);
      points.predicted.push_back(kGigapascal * (*p.predicted_stress)[k]);
      points.group.emplace_back(k % 4 == 0 ? "diagonal" : "shear");
    }
  }
  return points;
}

absl::Status AddPlots(absl::string_view directory, const Points& points, ErrorPlotOptions options,
                      absl::string_view parity_file, absl::string_view histogram_file, HtmlReport* html) {
  if (points.reference.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string parity, ParityPlot(points.reference, points.predicted, points.group, options));
  RETURN_IF_ERROR(AddPicture(directory, parity_file, parity,
                             absl::StrCat("Predicted over reference ", options.quantity, ", and the errors below."),
                             html));
  if (histogram_file.empty()) return absl::OkStatus();
  options.id = absl::StrCat(options.id, "_histogram");
  ASSIGN_OR_RETURN(const std::string histogram, ErrorHistogram(points.reference, points.predicted, options));
  return AddPicture(directory, histogram_file, histogram,
                    absl::StrCat("How the errors of the ", options.quantity, " are distributed."), html);
}

absl::Status AddErrorPlots(absl::string_view directory, absl::Span<const StructurePrediction> predictions,
                           HtmlReport* html) {
  ErrorPlotOptions energy;
  energy.quantity = "energy per atom";
  RETURN_IF_ERROR(
      AddPlots(directory, EnergyPoints(predictions), energy, "parity_energy.svg", "error_histogram.svg", html));
  ErrorPlotOptions force;
  force.id = "force";
  force.title = "Predicted against reference forces";
  force.quantity = "force";
  force.unit = force.error_unit = "eV/Å";
  force.error_scale = 1;
  force.items = "components";
  RETURN_IF_ERROR(
      AddPlots(directory, ForcePoints(predictions), force, "parity_force.svg", "force_histogram.svg", html));
  ErrorPlotOptions stress = force;
  stress.id = "stress";
  stress.title = "Predicted against reference stress";
  stress.quantity = "stress";
  stress.unit = stress.error_unit = "GPa";
  return AddPlots(directory, StressPoints(predictions), stress, "parity_stress.svg", "", html);
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
  html->AddParagraph(absl::StrCat(outside.size(), " of ", predictions.size(),
                                  " structures have atoms with a feature outside the range that training has seen. "
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

absl::Status AddLearningCurve(absl::string_view directory, const EvaluationReport& report, HtmlReport* html) {
  if (!HasLearningCurve(*report.log)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string svg, DrawLearningCurve(*report.log, report.best_epoch));
  html->AddSection("Training");
  return AddPicture(directory, "learning_curve.svg", svg, "Loss over the epochs, for training and validation data.",
                    html);
}

}  // namespace

absl::Status WriteEvaluationReport(absl::string_view directory, const EvaluationReport& report) {
  const ProfileScope scope(Stage::kReport);
  HtmlReport html(report.title);
  html.AddSection("Errors");
  if (FindError(report.errors, "energy") == nullptr && FindError(report.errors, "force") == nullptr) {
    html.AddParagraph("The data has no energies or forces to compare with.");
  }
  if (!report.errors.empty()) html.AddTable(ErrorTable(report.errors));
  RETURN_IF_ERROR(AddErrorPlots(directory, report.predictions, &html));
  AddExtrapolation(report.predictions, &html);
  if (report.log.has_value()) RETURN_IF_ERROR(AddLearningCurve(directory, report, &html));
  html.AddSection("Model");
  HtmlTable facts;
  facts.columns = {{"", "", true}, {"", "", true}};
  for (const auto& [name, value] : report.facts) facts.rows.push_back({name, value});
  html.AddTable(facts);
  html.AddSection("Commands");
  html.AddParagraph("What made the features, the model and this page.");
  html.AddCode(absl::StrJoin(report.commands, "\n"));
  return WriteFileAtomically(absl::StrCat(directory, "/report.html"), html.ToString());
}

}  // namespace rutile
