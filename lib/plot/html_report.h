// Writes a report as one HTML file: text, tables, pictures, commands. It needs no other file, no network and no script,
// follows the reader's light or dark theme, fits a page of any width, prints whole, and is the same for the same
// content.

#ifndef RUTILE_LIB_PLOT_HTML_REPORT_H_
#define RUTILE_LIB_PLOT_HTML_REPORT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace rutile {

// A table of a report.
struct HtmlTable {
  struct Column {
    std::string name;
    std::string unit;      // shown below the name; empty: none
    bool is_text = false;  // text is left-aligned, numbers right-aligned
  };
  std::string caption;
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  // each has as many cells as there are columns
};

// A report that grows in the order of calls. Texts may contain any characters: they are shown literally, never read as
// HTML.
//
//   HtmlReport report("Training of TiO2");
//   report.AddSection("Errors");
//   report.AddTable(table);
//   RETURN_IF_ERROR(report.AddFigure(svg, "Predicted against reference energies"));
//   return WriteFileAtomically(path, report.ToString());
class HtmlReport {
 public:
  explicit HtmlReport(absl::string_view title);

  void AddSection(absl::string_view title);
  void AddParagraph(absl::string_view text);
  // CHECK-fails if a row has another number of cells than there are columns. With a summary, the reader sees this line
  // alone and opens the table with a click; printed, it is open.
  void AddTable(const HtmlTable& table, absl::string_view summary = "");
  // INVALID_ARGUMENT if `svg` is no SVG picture, contains a script or refers to other files.
  absl::Status AddFigure(absl::string_view svg, absl::string_view caption);
  // Adds commands or a log, preserving line ends.
  void AddCode(absl::string_view code);

  std::string ToString() const;

 private:
  std::string title_;
  std::string body_;
  int num_folds_ = 0;  // tables with a summary
};

}  // namespace rutile

#endif  // RUTILE_LIB_PLOT_HTML_REPORT_H_
