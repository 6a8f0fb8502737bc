// The Gauss-Newton matrix of a loss in blocks, one for each weight matrix with its bias, each diagonal in a basis that
// is a Kronecker product: eigenvalue-corrected Kronecker factorization, EK-FAC (T. George et al., NeurIPS 2018; for
// influence, R. Grosse et al., arXiv:2308.03296 (2023), section 3.1). Its cost grows with the number of parameters,
// that of the whole matrix with its square or cube.
//
// A row x of the loss, the scaled derivative of one output of a structure, has in a block the matrix G [m, w] of a
// layer of m outputs and w inputs, the last of which is the bias. With the damping t D, S = D^-1/2 and G' = S G
// (element by element), the factors are
//
//   B = sum over rows of G' G'^T [m, m],    A = sum over rows of G'^T G' [w, w],
//
// the partial traces of the block of S H S. For eigenvectors u_i of B and v_j of A the corrected eigenvalues
//
//   lambda_ij = 1/n sum over rows of (u_i^T G' v_j)^2
//
// are the diagonal of the block in their basis, and no other diagonal is nearer to it:
//
//   H + t D  ~  S^-1 [ sum over ij of (lambda_ij + t) (u_i x v_j) (u_i x v_j)^T ] S^-1.
//
// A layer of one output, a vector and a single matrix of a linear model keep their whole blocks. K-FAC (J. Martens,
// R. Grosse, ICML 2015) takes sums of products of a layer's inputs and of products of derivatives by its outputs in
// place of A and B. A row of a structure is a sum over the atoms that share the layer, and of forces over values and
// their changes. "expand" takes each of them for a row of its own, "reduce" one mean of inputs and one sum of
// derivatives (R. Eschenhagen et al., NeurIPS 2023). The partial traces have the products of different atoms, as the
// block has them, and need no such choice.

#ifndef RUTILE_LIB_POTENTIAL_INFLUENCE_CURVATURE_EK_FAC_H_
#define RUTILE_LIB_POTENTIAL_INFLUENCE_CURVATURE_EK_FAC_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/machine/parallel_for.h"
#include "lib/network/kernels/row_products.h"
#include "lib/potential/influence/curvature/inverse_curvature.h"
#include "lib/task/parameter_slice.h"

namespace rutile {

// A matrix of weights [outputs, inputs], row-major, and the bias of its outputs, among the columns of rows.
struct KroneckerBlock {
  std::string name;  // of the weights
  int64_t outputs = 0, inputs = 0;
  int64_t weight = 0;  // column of the first weight
  int64_t bias = -1;   // column of the first bias; -1: there is none

  int64_t width() const { return inputs + (bias < 0 ? 0 : 1); }
  int64_t size() const { return outputs * width(); }
};

// Returns the blocks of the parameters in `columns`, ascending, which are whole slices: of a matrix, "x.weight", with
// "x.bias" if that is there; of a tensor of more dimensions, as a matrix of its first by all others; and of a vector,
// as one row.
std::vector<KroneckerBlock> KroneckerBlocks(const std::vector<ParameterSlice>& slices,
                                            const std::vector<ColumnRange>& columns);

// Adds up the rows of a loss, which come twice: for the factors, then for the eigenvalues. The bits do not depend on
// the number of threads.
class EkFac {
 public:
  // blocks: of all columns, C in all; inverse_root: D^-1/2 [C].
  EkFac(const std::vector<KroneckerBlock>& blocks, std::vector<double> inverse_root);
  ~EkFac();

  // Bytes that it takes, beside rows.
  static double Bytes(const std::vector<KroneckerBlock>& blocks);

  // rows: [count, C].
  void AddFactors(int64_t count, const double* rows, ThreadPool* pool);
  // Replaces the factors by their eigenvectors. Returns false if a number is not finite.
  bool MakeBases(ThreadPool* pool);
  void AddSquares(int64_t count, const double* rows, ThreadPool* pool);
  double trace() const { return trace_; }  // sum of squares of all rows of AddFactors

  // Returns the inverse of H + t D, where H is `share` times the sum over rows, and hands the memory over.
  std::unique_ptr<InverseCurvature> Inverse(double share, double damping);

 private:
  struct Basis;
  class Solver;

  std::vector<Basis> bases_;
  std::vector<double> inverse_root_;  // [C]
  double trace_ = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_INFLUENCE_CURVATURE_EK_FAC_H_
