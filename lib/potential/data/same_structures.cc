#include "lib/potential/data/same_structures.h"

#include "lib/base/status_macros.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/tensorfile/file_kind.h"
#include "lib/tensorfile/tensor_reader.h"

namespace rutile {

absl::StatusOr<std::vector<std::string>> InputsOnce(absl::Span<const std::string> inputs,
                                                    const DescriptorOptions& descriptor, bool forces) {
  std::vector<std::string> features, neighbors;
  for (const std::string& input : inputs) {
    if (!LooksLikeTensorFile(input)) continue;
    ASSIGN_OR_RETURN(const TensorFile file, LookIntoTensorFile(input));
    const absl::StatusOr<FileKind> kind = GetFileKind(file);
    if (!kind.ok()) continue;  // the error is reported when the file is read
    if (kind->name == "atomistic.features") features.push_back(input);
    if (kind->name == "atomistic.neighbors") neighbors.push_back(input);
  }
  if (features.empty() || neighbors.empty()) return std::vector<std::string>(inputs.begin(), inputs.end());
  AtomicDataOptions options;
  options.descriptor = descriptor;
  RETURN_IF_ERROR(AtomicData::Read(inputs, options).status());
  return forces ? neighbors : features;
}

}  // namespace rutile
