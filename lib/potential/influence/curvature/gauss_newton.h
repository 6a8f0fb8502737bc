// The Gauss-Newton matrix of a potential's training loss, and solutions with it: how the minimum moves when a training
// structure counts for more or less (influence functions; P. W. Koh, P. Liang, ICML 2017).
//
// The loss is L = 1/n sum over n structures of l_i (potential_products.h has l). With the outputs f_k (energy per atom,
// force components, stresses), their rows J_k = d f_k / d parameters and the curvatures c_k = d2 l / d f_k2,
//
//   H = 1/n sum over structures and outputs of c_k J_k^T J_k,    K = (H + D)^-1 / n
//
// and without structure i a quantity q changes by + grad q^T K grad l_i. D is the damping.
//
// Losses of means couple their structures, because each counts in the numbers of values. With S_t the sum of term t and
// n_t its number of values, s_it and n_it what structure i adds to them, w_t the weight of S_t in L, and u_t = w_t grad
// S_t the gradient of the term, the gradient of L by the weight of structure i, times n, is
//
//   grad l_i - n sum over t of u_t n_it / n_t                    for means, sum over t of a_t S_t / n_t;
//   grad l_i - n/2 sum over t of u_t (s_it / S_t + n_it / n_t)   for their roots, sum over t of a_t sqrt(S_t / n_t).
//
// With roots, H loses u_t u_t^T / (2 w_t S_t) for each term, unless H + D would not stay positive.
//
// The inverse has the cheaper of the forms of inverse_curvature.h: with fewer rows than parameters H is never formed.
// Where both are many, EK-FAC (ek_fac.h) takes H in blocks, each diagonal in a basis of its own, and loses nothing with
// roots: u_t u_t^T leaves little of H along u_t, and blocks, which are not H, would be nearly singular or indefinite.

#ifndef RUTILE_LIB_POTENTIAL_INFLUENCE_CURVATURE_GAUSS_NEWTON_H_
#define RUTILE_LIB_POTENTIAL_INFLUENCE_CURVATURE_GAUSS_NEWTON_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/machine/parallel_for.h"
#include "lib/network/kernels/row_products.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/influence/curvature/inverse_curvature.h"
#include "lib/potential/influence/gradient_rows.h"
#include "lib/potential/influence/output_rows.h"

namespace rutile {

// How structures are coupled by the loss.
enum class LossCoupling {
  kNone,   // a sum over structures with fixed weights
  kMeans,  // a sum of the terms' means
  kRoots   // a sum of roots of the terms' means
};

struct GaussNewtonOptions {
  std::vector<int64_t> examples;  // the training structures that count, n of them
  std::vector<double> damping;    // D, [P] of all parameters, each > 0; empty: trace_damping
  double trace_damping = 0.1;     // D = trace_damping tr(H) / C for C parameters (R. Grosse et al., 2023)
  // 0: H is summed from the rows of all outputs. m > 0: of a structure with more than m outputs, from m rows
  // m^-1/2 sum_k +-sqrt(c_k) J_k with random signs, whose sum of squares is H on average. This takes m gradients of a
  // structure in place of one for each output.
  int probes = 0;
  uint64_t seed = 0;  // of the signs
  LossCoupling coupling = LossCoupling::kNone;
  bool ek_fac = false;       // EK-FAC in place of H: columns are then whole slices of the parameters
  int64_t memory_limit = 0;  // bytes that the matrix, or its rows, may take; 0: no limit
};

// A factored matrix. It can be used by several threads at the same time.
class GaussNewton {
 public:
  // columns: the parameters that count, ascending; C in all. INVALID_ARGUMENT naming the structure: errors of
  // OutputRows. RESOURCE_EXHAUSTED if it is larger than the limit.
  static absl::StatusOr<std::unique_ptr<GaussNewton>> Make(const GradientFormulas& formulas, const AtomicData& data,
                                                           const std::vector<ColumnRange>& columns,
                                                           const GaussNewtonOptions& options, ThreadPool* pool);

  int64_t size() const { return size_; }  // C
  int64_t num_outputs() const { return num_outputs_; }
  int64_t num_examples() const { return num_examples_; }
  // tr(H (H + D)^-1): the number of parameters that the data decide. NaN if it was not computed, for what was factored
  // has more than 6000 rows. With EK-FAC it is that of what stands for H.
  double effective_parameters() const { return effective_parameters_; }
  absl::Span<const double> damping() const { return damping_; }  // D of each column, [C]
  double loss_sum() const { return loss_sum_; }                  // sum over outputs of c_k error_k^2 / n
  // The mean square of outputs' errors in the weights of the loss, c_k error_k^2, for each output that is not spent on
  // a parameter: outputs measured with the variance of it / c_k give the parameters the covariance of it K. The
  // numerator alone is divided by all outputs if effective_parameters() was not computed.
  double noise() const;
  // Hands over the inverse of n (H + D), whose product with a vector is that of K. Solve and SolveHalf must not follow.
  std::unique_ptr<InverseCurvature> TakeInverseOfSum();
  // A sentence on matrix and damping, for users.
  std::string Describe() const;

  // Overwrites vectors v [rows, C] with K v.
  void Solve(int64_t rows, double* vectors, ThreadPool* pool) const;
  // Overwrites vectors v [rows, C] with M v of which v^T K w = (M v)^T (M w).
  void SolveHalf(int64_t rows, double* vectors, ThreadPool* pool) const;
  // Subtracts from the gradient [C] of a structure's loss what the coupling takes off it.
  void Couple(const StructureTerms& terms, double* gradient) const;
  bool is_coupled() const { return coupling_ != LossCoupling::kNone; }

 private:
  GaussNewton() = default;

  int64_t size_ = 0, num_outputs_ = 0, num_examples_ = 0, num_rows_ = 0;
  double effective_parameters_ = 0, loss_sum_ = 0, mean_damping_ = 0, trace_ = 0;
  bool counts_roots_ = false;
  bool is_damped_by_trace_ = false;
  bool has_rows_ = false;                      // in place of the matrix
  int num_blocks_ = 0;                         // of EK-FAC; 0: another form
  std::unique_ptr<InverseCurvature> inverse_;  // of H + D
  LossCoupling coupling_ = LossCoupling::kNone;
  std::vector<double> damping_;         // [C] D
  std::vector<double> term_gradients_;  // [3, C] u_t, or empty
  StructureTerms sums_;                 // of all structures
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_INFLUENCE_CURVATURE_GAUSS_NEWTON_H_
