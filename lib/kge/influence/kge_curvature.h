// The curvature of an embedding model's training loss in blocks, and solutions with it: how the minimum moves when a
// training example is left out (influence functions; P. W. Koh, P. Liang, ICML 2017).
//
// The loss is L = 1/n sum over the run's examples of l_i. For a query q = (h, r) with scores s = E v(h, r) + b and
// curvature W_q = d2 l / ds2 (diag p - p p^T for a softmax, diag p (1 - p) / N for binary cross-entropies, both times
// the number of triples that share the query where each is an example), the Gauss-Newton matrix is H = 1/n sum over q
// of J_q^T W_q J_q with J_q = ds / d parameters. Here H keeps, of all pairs of parameters, those of
//
//   one row of entity.weight: sum over q of W_q[e, e] v v^T, and where e is the head, what its row does through v;
//   one row of relation.weight, one number of entity.bias;
//   one small tensor (norms, conv, fc.bias);
//   fc.weight as a Kronecker product: the matrix of d s / d (fc's result) times that of the maps, weighted by the trace
//   of the first (J. Martens, R. Grosse, ICML 2015), damped as there, with the mean damping of the tensor.
//
// With options.penalized, blocks of rows have what the regularizer adds, too (penalty_factors.h).
//
// Blocks of rows are exact. The rest is 0: a triple is then learned by each of its rows as if the others stood still,
// as in P. Pezeshkpour, Y. Tian, S. Singh, NAACL 2019, for rows of tails. K = (H + D)^-1 / n with the damping D.

#ifndef RUTILE_LIB_KGE_INFLUENCE_KGE_CURVATURE_H_
#define RUTILE_LIB_KGE_INFLUENCE_KGE_CURVATURE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/graph/triple.h"
#include "lib/kge/influence/gradient_factors.h"
#include "lib/kge/influence/kge_influence_options.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/machine/parallel_for.h"

namespace rutile {

// The factored blocks. It can be used by several threads at the same time.
class KgeCurvature {
 public:
  // parameters: flat [P]. options.curvature must be set. INVALID_ARGUMENT: no examples, or parameters that are not
  // finite. RESOURCE_EXHAUSTED if the blocks are larger than the limit.
  template <typename T>
  static absl::StatusOr<std::unique_ptr<KgeCurvature>> Make(const KgeShape& shape, const T* parameters,
                                                            const KgeInfluenceOptions& options, ThreadPool* pool);

  // Overwrites x [P, columns] with K x. Buffers get 0. Several columns together take much less time than one by one.
  void Solve(double* x, int64_t columns, ThreadPool* pool) const;
  // A sentence on the matrix and its damping, for users.
  std::string Describe() const;
  int64_t num_examples() const { return num_examples_; }  // n

 private:
  // `count` matrices [dim, dim] on the diagonal, of the parameters from `offset` on; Cholesky factors once damped.
  struct Block {
    int64_t offset = 0, count = 0, dim = 0;
    std::vector<double> matrix;
    double* At(int64_t i) { return matrix.data() + i * dim * dim; }
    const double* At(int64_t i) const { return matrix.data() + i * dim * dim; }
  };
  // The parts of a query's curvature that are summed (kge_curvature.cc).
  struct Query;

  KgeCurvature(const KgeShape& shape, const KgeCurvatureOptions& options);
  absl::Status Allocate(int64_t limit);
  template <typename T>
  absl::Status AddQueries(const T* parameters, const KgeInfluenceOptions& options, ThreadPool* pool);
  void AddTails(const std::vector<Query>& queries, double least_weight, ThreadPool* pool);
  template <typename T>
  void AddSlopes(const std::vector<Query>& queries, const GradientFactors<T>& factors, ThreadPool* pool);
  template <typename T>
  void AddPenalties(const T* parameters, absl::Span<const Triple> examples);
  absl::Status Damp(const KgeCurvatureOptions& options, ThreadPool* pool);

  const KgeShape shape_;
  const KgeShape::Offsets at_;
  int64_t num_examples_ = 0, num_queries_ = 0, num_parameters_ = 0;
  int probes_ = 0;
  double mean_curvature_ = 0, mean_damping_ = 0;
  Block entity_, relation_, fc_bias_, maps_, slopes_;  // slopes_ [d, d] and maps_ [F, F] are those of fc.weight
  std::vector<Block> small_;
  std::vector<double> bias_;              // [N] of entity.bias, or empty
  std::vector<double> rest_, rest_tail_;  // [N] and [d, d]: light weights, and the mean of their v v^T
  double rest_sum_ = 0, slope_sum_ = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_INFLUENCE_KGE_CURVATURE_H_
