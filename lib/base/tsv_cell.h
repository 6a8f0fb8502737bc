// Makes text from files safe for cells of tab-separated tables.

#ifndef RUTILE_LIB_BASE_TSV_CELL_H_
#define RUTILE_LIB_BASE_TSV_CELL_H_

#include <string>

#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"

namespace rutile {

// Replaces tabs and line ends by spaces. Names come from files; such a character would shift the columns.
inline std::string TsvCell(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"\t", " "}, {"\n", " "}, {"\r", " "}});
}

}  // namespace rutile

#endif  // RUTILE_LIB_BASE_TSV_CELL_H_
