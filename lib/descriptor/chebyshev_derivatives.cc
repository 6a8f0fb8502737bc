#include "lib/descriptor/chebyshev_derivatives.h"

#include "lib/base/logging.h"
#include "lib/descriptor/chebyshev_tables.h"
#include "lib/descriptor/derivative_kernel.h"
#include "lib/descriptor/lane_state.h"

namespace rutile {
namespace {

template <typename T>
class ChebyshevDerivatives : public DescriptorDerivatives<T> {
 public:
  using State = typename DescriptorDerivatives<T>::State;

  ChebyshevDerivatives(const ChebyshevOptions& options, AngularMethod method)
      : cutoff_(options.cutoff()), tables_(options, method) {}

  int num_features() const override { return tables_.num_features; }
  double cutoff() const override { return cutoff_; }
  std::unique_ptr<State> MakeState() const override { return std::make_unique<LaneState<T>>(); }

  void Features(const StructureGeometry& geometry, State* state, absl::Span<T> features) const override {
    const size_t num_atoms = geometry.species.size();
    CHECK_EQ(geometry.position.size(), 3 * num_atoms);
    CHECK_EQ(geometry.pairs.offset.size(), num_atoms + 1);
    CHECK_EQ(features.size(), num_atoms * num_features());
    LaneFeatures(tables_, geometry, Own(state), features.data());
  }

  void Vjp(State* state, absl::Span<const T> slopes, absl::Span<const uint8_t> sampled, absl::Span<T> force,
           double* strain_gradient) const override {
    LaneState<T>* const own = Own(state);
    CheckProduct(*own, sampled, strain_gradient != nullptr);
    CHECK_EQ(slopes.size(), own->num_atoms * num_features());
    CHECK_EQ(force.size(), 3 * own->num_atoms);
    LaneVjp(tables_, own, slopes.data(), sampled, force.data(), strain_gradient);
  }

  void Jvp(State* state, absl::Span<const T> direction, absl::Span<const uint8_t> sampled, const double* strain,
           absl::Span<T> tangents) const override {
    LaneState<T>* const own = Own(state);
    CheckProduct(*own, sampled, strain != nullptr);
    CHECK_EQ(direction.size(), 3 * own->num_atoms);
    CHECK_EQ(tangents.size(), own->num_atoms * num_features());
    LaneJvp(tables_, own, direction.data(), sampled, strain, tangents.data());
  }

 private:
  static LaneState<T>* Own(State* state) {
    auto* const own = dynamic_cast<LaneState<T>*>(state);
    CHECK(own != nullptr) << "the state is not one of MakeState";
    return own;
  }

  static void CheckProduct(const LaneState<T>& state, absl::Span<const uint8_t> sampled, bool strain) {
    CHECK(sampled.empty() || sampled.size() == state.num_atoms) << sampled.size() << " vs. " << state.num_atoms;
    CHECK(sampled.empty() || !strain) << "a strain needs all atoms";
  }

  const double cutoff_;
  const ChebyshevTables<T> tables_;
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
