// What a safetensors file holds: tensors, and strings that say what they mean.

#ifndef RUTILE_LIB_TENSORFILE_TENSOR_FILE_H_
#define RUTILE_LIB_TENSORFILE_TENSOR_FILE_H_

#include <map>
#include <string>

#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Keys every file of ours has: "kind" ("atomistic.features/1"), "tool", "version", "command", "inputs" (JSON: name ->
// SHA-256). The kind's own keys are in its schema. "crc32c.NAME" is the checksum of a tensor, as 8 hex digits.
using Metadata = std::map<std::string, std::string>;

struct TensorFile {
  Metadata metadata;
  NamedTensors tensors;
  std::string path;  // where it was read, for messages
};

}  // namespace rutile

#endif  // RUTILE_LIB_TENSORFILE_TENSOR_FILE_H_
