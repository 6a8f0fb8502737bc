#include "lib/potential/model/structure_messages.h"

#include <algorithm>
#include <cmath>

#include "lib/base/logging.h"

namespace rutile {

std::vector<double> MessageScale(const MomentOptions& options, const NetworkShape& shape,
                                 const FeatureScaling& feature_scaling) {
  CHECK(shape.has_messages());
  const int64_t functions = options.num_radial * options.num_harmonics();
  std::vector<double> scale(functions);
  for (int64_t k = 0; k < functions; ++k) {
    double square = 0, count = 0;
    for (int64_t at = k; at < static_cast<int64_t>(feature_scaling.scale.size()); at += functions) {
      if (const double each = feature_scaling.scale[at]; each != 0) {
        square += 1 / (each * each);
        count += 1;
      }
    }
    scale[k] = count > 0 ? 1 / std::sqrt(square / count) : 0;
  }
  return scale;
}

template <typename T>
StructureMessages<T>::StructureMessages(const MomentOptions& options, const NetworkShape& shape,
                                        const FeatureScaling& feature_scaling)
    : moments_(options, shape.moments.messages, shape.moments.vector_messages,
               MessageScale(options, shape, feature_scaling)) {}

template <typename T>
void StructureMessages<T>::Clear() {
  structures_.clear();
  force_.clear();
  direction_.clear();
}

template <typename T>
void StructureMessages<T>::Add(const MessageSites<T>& sites) {
  structures_.push_back({sites, static_cast<int64_t>(force_.size()), {}, {}});
  force_.resize(force_.size() + 3 * sites.atoms, T(0));
  direction_.resize(force_.size(), T(0));
  if (static_cast<int64_t>(rest_.size()) < 3 * sites.atoms) rest_.resize(3 * sites.atoms, T(0));
}

template <typename T>
void StructureMessages<T>::AddForces(int k, double factor, absl::Span<T> force, double* strain_gradient) const {
  const Placed& placed = structures_[k];
  CHECK_EQ(static_cast<int64_t>(force.size()), 3 * placed.sites.atoms);
  const T* const more = force_.data() + placed.first;
  for (size_t c = 0; c < force.size(); ++c) force[c] += static_cast<T>(factor) * more[c];
  for (int c = 0; strain_gradient != nullptr && c < 9; ++c) strain_gradient[c] += factor * placed.strain_gradient[c];
}

template <typename T>
absl::Span<const double> StructureMessages<T>::atom_strain(int k) const {
  return absl::MakeConstSpan(atom_strain_).subspan(3 * structures_[k].first, 9 * structures_[k].sites.atoms);
}

template <typename T>
void StructureMessages<T>::SetDirection(int k, absl::Span<const T> direction, double factor) {
  const Placed& placed = structures_[k];
  T* const to = direction_.data() + placed.first;
  CHECK_EQ(static_cast<int64_t>(direction.size()), 3 * placed.sites.atoms);
  for (size_t c = 0; c < direction.size(); ++c) to[c] = static_cast<T>(factor * direction[c]);
}

template <typename T>
void StructureMessages<T>::SetStrain(int k, const double* strain, double factor) {
  for (int c = 0; c < 9; ++c) structures_[k].strain[c] = factor * strain[c];
}

template <typename T>
void StructureMessages<T>::Sums(const T* u, T* x) {
  for (const Placed& placed : structures_) moments_.Sums(placed.sites, u, x);
}

template <typename T>
void StructureMessages<T>::Slopes(const T* u, const T* xbar, bool forces, T* ubar) {
  std::fill(force_.begin(), force_.end(), T(0));
  if (keeps_atom_strains_) atom_strain_.assign(3 * force_.size(), 0.0);
  for (Placed& placed : structures_) {
    placed.strain_gradient = {};
    moments_.Slopes(placed.sites, u, xbar, ubar, forces ? force_.data() + placed.first : nullptr,
                    forces ? placed.strain_gradient.data() : nullptr,
                    forces && keeps_atom_strains_ ? atom_strain_.data() + 3 * placed.first : nullptr);
  }
}

template <typename T>
void StructureMessages<T>::Tangents(const T* u, const T* udot, T* xdot) {
  for (const Placed& placed : structures_) {
    moments_.Tangents(placed.sites, u, udot, Direction(placed), Strain(placed), xdot);
  }
}

template <typename T>
void StructureMessages<T>::TangentSlopes(const T* xbar, const T* xbardot, T* ubardot) {
  for (const Placed& placed : structures_) {
    moments_.TangentSlopes(placed.sites, xbar, xbardot, Direction(placed), Strain(placed), ubardot);
  }
}

template class StructureMessages<float>;
template class StructureMessages<double>;

}  // namespace rutile
