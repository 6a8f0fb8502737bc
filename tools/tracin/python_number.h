// Numbers as Python writes them, for files that stand in for those of Python programs.

#ifndef RUTILE_TOOLS_TRACIN_PYTHON_NUMBER_H_
#define RUTILE_TOOLS_TRACIN_PYTHON_NUMBER_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace rutile {

// repr(value): the fewest digits that give the number back, "0.1", "2.0", "1e-05", "1.5e+16", "nan", "-inf".
std::string PythonNumber(double value);

// A row as csv.writer makes it: commas between, \r\n at the end, fields with a comma, quote or line end in quotes, and
// quotes doubled.
std::string PythonCsvRow(absl::Span<const std::string> fields);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_PYTHON_NUMBER_H_
