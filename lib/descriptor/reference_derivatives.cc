#include "lib/descriptor/reference_derivatives.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "lib/base/logging.h"
#include "lib/descriptor/chebyshev.h"

namespace rutile {
namespace {

constexpr double kPi = 3.14159265358979323846;

double CosineCutoffSlope(double r, double cutoff) {
  return r < cutoff ? -0.5 * kPi / cutoff * std::sin(kPi * r / cutoff) : 0;
}

// Computes T_0 .. T_order of x and their derivatives: T_n' = n U_{n-1}, from U_n = 2 x U_{n-1} - U_{n-2}.
struct Polynomials {
  Polynomials(int order, double x) : value(order + 1), slope(order + 1) {
    double t0 = 1, t1 = x, u0 = 0, u1 = 1;
    for (int n = 0; n <= order; ++n) {
      value[n] = t0;
      slope[n] = n * u0;
      const double t = 2 * x * t1 - t0, u = 2 * x * u1 - u0;
      t0 = t1;
      t1 = t;
      u0 = u1;
      u1 = u;
    }
  }
  std::vector<double> value, slope;
};

struct Neighbor {
  int64_t j;
  double vector[3];  // r_ij
  double r, unit[3];
  double spin;
};

struct ReferenceState {
  int64_t num_atoms = 0;
  std::vector<std::vector<Neighbor>> neighbors;  // [centers] neighbors farther than min_cutoff
};

template <typename T>
class ReferenceDerivatives : public DescriptorDerivatives<T> {
 public:
  using State = typename DescriptorDerivatives<T>::State;

  explicit ReferenceDerivatives(const ChebyshevOptions& options) : options_(options), spins_(options.TypeSpins()) {
    CHECK(options.Validate().ok()) << options.Validate();
  }

  int num_features() const override { return options_.num_features(); }
  double cutoff() const override { return options_.cutoff(); }
  std::unique_ptr<State> MakeState() const override { return std::make_unique<OwnState>(); }

  void Features(const StructureGeometry& geometry, State* state, absl::Span<T> features) const override {
    OwnState& own = *static_cast<OwnState*>(state);
    FindNeighbors(geometry, &own);
    CHECK_EQ(features.size(), own.neighbors.size() * num_features());
    std::fill(features.begin(), features.end(), T(0));
    for (size_t i = 0; i < own.neighbors.size(); ++i) {
      std::vector<double> row(num_features());
      ForEachTerm(own.neighbors[i], [&](int feature, double value, const double*, const Neighbor&, const double*,
                                        const Neighbor*) { row[feature] += value; });
      std::copy(row.begin(), row.end(), features.begin() + i * num_features());
    }
  }

  std::unique_ptr<const typename DescriptorDerivatives<T>::Snapshot> TakeSnapshot(
      const State& /*state*/) const override {
    return nullptr;
  }
  void Restore(const typename DescriptorDerivatives<T>::Snapshot& /*snapshot*/, State* /*state*/) const override {
    LOG(FATAL) << "there is no snapshot to restore";
  }

  void Vjp(State* state, absl::Span<const T> slopes, absl::Span<const uint8_t> /*sampled*/, absl::Span<T> force,
           double* strain_gradient) const override {
    Product(*static_cast<OwnState*>(state), slopes, force, strain_gradient, {});
  }

  void VjpByAtom(State* state, absl::Span<const T> slopes, absl::Span<T> force, double* strain_gradient,
                 absl::Span<double> atom_strain_gradient) const override {
    CHECK_EQ(atom_strain_gradient.size(), 3 * force.size());
    std::fill(atom_strain_gradient.begin(), atom_strain_gradient.end(), 0.0);
    Product(*static_cast<OwnState*>(state), slopes, force, strain_gradient, atom_strain_gradient);
  }

  void Jvp(State* state, absl::Span<const T> direction, absl::Span<const uint8_t>, const double* strain,
           absl::Span<T> tangents) const override {
    const OwnState& own = *static_cast<OwnState*>(state);
    CHECK_EQ(direction.size(), 3 * own.num_atoms);
    CHECK_EQ(tangents.size(), own.neighbors.size() * num_features());
    for (size_t i = 0; i < own.neighbors.size(); ++i) {
      std::vector<double> row(num_features());
      const auto add = [&](int feature, const double* slope, const Neighbor& to) {
        for (int a = 0; a < 3; ++a) {
          double change = static_cast<double>(direction[3 * to.j + a]) - direction[3 * i + a];
          for (int b = 0; strain != nullptr && b < 3; ++b) change += strain[3 * a + b] * to.vector[b];
          row[feature] += slope[a] * change;
        }
      };
      ForEachTerm(own.neighbors[i], [&](int feature, double, const double* slope_j, const Neighbor& j,
                                        const double* slope_k, const Neighbor* k) {
        add(feature, slope_j, j);
        if (k != nullptr) add(feature, slope_k, *k);
      });
      std::copy(row.begin(), row.end(), tangents.begin() + i * num_features());
    }
  }

 private:
  struct OwnState : State, ReferenceState {};

  // Both products with J^T. atom_strain: [9N], added to, or empty.
  void Product(const OwnState& own, absl::Span<const T> slopes, absl::Span<T> force, double* strain_gradient,
               absl::Span<double> atom_strain) const {
    CHECK_EQ(slopes.size(), own.neighbors.size() * num_features());
    CHECK_EQ(force.size(), 3 * own.num_atoms);
    std::vector<double> f(force.size());
    double strain[9] = {};
    for (size_t i = 0; i < own.neighbors.size(); ++i) {
      const T* const q = slopes.data() + i * num_features();
      const auto add = [&](int feature, const double* slope, const Neighbor& to) {
        for (int a = 0; a < 3; ++a) {
          const double d = q[feature] * slope[a];
          f[3 * i + a] += d;
          f[3 * to.j + a] -= d;
          for (int b = 0; b < 3; ++b) {
            strain[3 * a + b] += d * to.vector[b];
            if (atom_strain.empty()) continue;
            atom_strain[9 * i + 3 * a + b] += 0.5 * d * to.vector[b];
            atom_strain[9 * to.j + 3 * a + b] += 0.5 * d * to.vector[b];
          }
        }
      };
      ForEachTerm(own.neighbors[i], [&](int feature, double, const double* slope_j, const Neighbor& j,
                                        const double* slope_k, const Neighbor* k) {
        add(feature, slope_j, j);
        if (k != nullptr) add(feature, slope_k, *k);
      });
    }
    std::copy(f.begin(), f.end(), force.begin());
    if (strain_gradient != nullptr) std::copy_n(strain, 9, strain_gradient);
  }

  void FindNeighbors(const StructureGeometry& geometry, ReferenceState* state) const {
    const int64_t num_atoms = geometry.species.size();
    CHECK_EQ(geometry.position.size(), 3 * num_atoms);
    CHECK_LE(geometry.pairs.num_atoms(), num_atoms);
    state->num_atoms = num_atoms;
    state->neighbors.assign(geometry.pairs.num_atoms(), {});
    for (int64_t i = 0; i < geometry.pairs.num_atoms(); ++i) {
      for (int64_t p = geometry.pairs.offset[i]; p < geometry.pairs.offset[i + 1]; ++p) {
        Neighbor n;
        n.j = geometry.pairs.j[p] - geometry.pairs.first_atom;
        const int16_t* const shift = geometry.pairs.shift + 3 * p;
        for (int a = 0; a < 3; ++a) {
          n.vector[a] =
              geometry.position[3 * n.j + a] - geometry.position[3 * i + a] +
              (shift[0] * geometry.cell[a] + shift[1] * geometry.cell[3 + a] + shift[2] * geometry.cell[6 + a]);
        }
        n.r = std::sqrt(n.vector[0] * n.vector[0] + n.vector[1] * n.vector[1] + n.vector[2] * n.vector[2]);
        if (n.r <= options_.min_cutoff || n.r > cutoff()) continue;
        for (int a = 0; a < 3; ++a) n.unit[a] = n.vector[a] / n.r;
        n.spin = spins_[geometry.species[n.j]];
        state->neighbors[i].push_back(n);
      }
    }
  }

  // Calls add(feature, value, slope_j, j, slope_k, k) for every term of every feature of an atom. The slopes are the
  // term's derivatives by r_ij and, in angular terms, by r_ik; k is null in radial terms.
  template <typename Add>
  void ForEachTerm(const std::vector<Neighbor>& neighbors, const Add& add) const {
    const int radial = options_.rad_order + 1, angular = options_.ang_order + 1;
    const bool weighted = spins_.size() > 1;
    for (size_t p = 0; p < neighbors.size(); ++p) {
      const Neighbor& j = neighbors[p];
      if (j.r <= options_.rad_cutoff) {
        const Polynomials t(options_.rad_order, 2 * j.r / options_.rad_cutoff - 1);
        const double f = CosineCutoff(j.r, options_.rad_cutoff), slope = CosineCutoffSlope(j.r, options_.rad_cutoff);
        for (int n = 0; n < radial; ++n) {
          const double by_r = t.slope[n] * 2 / options_.rad_cutoff * f + t.value[n] * slope;
          const double by_vector[3] = {by_r * j.unit[0], by_r * j.unit[1], by_r * j.unit[2]};
          add(n, t.value[n] * f, by_vector, j, nullptr, nullptr);
          if (!weighted) continue;
          const double spun[3] = {j.spin * by_vector[0], j.spin * by_vector[1], j.spin * by_vector[2]};
          add(radial + angular + n, j.spin * t.value[n] * f, spun, j, nullptr, nullptr);
        }
      }
    }
    ForEachAngularTerm(neighbors, {options_.ang_order, options_.ang_cutoff}, radial, 2 * radial + angular, add);
    int first = (radial + angular) * (weighted ? 2 : 1);
    for (const AngularSet& set : options_.nearer) {
      ForEachAngularTerm(neighbors, set, first, first + set.order + 1, add);
      first += (set.order + 1) * (weighted ? 2 : 1);
    }
  }

  // first, first_weighted: the first columns of the set's features.
  template <typename Add>
  void ForEachAngularTerm(const std::vector<Neighbor>& neighbors, const AngularSet& set, int first, int first_weighted,
                          const Add& add) const {
    const bool weighted = spins_.size() > 1;
    for (size_t p = 0; p < neighbors.size(); ++p) {
      const Neighbor& j = neighbors[p];
      if (j.r > set.cutoff) continue;
      const double fj = CosineCutoff(j.r, set.cutoff), slope_j = CosineCutoffSlope(j.r, set.cutoff);
      for (size_t q = p + 1; q < neighbors.size(); ++q) {
        const Neighbor& k = neighbors[q];
        if (k.r > set.cutoff) continue;
        const double fk = CosineCutoff(k.r, set.cutoff), slope_k = CosineCutoffSlope(k.r, set.cutoff);
        const double dot = j.unit[0] * k.unit[0] + j.unit[1] * k.unit[1] + j.unit[2] * k.unit[2];
        const double cosine = std::clamp(dot, -1.0, 1.0);
        const Polynomials t(set.order, cosine);
        const double spin = j.spin * k.spin;
        for (int n = 0; n <= set.order; ++n) {
          double by_j[3], by_k[3], spun_j[3], spun_k[3];
          for (int a = 0; a < 3; ++a) {
            by_j[a] =
                t.slope[n] * fj * fk * (k.unit[a] - cosine * j.unit[a]) / j.r + t.value[n] * slope_j * fk * j.unit[a];
            by_k[a] =
                t.slope[n] * fj * fk * (j.unit[a] - cosine * k.unit[a]) / k.r + t.value[n] * fj * slope_k * k.unit[a];
            spun_j[a] = spin * by_j[a];
            spun_k[a] = spin * by_k[a];
          }
          const double value = t.value[n] * fj * fk;
          add(first + n, value, by_j, j, by_k, &k);
          if (weighted) add(first_weighted + n, spin * value, spun_j, j, spun_k, &k);
        }
      }
    }
  }

  const ChebyshevOptions options_;
  const std::vector<double> spins_;
};

}  // namespace

template <typename T>
std::unique_ptr<const DescriptorDerivatives<T>> MakeReferenceDerivatives(const ChebyshevOptions& options) {
  return std::make_unique<ReferenceDerivatives<T>>(options);
}

template std::unique_ptr<const DescriptorDerivatives<float>> MakeReferenceDerivatives(const ChebyshevOptions& options);
template std::unique_ptr<const DescriptorDerivatives<double>> MakeReferenceDerivatives(const ChebyshevOptions& options);

}  // namespace rutile
