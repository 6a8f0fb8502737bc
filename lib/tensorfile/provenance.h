// Records in a file's metadata how it was made: "tool", "version", "command", "inputs".
//
// There are no dates and no names of machines or users: the same command on the same inputs gives the same bytes.

#ifndef RUTILE_LIB_TENSORFILE_PROVENANCE_H_
#define RUTILE_LIB_TENSORFILE_PROVENANCE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

// The tool, arguments and inputs that made a file.
struct Provenance {
  std::string tool;                           // "featurize"
  std::vector<std::string> arguments;         // as the shell gave them, without the program
  std::map<std::string, std::string> inputs;  // path as given -> SHA-256 in hex; "" for a stream

  // Hashes a file into `inputs`. A stream ("-", a pipe) gets "", because it cannot be read again.
  absl::Status AddInput(absl::string_view path);
};

// Returns a file's metadata: `kind`, the provenance, and `own`, the keys of this kind. CHECK-fails if `kind` is no
// name/version or `own` contains a key that is set here.
Metadata MakeMetadata(absl::string_view kind, const Provenance& provenance, const Metadata& own);

// Quotes words as one line that a POSIX shell (with $'...' for control characters and text that is not UTF-8) reads as
// the same words: "featurize --species=Ti,O 'my file.xsf'". The result is UTF-8.
std::string ShellCommand(absl::Span<const std::string> words);

}  // namespace rutile

#endif  // RUTILE_LIB_TENSORFILE_PROVENANCE_H_
