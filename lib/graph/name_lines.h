// Names in tensor files: UTF-8 text with a line for each id, so that a million of them load in a tenth of a second.

#ifndef RUTILE_LIB_GRAPH_NAME_LINES_H_
#define RUTILE_LIB_GRAPH_NAME_LINES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

// U8, each name ended by a line feed. Names hold none.
Tensor NamesToTensor(const std::vector<std::string>& names);

// Of the U8 tensor `name`, which the file has. INVALID_ARGUMENT, naming file and tensor, without a line feed at the
// end.
absl::StatusOr<std::vector<std::string>> NamesFromTensor(const TensorFile& file, absl::string_view name);

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_NAME_LINES_H_
