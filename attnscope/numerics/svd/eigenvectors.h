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
  Matrix<double> vectors;      // (n, n): row i belongs to value i, with length 1
};

/// Returns the eigenvectors of a symmetric matrix (n, n), whose lower triangle is read. The first
/// element of each vector that is not relatively small is positive, so that signs do not depend on
/// the solver.
Eigenvectors eigenvectors(MatrixView<const double> symmetric);

struct ComplexEigenvectors {
  std::vector<double> values;            // (n,) descending
  Matrix<std::complex<double>> vectors;  // (n, n): row i belongs to value i, with length 1
};

/// Returns the eigenvectors of a Hermitian matrix, whose lower triangle is read. The first element
/// of each vector that is not relatively small is real and positive.
ComplexEigenvectors eigenvectors(MatrixView<const std::complex<double>> hermitian);

/// Singular values and vectors of a matrix (m, n), from its smaller Gram matrix. Values are within
/// √(k 2^-52) of the largest. Vectors of values above 1e-6 of the largest are orthonormal to 1e-4.
struct Directions {
  std::vector<double> squares;  // (k,) descending σ², k = min(m, n), non-negative
  Matrix<double> left;          // (k, m): row i belongs to value i
  Matrix<double> right;         // (k, n); zero rows for zero values
};
Directions directions_of(MatrixView<const double> matrix, const Compute& compute = {});

/// Square root of a symmetric positive semidefinite matrix and its inverse. Eigenvalues below
/// `least` times the largest are raised to that value in both.
struct SymmetricRoot {
  Matrix<double> root, inverse;  // root · root = matrix
};
SymmetricRoot symmetric_root(MatrixView<const double> matrix, double least = 1e-12,
                             const Compute& compute = {});

/// Replaces `right` by X with X · a = right (rows, n), for a symmetric positive definite `a` (n,
/// n): least squares by normal equations. Returns false and leaves `right` unchanged if `a` is not
/// positive definite to rounding. Overwrites the diagonal and upper triangle of `a`.
bool solve_positive(Matrix<double>& a, Matrix<double>& right);

}  // namespace attnscope
