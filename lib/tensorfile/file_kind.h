// Names what a tensor file is by its metadata "kind", a name and a version: "atomistic.features/1".

#ifndef RUTILE_LIB_TENSORFILE_FILE_KIND_H_
#define RUTILE_LIB_TENSORFILE_FILE_KIND_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

// A parsed "kind".
struct FileKind {
  std::string name;  // "atomistic.features"
  int version = 0;   // from 1 on
};

// Parses "name/version". INVALID_ARGUMENT unless `text` is a name, a slash and a version from 1 on.
absl::StatusOr<FileKind> ParseFileKind(absl::string_view text);

// Returns the kind of a file that was read; a tool learns its task from it. INVALID_ARGUMENT, naming the file, if it
// has none.
absl::StatusOr<FileKind> GetFileKind(const TensorFile& file);

// Checks that the file is of kind `expected` ("atomistic.features/1"). Otherwise the message says what was found, what
// was expected, and which tool makes that; a newer version of the same kind asks for a newer rutile.
absl::Status CheckFileKind(absl::string_view expected, const TensorFile& file);

// Returns the tool that makes files of this kind ("featurize" for "atomistic.features"); "" for an unknown kind.
absl::string_view ToolThatMakes(absl::string_view kind_name);

}  // namespace rutile

#endif  // RUTILE_LIB_TENSORFILE_FILE_KIND_H_
