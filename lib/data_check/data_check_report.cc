#include "lib/data_check/data_check_report.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/decimal.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "lib/plot/html_report.h"
#include "lib/plot/plots.h"
#include "lib/structure/element.h"

namespace rutile {
namespace {

constexpr int kDecimals = 6;

std::string Text(std::optional<double> value) { return value.has_value() ? Decimal(*value, kDecimals) : ""; }
std::string FiniteText(double value) { return std::isfinite(value) ? Decimal(value, kDecimals) : ""; }

// Tabs and line ends of names would end a cell.
std::string Cell(std::string text) {
  for (char& c : text) {
    if (c == '\t' || c == '\n' || c == '\r') c = ' ';
  }
  return text;
}

HtmlTable FindingTable(const DataCheckResult& result) {
  HtmlTable table;
  table.columns = {{"check", "", true}, {"structures", "", false}, {"found", "", true}, {"remedy", "", true}};
  for (const DataFinding& finding : result.findings) {
    const std::string count = finding.frames.empty() ? "all" : absl::StrCat(finding.frames.size());
    table.rows.push_back({finding.check, count, finding.found, finding.remedy});
  }
  return table;
}

HtmlTable AtomicEnergyTable(const CompositionFit& fit) {
  HtmlTable table;
  table.caption = "What an atom of each element adds to the energy, by a fit that outliers do not move.";
  table.columns = {{"element", "", true}, {"energy", "eV", false}};
  for (const auto& [element, energy] : fit.atomic_energies) {
    table.rows.push_back({std::string(ElementSymbol(element)), Decimal(energy, 4)});
  }
  return table;
}

absl::Status AddEnergies(absl::string_view directory, const DataCheckResult& result, HtmlReport* html) {
  std::vector<double> expected, given;
  std::vector<std::string> group;
  for (size_t f = 0; f < result.frames.size(); ++f) {
    if (!std::isfinite(result.fit.residual[f])) continue;
    given.push_back(result.frames[f].energy_per_atom());
    expected.push_back(given.back() - result.fit.residual[f]);
  }
  if (given.empty()) return absl::OkStatus();
  ErrorPlotOptions options;
  options.id = "energy_by_composition";
  options.title = "Energies against those that compositions explain";
  options.quantity = "energy per atom";
  options.error_unit = "eV/atom";
  options.error_scale = 1;
  ASSIGN_OR_RETURN(const std::string svg, ParityPlot(expected, given, group, options));
  RETURN_IF_ERROR(WriteFileAtomically(absl::StrCat(directory, "/energy_by_composition.svg"), svg));
  html->AddSection("Energies");
  html->AddTable(AtomicEnergyTable(result.fit));
  return html->AddFigure(
      svg, "Given energies (predicted, in the picture) over what the composition alone explains, the rest below.");
}

}  // namespace

std::string FindingsToTsv(const DataCheckResult& result) {
  std::string text = "check\tstructures\tfound\tremedy\n";
  for (const DataFinding& finding : result.findings) {
    absl::StrAppend(&text, finding.check, "\t", finding.frames.size(), "\t", Cell(finding.found), "\t",
                    Cell(finding.remedy), "\n");
  }
  return text;
}

std::string FramesToTsv(const DataCheckResult& result) {
  std::vector<std::vector<std::string>> checks(result.frames.size());
  for (const DataFinding& finding : result.findings) {
    for (const int64_t f : finding.frames) checks[f].push_back(finding.check);
  }
  std::string text =
      "structure\tatoms\tcomposition\tenergy\tenergy_beyond_composition\tlargest_force\tlargest_stress\t"
      "nearest_distance\tnearest_share\tchecks\n";
  for (size_t f = 0; f < result.frames.size(); ++f) {
    const FrameFacts& frame = result.frames[f];
    absl::StrAppend(&text, Cell(frame.name), "\t", frame.atoms, "\t", CompositionText(frame), "\t", Text(frame.energy),
                    "\t", FiniteText(result.fit.residual[f]), "\t", Text(frame.largest_force), "\t");
    absl::StrAppend(&text, Text(frame.largest_stress), "\t", FiniteText(frame.nearest), "\t",
                    FiniteText(frame.nearest_share), "\t", absl::StrJoin(checks[f], ","), "\n");
  }
  return text;
}

absl::Status WriteDataCheckReport(absl::string_view directory, absl::string_view command,
                                  const DataCheckResult& result) {
  RETURN_IF_ERROR(WriteFileAtomically(absl::StrCat(directory, "/data_check.tsv"), FramesToTsv(result)));
  HtmlReport html("Check of structures");
  html.AddSection("Findings");
  int64_t energies = 0, forces = 0, stresses = 0;
  for (const FrameFacts& frame : result.frames) {
    energies += frame.energy.has_value();
    forces += frame.largest_force.has_value();
    stresses += frame.largest_stress.has_value();
  }
  html.AddParagraph(absl::StrCat(result.frames.size(), " structures, ", energies, " with energy, ", forces,
                                 " with forces, ", stresses, " with stress. data_check.tsv has a row for each."));
  if (result.findings.empty()) {
    html.AddParagraph("No check found anything suspicious.");
  } else {
    html.AddTable(FindingTable(result));
  }
  RETURN_IF_ERROR(AddEnergies(directory, result, &html));
  html.AddSection("Command");
  html.AddCode(command);
  return WriteFileAtomically(absl::StrCat(directory, "/data_check.html"), html.ToString());
}

}  // namespace rutile
