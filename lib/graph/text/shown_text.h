// Shows text from files in messages.

#ifndef RUTILE_LIB_GRAPH_TEXT_SHOWN_TEXT_H_
#define RUTILE_LIB_GRAPH_TEXT_SHOWN_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace rutile {

// Returns the text in quotes, escaped, and cut between characters behind 60 bytes.
std::string ShownText(absl::string_view text);

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_TEXT_SHOWN_TEXT_H_
