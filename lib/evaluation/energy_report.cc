#include "lib/evaluation/energy_report.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/base/file.h"
#include "lib/base/status_macros.h"
#include "lib/plot/html_report.h"
#include "lib/plot/plots.h"

namespace rutile {
namespace {

// Writes the picture beside the page and puts it into the page.
absl::Status AddPicture(absl::string_view directory, absl::string_view file, const std::string& svg,
                        absl::string_view caption, HtmlReport* html) {
  RETURN_IF_ERROR(WriteFileAtomically(absl::StrCat(directory, "/", file), svg));
  return html->AddFigure(svg, caption);
}

HtmlTable ErrorTable(absl::Span<const EnergyErrors> errors) {
  HtmlTable table;
  table.caption = "Energy errors. Per atom: each structure's error divided by its number of atoms.";
  table.columns = {{"group", "", true},         {"structures", "", false},  {"atoms", "", false},
                   {"RMSE", "meV/atom", false}, {"MAE", "meV/atom", false}, {"largest", "meV/atom", false},
                   {"RMSE, total", "eV", false}};
  for (const EnergyErrors& e : errors) {
    const std::string group =
        e.grouping == "all" ? "all" : absl::StrCat(e.grouping, " ", e.group.empty() ? "(none)" : e.group);
    table.rows.push_back({group, absl::StrCat(e.structures), absl::StrCat(e.atoms),
                          absl::StrFormat("%.2f", e.rmse_per_atom), absl::StrFormat("%.2f", e.mae_per_atom),
                          absl::StrFormat("%.2f", e.max_per_atom), absl::StrFormat("%.4f", e.rmse_total)});
  }
  return table;
}

absl::Status AddEnergyPlots(absl::string_view directory, absl::Span<const EnergyPrediction> predictions,
                            HtmlReport* html) {
  std::vector<double> reference, predicted;
  std::vector<std::string> group;
  for (const EnergyPrediction& p : predictions) {
    if (std::isnan(p.reference)) continue;
    reference.push_back(p.reference / p.num_atoms);
    predicted.push_back(p.predicted / p.num_atoms);
    group.push_back(p.config_type);
  }
  ErrorPlotOptions options;
  ASSIGN_OR_RETURN(const std::string parity, ParityPlot(reference, predicted, group, options));
  RETURN_IF_ERROR(AddPicture(directory, "parity_energy.svg", parity,
                             "Energy per atom, predicted over reference, and the errors below.", html));
  options.id = "error_histogram";
  options.title = "Energy errors";
  ASSIGN_OR_RETURN(const std::string histogram, ErrorHistogram(reference, predicted, options));
  return AddPicture(directory, "error_histogram.svg", histogram, "How the errors are distributed.", html);
}

absl::Status AddLearningCurve(absl::string_view directory, const EnergyReport& report, HtmlReport* html) {
  const TrainingLog& log = *report.log;
  std::vector<Curve> curves;
  for (const auto& [column, name] : {std::pair("train_loss", "training"), std::pair("val_loss", "validation")}) {
    const std::vector<double>* values = log.Find(column);
    if (values == nullptr || values->empty()) continue;
    bool any = false;
    for (const double value : *values) any = any || std::isfinite(value);
    if (any) curves.push_back({name, *log.Find("epoch"), *values});
  }
  if (curves.empty()) return absl::OkStatus();
  LearningCurveOptions options;
  const std::string unit = log.Unit("train_loss");
  options.y_label = unit.empty() ? "Loss" : absl::StrCat("Loss (", unit, ")");
  options.marked_x = report.best_epoch;
  ASSIGN_OR_RETURN(const std::string svg, LearningCurve(curves, options));
  html->AddSection("Training");
  return AddPicture(directory, "learning_curve.svg", svg, "Loss over the epochs, for training and validation data.",
                    html);
}

}  // namespace

absl::Status WriteEnergyReport(absl::string_view directory, const EnergyReport& report) {
  HtmlReport html(report.title);
  html.AddSection("Errors");
  if (report.errors.empty()) {
    html.AddParagraph("The data has no energies to compare with.");
  } else {
    html.AddTable(ErrorTable(report.errors));
    RETURN_IF_ERROR(AddEnergyPlots(directory, report.predictions, &html));
  }
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
