// Reads types of entities from a table: "entity TAB type", or "entity TAB type TAB type ...", or the same as CSV.

#ifndef RUTILE_LIB_GRAPH_TEXT_FORMATS_TYPE_FILE_H_
#define RUTILE_LIB_GRAPH_TEXT_FORMATS_TYPE_FILE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/graph/entity_types.h"
#include "lib/graph/text/finding.h"
#include "lib/graph/vocabulary.h"

namespace rutile {

// Adds the types in a file, gzipped or not, to `types`. An entity may have several lines. Empty lines are skipped. In
// a file whose first 64 KiB have no tab, a comma, semicolon or bar is the separator, the first that gives each of their
// lines two fields or more, with fields in quotes as in CSV; then `formats` gets a sentence that says so.
//
// A line with an empty field, without a type or not UTF-8 is an INVALID_ARGUMENT with file:line, or counted in
// `malformed` (with Handling::kDrop). Names that the graph lacks are counted in `unknown`: such files usually describe
// more than one graph. INVALID_ARGUMENT if it lacks all of them, because then the names are of another kind.
absl::Status ReadTypeFile(absl::string_view path, const Vocabulary& entities, Handling on_malformed,
                          EntityTypesBuilder* types, Finding* malformed, Finding* unknown,
                          std::vector<std::string>* formats);

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_TEXT_FORMATS_TYPE_FILE_H_
