// Energies, forces and stresses of a batch, and the gradients of their losses, without LibTorch and without a graph.
//
// With x_i the standardized features of atom i, J their derivatives by positions (never formed) and e the networks:
//   1  x and E = sum e(x)                     Features, network forward
//   2  q = dE/dx, F = -J^T q                  network backward, Vjp
//   3  v = dL/dF, t = -J v                    Jvp
//   4  dL/d parameters = d/d parameters (t . q)   the network's tangent forward pass and its reverse
// Structures do not need each other, so threads take a few structures each through all of it (force_chunk.h): they meet
// once in a step. Structures that need energies alone skip 2 to 4. lib/potential/training/force_reference.h defines the
// same with LibTorch.

#ifndef RUTILE_LIB_POTENTIAL_TRAINING_FORCE_KERNEL_H_
#define RUTILE_LIB_POTENTIAL_TRAINING_FORCE_KERNEL_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "lib/base/parallel_for.h"
#include "lib/descriptor/chebyshev_options.h"
#include "lib/network/kernel_plan.h"
#include "lib/potential/model/atomistic_model.h"
#include "lib/potential/model/task_options.h"
#include "lib/potential/training/force_batch.h"
#include "lib/potential/training/geometry_cache.h"
#include "lib/potential/training/structure_worker.h"
#include "lib/task/task.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// What the count of sampled force components is multiplied by: the share of the batch's forces that is sampled, where
// LossOptions::force_scale_unbiased asks for it, so that the root of the mean is divided by the root of that share.
template <typename T>
double ForceCountScale(const LossOptions& loss, const ForceBatch<T>& batch);

// T is float or double. One thread at a time may use an object; the pool's threads work inside a call. Memory grows to
// the largest batch, from then on no call allocates. The number of threads does not change the bits.
template <typename T>
class ForceKernel {
 public:
  // model, pool and cache are not owned and outlive the kernel; the pool may be null (one thread), as may the cache of
  // what does not change of the data's structures.
  ForceKernel(const AtomisticModel& model, const LossOptions& loss, AngularMethod method, ThreadPool* pool,
              GeometryCache<T>* cache = nullptr);

  // NetworkKernel::SetFrozen, for all threads.
  void SetFrozen(const std::vector<bool>& species);

  // Of the networks, from the next Run on.
  void SetPlan(const KernelPlan& plan) {
    for (const auto& chunk : chunks_) chunk->SetPlan(plan);
    plan_ = plan;
  }
  const KernelPlan& plan() const { return plan_; }

  // NetworkKernel::SetRounding, of the Runs from now on that make gradients.
  void SetRounding(bool on) { rounding_ = on; }

  // Adds the sums of the loss terms to `sums` and errors to `errors` (may be null). gradients: of each term, flat,
  // added to; empty when they are not wanted. Terms: energy, force if force_weight > 0, stress if stress_weight > 0.
  void Run(absl::Span<const T> parameters, const ForceBatch<T>& batch, absl::Span<Tensor> gradients, TermSums* sums,
           BatchErrors* errors);

  // Of the last batch: [B] errors of the energy per atom, eV.
  absl::Span<const double> energy_errors() const { return energy_errors_; }

 private:
  // Structures that one thread takes together, of one kind: with forces or stress, or with energies alone.
  struct Piece {
    int64_t begin, end;  // in order_
    int64_t buffer;      // offset in gradient_buffers_
    bool forces;
    int64_t cost;
  };

  int64_t Cost(const ForceBatch<T>& batch, int64_t s, bool forces) const;
  // Cuts order_[begin, end) into pieces of about the same cost, which depend on the batch alone.
  void Cut(const ForceBatch<T>& batch, int64_t begin, int64_t end, bool forces);
  void RunPiece(absl::Span<const T> parameters, const ForceBatch<T>& batch, const Piece& piece, bool train, int worker);
  void AddBuffers(absl::Span<Tensor> gradients);
  template <typename Body>
  void ForEach(int64_t n, int64_t grain, const Body& body);

  const ForceContext<T> formulas_;
  const int64_t num_parameters_;
  ThreadPool* const pool_;
  KernelPlan plan_;
  bool rounding_ = false;
  std::vector<std::unique_ptr<StructureWorker<T>>> chunks_;  // of each thread
  std::vector<int64_t> order_;                               // [B] structures: those that need forces, then the others
  std::vector<int64_t> num_pairs_;                           // [B] of structures with geometry
  std::vector<Piece> pieces_;
  std::vector<T> gradient_buffers_;  // of each piece: [its terms, num_parameters]
  std::vector<StructureSums> sums_;  // [B]
  std::vector<double> energy_errors_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_TRAINING_FORCE_KERNEL_H_
