// Inverses of a damped curvature A = H + D, by which gradients are multiplied, in the cheaper of two forms.
//
// With few parameters C, A itself is factored: 8 C^2 bytes. With more parameters than rows R of which H = X^T X is
// made, the rows are kept, and by the identity of Woodbury, with Z = X D^-1/2,
//
//   A^-1 = D^-1/2 (1 - Z^T G^-1 Z) D^-1/2,    G = 1 + Z Z^T = L L^T    [R, R]
//
// in 8 R (C + 2 R) bytes: hundreds of energies decide about potentials of a hundred thousand parameters.

#ifndef RUTILE_LIB_POTENTIAL_INFLUENCE_CURVATURE_INVERSE_CURVATURE_H_
#define RUTILE_LIB_POTENTIAL_INFLUENCE_CURVATURE_INVERSE_CURVATURE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "lib/machine/parallel_for.h"

namespace rutile {

// What a form by rows is made of: Z [R, C], and D^-1/2 [C].
struct CurvatureRows {
  std::vector<double> rows, inverse_root;
};

// Its const functions can be used by several threads at the same time. The bits do not depend on their number.
class InverseCurvature {
 public:
  virtual ~InverseCurvature() = default;

  virtual int64_t size() const = 0;  // C
  // Overwrites vectors v [count, C] with A^-1 v.
  virtual void Solve(int64_t count, double* vectors, ThreadPool* pool) const = 0;
  // Overwrites vectors v [count, C] with M v, where M^T M = A^-1.
  virtual void SolveHalf(int64_t count, double* vectors, ThreadPool* pool) const = 0;
  // tr(D A^-1). NaN if it was not computed, because it takes three times as long as the factor, of more than 6000
  // numbers a side.
  virtual double damping_trace() const = 0;
  // The Cholesky factor [C, C] of A, row-major, zero above the diagonal; empty if the form has none.
  virtual const std::vector<double>& Factor() const = 0;
  // What the form by rows was made of; empty if the form is another. CHECK-fails if A has lost something.
  virtual const CurvatureRows& Rows() const = 0;
  // Makes it the inverse of `factor` A, without damping_trace().
  virtual void Multiply(double factor) = 0;
};

// What A loses: the sum over t of u_t u_t^T / l_t.
struct CurvatureLosses {
  std::vector<double> vectors;  // u [n, C]
  std::vector<double> divisor;  // l [n], > 0
};

// matrix: H [C, C], row-major, of which the lower triangle counts; damping: D [C]. `losses` are left out, and *lost is
// false, where A would not be positive definite with them. Null if A is not positive definite to rounding without them.
// Null, too, like all that factors here, once a signal asks the program to end: the caller asks CheckInterrupt first.
std::unique_ptr<InverseCurvature> InverseOfMatrix(std::vector<double> matrix, absl::Span<const double> damping,
                                                  const CurvatureLosses& losses, ThreadPool* pool, bool* lost);

// rows: X [R, C]; damping: D [C], each > 0; `losses` as above. Null if damping is so small beside the rows that
// solutions lose half of their digits.
std::unique_ptr<InverseCurvature> InverseOfRows(std::vector<double> rows, absl::Span<const double> damping,
                                                const CurvatureLosses& losses, ThreadPool* pool, bool* lost);

// Returns inverses from what Factor() and Rows() gave. damping_trace() is NaN. The second is null if rows are so large
// that solutions lose half of their digits.
std::unique_ptr<InverseCurvature> InverseOfFactor(std::vector<double> factor);
std::unique_ptr<InverseCurvature> InverseOfScaledRows(CurvatureRows rows, ThreadPool* pool);

// Bytes that the forms take.
double BytesOfMatrixInverse(int64_t size);
double BytesOfRowsInverse(int64_t num_rows, int64_t size);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_INFLUENCE_CURVATURE_INVERSE_CURVATURE_H_
