// Declares what a kind of file must contain. Files are checked against it when read, and docs/formats.md is printed
// from it.

#ifndef RUTILE_LIB_TENSORFILE_SCHEMA_H_
#define RUTILE_LIB_TENSORFILE_SCHEMA_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

// One tensor of a kind of file.
struct TensorRule {
  std::string name;
  std::vector<DType> dtypes;       // any of these
  std::vector<std::string> shape;  // "A" is a symbol with one value in the file, "S+1" one more than S, "3" a number
  bool required = true;
  std::string doc;  // with units
};

// One metadata key of a kind of file.
struct MetadataRule {
  std::string key;
  bool required = true;
  std::string doc;
};

// The tensors and metadata of a kind of file.
struct Schema {
  std::string kind;  // "atomistic.features/1": name / version
  std::string doc;
  std::vector<TensorRule> tensors;  // a tensor that no rule names is allowed and ignored
  std::vector<MetadataRule> metadata;
};

// Checks a file and returns the value of each symbol. INVALID_ARGUMENT naming file, tensor and rule; for another kind
// or version the message says what was found, what was expected and which tool makes it ("featurize").
absl::StatusOr<std::map<std::string, int64_t>> CheckSchema(const Schema& schema, const TensorFile& file);

// Returns a section of docs/formats.md: a heading, the text, a table of tensors and one of metadata.
std::string SchemaToMarkdown(const Schema& schema);

}  // namespace rutile

#endif  // RUTILE_LIB_TENSORFILE_SCHEMA_H_
