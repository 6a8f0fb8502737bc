// Makes text from files safe for cells of tab-separated tables.

#ifndef RUTILE_LIB_BASE_TSV_CELL_H_
#define RUTILE_LIB_BASE_TSV_CELL_H_

#include <string>

#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "lib/base/printable_text.h"

namespace rutile {

// Replaces tabs and line ends by spaces, and escapes other control characters (printable_text.h). Names come from
// files: such a character would shift the columns, or reach the terminal on which a table is shown.
inline std::string TsvCell(absl::string_view text) {
  return EscapeControls(absl::StrReplaceAll(text, {{"\t", " "}, {"\n", " "}, {"\r", " "}}));
}

}  // namespace rutile

#endif  // RUTILE_LIB_BASE_TSV_CELL_H_
