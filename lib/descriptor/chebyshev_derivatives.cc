#include "lib/descriptor/chebyshev_derivatives.h"

#include "lib/base/logging.h"
#include "lib/descriptor/kernels/chebyshev_tables.h"
#include "lib/descriptor/kernels/derivative_kernel.h"
#include "lib/descriptor/kernels/geometry_snapshot.h"
#include "lib/descriptor/kernels/interleaved_neighbors.h"
#include "lib/descriptor/kernels/triplets/listed_triplets.h"

namespace rutile {
namespace {

// Returns tables without angular neighbors, for the interleaved kernels where triplets are listed.
template <typename T>
ChebyshevTables<T> RadialTables(ChebyshevTables<T> tables) {
  tables.method = AngularMethod::kTriplets;
  tables.ang_square = -1;
  return tables;
}

template <typename T>
class ChebyshevDerivatives : public DescriptorDerivatives<T> {
 public:
  using State = typename DescriptorDerivatives<T>::State;

  ChebyshevDerivatives(const ChebyshevOptions& options, AngularMethod method)
      : cutoff_(options.cutoff()), tables_(options, method), radial_tables_(RadialTables(tables_)) {}

  int num_features() const override { return tables_.num_features; }
  double cutoff() const override { return cutoff_; }
  std::unique_ptr<State> MakeState() const override { return std::make_unique<OwnState>(); }

  void Features(const StructureGeometry& geometry, State* state, absl::Span<T> features) const override {
    const size_t num_atoms = geometry.species.size();
    CHECK_EQ(geometry.position.size(), 3 * num_atoms);
    CHECK(!geometry.pairs.offset.empty() && geometry.pairs.offset.size() <= num_atoms + 1);
    CHECK_EQ(features.size(), geometry.pairs.num_atoms() * num_features());
    OwnState* const own = Own(state);
    own->is_listed = tables_.method == AngularMethod::kTriplets && !geometry.triplets.offset.empty();
    InterleavedFeatures(TablesFor(*own), geometry, own, features.data());
    if (own->is_listed) ListedFeatures(tables_, geometry, &own->listed, features.data());
  }

  std::unique_ptr<const typename DescriptorDerivatives<T>::Snapshot> TakeSnapshot(const State& state) const override {
    const auto* const own = dynamic_cast<const OwnState*>(&state);
    CHECK(own != nullptr) << "the state is not one of MakeState";
    CHECK_EQ(own->num_centers, own->num_atoms) << "snapshots are of whole structures";
    if (own->is_listed) return nullptr;
    return std::make_unique<GeometrySnapshot<T>>(*own, tables_.spins.size(), NumMoments(tables_));
  }

  void Restore(const typename DescriptorDerivatives<T>::Snapshot& snapshot, State* state) const override {
    OwnState* const own = Own(state);
    const auto* const lanes = dynamic_cast<const GeometrySnapshot<T>*>(&snapshot);
    CHECK(lanes != nullptr) << "it is not of Keep";
    own->is_listed = false;
    own->lanes = lanes->lanes();
    own->num_atoms = own->num_centers = lanes->num_atoms();
    own->all = lanes->view();
    own->sampled.clear();
  }

  void Vjp(State* state, absl::Span<const T> slopes, absl::Span<const uint8_t> sampled, absl::Span<T> force,
           double* strain_gradient) const override {
    OwnState* const own = Own(state);
    CheckProduct(*own, sampled, strain_gradient != nullptr);
    CHECK_EQ(slopes.size(), own->num_centers * num_features());
    CHECK_EQ(force.size(), 3 * own->num_atoms);
    InterleavedVjp(TablesFor(*own), own, slopes.data(), sampled, force.data(), strain_gradient, nullptr);
    if (own->is_listed) ListedVjp(tables_, &own->listed, slopes.data(), sampled, force.data(), strain_gradient);
  }

  void VjpByAtom(State* state, absl::Span<const T> slopes, absl::Span<T> force, double* strain_gradient,
                 absl::Span<double> atom_strain_gradient) const override {
    OwnState* const own = Own(state);
    CHECK(!own->is_listed) << "sums over listed triplets are not divided among atoms";
    CHECK_EQ(slopes.size(), own->num_centers * num_features());
    CHECK_EQ(force.size(), 3 * own->num_atoms);
    CHECK_EQ(atom_strain_gradient.size(), 9 * own->num_atoms);
    InterleavedVjp(tables_, own, slopes.data(), {}, force.data(), strain_gradient, atom_strain_gradient.data());
  }

  void Jvp(State* state, absl::Span<const T> direction, absl::Span<const uint8_t> sampled, const double* strain,
           absl::Span<T> tangents) const override {
    OwnState* const own = Own(state);
    CheckProduct(*own, sampled, strain != nullptr);
    CHECK_EQ(direction.size(), 3 * own->num_atoms);
    CHECK_EQ(tangents.size(), own->num_centers * num_features());
    InterleavedJvp(TablesFor(*own), own, direction.data(), sampled, strain, tangents.data());
    if (own->is_listed) ListedJvp(tables_, &own->listed, direction.data(), sampled, strain, tangents.data());
  }

 private:
  struct OwnState : InterleavedNeighbors<T> {
    bool is_listed = false;  // `listed` computes the angular part
    ListedState<T> listed;
  };

  static OwnState* Own(State* state) {
    auto* const own = dynamic_cast<OwnState*>(state);
    CHECK(own != nullptr) << "the state is not one of MakeState";
    return own;
  }

  static void CheckProduct(const InterleavedNeighbors<T>& state, absl::Span<const uint8_t> sampled, bool strain) {
    CHECK(sampled.empty() || sampled.size() == state.num_atoms) << sampled.size() << " vs. " << state.num_atoms;
    CHECK(sampled.empty() || !strain) << "a strain needs all atoms";
  }

  const ChebyshevTables<T>& TablesFor(const OwnState& state) const {
    return state.is_listed ? radial_tables_ : tables_;
  }

  const double cutoff_;
  const ChebyshevTables<T> tables_, radial_tables_;
};

}  // namespace

template <typename T>
std::unique_ptr<const DescriptorDerivatives<T>> MakeChebyshevDerivatives(const ChebyshevOptions& options,
                                                                         AngularMethod method) {
  return std::make_unique<ChebyshevDerivatives<T>>(options, method);
}

template std::unique_ptr<const DescriptorDerivatives<float>> MakeChebyshevDerivatives(const ChebyshevOptions&,
                                                                                      AngularMethod);
template std::unique_ptr<const DescriptorDerivatives<double>> MakeChebyshevDerivatives(const ChebyshevOptions&,
                                                                                       AngularMethod);

}  // namespace rutile
