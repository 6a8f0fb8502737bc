// Texts of a JSON object's own fields, for files with an object in each line.

#ifndef RUTILE_LIB_GRAPH_JSON_LINE_H_
#define RUTILE_LIB_GRAPH_JSON_LINE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace rutile {

// values[i] becomes the text of fields[i], "" where there is none or it is null. Other fields and what is in nested
// objects are parsed and left alone; nothing is nested too deep. INVALID_ARGUMENT, without a place: text that is no
// JSON object or not UTF-8, a wanted field that is another type or comes twice.
absl::Status ParseJsonTexts(absl::string_view json, absl::Span<const std::string> fields,
                            std::vector<std::string>* values);

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_JSON_LINE_H_
