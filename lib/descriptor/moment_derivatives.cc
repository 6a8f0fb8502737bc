#include "lib/descriptor/moment_derivatives.h"

#include "lib/base/logging.h"
#include "lib/descriptor/kernels/moments/moment_kernel.h"
#include "lib/descriptor/kernels/moments/moment_tables.h"

namespace rutile {
namespace {

template <typename T>
class MomentDerivatives : public DescriptorDerivatives<T> {
 public:
  using State = typename DescriptorDerivatives<T>::State;
  using Snapshot = typename DescriptorDerivatives<T>::Snapshot;

  explicit MomentDerivatives(const MomentOptions& options) : cutoff_(options.cutoff), tables_(options) {}

  int num_features() const override { return tables_.num_features; }
  double cutoff() const override { return cutoff_; }
  std::unique_ptr<State> MakeState() const override { return std::make_unique<MomentNeighbors<T>>(); }

  void Features(const StructureGeometry& geometry, State* state, absl::Span<T> features) const override {
    const size_t num_atoms = geometry.species.size();
    CHECK_EQ(geometry.position.size(), 3 * num_atoms);
    CHECK(!geometry.pairs.offset.empty() && geometry.pairs.offset.size() <= num_atoms + 1);
    CHECK_EQ(features.size(), geometry.pairs.num_atoms() * num_features());
    MomentFeatures(tables_, geometry, Own(state), features.data());
  }

  std::unique_ptr<const Snapshot> TakeSnapshot(const State& state) const override {
    const auto* const own = dynamic_cast<const MomentNeighbors<T>*>(&state);
    CHECK(own != nullptr) << "the state is not one of MakeState";
    CHECK_EQ(own->num_centers, own->num_atoms) << "snapshots are of whole structures";
    return std::make_unique<MomentSnapshot<T>>(*own, tables_.num_species);
  }

  void Restore(const Snapshot& snapshot, State* state) const override {
    MomentNeighbors<T>* const own = Own(state);
    const auto* const kept = dynamic_cast<const MomentSnapshot<T>*>(&snapshot);
    CHECK(kept != nullptr) << "the snapshot is not one of TakeSnapshot";
    own->lanes = kept->lanes();
    own->num_atoms = own->num_centers = kept->num_atoms();
    own->all = kept->view();
  }

  void Vjp(State* state, absl::Span<const T> slopes, absl::Span<const uint8_t> sampled, absl::Span<T> force,
           double* strain_gradient) const override {
    MomentNeighbors<T>* const own = Own(state);
    CheckProduct(*own, sampled, strain_gradient != nullptr);
    CHECK_EQ(slopes.size(), own->num_centers * num_features());
    CHECK_EQ(force.size(), 3 * own->num_atoms);
    MomentVjp(tables_, own, slopes.data(), force.data(), strain_gradient, nullptr);
  }

  void VjpByAtom(State* state, absl::Span<const T> slopes, absl::Span<T> force, double* strain_gradient,
                 absl::Span<double> atom_strain_gradient) const override {
    MomentNeighbors<T>* const own = Own(state);
    CHECK_EQ(slopes.size(), own->num_centers * num_features());
    CHECK_EQ(force.size(), 3 * own->num_atoms);
    CHECK_EQ(atom_strain_gradient.size(), 9 * own->num_atoms);
    MomentVjp(tables_, own, slopes.data(), force.data(), strain_gradient, atom_strain_gradient.data());
  }

  void Jvp(State* state, absl::Span<const T> direction, absl::Span<const uint8_t> sampled, const double* strain,
           absl::Span<T> tangents) const override {
    MomentNeighbors<T>* const own = Own(state);
    CheckProduct(*own, sampled, strain != nullptr);
    CHECK_EQ(direction.size(), 3 * own->num_atoms);
    CHECK_EQ(tangents.size(), own->num_centers * num_features());
    MomentJvp(tables_, own, direction.data(), strain, tangents.data());
  }

 private:
  static MomentNeighbors<T>* Own(State* state) {
    auto* const own = dynamic_cast<MomentNeighbors<T>*>(state);
    CHECK(own != nullptr) << "the state is not one of MakeState";
    return own;
  }

  static void CheckProduct(const MomentNeighbors<T>& state, absl::Span<const uint8_t> sampled, bool strain) {
    CHECK(sampled.empty() || sampled.size() == state.num_atoms) << sampled.size() << " vs. " << state.num_atoms;
    CHECK(sampled.empty() || !strain) << "a strain needs all atoms";
  }

  const double cutoff_;
  const MomentTables<T> tables_;
};

}  // namespace

template <typename T>
std::unique_ptr<const DescriptorDerivatives<T>> MakeMomentDerivatives(const MomentOptions& options) {
  return std::make_unique<MomentDerivatives<T>>(options);
}

template std::unique_ptr<const DescriptorDerivatives<float>> MakeMomentDerivatives(const MomentOptions& options);
template std::unique_ptr<const DescriptorDerivatives<double>> MakeMomentDerivatives(const MomentOptions& options);

}  // namespace rutile
