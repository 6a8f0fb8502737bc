// Eigenvalues and eigenvectors of symmetric matrices in fp64: Householder's reduction to a tridiagonal matrix, then
// implicit QR steps with Wilkinson's shift (G. H. Golub, C. F. Van Loan, Matrix Computations, sections 8.3.1 to 8.3.5).

#ifndef RUTILE_LIB_MATRIX_SYMMETRIC_EIGEN_H_
#define RUTILE_LIB_MATRIX_SYMMETRIC_EIGEN_H_

#include <cstdint>

namespace rutile {

// Overwrites a [n, n], row-major and symmetric, with its eigenvectors, of unit length, one in each row, and `values`
// [n] with their eigenvalues, ascending. Errors are some roundings of the largest eigenvalue. Returns false, leaving
// both in between, if a number is not finite or the steps do not converge.
bool EigenSymmetric(int64_t n, double* a, double* values);

}  // namespace rutile

#endif  // RUTILE_LIB_MATRIX_SYMMETRIC_EIGEN_H_
