// --output_xyz: structures with their predictions as extended XYZ.

#ifndef RUTILE_TOOLS_EVALUATE_OUTPUT_XYZ_H_
#define RUTILE_TOOLS_EVALUATE_OUTPUT_XYZ_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/file/file.h"
#include "lib/potential/prediction/predict_inputs.h"
#include "tools/evaluate/models.h"

namespace rutile {

// The file that --output_xyz names, which appears when it is complete.
class XyzOutput {
 public:
  // Returns null without --output_xyz. models: know the key of the forces that are read. inputs: the files of
  // structures, for what their atoms have that the output has not. INVALID_ARGUMENT for standard output, which has the
  // table of errors; otherwise the errors of RecordedLabels and AtomicFile::Create.
  static absl::StatusOr<std::unique_ptr<XyzOutput>> FromFlags(const Models& models,
                                                              absl::Span<const std::string> inputs);

  absl::Status Add(const PredictedStructure& predicted);
  // Completes the file and prints its name, columns of atoms that it does not have, and a warning if predictions were
  // not finite.
  absl::Status Commit();

 private:
  explicit XyzOutput(AtomicFile file) : file_(std::move(file)) {}

  AtomicFile file_;
  std::string buffer_;
  int64_t count_ = 0, not_finite_ = 0;
  std::string first_not_finite_;       // name of the structure
  std::vector<std::string> left_out_;  // columns of atoms of the input left_out_of_
  std::string left_out_of_;
};

}  // namespace rutile

#endif  // RUTILE_TOOLS_EVALUATE_OUTPUT_XYZ_H_
