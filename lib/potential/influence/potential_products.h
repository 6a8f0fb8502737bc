// Influence for interatomic potentials: products of the gradients of single structures, or atoms, at one checkpoint.
//
// Networks of potentials are small, so gradients are formed: rows of P numbers for a tile of structures, each by the
// passes of force training (the force part by dual numbers, no second-derivative graph: tangent_blocks.h), then one
// product of matrices with the rows of the tests that are held (TracIn: G. Pruthi et al., NeurIPS 2020).
//
// What is differentiated for a training structure of N atoms, with the weights w of WeightedCheckpoint::loss_weight and
// the structure's own weight W:
//
//   W [ w_0 l(error of E / N)  +  w_1 sum over 3N components l(error of F)  +  w_2 sum over 9 l(error of stress) ]
//
// l is the square, or Huber's function where that was trained. For a loss made of roots of means, the weights of a
// checkpoint are the derivatives of the loss by the sums of squares, so that this is the example's share of its
// gradient. Terms that a structure has no data for are left out; all its forces count, whatever training sampled.

#ifndef RUTILE_LIB_POTENTIAL_INFLUENCE_POTENTIAL_PRODUCTS_H_
#define RUTILE_LIB_POTENTIAL_INFLUENCE_POTENTIAL_PRODUCTS_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/descriptor/chebyshev_options.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/influence/gradient_example.h"
#include "lib/potential/influence/potential_tests.h"
#include "lib/potential/model/potential_file.h"
#include "lib/potential/model/task_options.h"
#include "lib/task/gradient_products.h"
#include "lib/task/projection_options.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

struct PotentialProductsOptions {
  // As in the run: its kind and deltas, and which terms there are: the energy, then force and stress where their weight
  // is positive. By how much they count is WeightedCheckpoint::loss_weight's to say, of one number for each of these
  // terms; where that is empty each counts once, and the energy not at all if its weight is 0.
  LossOptions loss;
  PotentialTestOptions test;
  // Of the rows that are multiplied, F32 or F64. Gradients are computed in fp64 and then rounded.
  DType precision = DType::kF32;
  AngularMethod angular = AngularMethod::kMoments;
  ProjectionOptions projection;  // of the gradients; then there is one part
  int num_threads = 1;
};

// INVALID_ARGUMENT naming option, value and range.
absl::Status CheckPotentialProductsOptions(const PotentialProductsOptions& options);

// Training examples are the structures of `train`, test examples those of PotentialTests(test, options.test). Both have
// been read with the potential's descriptor. potential: as read from a model file of the run, whose own parameters do
// not count. Features of files are used where no forces or stress count, as in training; else a structure's geometry
// is, whose neighbors are found where none are cached. Data stays in its files: little is kept of a structure.
//
// slices() are those of the run's checkpoints ("network.Ti.0.weight"), none of them a buffer. With a projection,
// SetParts takes one part. Products: INVALID_ARGUMENT naming a structure whose neighbors cannot be found, or that has
// a stress and no volume. reference: what ReferenceTrainGradient and ReferenceTestGradient ask; null: they are
// UNIMPLEMENTED.
//
// INVALID_ARGUMENT: CheckPotentialProductsOptions, PotentialTests, another descriptor, a point that does not fit.
absl::StatusOr<std::unique_ptr<GradientProducts>> MakePotentialProducts(const Potential& potential,
                                                                        const AtomicData& train, const AtomicData& test,
                                                                        const WeightedCheckpoint& point,
                                                                        const PotentialProductsOptions& options,
                                                                        GradientReference reference = nullptr);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_INFLUENCE_POTENTIAL_PRODUCTS_H_
