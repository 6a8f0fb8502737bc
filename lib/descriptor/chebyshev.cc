#include "lib/descriptor/chebyshev.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "lib/base/logging.h"

namespace rutile {
namespace {

struct Neighbor {
  double x, y, z;  // unit vector
  double r;        // Angstrom
  double spin;
};

// Adds scale T_n(x) to unweighted[n] and weight scale T_n(x) to weighted[n] for n = 0 .. order, by T_{n+1} = 2 x T_n -
// T_{n-1}.
void AddPolynomials(double x, double scale, double weight, int order, double* unweighted, double* weighted) {
  double previous = x, current = 1;  // T_{-1} = T_1
  for (int n = 0; n <= order; ++n) {
    unweighted[n] += scale * current;
    if (weighted != nullptr) weighted[n] += weight * scale * current;
    previous = std::exchange(current, 2 * x * current - previous);
  }
}

// Adds the angular features of one set. neighbors: all those of an atom; those beyond set.cutoff are skipped.
void AddAngular(const std::vector<Neighbor>& neighbors, const AngularSet& set, double* unweighted, double* weighted) {
  // Each cutoff is computed once, not for each triplet: benchmarks compare kernels with this definition.
  std::vector<double> cutoffs;
  for (const Neighbor& a : neighbors) cutoffs.push_back(CosineCutoff(a.r, set.cutoff));
  for (size_t j = 0; j < neighbors.size(); ++j) {
    const Neighbor& a = neighbors[j];
    for (size_t k = j + 1; k < neighbors.size(); ++k) {
      const Neighbor& b = neighbors[k];
      if (a.r > set.cutoff || b.r > set.cutoff) continue;
      const double cosine = std::clamp(a.x * b.x + a.y * b.y + a.z * b.z, -1.0, 1.0);
      AddPolynomials(cosine, cutoffs[j] * cutoffs[k], a.spin * b.spin, set.order, unweighted, weighted);
    }
  }
}

void ComputeAtom(const ChebyshevOptions& options, const std::vector<double>& spins, absl::Span<const uint8_t> species,
                 const NeighborList& neighbors, int64_t atom, double* row) {
  const int num_rad = options.rad_order + 1, num_ang = options.ang_order + 1;
  const bool weighted = spins.size() > 1;
  double* const weighted_row = weighted ? row + num_rad + num_ang : nullptr;
  std::fill(row, row + options.num_features(), 0.0);

  std::vector<Neighbor> near;  // neighbors within ang_cutoff
  for (int64_t p = neighbors.offset[atom]; p < neighbors.offset[atom + 1]; ++p) {
    const double x = neighbors.dx[p], y = neighbors.dy[p], z = neighbors.dz[p];
    const double r = std::sqrt(x * x + y * y + z * z);
    if (r <= options.min_cutoff || r > options.cutoff()) continue;
    const double spin = spins[species[neighbors.j[p]]];
    if (r <= options.rad_cutoff) {
      AddPolynomials(2 * r / options.rad_cutoff - 1, CosineCutoff(r, options.rad_cutoff), spin, options.rad_order, row,
                     weighted_row);
    }
    if (r > options.ang_cutoff) continue;
    near.push_back({x / r, y / r, z / r, r, spin});
  }
  AddAngular(near, {options.ang_order, options.ang_cutoff}, row + num_rad, weighted ? weighted_row + num_rad : nullptr);
  double* to = row + (num_rad + num_ang) * (weighted ? 2 : 1);
  for (const AngularSet& set : options.nearer) {
    AddAngular(near, set, to, weighted ? to + set.order + 1 : nullptr);
    to += (set.order + 1) * (weighted ? 2 : 1);
  }
}

}  // namespace

double CosineCutoff(double r, double cutoff) { return r < cutoff ? 0.5 * (std::cos(M_PI * r / cutoff) + 1) : 0; }

ChebyshevReference::ChebyshevReference(ChebyshevOptions options)
    : options_(std::move(options)), spins_(options_.TypeSpins()) {
  CHECK(options_.Validate().ok()) << options_.Validate();
}

std::unique_ptr<Descriptor::Workspace> ChebyshevReference::MakeWorkspace() const {
  return std::make_unique<Workspace>();
}

void ChebyshevReference::Compute(absl::Span<const uint8_t> species, const NeighborList& neighbors,
                                 Workspace* /*workspace*/, absl::Span<double> features) const {
  CHECK_EQ(neighbors.offset.size(), species.size() + 1);
  CHECK_EQ(features.size(), species.size() * num_features());
  for (size_t i = 0; i < species.size(); ++i) {
    ComputeAtom(options_, spins_, species, neighbors, i, &features[i * num_features()]);
  }
}

void ChebyshevReference::Compute(absl::Span<const uint8_t> species, const NeighborList& neighbors, Workspace* workspace,
                                 absl::Span<float> features) const {
  std::vector<double> exact(features.size());
  Compute(species, neighbors, workspace, absl::MakeSpan(exact));
  std::copy(exact.begin(), exact.end(), features.begin());
}

}  // namespace rutile
