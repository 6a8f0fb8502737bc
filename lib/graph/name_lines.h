// Stores names in tensor files as UTF-8 text with a line for each id, so that a million of them load in a tenth of a
// second.

#ifndef RUTILE_LIB_GRAPH_NAME_LINES_H_
#define RUTILE_LIB_GRAPH_NAME_LINES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

// Returns a U8 tensor in which a line feed ends each name. Names must contain none.
Tensor NamesToTensor(const std::vector<std::string>& names);

// Returns the names in the U8 tensor `name`, which the file must have. INVALID_ARGUMENT, naming file and tensor, if
// there is no line feed at the end.
absl::StatusOr<std::vector<std::string>> NamesFromTensor(const TensorFile& file, absl::string_view name);

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_NAME_LINES_H_
