// Reads and writes files of kinds curvature/1 and curvature/2: the curvature of a potential's training loss at its
// parameters, from which the uncertainty of any of its predictions follows (uncertainty.h). The first holds a factored
// matrix, the second the rows of which it is made, where these are fewer than parameters (inverse_curvature.h).
//
//   ASSIGN_OR_RETURN(const Curvature curvature, ReadCurvature("run/curvature.safetensors"));
//   RETURN_IF_ERROR(CheckCurvatureOf(curvature, potential));

#ifndef RUTILE_LIB_POTENTIAL_INFLUENCE_CURVATURE_CURVATURE_FILE_H_
#define RUTILE_LIB_POTENTIAL_INFLUENCE_CURVATURE_CURVATURE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/network/kernels/row_products.h"
#include "lib/potential/influence/curvature/inverse_curvature.h"
#include "lib/potential/model/potential_file.h"
#include "lib/tensorfile/schema.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

// K is the inverse of the damped curvature of the sum of the training losses (gauss_newton.h). A linear function of the
// parameters with the gradient g has the standard deviation scale sqrt(g^T K g).
struct Curvature {
  std::string path;                                 // "" if it was not read
  std::string model;                                // ModelDigest of the potential
  std::vector<ColumnRange> columns;                 // the parameters that count, ascending; C in all
  std::shared_ptr<const InverseCurvature> inverse;  // K, of size C
  double energy_scale = 0;                          // of energies, and of energies per atom
  double force_scale = 0;                           // of force components
  // d2 (sum of losses) / d (energy per atom)^2 of a training structure of weight 1; 0 if no energies were learned.
  double energy_curvature = 0;
  Metadata metadata;  // provenance, damping, what the scales were calibrated on

  int64_t size() const;  // C
};

const Schema& CurvatureSchema();
const Schema& CurvatureRowsSchema();

// Returns 64 hex digits for all that gradients of a prediction by the parameters depend on: descriptor, network,
// scales, and the parameters themselves, whatever their type.
std::string ModelDigest(const Potential& potential);

// Writes the file atomically; curvature.metadata is added. CHECK-fails when sizes disagree.
absl::Status WriteCurvature(absl::string_view path, const Curvature& curvature);

// Reads the file. NOT_FOUND, or INVALID_ARGUMENT naming file, tensor and rule.
absl::StatusOr<Curvature> ReadCurvature(absl::string_view path);

// Returns the number of the potential that the curvature is of, at its parameters. INVALID_ARGUMENT: it is of none of
// them. names: of the potentials' files.
absl::StatusOr<size_t> FindMemberOf(const Curvature& curvature, absl::Span<const Potential> potentials,
                                    absl::Span<const std::string> names);

// INVALID_ARGUMENT naming both files unless the curvature is that of the potential, at its parameters. model: the
// potential's file, for the message.
absl::Status CheckCurvatureOf(const Curvature& curvature, const Potential& potential, absl::string_view model);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_INFLUENCE_CURVATURE_CURVATURE_FILE_H_
