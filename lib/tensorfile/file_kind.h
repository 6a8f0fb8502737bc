// What a tensor file is: the metadata "kind", a name and a version, "atomistic.features/1".

#ifndef RUTILE_LIB_TENSORFILE_FILE_KIND_H_
#define RUTILE_LIB_TENSORFILE_FILE_KIND_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

struct FileKind {
  std::string name;  // "atomistic.features"
  int version = 0;   // from 1 on
};

// INVALID_ARGUMENT unless `text` is a name, a slash and a version from 1 on.
absl::StatusOr<FileKind> ParseFileKind(absl::string_view text);

// The kind of a file that was read: how a tool learns its task. INVALID_ARGUMENT, naming the file, when it has none.
absl::StatusOr<FileKind> GetFileKind(const TensorFile& file);

// OK when the file is of kind `expected` ("atomistic.features/1"). Otherwise the message says what was found, what was
// expected, and which tool makes that; a newer version of the same kind asks for a newer rutile.
absl::Status CheckFileKind(absl::string_view expected, const TensorFile& file);

// "featurize" for "atomistic.features"; "" for a kind that no tool of ours makes.
absl::string_view ToolThatMakes(absl::string_view kind_name);

}  // namespace rutile

#endif  // RUTILE_LIB_TENSORFILE_FILE_KIND_H_
