// Eigenvectors, singular vectors and least squares in float64. Every function takes finite input
// and throws Error(numerical) if LAPACK does not converge.
#pragma once

#include <complex>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

struct Eigenvectors {
  std::vector<double> values;  // (n,) descending
  Matrix<double> vectors;      // (n, n): row i is that of value i, of length 1
};

/// Of a symmetric matrix (n, n), of which the lower triangle is read. The first element of each
/// vector that is not small beside the others is positive, so that signs do not depend on the
/// solver.
Eigenvectors eigenvectors(MatrixView<const double> symmetric);

struct ComplexEigenvectors {
  std::vector<double> values;            // (n,) descending
  Matrix<std::complex<double>> vectors;  // (n, n): row i is that of value i, of length 1
};

/// Of a Hermitian matrix, of which the lower triangle is read. The first element of each vector
/// that is not small beside the others is real and positive.
ComplexEigenvectors eigenvectors(MatrixView<const std::complex<double>> hermitian);

/// Singular values and vectors of a matrix (m, n), from its smaller Gram matrix: values are within
/// √(k 2^-52) of the largest, and vectors of values above 1e-6 of it are orthonormal to 1e-4.
struct Directions {
  std::vector<double> squares;  // (k,) descending σ², k = min(m, n), none negative
  Matrix<double> left;          // (k, m): row i is that of value i
  Matrix<double> right;         // (k, n); a row of zeros where the value vanishes
};
Directions directions_of(MatrixView<const double> matrix, const Compute& compute = {});

/// Of a symmetric positive semidefinite matrix: eigenvalues below `least` of the largest count as
/// that much in both.
struct SymmetricRoot {
  Matrix<double> root, inverse;  // root · root = matrix
};
SymmetricRoot symmetric_root(MatrixView<const double> matrix, double least = 1e-12,
                             const Compute& compute = {});

/// Puts X with X · a = right (rows, n) in place of `right`, for a symmetric positive definite `a`
/// (n, n): least squares by normal equations. False, with `right` as it was, where `a` is not that
/// to rounding. Its diagonal and its upper triangle are overwritten.
bool solve_positive(Matrix<double>& a, Matrix<double>& right);

}  // namespace attnscope
