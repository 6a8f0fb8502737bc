// What tools accept as inputs, turned into names of files.

#ifndef RUTILE_LIB_BASE_INPUT_FILES_H_
#define RUTILE_LIB_BASE_INPUT_FILES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace rutile {

// Each argument is one of
//   a file, a pipe       as it is
//   a directory          the regular files directly in it, sorted, without hidden ones
//   a glob (* ? [...])   what it matches, sorted; only where no file has that name
//   list:FILE            a name in each line, each one of the above (no list: again); blank lines and lines that start
//                        with # are skipped; relative names are relative to the current directory; "list:-" is
//                        standard input
//   -                    standard input, once at most
// The order of arguments is kept, and so are repetitions; shards of a set that were found are in the order of their
// numbers. Names are not opened, but must exist. INVALID_ARGUMENT or NOT_FOUND: a missing file, a glob, directory or
// list that gives nothing, "-" twice, no arguments, a set of shards that is not whole (CheckShards of
// lib/base/shards.h: those found or named, but not those in a list).
absl::StatusOr<std::vector<std::string>> ExpandInputs(absl::Span<const std::string> arguments);

}  // namespace rutile

#endif  // RUTILE_LIB_BASE_INPUT_FILES_H_
