// Reads lines of N-Triples and N-Quads (https://www.w3.org/TR/n-triples/): <subject> <predicate> <object> .

#ifndef RUTILE_LIB_GRAPH_TEXT_FORMATS_N_TRIPLES_H_
#define RUTILE_LIB_GRAPH_TEXT_FORMATS_N_TRIPLES_H_

#include <string>

#include "absl/strings/string_view.h"

namespace rutile {

// The terms of a line as names: an IRI without its angle brackets and escapes, a blank node as "_:b0", a literal as it
// is written, with quotes, language and type.
struct NTriple {
  std::string subject, predicate, object;
  bool object_is_literal = false;
};

// True for a line that holds a statement: it begins with an IRI or a blank node and ends with a period.
bool IsNTriplesLine(absl::string_view line);

// True for a line of comment, which begins with #.
bool IsNTriplesComment(absl::string_view line);

// Parses a statement; the graph of an N-Quad is ignored. False for another line, and for a literal with a tab in it;
// then problem says what was found and what was expected.
bool ParseNTriplesLine(absl::string_view line, NTriple* triple, std::string* problem);

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_TEXT_FORMATS_N_TRIPLES_H_
