#include "lib/descriptor/moment_reference.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "lib/base/logging.h"
#include "lib/descriptor/moment_basis.h"
#include "lib/descriptor/moment_harmonics.h"

namespace rutile {
namespace {

struct Neighbor {
  int64_t j;
  int species;
  double vector[3];  // r_ij
  double r;
  std::vector<double> phi, phi_slope;            // [N]
  std::vector<double> harmonic, harmonic_slope;  // [H], [H, 3]
};

template <typename T>
class MomentReference : public DescriptorDerivatives<T> {
 public:
  using State = typename DescriptorDerivatives<T>::State;
  using Snapshot = typename DescriptorDerivatives<T>::Snapshot;

  explicit MomentReference(const MomentOptions& options) : options_(options) {
    CHECK(options.Validate().ok()) << options.Validate();
  }

  int num_features() const override { return options_.num_features(); }
  double cutoff() const override { return options_.cutoff; }
  std::unique_ptr<State> MakeState() const override { return std::make_unique<OwnState>(); }

  void Features(const StructureGeometry& geometry, State* state, absl::Span<T> features) const override {
    OwnState& own = Own(state);
    FindNeighbors(geometry, &own);
    CHECK_EQ(features.size(), own.neighbors.size() * num_features());
    std::vector<double> row(num_features());
    for (size_t i = 0; i < own.neighbors.size(); ++i) {
      std::fill(row.begin(), row.end(), 0.0);
      for (const Neighbor& j : own.neighbors[i]) {
        ForEachTerm(j, [&](int feature, double value, const double*) { row[feature] += value; });
      }
      std::copy(row.begin(), row.end(), features.begin() + i * num_features());
    }
  }

  std::unique_ptr<const Snapshot> TakeSnapshot(const State& /*state*/) const override { return nullptr; }
  void Restore(const Snapshot& /*snapshot*/, State* /*state*/) const override {
    LOG(FATAL) << "there is no snapshot to restore";
  }

  void Vjp(State* state, absl::Span<const T> slopes, absl::Span<const uint8_t> /*sampled*/, absl::Span<T> force,
           double* strain_gradient) const override {
    Product(Own(state), slopes, force, strain_gradient, {});
  }

  void VjpByAtom(State* state, absl::Span<const T> slopes, absl::Span<T> force, double* strain_gradient,
                 absl::Span<double> atom_strain_gradient) const override {
    CHECK_EQ(atom_strain_gradient.size(), 3 * force.size());
    std::fill(atom_strain_gradient.begin(), atom_strain_gradient.end(), 0.0);
    Product(Own(state), slopes, force, strain_gradient, atom_strain_gradient);
  }

  void Jvp(State* state, absl::Span<const T> direction, absl::Span<const uint8_t> /*sampled*/, const double* strain,
           absl::Span<T> tangents) const override {
    const OwnState& own = Own(state);
    CHECK_EQ(direction.size(), 3 * own.num_atoms);
    CHECK_EQ(tangents.size(), own.neighbors.size() * num_features());
    std::vector<double> row(num_features());
    for (size_t i = 0; i < own.neighbors.size(); ++i) {
      std::fill(row.begin(), row.end(), 0.0);
      for (const Neighbor& j : own.neighbors[i]) {
        double change[3];
        for (int a = 0; a < 3; ++a) {
          change[a] = static_cast<double>(direction[3 * j.j + a]) - direction[3 * i + a];
          for (int b = 0; strain != nullptr && b < 3; ++b) change[a] += strain[3 * a + b] * j.vector[b];
        }
        ForEachTerm(j, [&](int feature, double, const double* slope) {
          row[feature] += slope[0] * change[0] + slope[1] * change[1] + slope[2] * change[2];
        });
      }
      std::copy(row.begin(), row.end(), tangents.begin() + i * num_features());
    }
  }

 private:
  struct OwnState : State {
    int64_t num_atoms = 0;
    std::vector<std::vector<Neighbor>> neighbors;  // [centers] within the cutoff
  };

  static OwnState& Own(State* state) {
    auto* const own = dynamic_cast<OwnState*>(state);
    CHECK(own != nullptr) << "the state is not one of MakeState";
    return *own;
  }

  // Both products with J^T. atom_strain: [9N], added to, or empty.
  void Product(const OwnState& own, absl::Span<const T> slopes, absl::Span<T> force, double* strain_gradient,
               absl::Span<double> atom_strain) const {
    CHECK_EQ(slopes.size(), own.neighbors.size() * num_features());
    CHECK_EQ(force.size(), 3 * own.num_atoms);
    std::vector<double> f(force.size());
    double strain[9] = {};
    for (size_t i = 0; i < own.neighbors.size(); ++i) {
      const T* const q = slopes.data() + i * num_features();
      for (const Neighbor& j : own.neighbors[i]) {
        ForEachTerm(j, [&](int feature, double, const double* slope) {
          for (int a = 0; a < 3; ++a) {
            const double d = q[feature] * slope[a];
            f[3 * i + a] += d;
            f[3 * j.j + a] -= d;
            for (int b = 0; b < 3; ++b) {
              strain[3 * a + b] += d * j.vector[b];
              if (atom_strain.empty()) continue;
              atom_strain[9 * i + 3 * a + b] += 0.5 * d * j.vector[b];
              atom_strain[9 * j.j + 3 * a + b] += 0.5 * d * j.vector[b];
            }
          }
        });
      }
    }
    std::copy(f.begin(), f.end(), force.begin());
    if (strain_gradient != nullptr) std::copy_n(strain, 9, strain_gradient);
  }

  void FindNeighbors(const StructureGeometry& geometry, OwnState* state) const {
    const int64_t num_atoms = geometry.species.size();
    CHECK_EQ(geometry.position.size(), 3 * num_atoms);
    CHECK_LE(geometry.pairs.num_atoms(), num_atoms);
    state->num_atoms = num_atoms;
    state->neighbors.assign(geometry.pairs.num_atoms(), {});
    for (int64_t i = 0; i < geometry.pairs.num_atoms(); ++i) {
      for (int64_t p = geometry.pairs.offset[i]; p < geometry.pairs.offset[i + 1]; ++p) {
        Neighbor n;
        n.j = geometry.pairs.j[p] - geometry.pairs.first_atom;
        n.species = geometry.species[n.j];
        const int16_t* const shift = geometry.pairs.shift + 3 * p;
        for (int a = 0; a < 3; ++a) {
          n.vector[a] =
              geometry.position[3 * n.j + a] - geometry.position[3 * i + a] +
              (shift[0] * geometry.cell[a] + shift[1] * geometry.cell[3 + a] + shift[2] * geometry.cell[6 + a]);
        }
        n.r = std::sqrt(n.vector[0] * n.vector[0] + n.vector[1] * n.vector[1] + n.vector[2] * n.vector[2]);
        if (n.r <= options_.min_cutoff || n.r > cutoff()) continue;
        const double unit[3] = {n.vector[0] / n.r, n.vector[1] / n.r, n.vector[2] / n.r};
        n.phi.resize(options_.num_radial);
        n.phi_slope.resize(options_.num_radial);
        RadialFunctions(options_, n.r, absl::MakeSpan(n.phi), absl::MakeSpan(n.phi_slope));
        n.harmonic.resize(options_.num_harmonics());
        n.harmonic_slope.resize(3 * options_.num_harmonics());
        RealHarmonics(options_.max_l, unit, absl::MakeSpan(n.harmonic), absl::MakeSpan(n.harmonic_slope));
        state->neighbors[i].push_back(n);
      }
    }
  }

  // Calls add(feature, value, slope) for every term that a neighbor adds to a feature; slope: [3], its derivative by
  // r_ij.
  template <typename Add>
  void ForEachTerm(const Neighbor& j, const Add& add) const {
    const int harmonics = options_.num_harmonics();
    for (int n = 0; n < options_.num_radial; ++n) {
      for (int k = 0; k < harmonics; ++k) {
        double slope[3];
        for (int a = 0; a < 3; ++a) {
          slope[a] = j.phi_slope[n] * j.harmonic[k] * j.vector[a] / j.r + j.phi[n] * j.harmonic_slope[3 * k + a] / j.r;
        }
        add((j.species * options_.num_radial + n) * harmonics + k, j.phi[n] * j.harmonic[k], slope);
      }
    }
  }

  const MomentOptions options_;
};

}  // namespace

template <typename T>
std::unique_ptr<const DescriptorDerivatives<T>> MakeMomentReference(const MomentOptions& options) {
  return std::make_unique<MomentReference<T>>(options);
}

template std::unique_ptr<const DescriptorDerivatives<float>> MakeMomentReference(const MomentOptions& options);
template std::unique_ptr<const DescriptorDerivatives<double>> MakeMomentReference(const MomentOptions& options);

}  // namespace rutile
