// Extracts texts from files with a JSON object in each line.

#ifndef RUTILE_LIB_GRAPH_TEXT_FORMATS_JSON_LINE_H_
#define RUTILE_LIB_GRAPH_TEXT_FORMATS_JSON_LINE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace rutile {

// A field of a JSON object. A value that is true, false or a number is its JSON text.
struct JsonField {
  std::string name, value;
  bool is_nested = false;  // true for a list or an object; then value is ""
  bool is_list_of_texts = false;
  std::vector<std::string> texts = {};  // the texts in a list
};

// Sets values[i] to the text of the object's own field fields[i], "" if it is missing or null. Other fields and nested
// objects are parsed and ignored; no depth of nesting is an error. INVALID_ARGUMENT, whose message gives no file or
// line: text that is no JSON object or not UTF-8, a wanted field of another type or given twice.
absl::Status ParseJsonTexts(absl::string_view json, absl::Span<const std::string> fields,
                            std::vector<std::string>* values);

// Does the same, and also appends to `others` each further field that is not null and for whose name `wants_other` is
// true, in order; a name given twice is an error.
absl::Status ParseJsonTexts(absl::string_view json, absl::Span<const std::string> fields,
                            const std::function<bool(absl::string_view name)>& wants_other,
                            std::vector<std::string>* values, std::vector<JsonField>* others);

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_TEXT_FORMATS_JSON_LINE_H_
