// The content of a safetensors file: tensors, and strings that say what they mean.

#ifndef RUTILE_LIB_TENSORFILE_TENSOR_FILE_H_
#define RUTILE_LIB_TENSORFILE_TENSOR_FILE_H_

#include <map>
#include <string>

#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Metadata by key. Every file of rutile has the keys "kind" ("atomistic.features/1"), "tool", "version", "command" and
// "inputs" (JSON: name -> SHA-256). Further keys are in the schema of the kind. "crc32c.NAME" is the checksum of a
// tensor, as 8 hex digits.
using Metadata = std::map<std::string, std::string>;

// A file in memory, as ReadTensorFile (tensor_reader.h) returns it.
struct TensorFile {
  Metadata metadata;
  NamedTensors tensors;
  std::string path;  // where it was read, for messages
};

}  // namespace rutile

#endif  // RUTILE_LIB_TENSORFILE_TENSOR_FILE_H_
