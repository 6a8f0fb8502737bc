// Gradients of single structures or atoms by all parameters of a potential: the passes of force training
// (force_kernel.h), for one structure at a time.
//
// In fp64, whatever the products are made in: a trained potential's errors are small differences of large numbers. In
// fp32 the energies' gradients lost 5e-4 of their size in the mean at 5 meV/atom, and some structures all but one
// digit.

#ifndef RUTILE_LIB_POTENTIAL_INFLUENCE_GRADIENT_ROWS_H_
#define RUTILE_LIB_POTENTIAL_INFLUENCE_GRADIENT_ROWS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/descriptor/chebyshev_options.h"
#include "lib/descriptor/descriptor_derivatives.h"
#include "lib/network/network_kernel.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/data/geometry.h"
#include "lib/potential/influence/gradient_example.h"
#include "lib/potential/model/loss_function.h"
#include "lib/potential/model/potential_file.h"
#include "lib/potential/model/task_options.h"

namespace rutile {

// What all threads read.
struct GradientFormulas {
  GradientFormulas(const Potential& potential, const LossOptions& loss, const TermWeights& weights,
                   AngularMethod method);

  const Potential potential;
  const TermWeights weights;
  const ErrorLoss energy_loss, force_loss, stress_loss;
  const int num_features, num_species;
  const std::unique_ptr<const DescriptorDerivatives<double>> derivatives;
  std::vector<double> parameters;    // [P]
  std::vector<double> mean, scale;   // [species, F]: x = (G - mean) scale
  std::vector<double> energy_slope;  // [species, F]: dE/dG = energy_slope dx, eV
};

// One thread at a time may use an object. Memory grows to the largest structure, from then on no call allocates.
class GradientRows {
 public:
  // formulas: not owned, outlives the object.
  explicit GradientRows(const GradientFormulas& formulas);
  ~GradientRows();

  // row: [P], overwritten with the gradient of the example. What several examples of one structure share is done once
  // where they follow each other, so `data` stays where and as it is between calls. INVALID_ARGUMENT naming the
  // structure: AtomicData::FindPairs, a stress that counts and no volume.
  absl::Status Compute(const AtomicData& data, const GradientExample& example, absl::Span<double> row);

 private:
  // Energy alone: from features where there are some.
  absl::Status PrepareEnergy(const AtomicData& data, int64_t s);
  // Energy, its derivatives by features, and the forces.
  absl::Status PrepareDerivatives(const AtomicData& data, int64_t s, bool stress);
  // Rows of atoms: those of one species next to each other.
  void PlaceAtoms(const AtomicData& data, int64_t s);
  template <typename U>
  void Standardize(absl::Span<const uint8_t> species, const U* features);
  double EnergySlope(const AtomicData& data, const GradientExample& example) const;
  // d quantity / d force of each atom, and d quantity / d strain gradient.
  void ForceSlopes(const AtomicData& data, const GradientExample& example, bool counts);
  void StressSlopes(const AtomicData& data, int64_t s, double* strain) const;
  // tangents_ = how the features change along -direction_ and strain, in the networks' units and order.
  void StoreTangents(absl::Span<const uint8_t> species, const double* strain);
  AtomRows<double> Rows() const { return {x_, species_offset_, structure_}; }

  const GradientFormulas& formulas_;
  NetworkKernel<double> kernel_;
  const std::unique_ptr<DescriptorDerivatives<double>::State> state_;
  PairMemory pairs_;
  // Whose derivatives are ready; null: none.
  const AtomicData* ready_data_ = nullptr;
  int64_t ready_structure_ = -1;
  bool ready_stress_ = false;

  std::vector<int64_t> species_offset_;    // [species + 1]
  std::vector<int32_t> structure_;         // [N] 0
  std::vector<int32_t> row_;               // [N] of each atom
  std::vector<double> x_, x_gradient_;     // [N, F] by row
  std::vector<double> features_;           // [N, F] by atom
  std::vector<double> tangents_;           // [N, F] by row
  std::vector<double> force_, direction_;  // [3N]
  double strain_gradient_[9];
  double volume_ = 0;
  double network_sum_ = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_INFLUENCE_GRADIENT_ROWS_H_
