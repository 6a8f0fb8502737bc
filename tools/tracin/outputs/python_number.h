// Formats numbers like Python, for files that replace those of Python programs.

#ifndef RUTILE_TOOLS_TRACIN_OUTPUTS_PYTHON_NUMBER_H_
#define RUTILE_TOOLS_TRACIN_OUTPUTS_PYTHON_NUMBER_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace rutile {

// Returns repr(value): the fewest digits that restore the number, "0.1", "2.0", "1e-05", "1.5e+16", "nan", "-inf".
std::string PythonNumber(double value);

// Returns a row as csv.writer does: commas between fields, \r\n at the end, quotes around fields that contain a comma,
// quote or line end, and quotes doubled.
std::string PythonCsvRow(absl::Span<const std::string> fields);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_OUTPUTS_PYTHON_NUMBER_H_
