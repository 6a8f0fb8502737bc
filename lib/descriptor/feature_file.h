// Files of kind atomistic.features/1: descriptors of every atom, ready to train on.
//
// What the file holds is declared in FeatureSchema() and printed in docs/formats.md: features, species, energies, and
// the positions, cells, forces and stresses that were there, so that nothing need be read twice.

#ifndef RUTILE_LIB_DESCRIPTOR_FEATURE_FILE_H_
#define RUTILE_LIB_DESCRIPTOR_FEATURE_FILE_H_

#include <cstdint>
#include <map>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/descriptor/chebyshev_options.h"
#include "lib/neighbor/structure_file.h"
#include "lib/structure/structure.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/schema.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

const Schema& FeatureSchema();

// A file as read: the tensors checked against the schema and the metadata decoded.
struct FeatureFile : StructureFile {
  ChebyshevOptions descriptor;
};

// NOT_FOUND, or INVALID_ARGUMENT naming file, tensor and rule (also: offsets that do not rise from 0 to A, a species or
// config out of range, a feature that is not finite).
absl::StatusOr<FeatureFile> ReadFeatures(absl::string_view path);
// The same of a file whose tensors were read already.
absl::StatusOr<FeatureFile> DecodeFeatures(TensorFile file);

// Writes structures one after another; what is in memory does not grow with their number (names and config ids apart).
class FeatureWriter {
 public:
  // precision: F32 or F64, the type of the features; weights: whether structures have weights.
  static absl::StatusOr<FeatureWriter> Create(absl::string_view path, const ChebyshevOptions& descriptor,
                                              DType precision, const std::map<uint8_t, double>& atomic_energies,
                                              bool weights = false);
  FeatureWriter(FeatureWriter&&) noexcept;
  ~FeatureWriter();

  // species: [N] indices into the descriptor's species; features: [N * F] of the writer's precision.
  absl::Status Append(const Structure& structure, absl::Span<const uint8_t> species, absl::Span<const float> features,
                      double weight = 1);
  absl::Status Append(const Structure& structure, absl::Span<const uint8_t> species, absl::Span<const double> features,
                      double weight = 1);
  // provenance: see lib/tensorfile/provenance.h. The file appears now, whole.
  absl::Status Finish(const Metadata& provenance);

 private:
  struct State;
  explicit FeatureWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_FEATURE_FILE_H_
