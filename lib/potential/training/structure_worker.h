// The work of force training on a few structures, by one thread: force_kernel.h has the passes.

#ifndef RUTILE_LIB_POTENTIAL_TRAINING_STRUCTURE_WORKER_H_
#define RUTILE_LIB_POTENTIAL_TRAINING_STRUCTURE_WORKER_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "lib/descriptor/descriptor_cost.h"
#include "lib/descriptor/descriptor_derivatives.h"
#include "lib/network/kernel_plan.h"
#include "lib/network/network_cost.h"
#include "lib/network/network_kernel.h"
#include "lib/potential/model/atomistic_model.h"
#include "lib/potential/model/loss_function.h"
#include "lib/potential/model/task_options.h"
#include "lib/potential/training/force_batch.h"
#include "lib/potential/training/geometry_cache.h"
#include "lib/trace/scope.h"

namespace rutile {

// Sums of squares and of absolute values of errors, and their number: what metrics are made of.
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

// Of a batch: energy per atom (eV), force components (eV/Angstrom), stress components (eV/Angstrom^3).
struct BatchErrors {
  ErrorSums energy, force, stress;
};

// What one structure adds to the sums of its batch.
struct StructureSums {
  double energy_error = 0;  // eV per atom
  double energy_loss = 0, force_loss = 0, force_count = 0, stress_loss = 0, stress_count = 0;
  BatchErrors errors;
};

// What all threads read: losses, descriptor, and scalings as the passes need them.
template <typename T>
struct ForceContext {
  // model outlives the object.
  ForceContext(const AtomisticModel& model, const LossOptions& loss, AngularMethod method);

  // Whether structure s of the batch has forces or a stress that count; else its energy is all.
  bool NeedsForces(const ForceBatch<T>& batch, int64_t s) const {
    return (loss.force_weight > 0 && batch.num_sampled[s] > 0) || (loss.stress_weight > 0 && batch.has_stress[s]);
  }

  const AtomisticModel& model;
  const LossOptions loss;
  const ErrorLoss energy_loss, force_loss, stress_loss;
  const int num_features, num_species;
  const std::unique_ptr<const DescriptorDerivatives<T>> derivatives;
  const DescriptorCost descriptor_cost;  // for profiles
  const NetworkCost network_cost;        // of one atom
  std::vector<T> mean, scale;            // [species, F]: x = (G - mean) scale
  std::vector<T> energy_slope;           // [species, F]: dE/dG = energy_slope dx, eV
};

// d sums of each term's losses / d parameters: flat, added to. Empty for terms without weight.
template <typename T>
struct TermGradients {
  absl::Span<T> energy, force, stress;
};

// T is float or double. One thread at a time may use an object. Memory grows to the largest chunk, from then on no call
// allocates.
template <typename T>
class StructureWorker {
 public:
  // formulas, cache: not owned, outlive the object. cache: of the data's structures with forces, shared by threads;
  // null: nothing is kept.
  StructureWorker(const ForceContext<T>& formulas, GeometryCache<T>* cache);
  ~StructureWorker();

  // NetworkKernel::SetFrozen.
  void SetFrozen(const std::vector<bool>& species) { kernel_.SetFrozen(species); }

  // From the next Run on.
  void SetPlan(const KernelPlan& plan) { kernel_.SetPlan(plan); }
  void SetRounding(bool on) { kernel_.SetRounding(on); }

  // structures: of the batch; all of them need forces (NeedsForces), or none. sums: [B], those of `structures` are
  // overwritten. gradients: null when they are not wanted.
  void Run(absl::Span<const T> parameters, const ForceBatch<T>& batch, absl::Span<const int64_t> structures,
           const TermGradients<T>* gradients, absl::Span<StructureSums> sums);

 private:
  using State = typename DescriptorDerivatives<T>::State;

  // A structure of the chunk.
  struct Place {
    int64_t s;      // in the batch
    int64_t first;  // atom in the batch
    int64_t atoms, pairs;
    const int32_t* row;  // [atoms]
  };

  void PlaceAtoms(const ForceBatch<T>& batch, absl::Span<const int64_t> structures);
  // False where it is not there.
  bool ResumeFeatures(const ForceBatch<T>& batch, State* state, const Place& place);
  void KeepFeatures(const ForceBatch<T>& batch, const State& state, const Place& place);
  // keep: the structure needs forces.
  void ComputeFeatures(const ForceBatch<T>& batch, bool keep, const ProfileScope& scope, State* state, Place* place);
  void ComputeAllFeatures(const ForceBatch<T>& batch, bool forces);
  void ComputeEnergies(const ForceBatch<T>& batch, absl::Span<StructureSums> sums);
  void ComputeForces(const ForceBatch<T>& batch, const Place& place, State* state, bool train, StructureSums* sums);
  // For profiles: what was done to the atoms of the chunk, or of one place.
  void CountNetworks(const ProfileScope& scope, int64_t flop_of_atom) const;
  void CountDescriptor(const ProfileScope& scope, const Place& place,
                       int64_t (DescriptorCost::*part)(int64_t, int64_t) const) const;
  // Errors of force_, and in direction_ what they change the loss by.
  void AddForceErrors(const ForceBatch<T>& batch, const Place& place, StructureSums* sums);
  // Errors of the stress; returns d loss / d strain gradient.
  std::array<double, 9> AddStressErrors(const ForceBatch<T>& batch, const Place& place, const double* strain_gradient,
                                        StructureSums* sums) const;
  void StandardizeAtoms(const ForceBatch<T>& batch, const Place& place, const T* features);
  // out[row of each atom] = sign * tangents * d features / d x; 0 where tangents is null.
  void StoreTangents(const ForceBatch<T>& batch, const Place& place, const T* tangents, T sign,
                     std::vector<T>* out) const;
  AtomRows<T> Rows() const { return {x_, species_offset_, structure_}; }

  const ForceContext<T>& formulas_;
  GeometryCache<T>* const cache_;
  NetworkKernel<T> kernel_;
  std::vector<std::unique_ptr<State>> states_;  // one of each structure that needs forces; else the first serves all
  std::vector<Place> places_;
  std::vector<int32_t> row_;  // [atoms] in the order of places_
  // Atoms of one species next to each other, and what the networks say of them.
  std::vector<int64_t> species_offset_;
  std::vector<int32_t> structure_;                                // [rows] index in places_
  std::vector<T> x_, gradient_, force_tangent_, stress_tangent_;  // [rows, F]
  std::vector<double> network_sums_, slopes_;                     // [structures]
  std::vector<T> features_, force_, direction_;                   // of one structure
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_TRAINING_STRUCTURE_WORKER_H_
