// The text form of aenet's files. Private to aenet_file.

#ifndef RUTILE_LIB_POTENTIAL_MODEL_AENET_AENET_TEXT_H_
#define RUTILE_LIB_POTENTIAL_MODEL_AENET_AENET_TEXT_H_

#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "lib/potential/model/aenet/aenet_layout.h"

namespace rutile {

// Appends to *out, which must outlive the sink.
std::unique_ptr<AenetSink> MakeAenetTextSink(std::string* out);

// The text must outlive the source. Values are separated by blanks or ends of lines, whatever aenet's columns are:
// aenet-python writes all weights in one line, and the species too. Errors say "path:line: ...".
std::unique_ptr<AenetSource> MakeAenetTextSource(absl::string_view text, absl::string_view path);

// True if the text begins as that of a network: with four lines of one whole number each.
bool LooksLikeAenetText(absl::string_view text);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_MODEL_AENET_AENET_TEXT_H_
