// Energies, forces and stresses of a batch, and the gradients of their losses, without LibTorch and without a graph.
//
// With x_i the standardised features of atom i, J their derivatives by positions (never formed) and e the networks:
//   1  x and E = sum e(x)                     Features, network forward
//   2  q = dE/dx, F = -J^T q                  network backward, Vjp
//   3  v = dL/dF, t = -J v                    Jvp
//   4  dL/d parameters = d/d parameters (t . q)   the network's tangent forward pass and its reverse
// Each is a pass over the batch: features and products by structures, networks by blocks of atoms of one species.
// Structures that need energies alone skip 2 to 4. lib/potential/force_reference.h defines the same with LibTorch.

#ifndef RUTILE_LIB_POTENTIAL_FORCE_KERNEL_H_
#define RUTILE_LIB_POTENTIAL_FORCE_KERNEL_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "lib/base/parallel_for.h"
#include "lib/descriptor/descriptor_derivatives.h"
#include "lib/potential/atomistic_model.h"
#include "lib/potential/energy_kernel.h"
#include "lib/potential/force_batch.h"
#include "lib/potential/loss_function.h"
#include "lib/potential/task_options.h"
#include "lib/task/task.h"
#include "lib/tensorfile/named_tensors.h"

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

// What the count of sampled force components is multiplied by: the share of the batch's forces that is sampled, where
// LossOptions::force_scale_unbiased asks for it, so that the root of the mean is divided by the root of that share.
template <typename T>
double ForceCountScale(const LossOptions& loss, const ForceBatch<T>& batch);

// T is float or double. One thread at a time may use an object; the pool's threads work inside a call. Memory grows to
// the largest batch, from then on no call allocates. The number of threads does not change the bits.
template <typename T>
class ForceKernel {
 public:
  // model and pool are not owned and outlive the kernel; the pool may be null (one thread).
  ForceKernel(const AtomisticModel& model, const LossOptions& loss, AngularMethod method, ThreadPool* pool);
  ~ForceKernel();

  // Adds the sums of the loss terms to `sums` and errors to `errors` (may be null). gradients: of each term, flat,
  // added to; empty when they are not wanted. Terms: energy, force if force_weight > 0, stress if stress_weight > 0.
  void Run(absl::Span<const T> parameters, const ForceBatch<T>& batch, absl::Span<Tensor> gradients, TermSums* sums,
           BatchErrors* errors);

  // Of the last batch: [B] errors of the energy per atom, eV.
  absl::Span<const double> energy_errors() const { return energy_errors_; }

 private:
  // Atoms of some structures, those of one species next to each other, and what the networks say of them.
  struct Rows {
    explicit Rows(const NetworkShape& shape, ThreadPool* pool) : kernel(shape, pool) {}
    EnergyKernel<T> kernel;
    std::vector<int64_t> species_offset;
    std::vector<int32_t> structure;                             // [rows] in the batch
    std::vector<T> x, gradient, force_tangent, stress_tangent;  // [rows, F]
    AtomRows<T> View() const { return {x, species_offset, structure}; }
    int64_t size() const { return species_offset.empty() ? 0 : species_offset.back(); }
  };
  struct Worker {
    std::unique_ptr<typename DescriptorDerivatives<T>::State> state;
    std::vector<T> features, slopes, force, direction;
  };
  // What one structure adds.
  struct Parts {
    double energy_loss = 0, force_loss = 0, force_count = 0, stress_loss = 0, stress_count = 0;
    BatchErrors errors;
  };

  void RunChunk(absl::Span<const T> parameters, const ForceBatch<T>& batch, int64_t begin, int64_t end,
                absl::Span<Tensor> gradients);
  void Partition(const ForceBatch<T>& batch, int64_t begin, int64_t end);
  void ComputeFeatures(const ForceBatch<T>& batch, int64_t s, int worker);
  void ComputeForces(const ForceBatch<T>& batch, int64_t s, int worker, bool gradients);
  void ComputeEnergies(const ForceBatch<T>& batch, int64_t begin, int64_t end);
  void StandardiseAtoms(const ForceBatch<T>& batch, int64_t s, const T* features);
  // out[row of each atom] = sign * tangents * d features / d x
  void StoreTangents(const ForceBatch<T>& batch, int64_t s, absl::Span<const T> tangents, T sign,
                     std::vector<T>* out) const;
  template <typename Body>
  void ForEach(int64_t n, const Body& body);
  bool NeedsForces(const ForceBatch<T>& batch, int64_t s) const;

  const AtomisticModel& model_;
  const LossOptions loss_;
  const ErrorLoss energy_loss_, force_loss_, stress_loss_;
  const int num_features_, num_species_;
  const std::unique_ptr<const DescriptorDerivatives<T>> derivatives_;
  ThreadPool* const pool_;
  std::vector<T> mean_, scale_;  // [species, F]: x = (G - mean) scale
  std::vector<T> energy_slope_;  // [species, F]: dE/dG = energy_slope dx, eV
  Rows plain_, full_;            // structures with energies alone; with forces or stress
  std::vector<std::unique_ptr<typename DescriptorDerivatives<T>::State>> states_;  // of the full ones in a chunk
  std::vector<Worker> workers_;
  std::vector<int64_t> full_structures_;
  std::vector<int32_t> slot_;                                               // [B] of states_; -1: energies alone
  std::vector<int32_t> row_;                                                // [A] in plain_ or full_
  std::vector<double> network_sums_, plain_sums_, slopes_, energy_errors_;  // [B]
  std::vector<Parts> parts_;                                                // [B]
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_FORCE_KERNEL_H_
