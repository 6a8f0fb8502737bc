#include "lib/potential/energy_predictor.h"

#include <vector>

#include "lib/base/logging.h"
#include "lib/potential/energy_kernel.h"

namespace rutile {

class EnergyPredictor::Impl {
 public:
  virtual ~Impl() = default;
  virtual double Predict(const float* features, absl::Span<const uint8_t> species) = 0;
  virtual double Predict(const double* features, absl::Span<const uint8_t> species) = 0;
};

template <typename T>
class EnergyPredictor::TypedImpl : public EnergyPredictor::Impl {
 public:
  explicit TypedImpl(const Potential& potential) : potential_(potential), kernel_(potential.shape) {}

  double Predict(const float* features, absl::Span<const uint8_t> species) override {
    return Energy(features, species);
  }
  double Predict(const double* features, absl::Span<const uint8_t> species) override {
    return Energy(features, species);
  }

 private:
  template <typename U>
  double Energy(const U* features, absl::Span<const uint8_t> species) {
    const int num_species = potential_.shape.num_species;
    const int num_features = potential_.shape.num_features;
    // The kernel wants atoms of one species next to each other: a counting sort.
    offset_.assign(num_species + 1, 0);
    for (const uint8_t s : species) ++offset_[s + 1];
    for (int s = 0; s < num_species; ++s) offset_[s + 1] += offset_[s];
    next_ = offset_;
    x_.resize(species.size() * num_features);
    structure_.assign(species.size(), 0);
    double energy = potential_.energy_scaling.shift * static_cast<double>(species.size());
    for (size_t atom = 0; atom < species.size(); ++atom) {
      const int s = species[atom];
      const double* const mean = &potential_.feature_scaling.mean[s * num_features];
      const double* const scale = &potential_.feature_scaling.scale[s * num_features];
      T* const row = &x_[next_[s]++ * num_features];
      for (int f = 0; f < num_features; ++f) {
        row[f] = static_cast<T>((features[atom * num_features + f] - mean[f]) * scale[f]);
      }
      energy += potential_.atomic_energies[s];
    }
    double sum = 0;
    kernel_.Evaluate(potential_.parameters.values<T>(), AtomRows<T>{x_, offset_, structure_}, absl::MakeSpan(&sum, 1));
    return energy + sum / potential_.energy_scaling.scale;
  }

  const Potential potential_;  // shares the tensors' bytes
  EnergyKernel<T> kernel_;
  std::vector<int64_t> offset_, next_;
  std::vector<T> x_;
  std::vector<int32_t> structure_;
};

EnergyPredictor::EnergyPredictor(const Potential& potential) {
  if (potential.parameters.dtype() == DType::kF64) {
    impl_ = std::make_unique<TypedImpl<double>>(potential);
  } else {
    impl_ = std::make_unique<TypedImpl<float>>(potential);
  }
}

EnergyPredictor::~EnergyPredictor() = default;

double EnergyPredictor::Predict(absl::Span<const float> features, absl::Span<const uint8_t> species) {
  return impl_->Predict(features.data(), species);
}

double EnergyPredictor::Predict(absl::Span<const double> features, absl::Span<const uint8_t> species) {
  return impl_->Predict(features.data(), species);
}

}  // namespace rutile
