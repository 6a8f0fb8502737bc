// Expands the input arguments of tools (files, directories, globs, lists) into names of files.

#ifndef RUTILE_LIB_FILE_INPUT_FILES_H_
#define RUTILE_LIB_FILE_INPUT_FILES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace rutile {

// Returns the files that the arguments name. Each argument is one of
//
//   a file, a pipe       which is returned as it is
//   a directory          whose regular files are returned, sorted, without hidden ones and without subdirectories
//   a glob (* ? [...])   whose matches are returned, sorted, unless a file has that very name
//   list:FILE            with one name a line, each one of the above (but no list:); blank lines and lines that start
//                        with # are skipped, relative names are relative to the current directory; "list:-" reads
//                        standard input
//   -                    which is standard input, at most once
//
// The order of the arguments is kept, and so are repetitions; shards of a set that were found are in the order of their
// numbers. Files are not opened, but must exist. Fails with INVALID_ARGUMENT or NOT_FOUND for a missing file; a glob,
// directory or list that gives nothing; "-" twice; no arguments; a set of shards that is not complete (see CheckShards
// in lib/file/shards.h; shards in a list are not checked).
absl::StatusOr<std::vector<std::string>> ExpandInputs(absl::Span<const std::string> arguments);

// Returns the arguments in the value of a flag that takes several, with commas between: "a,b". A value that is itself
// the name of a file or directory is one argument, whatever commas it has. Empty arguments are left out.
std::vector<std::string> SplitInputs(absl::string_view value);

}  // namespace rutile

#endif  // RUTILE_LIB_FILE_INPUT_FILES_H_
