// Reads and writes files of kind mace/1: a MACE model that mace-torch trained, which python/rutile/import_mace.py has
// written for rutile.

#ifndef RUTILE_LIB_MACE_MACE_FILE_H_
#define RUTILE_LIB_MACE_MACE_FILE_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/mace/mace_model.h"
#include "lib/tensorfile/schema.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

const Schema& MaceSchema();

// True if the file says that it is of this kind, in any version.
bool IsMaceFile(const TensorFile& file);

// INVALID_ARGUMENT naming file, tensor and rule: sizes that do not fit each other, numbers that are not finite, a
// neighborhood that this program cannot compute.
absl::StatusOr<std::shared_ptr<const MaceModel>> DecodeMace(const TensorFile& file);

// Writes the file atomically. CHECK-fails if the model is not one that DecodeMace returns. metadata: further keys.
absl::Status WriteMace(absl::string_view path, const MaceModel& model, const Metadata& metadata = {});

}  // namespace rutile

#endif  // RUTILE_LIB_MACE_MACE_FILE_H_
