// Reads what files of neighbors recorded, so that a tool that continues from them need not be told again.

#ifndef RUTILE_LIB_DESCRIPTOR_FILES_RECORDED_INPUTS_H_
#define RUTILE_LIB_DESCRIPTOR_FILES_RECORDED_INPUTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/descriptor/descriptor_options.h"
#include "lib/structure/label_keys.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

// Returns the descriptor that a file of neighbors recorded, or nothing. INVALID_ARGUMENT, naming the file, if the
// record is not a valid descriptor or does not fit the file's species.
absl::StatusOr<std::optional<DescriptorOptions>> RecordedDescriptor(const TensorFile& file);

struct RecordedInputs {
  std::string path;                             // of the first file of neighbors, or ""
  std::optional<DescriptorOptions> descriptor;  // of the first file that recorded one
  std::string descriptor_path;
  std::string config_key, weight_key;         // of the first file of neighbors
  std::map<uint8_t, double> atomic_energies;  // eV, of the first file of neighbors
  LabelKeys label_keys;                       // of the files of neighbors, if all have the same
  std::string other_labels;                   // the first file whose label keys differ from those of the first, or ""
};

// Reads the records of those inputs that are files of neighbors. INVALID_ARGUMENT for a tensor file of another kind,
// and when two files recorded different descriptors.
absl::StatusOr<RecordedInputs> ReadRecordedInputs(absl::Span<const std::string> inputs);

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_FILES_RECORDED_INPUTS_H_
