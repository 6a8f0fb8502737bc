#include "lib/descriptor/files/recorded_inputs.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/neighbor/neighbor_file.h"
#include "lib/neighbor/structure_file.h"
#include "lib/structure/element.h"
#include "lib/tensorfile/file_kind.h"
#include "lib/tensorfile/tensor_reader.h"

namespace rutile {

absl::StatusOr<std::optional<DescriptorOptions>> RecordedDescriptor(const TensorFile& file) {
  const auto found = file.metadata.find("descriptor");
  if (found == file.metadata.end()) return std::nullopt;
  absl::StatusOr<DescriptorOptions> descriptor = DescriptorOptions::FromJson(found->second);
  if (!descriptor.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(file.path, ": metadata \"descriptor\": ", descriptor.status().message()));
  }
  if (file.metadata.count("species") != 0) {
    ASSIGN_OR_RETURN(const std::vector<std::string> symbols, ParseStrings(file, "species"));
    std::vector<uint8_t> species;
    for (const std::string& symbol : symbols) species.push_back(AtomicNumber(symbol));
    if (species != descriptor->species()) {
      return absl::InvalidArgumentError(absl::StrCat(file.path, ": metadata \"species\" is ",
                                                     file.metadata.at("species"),
                                                     ", but the descriptor's species are others: ", found->second));
    }
  }
  return std::optional<DescriptorOptions>(*std::move(descriptor));
}

absl::StatusOr<RecordedInputs> ReadRecordedInputs(absl::Span<const std::string> inputs) {
  RecordedInputs result;
  for (const std::string& path : inputs) {
    if (!LooksLikeTensorFile(path)) continue;
    ASSIGN_OR_RETURN(const TensorFile file, LookIntoTensorFile(path));
    RETURN_IF_ERROR(CheckFileKind(NeighborSchema().kind, file));
    ASSIGN_OR_RETURN(const std::optional<DescriptorOptions> descriptor, RecordedDescriptor(file));
    if (descriptor.has_value() && result.descriptor.has_value() && *descriptor != *result.descriptor) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": its descriptor is ", descriptor->ToJson(), ", but that of ", result.descriptor_path,
                       " is ", result.descriptor->ToJson(), "; run cache-neighbors on both with the same flags"));
    }
    if (descriptor.has_value() && !result.descriptor.has_value()) {
      result.descriptor = descriptor;
      result.descriptor_path = path;
    }
    const LabelKeys label_keys = LabelKeysOf(file.metadata);
    if (!result.path.empty()) {
      if (label_keys != result.label_keys && result.other_labels.empty()) result.other_labels = path;
      continue;
    }
    result.label_keys = label_keys;
    const auto value = [&](const char* key) {
      const auto found = file.metadata.find(key);
      return found == file.metadata.end() ? std::string() : found->second;
    };
    result.path = path;
    result.config_key = value("config_key");
    result.weight_key = value("weight_key");
    ASSIGN_OR_RETURN(result.atomic_energies, AtomicEnergiesOf(file));
  }
  if (!result.other_labels.empty()) result.label_keys.clear();
  return result;
}

}  // namespace rutile
