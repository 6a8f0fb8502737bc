// Runs force training on a few structures in one thread; force_kernel.h describes the passes.

#ifndef RUTILE_LIB_POTENTIAL_TRAINING_STRUCTURE_WORKER_H_
#define RUTILE_LIB_POTENTIAL_TRAINING_STRUCTURE_WORKER_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "lib/descriptor/descriptor_cost.h"
#include "lib/descriptor/descriptor_derivatives.h"
#include "lib/network/atom_kernel.h"
#include "lib/network/kernel_plan.h"
#include "lib/network/network_cost.h"
#include "lib/potential/model/atomistic_model.h"
#include "lib/potential/model/loss_function.h"
#include "lib/potential/model/structure_messages.h"
#include "lib/potential/model/task_options.h"
#include "lib/potential/training/force_batch.h"
#include "lib/potential/training/geometry_cache.h"
#include "lib/trace/scope.h"

namespace rutile {

// Sums of squares and of absolute values of errors, and their number, from which metrics are computed.
struct ErrorSums {
  double square = 0, absolute = 0, count = 0;
  void Add(double error) {
    square += error * error;
    absolute += error < 0 ? -error : error;
    count += 1;
  }
  void Add(const ErrorSums& other) {
    square += other.square;
    absolute += other.absolute;
    count += other.count;
  }
};

// The errors of a batch: energy per atom (eV), force components (eV/Angstrom), stress components (eV/Angstrom^3).
struct BatchErrors {
  ErrorSums energy, force, stress;
};

// The contribution of one structure to the sums of its batch.
struct StructureSums {
  double energy_error = 0;  // eV per atom; NaN where no energy is known
  double energy_loss = 0, energy_count = 0, force_loss = 0, force_count = 0, stress_loss = 0, stress_count = 0;
  BatchErrors errors;
};

// True if structure s of the batch has forces or a stress to learn; otherwise only its energy counts.
template <typename T>
bool NeedsForces(const LossOptions& loss, const ForceBatch<T>& batch, int64_t s) {
  return (loss.force_weight > 0 && batch.num_sampled[s] > 0) || (loss.stress_weight > 0 && batch.has_stress[s]);
}

// What all threads share read-only: losses, descriptor, and scalings in the form that the passes need.
template <typename T>
struct ForceContext {
  // model must outlive the object.
  ForceContext(const AtomisticModel& model, const LossOptions& loss, AngularMethod method);

  const AtomisticModel& model;
  const LossOptions loss;
  const ErrorLoss energy_loss, force_loss, stress_loss;
  const int num_features, num_species;
  const std::unique_ptr<const DescriptorDerivatives<T>> derivatives;
  const DescriptorCost descriptor_cost;  // for profiles
  const NetworkCost network_cost;        // for one atom
  std::vector<T> mean, scale;            // [species, F]: x = (G - mean) scale
  std::vector<T> energy_slope;           // [species, F]: dE/dG = energy_slope dx, eV
};

// The gradients of each term's summed losses by the parameters: flat, added to. Empty for terms without weight.
template <typename T>
struct TermGradients {
  absl::Span<T> energy, force, stress;
};

// Computes losses and gradients of chunks of structures. T is float or double. One thread at a time may use an object.
// Memory grows to that of the largest chunk, after which no call allocates.
template <typename T>
class StructureWorker {
 public:
  // formulas and cache are not owned and must outlive the object. cache: entries of the data's structures with forces,
  // shared by threads; null caches nothing.
  StructureWorker(const ForceContext<T>& formulas, GeometryCache<T>* cache);
  ~StructureWorker();

  // Freezes networks; see NetworkKernel::SetFrozen.
  void SetFrozen(const std::vector<bool>& species) { kernel_->SetFrozen(species); }

  // SetPlan and SetRounding take effect from the next Run on.
  void SetPlan(const KernelPlan& plan) { kernel_->SetPlan(plan); }
  void SetRounding(bool on) { kernel_->SetRounding(on); }

  // Runs a chunk. structures: indices in the batch, either all with forces or stress to learn (NeedsForces) or all
  // without. sums: [B], overwritten for `structures`. gradients: null to compute none.
  void Run(absl::Span<const T> parameters, const ForceBatch<T>& batch, absl::Span<const int64_t> structures,
           const TermGradients<T>* gradients, absl::Span<StructureSums> sums);

 private:
  using State = typename DescriptorDerivatives<T>::State;

  // Where a structure of the chunk lies.
  struct Place {
    int64_t s;      // index in the batch
    int64_t first;  // its first atom's index in the batch
    int64_t atoms, pairs;
    const int32_t* row;  // [atoms] rows of the networks' input
  };

  void PlaceAtoms(const ForceBatch<T>& batch, absl::Span<const int64_t> structures);
  // Restores features and state from the cache. Returns false if the structure is not cached.
  bool ResumeFeatures(const ForceBatch<T>& batch, State* state, const Place& place);
  void KeepFeatures(const ForceBatch<T>& batch, const State& state, const Place& place);
  // keep: restores the structure from the cache or, if it is not there, stores it.
  void ComputeFeatures(const ForceBatch<T>& batch, bool keep, const ProfileScope& scope, State* state, Place* place);
  void ComputeAllFeatures(const ForceBatch<T>& batch, bool keep_states);
  void ComputeEnergies(const ForceBatch<T>& batch, absl::Span<StructureSums> sums);
  // Computes the forces of structure k of the chunk, and the tangents that its errors give.
  void ComputeForces(const ForceBatch<T>& batch, int k, bool train, StructureSums* sums);
  // Count operations for profiles: of the networks for all atoms of the chunk, or of the descriptor for one structure.
  void CountNetworks(const ProfileScope& scope, int64_t flop_of_atom) const;
  void CountDescriptor(const ProfileScope& scope, const Place& place,
                       int64_t (DescriptorCost::*part)(int64_t, int64_t) const) const;
  // Adds the errors of force_, and sets direction_ to d loss / d force.
  void AddForceErrors(const ForceBatch<T>& batch, const Place& place, StructureSums* sums);
  // Adds the errors of the stress and returns d loss / d strain gradient.
  std::array<double, 9> AddStressErrors(const ForceBatch<T>& batch, const Place& place, const double* strain_gradient,
                                        StructureSums* sums) const;
  void StandardizeAtoms(const ForceBatch<T>& batch, const Place& place, const T* features);
  // Sets out[row of each atom] = sign * tangents * d x / d features; 0 if tangents is null.
  void StoreTangents(const ForceBatch<T>& batch, const Place& place, const T* tangents, T sign,
                     std::vector<T>* out) const;
  AtomRows<T> Rows() const { return {x_, species_offset_, structure_}; }

  const ForceContext<T>& formulas_;
  GeometryCache<T>* const cache_;
  const std::unique_ptr<AtomKernel<T>> kernel_;
  const std::unique_ptr<StructureMessages<T>> messages_;  // null for potentials of one layer
  // one for each structure of the chunk; without forces and messages the first serves all
  std::vector<std::unique_ptr<State>> states_;
  std::vector<Place> places_;
  std::vector<int32_t> row_;  // [atoms] in the order of places_
  // The input of the networks, sorted by species, and their results.
  std::vector<int64_t> species_offset_;
  std::vector<int32_t> structure_;                                // [rows] index in places_
  std::vector<T> x_, gradient_, force_tangent_, stress_tangent_;  // [rows, F]
  std::vector<double> network_sums_, slopes_;                     // [structures]
  std::vector<T> features_, force_, direction_;                   // of the current structure
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_TRAINING_STRUCTURE_WORKER_H_
