#include "lib/descriptor/descriptor_cost.h"

#include <algorithm>
#include <cmath>

namespace rutile {
namespace {

double ShareWithin(double cutoff, double list_cutoff) { return std::min(1.0, std::pow(cutoff / list_cutoff, 3)); }

}  // namespace

DescriptorCost::DescriptorCost(const DescriptorOptions& of_any_kind, AngularMethod method, int bytes,
                               double list_cutoff) {
  if (!of_any_kind.is_chebyshev()) {
    parts_.emplace_back(of_any_kind.moments(), list_cutoff);
    return;
  }
  const ChebyshevOptions& options = of_any_kind.chebyshev();
  parts_.emplace_back(options.Outermost(), method, bytes, list_cutoff);
  for (size_t k = 0; k < options.nearer.size(); ++k) parts_.emplace_back(options.Nearer(k), method, bytes, list_cutoff);
}

DescriptorCost::Part::Part(const ChebyshevOptions& options, AngularMethod method, int bytes, double list_cutoff)
    : radial_share(ShareWithin(options.rad_cutoff, list_cutoff)),
      angular_share(ShareWithin(options.ang_cutoff, list_cutoff)) {
  const int rows = options.rad_order + 1, order = options.ang_order, harmonics = (order + 1) * (order + 1);
  // Sums with and without the weight of the species, which are made of sums by species: an atom has work for each of
  // them, a pair the same work for any number of species.
  const int sums = options.species.size() > 1 ? 2 : 1;
  constexpr int kPolynomial = 3;              // a term of the recurrence, and its sum
  constexpr int kHarmonic = 2;                // a product, and its sum
  constexpr int kDerivative = 6;              // P and dP/dr, each with its coefficient
  const double fit = bytes == 8 ? 7 : 4;      // FMAs of the polynomial in f_c
  const double cutoff = 2 + 2 + 2 * fit + 2;  // s, (1 - s) above 0, polynomial, square
  const double cutoff_slope = cutoff + 2 * (fit - 1) + 2 + 4;
  // The terms count r_ij, its length and unit vector, and the Chebyshev recurrence.
  features.radial = 5 + 1 + 1 + 3 + 9 + cutoff + 2 + kPolynomial * rows;
  vjp.radial = cutoff_slope + 2 + kDerivative * rows + 4 + 6 + 6;  // P, dP/dr, additions to j and to i
  jvp.radial = cutoff_slope + 3 + 2 + kDerivative * rows + 3 + 5;
  if (method == AngularMethod::kTriplets) {
    const double polynomials = 3.0 * (order + 1);
    features.angular = cutoff;
    features.triplet = 7 + polynomials + sums * (order + 1);
    vjp.angular = jvp.angular = cutoff_slope;
    vjp.triplet = 7 + 2 * polynomials + 2 * sums * (order + 1) + 30;
    jvp.triplet = 7 + 2 * polynomials + 2 * sums * (order + 1) + 24;
    features.atom = vjp.atom = jvp.atom = 4.0 * sums * rows;
    return;
  }
  // Counts the recurrence of q_lm, the powers of x + iy, and harmonics with l > m, whose derivatives by z do not
  // vanish.
  double degrees = 0, tilted = 0;
  for (int m = 0; m <= order; ++m) {
    degrees += (order - m >= 2 ? 2 : 0) + 3 * std::max(0, order - m - 2);
    tilted += (m == 0 ? 1 : 2) * (order - m);
  }
  const double powers = order > 0 ? 2 + 6 * (order - 1) : 0;
  features.angular = cutoff + 2 + 1 + powers + degrees + kHarmonic * harmonics;
  vjp.angular = cutoff_slope + 1 + powers + degrees + kHarmonic * (harmonics + tilted) + 14 * order + 20;
  jvp.angular = cutoff_slope + 10 + 3 * powers + degrees + tilted / 2 + kHarmonic * (harmonics + tilted) + 2;
  features.atom = sums * (harmonics * 3 + rows) + 2 * sums * (rows + harmonics);
  vjp.atom = 2 * sums * harmonics + sums * (harmonics * 3 + rows * 4);
  jvp.atom = sums * (harmonics * 3 + rows) + sums * (4 * rows + 2 * harmonics);
}

// Radial functions by a recurrence, harmonics and their gradients as polynomials; then each harmonic with each radial
// function.
DescriptorCost::Part::Part(const MomentOptions& options, double list_cutoff)
    : radial_share(ShareWithin(options.cutoff, list_cutoff)), angular_share(radial_share) {
  const double harmonics = (options.max_l + 1) * (options.max_l + 1), radial = options.num_radial;
  const double values = 10 + 30 + 4 * radial + 3 * harmonics;
  features.radial = values + 2 * harmonics * radial;
  vjp.radial = jvp.radial = values + 4 * radial + 6 * harmonics + 4 * harmonics * radial + 30;
}

int64_t DescriptorCost::Count(Operations Part::*operations, int64_t atoms, int64_t pairs) const {
  int64_t flop = 0;
  for (const Part& part : parts_) flop += part.Count(part.*operations, atoms, pairs);
  return flop;
}

int64_t DescriptorCost::Part::Count(const Operations& operations, int64_t atoms, int64_t pairs) const {
  if (atoms == 0) return 0;
  const auto n = static_cast<double>(atoms), p = static_cast<double>(pairs);
  const double angular = p * angular_share;
  double flop = operations.atom * n + operations.radial * p * radial_share + operations.angular * angular;
  // Moments have no triplet term; skipping it saves a division, which matters in profiles of small structures.
  if (operations.triplet != 0) flop += operations.triplet * 0.5 * angular * std::max(0.0, angular / n - 1);
  return static_cast<int64_t>(flop);
}

}  // namespace rutile
