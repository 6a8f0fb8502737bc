// A knowledge graph as text, where a file of triples is wanted.

#ifndef RUTILE_TOOLS_COMMON_FLAGS_TEXT_TRIPLES_H_
#define RUTILE_TOOLS_COMMON_FLAGS_TEXT_TRIPLES_H_

#include <string>

#include "absl/status/status.h"

namespace rutile {

// INVALID_ARGUMENT, naming featurize, where the file at `path` is triples or ids that featurize reads. Otherwise it
// would be refused for what it is not. Errors of opening it.
absl::Status RefuseTextTriples(const std::string& path);

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_FLAGS_TEXT_TRIPLES_H_
