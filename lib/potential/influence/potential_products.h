// Computes influence for interatomic potentials: products of the gradients of single structures, or atoms, at one
// checkpoint.
//
// The networks of potentials are small, so gradients are formed: rows of P numbers for a tile of structures, each by
// the passes of force training (the force part by dual numbers, without a second-derivative graph:
// network_fused_tangent.h). A matrix product then multiplies these rows with those of the tests (TracIn: G. Pruthi et
// al., NeurIPS 2020).
//
// For a training structure of N atoms, with the weights w of WeightedCheckpoint::loss_weight and the structure's own
// weight W, the function that is differentiated is
//
//   W [ w_0 l(error of E / N)  +  w_1 sum over 3N components l(error of F)  +  w_2 sum over 9 l(error of stress) ]
//
// Here l is the square, or Huber's function if the run used it. For a loss made of roots of means, the weights of a
// checkpoint are the derivatives of the loss by the sums of squares, so that this is the example's share of its
// gradient. Terms that a structure has no data for are left out; all of its forces count, whatever sample training
// used.
//
// Example:
//
//   ASSIGN_OR_RETURN(const auto products, MakePotentialProducts(potential, train, test, point, options));
//   RETURN_IF_ERROR(products->SetTests({0, 1}));
//   ProductTile tile;
//   RETURN_IF_ERROR(products->Products({7, 8, 9}, /*squares=*/false, &tile));
//   const double product = tile.product[1 * 2 + 0];  // of training structure 8 and test 0

#ifndef RUTILE_LIB_POTENTIAL_INFLUENCE_POTENTIAL_PRODUCTS_H_
#define RUTILE_LIB_POTENTIAL_INFLUENCE_POTENTIAL_PRODUCTS_H_

#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/descriptor/chebyshev_options.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/influence/curvature/gauss_newton.h"
#include "lib/potential/influence/gradient_example.h"
#include "lib/potential/influence/potential_tests.h"
#include "lib/potential/model/potential_file.h"
#include "lib/potential/model/task_options.h"
#include "lib/task/gradient_products.h"
#include "lib/task/projection_options.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

struct PotentialProductsOptions {
  // The loss of the run: its kind, its deltas, and its terms, which are the energy, then force and stress if their
  // weights are positive. WeightedCheckpoint::loss_weight has one weight for each of these terms; if it is empty, all
  // weights are 1, except that the energy has 0 if its weight here is 0.
  LossOptions loss;
  PotentialTestOptions test;
  // The type of the rows that are multiplied, F32 or F64. Gradients are computed in fp64 and then rounded to it.
  DType precision = DType::kF32;
  AngularMethod angular = AngularMethod::kMoments;
  ProjectionOptions projection;  // applied to the gradients; requires a single part
  // If set, products are grad l(i)^T K grad l'(j) with K of gauss_newton.h, of the parameters that are in parts: by how
  // much the quantity of test j changes without structure i, to first order. Requires F64, no projection and no
  // preconditioner.
  std::optional<GaussNewtonOptions> gauss_newton;
  int num_threads = 1;
};

// INVALID_ARGUMENT naming option, value and range.
absl::Status CheckPotentialProductsOptions(const PotentialProductsOptions& options);

// Checks that potential, checkpoint and options go together, as MakePotentialProducts does.
absl::Status CheckPotentialProducts(const Potential& potential, const WeightedCheckpoint& point,
                                    const PotentialProductsOptions& options);

// Returns the weights of a structure's terms from those of a checkpoint (WeightedCheckpoint::loss_weight).
// INVALID_ARGUMENT if these are not of the loss's terms.
absl::StatusOr<TermWeights> TermWeightsOf(const LossOptions& loss, const std::vector<double>& loss_weight);

// Makes products of training examples, the structures of `train`, with test examples, those of PotentialTests(test,
// options.test). Both data sets must have been read with the potential's descriptor, and have their whole labels, from
// which the potential's repulsion is subtracted, as in training. potential: from a model file of
// the run; its own parameters are replaced by those of `point`. Features in the data are used if neither forces nor
// stress count, as in training. Otherwise the structure's geometry is used, after finding neighbors if none are cached.
// Data stays in its files, and little memory is used for a structure.
//
// slices() are those of the run's checkpoints ("network.Ti.0.weight"), none of them a buffer. With a projection,
// SetParts takes one part. Products returns INVALID_ARGUMENT naming a structure whose neighbors cannot be found, or
// that has a stress but no volume. reference: computes ReferenceTrainGradient and ReferenceTestGradient; if null, these
// are UNIMPLEMENTED.
//
// INVALID_ARGUMENT: errors of CheckPotentialProductsOptions and PotentialTests, another descriptor, a checkpoint that
// does not fit the model.
absl::StatusOr<std::unique_ptr<GradientProducts>> MakePotentialProducts(const Potential& potential,
                                                                        const AtomicData& train, const AtomicData& test,
                                                                        const WeightedCheckpoint& point,
                                                                        const PotentialProductsOptions& options,
                                                                        GradientReference reference = nullptr);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_INFLUENCE_POTENTIAL_PRODUCTS_H_
