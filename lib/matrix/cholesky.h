// Factors symmetric positive definite matrices in fp64, A = L L^T, and solves with the factor (blocked Cholesky, as
// LAPACK's dpotrf: most of the work is products of matrices).

#ifndef RUTILE_LIB_MATRIX_CHOLESKY_H_
#define RUTILE_LIB_MATRIX_CHOLESKY_H_

#include <cstdint>

#include "lib/machine/parallel_for.h"

namespace rutile {

// Overwrites the lower triangle of `a` [n, n], row-major, with L, where A is given by that triangle; what is above it
// is neither read nor changed. Returns false, and leaves that triangle unspecified, if A is not positive definite to
// rounding. pool: not owned; null: one thread. The bits do not depend on the number of threads.
bool FactorCholesky(int64_t n, double* a, ThreadPool* pool = nullptr);

// Like FactorCholesky, for matrices whose factors take seconds or minutes: returns false, leaving `a` in between, also
// once a signal asks the program to end (lib/base/interrupt.h). The caller asks CheckInterrupt what false means.
bool FactorCholeskyUntilInterrupted(int64_t n, double* a, ThreadPool* pool = nullptr);

// Solve L Y = B, and L^T X = B, in place: b [n, m], row-major, m right sides. l: what FactorCholesky left, with rows
// `stride` apart: n, or more for a part of a factor.
void SolveLower(int64_t n, const double* l, int64_t stride, int64_t m, double* b, ThreadPool* pool = nullptr);
void SolveLowerTransposed(int64_t n, const double* l, int64_t stride, int64_t m, double* b, ThreadPool* pool = nullptr);

}  // namespace rutile

#endif  // RUTILE_LIB_MATRIX_CHOLESKY_H_
