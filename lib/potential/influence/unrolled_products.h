// Influence by unrolling a run of training: the exact derivative of a test's quantity by the weight of each training
// structure in every batch that it was in (A. Ilyas, L. Engstrom, MAGIC, arXiv:2504.16430; J. Bae et al., NeurIPS
// 2024).
//
// Training is state(t + 1) = step(state(t), g_t) with the gradient g_t of batch t at the parameters before the step.
// With weights omega of the structures, all 1, the loss of a batch is a function of the sums and counts
//
//   S = sum over i of omega_i s_i,   n = sum over i of omega_i n_i
//
// of each term, as in training on weighted or left out structures. From the derivatives lambda of the test's quantity
// by the last parameters, the sweep goes back through all steps. In each it gets u, the derivatives by g_t, from the
// adjoints of the optimizer and of clipping (lib/optimizer/step_adjoint.h), adds u d g_t / d omega_i to the influence
// of the structures of the batch, and H_t u to lambda. The Hessian's product is a central difference of the batch's
// gradient along u, in fp64. For networks with smooth activations its relative error is about 1e-9; Huber's loss has a
// kink, across which the difference takes the mean of both sides.
//
// Where the states of some steps alone are known, those between are taken again from the one before and kept. A
// quantity of the moving average of the parameters depends on those of all steps, by the shares that each has in it.
//
// Scores have the sign and scale of those of potential_products.h with gauss_newton: by how much the quantity changes
// without the structure, to first order: minus the derivative by its weight.

#ifndef RUTILE_LIB_POTENTIAL_INFLUENCE_UNROLLED_PRODUCTS_H_
#define RUTILE_LIB_POTENTIAL_INFLUENCE_UNROLLED_PRODUCTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/optimizer/step_adjoint.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/influence/potential_products.h"
#include "lib/potential/model/potential_file.h"
#include "lib/task/gradient_products.h"

namespace rutile {

// One optimizer step of the run.
struct UnrolledStep {
  std::vector<int64_t> examples;  // of the batch, each once
  UnrolledUpdate update;
  GradientClipping clipping;
  double average_share = 0;  // of the parameters after this step in the new average; 0: it does not move
  std::string name;          // for messages: the checkpoint after the step, or the next one
};

struct UnrolledRun {
  std::vector<UnrolledStep> steps;
  std::vector<int64_t> known;  // numbers of steps after which the state is known, rising from 0 to steps.size()
  // Returns the state after `done` steps, one of `known`, with the average where it has begun. The sweep asks in
  // descending order, and keeps the states of the steps between two of these.
  std::function<absl::StatusOr<OptimizerState>(int64_t done)> state;
  bool of_average = false;  // quantities of tests are those of the average at the end, not of the parameters
  // Steps are taken again and compared with the run's at each known state: the largest error of the move of the
  // parameters and of their average, and of the mean of gradients, relative to their lengths; and the rounding of
  // parameters in a step, relative to theirs.
  double tolerance = 0.02;
  double rounding = 2e-7;
};

// Makes the products of one "checkpoint", the end of the run, whose product of training structure i and test j is the
// score. point.parameters are the average if quantities are of it. There is one part, all parameters, no squares of
// training structures, and TestNorms are those of the tests' gradients. SetTests runs the sweep; Products looks up.
// point: of the end of the run. options: those of MakePotentialProducts; projection and gauss_newton must be unset,
// precision is not used. The batches' loss is options.loss with its own weights.
//
// SetTests returns FAILED_PRECONDITION naming the checkpoint whose steps differ from the run's; CANCELLED after a
// signal; the errors of Products. Other errors are those of MakePotentialProducts.
absl::StatusOr<std::unique_ptr<GradientProducts>> MakeUnrolledProducts(const Potential& potential,
                                                                       const AtomicData& train, const AtomicData& test,
                                                                       const WeightedCheckpoint& point, UnrolledRun run,
                                                                       const PotentialProductsOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_INFLUENCE_UNROLLED_PRODUCTS_H_
