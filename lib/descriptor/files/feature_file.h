// Reads and writes files of kind atomistic.features/1: descriptors of every atom, ready to train on.
//
// FeatureSchema() declares what a file holds, and docs/formats.md prints it: features, species, energies, and the
// positions, cells, forces and stresses of the input, so that nothing need be read twice.

#ifndef RUTILE_LIB_DESCRIPTOR_FILES_FEATURE_FILE_H_
#define RUTILE_LIB_DESCRIPTOR_FILES_FEATURE_FILE_H_

#include <cstdint>
#include <map>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/descriptor/descriptor_options.h"
#include "lib/neighbor/structure_file.h"
#include "lib/structure/structure.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/schema.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

const Schema& FeatureSchema();

// The contents of a file, with tensors checked against the schema and metadata decoded.
struct FeatureFile : StructureFile {
  DescriptorOptions descriptor;
};

// Reads a file. NOT_FOUND, or INVALID_ARGUMENT naming file, tensor and rule (also: offsets that do not rise from 0 to
// A, a species or config out of range, a feature that is not finite).
absl::StatusOr<FeatureFile> ReadFeatures(absl::string_view path);
// Checks and decodes a file whose tensors have been read; its errors are those of ReadFeatures.
absl::StatusOr<FeatureFile> DecodeFeatures(TensorFile file);

// Writes structures one after another. Apart from names and config ids, memory does not grow with their number.
class FeatureWriter {
 public:
  // Starts a file. precision: F32 or F64, the type of the features. weights: true if structures have weights.
  static absl::StatusOr<FeatureWriter> Create(absl::string_view path, const DescriptorOptions& descriptor,
                                              DType precision, const std::map<uint8_t, double>& atomic_energies,
                                              bool weights = false);
  FeatureWriter(FeatureWriter&&) noexcept;
  ~FeatureWriter();

  // Adds a structure. species: [N] indices into the descriptor's species; features: [N * F] of the writer's precision.
  absl::Status Append(const Structure& structure, absl::Span<const uint8_t> species, absl::Span<const float> features,
                      double weight = 1);
  absl::Status Append(const Structure& structure, absl::Span<const uint8_t> species, absl::Span<const double> features,
                      double weight = 1);
  // Completes the file, which appears only now, as a whole. provenance: see lib/tensorfile/provenance.h.
  absl::Status Finish(const Metadata& provenance);

 private:
  struct State;
  explicit FeatureWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_FILES_FEATURE_FILE_H_
