// A report as one HTML file: text, tables, pictures, commands. It needs no other file, no network and no script,
// follows the reader's light or dark theme, and is the same for the same content.

#ifndef RUTILE_LIB_PLOT_HTML_REPORT_H_
#define RUTILE_LIB_PLOT_HTML_REPORT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace rutile {

struct HtmlTable {
  struct Column {
    std::string name;
    std::string unit;      // shown below the name; empty: none
    bool is_text = false;  // left-aligned; numbers stand right
  };
  std::string caption;
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  // as many cells as columns, each
};

// Appends in the order of calls. Every text may hold anything: it is shown as it is, never read as HTML.
class HtmlReport {
 public:
  explicit HtmlReport(absl::string_view title);

  void AddSection(absl::string_view title);
  void AddParagraph(absl::string_view text);
  // CHECK-fails when a row has another number of cells than there are columns.
  void AddTable(const HtmlTable& table);
  // INVALID_ARGUMENT when `svg` is no SVG picture, holds a script or refers to other files.
  absl::Status AddFigure(absl::string_view svg, absl::string_view caption);
  // Commands or a log, line ends kept.
  void AddCode(absl::string_view code);

  std::string ToString() const;

 private:
  std::string title_;
  std::string body_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_PLOT_HTML_REPORT_H_
