// The binary form of aenet's files: Fortran records. Private to aenet_file.

#ifndef RUTILE_LIB_POTENTIAL_MODEL_AENET_AENET_BINARY_H_
#define RUTILE_LIB_POTENTIAL_MODEL_AENET_AENET_BINARY_H_

#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "lib/potential/model/aenet/aenet_layout.h"

namespace rutile {

// Returns a sink that appends records to *out, which must outlive the sink.
std::unique_ptr<AenetSink> MakeAenetBinarySink(std::string* out);

// Returns a source of the records in `bytes`, which must outlive the source. Errors say "path: record 12: ...".
std::unique_ptr<AenetSource> MakeAenetBinarySource(absl::string_view bytes, absl::string_view path);

// True if the bytes begin as a binary file of a network does.
bool LooksLikeAenetBinary(absl::string_view bytes);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_MODEL_AENET_AENET_BINARY_H_
