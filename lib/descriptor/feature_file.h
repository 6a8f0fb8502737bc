// Files of kind atomistic.features/1: descriptors of every atom, ready to train on.
//
// What the file holds is declared in FeatureSchema() and printed in docs/formats.md: features, species, energies, and
// the positions, cells, forces and stresses that were there, so that nothing need be read twice.

#ifndef RUTILE_LIB_DESCRIPTOR_FEATURE_FILE_H_
#define RUTILE_LIB_DESCRIPTOR_FEATURE_FILE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/descriptor/chebyshev_options.h"
#include "lib/structure/structure.h"
#include "lib/tensorfile/schema.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

const Schema& FeatureSchema();

// A file as read: the tensors checked against the schema and the metadata decoded.
struct FeatureFile {
  TensorFile file;
  ChebyshevOptions descriptor;
  std::vector<std::string> names;             // [S] of structures
  std::vector<std::string> config_types;      // what `config` counts; "" is "none given"
  std::map<uint8_t, double> atomic_energies;  // eV by atomic number; empty: none were given

  int64_t num_structures() const { return static_cast<int64_t>(names.size()); }
};

// NOT_FOUND, or INVALID_ARGUMENT naming file, tensor and rule (also: offsets that do not rise from 0 to A, a species or
// config out of range, a feature that is not finite).
absl::StatusOr<FeatureFile> ReadFeatures(absl::string_view path);

// Writes structures one after another; what is in memory does not grow with their number (names and config ids apart).
class FeatureWriter {
 public:
  // precision: F32 or F64, the type of the features.
  static absl::StatusOr<FeatureWriter> Create(absl::string_view path, const ChebyshevOptions& descriptor,
                                              DType precision, const std::map<uint8_t, double>& atomic_energies);
  FeatureWriter(FeatureWriter&&) noexcept;
  ~FeatureWriter();

  // species: [N] indices into the descriptor's species; features: [N * F] of the writer's precision.
  absl::Status Append(const Structure& structure, absl::Span<const uint8_t> species, absl::Span<const float> features);
  absl::Status Append(const Structure& structure, absl::Span<const uint8_t> species, absl::Span<const double> features);
  // provenance: see lib/tensorfile/provenance.h. The file appears now, whole.
  absl::Status Finish(const Metadata& provenance);

 private:
  struct State;
  explicit FeatureWriter(std::unique_ptr<State> state);
  absl::Status AppendStructure(const Structure& structure, absl::Span<const uint8_t> species);
  std::unique_ptr<State> state_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_FEATURE_FILE_H_
