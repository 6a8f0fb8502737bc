// Computes energies, forces and stresses of a batch, and the gradients of their losses, without LibTorch and without an
// autograd graph.
//
// With x_i the standardized features of atom i, J their derivatives by positions (never formed) and e the networks:
//   1  x and E = sum e(x)                     Features, network forward
//   2  q = dE/dx, F = -J^T q                  network backward, Vjp
//   3  v = dL/dF, t = -J v                    Jvp
//   4  dL/d parameters = d/d parameters (t . q)   the network's tangent forward pass and its reverse
// Structures are independent of each other, so each thread takes a few of them through all passes (structure_worker.h),
// and threads synchronize once in a step. Structures that need energies alone skip 2 to 4.
// lib/potential/training/reference/force_reference.h defines the same with LibTorch.

#ifndef RUTILE_LIB_POTENTIAL_TRAINING_FORCE_KERNEL_H_
#define RUTILE_LIB_POTENTIAL_TRAINING_FORCE_KERNEL_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "lib/descriptor/chebyshev_options.h"
#include "lib/machine/parallel_for.h"
#include "lib/network/kernel_plan.h"
#include "lib/potential/model/atomistic_model.h"
#include "lib/potential/model/task_options.h"
#include "lib/potential/training/force_batch.h"
#include "lib/potential/training/geometry_cache.h"
#include "lib/potential/training/structure_worker.h"
#include "lib/task/loss_terms.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// The factor on the count of sampled force components: the share of the training set's forces that the epoch samples if
// LossOptions::force_scale_unbiased is set, so that the root of the mean is divided by the root of that share; else 1.
// The share of each batch would not add up: two batches in a step would not be one large batch.
double ForceCountScale(const LossOptions& loss, double sampled_share);

// Adds what a structure contributes to the sums of the loss terms and, unless it is null, to `errors`. count_scale: the
// result of ForceCountScale.
void AddStructureSums(const LossOptions& loss, double count_scale, const StructureSums& parts, TermSums* sums,
                      BatchErrors* errors);

// Runs force training on batches with a thread pool. T is float or double. One thread at a time may use an object; the
// pool's threads work inside a call. Memory grows to that of the largest batch, after which no call allocates. The
// number of threads does not change the bits.
template <typename T>
class ForceKernel {
 public:
  // model, pool and cache are not owned and must outlive the kernel. A null pool means one thread. cache: holds what
  // does not change between epochs for the structures of the data; null caches nothing.
  ForceKernel(const AtomisticModel& model, const LossOptions& loss, AngularMethod method, ThreadPool* pool,
              GeometryCache<T>* cache = nullptr);

  // Freezes networks in all threads; see NetworkKernel::SetFrozen.
  void SetFrozen(const std::vector<bool>& species);

  // Sets the plan of the networks from the next Run on.
  void SetPlan(const KernelPlan& plan) {
    for (const auto& chunk : chunks_) chunk->SetPlan(plan);
    plan_ = plan;
  }
  const KernelPlan& plan() const { return plan_; }

  // Turns NetworkKernel::SetRounding on or off for later Runs that compute gradients.
  void SetRounding(bool on) { rounding_ = on; }

  // Adds the sums of the loss terms to `sums`, and errors to `errors` unless it is null. gradients: one flat tensor for
  // each term, added to; empty to compute none. Terms: energy, force if force_weight > 0, stress if stress_weight > 0.
  void Run(absl::Span<const T> parameters, const ForceBatch<T>& batch, absl::Span<Tensor> gradients, TermSums* sums,
           BatchErrors* errors);

  // Returns [B] errors of the energy per atom in the last batch, eV; NaN where no energy is known.
  absl::Span<const double> energy_errors() const { return energy_errors_; }

 private:
  // Structures that one thread takes together. All have forces or stress to learn, or all have energies alone.
  struct Piece {
    int64_t begin, end;  // range in order_
    int64_t buffer;      // offset in gradient_buffers_
    bool forces;
    int64_t cost;
  };

  int64_t Cost(const ForceBatch<T>& batch, int64_t s, bool forces) const;
  // Cuts order_[begin, end) into pieces of about equal cost. The pieces depend on the batch alone.
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
  std::vector<std::unique_ptr<StructureWorker<T>>> chunks_;  // one for each thread
  std::vector<int64_t> order_;                               // [B] structures that need forces, then the others
  std::vector<int64_t> num_pairs_;                           // [B] pairs of structures with geometry, else 0
  std::vector<Piece> pieces_;
  std::vector<T> gradient_buffers_;  // for each piece: [its terms, num_parameters]
  std::vector<StructureSums> sums_;  // [B]
  std::vector<double> energy_errors_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_TRAINING_FORCE_KERNEL_H_
