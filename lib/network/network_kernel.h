// Evaluates the energies of structures as sums of atomic networks, and their gradients, without LibTorch and without an
// autograd graph.
//
//   E_s = sum over atoms a of structure s of network_{species(a)}(x_a)
//
// Forward computes the sums; the caller turns them into a loss and passes d loss/d E_s to Backward, which uses the
// activations that Forward stored. lib/network/network_reference.h defines the same with LibTorch operations. Atoms are
// cut into blocks by their number and the plan alone, and blocks are summed in order, so that any number of threads
// gives the same bits.
//
// Blocks are computed in one of two forms (NetworkAlgorithm). kAuto chooses kGemm if each hidden layer has at least
// kWideLayer neurons (kWideLayer64 in fp64, kWideLayerNoTiles in fp32 without AMX) and, in fp32, the call has at least
// kFewAtoms atoms: with AMX, each call packs the weights anew.
//
// Example, one step of gradient descent on energies:
//
//   NetworkKernel<float> kernel(shape, &pool);
//   AtomRows<float> rows = {x, species_offset, structure};
//   std::vector<double> sums(num_structures), slopes(num_structures);
//   kernel.Forward(parameters, rows, absl::MakeSpan(sums));
//   for (int s = 0; s < num_structures; ++s) slopes[s] = 2 * (sums[s] - target[s]);
//   std::vector<float> gradients(shape.num_parameters());  // zeros: Backward adds
//   kernel.Backward(parameters, rows, slopes, absl::MakeSpan(gradients));
//   for (size_t i = 0; i < gradients.size(); ++i) parameters[i] -= rate * gradients[i];

#ifndef RUTILE_LIB_NETWORK_NETWORK_KERNEL_H_
#define RUTILE_LIB_NETWORK_NETWORK_KERNEL_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "lib/machine/aligned_buffer.h"
#include "lib/machine/parallel_for.h"
#include "lib/network/atom_kernel.h"
#include "lib/network/kernel_plan.h"
#include "lib/network/kernels/network_fused.h"
#include "lib/network/kernels/network_fused_tangent.h"
#include "lib/network/kernels/network_gemm.h"
#include "lib/network/network_shape.h"

namespace rutile {

// Thresholds of kAuto, from measurements (docs/performance.md).
inline constexpr int kWideLayer = 256, kWideLayer64 = 384, kWideLayerNoTiles = 384;
inline constexpr int64_t kFewAtoms = 128;
// The block size where kAuto chooses kGemm.
inline constexpr int kWideAtoms = 256;

// Evaluates and differentiates the networks of all species for a batch of structures; atom_kernel.h has the contract. T
// is float or double. The shape has no moments.
template <typename T>
class NetworkKernel final : public AtomKernel<T> {
 public:
  // pool: not owned, must outlive the kernel; null means one thread.
  explicit NetworkKernel(const NetworkShape& shape, ThreadPool* pool = nullptr);
  ~NetworkKernel() override;

  // AtomKernel. Forward stores (F + neurons) numbers for each atom, ForwardWithInputGradients F + 2 or 3 for each
  // neuron.
  void SetFrozen(const std::vector<bool>& species) override;
  void SetPlan(const KernelPlan& plan) override;
  const KernelPlan& plan() const override { return plan_; }
  void SetRounding(bool on) override;
  void Reserve(absl::Span<const int64_t> atoms, bool second_order) override;
  void Forward(absl::Span<const T> parameters, const AtomRows<T>& rows, absl::Span<double> sums) override;
  void Backward(absl::Span<const T> parameters, const AtomRows<T>& rows, absl::Span<const double> slopes,
                absl::Span<T> gradients) override;
  int64_t TransposedSize(const AtomRows<T>& rows) const override;
  void Transpose(const AtomRows<T>& rows, T* transposed) override;
  void Evaluate(absl::Span<const T> parameters, const AtomRows<T>& rows, absl::Span<double> sums,
                absl::Span<T> atom_energies = {}) override;
  void InputGradients(absl::Span<const T> parameters, const AtomRows<T>& rows, absl::Span<T> x_gradients) override;
  void ForwardWithInputGradients(absl::Span<const T> parameters, const AtomRows<T>& rows, absl::Span<double> sums,
                                 absl::Span<T> x_gradients) override;
  void AddEnergyGradients(absl::Span<const T> parameters, const AtomRows<T>& rows, absl::Span<const double> slopes,
                          absl::Span<T> gradients) override;
  void AddTangentGradients(absl::Span<const T> parameters, const AtomRows<T>& rows, absl::Span<const T> tangents,
                           absl::Span<T> gradients) override;
  void AddEnergyAndTangentGradients(absl::Span<const T> parameters, const AtomRows<T>& rows,
                                    absl::Span<const double> slopes, absl::Span<const T> tangents,
                                    absl::Span<T> gradients) override;

  // Does what AddTangentGradients does (slopes empty) or AddEnergyAndTangentGradients, and computes how the same number
  // changes with x. x_second: [A, F], overwritten with d(sum_s slopes[s] sums[s] + sum_a tangents[a] . x_gradients[a])
  // / d x, except for the atoms of frozen networks, whose rows are left as they are.
  void AddGradientsAndInputSlopes(absl::Span<const T> parameters, const AtomRows<T>& rows,
                                  absl::Span<const double> slopes, absl::Span<const T> tangents,
                                  absl::Span<T> gradients, absl::Span<T> x_second);

 private:
  struct Block {
    int species;
    int64_t begin;  // first row
    int count;
  };
  // A run of blocks that share one gradient buffer, and the parameters of the species that they touch.
  struct Piece {
    int64_t begin, end;                      // range in active_
    int64_t parameter_begin, parameter_end;  // range in the flat parameters
    int64_t buffer;                          // offset in gradient_buffers_; -1 adds straight to the caller's gradients
  };

  // What the stored tiles hold.
  enum class Kept { kNothing, kValues, kDerivatives };

  // True if a call with `num_atoms` atoms takes the GEMM path.
  bool IsWide(int64_t num_atoms) const;
  // (Re)creates `wide_` for this block size, with the current rounding mode.
  void MakeWide(int block_atoms);
  // Splits rows into blocks and allocates scratch memory for every worker, whether or not it will get work.
  void CutIntoBlocks(const AtomRows<T>& rows, bool second_order = false);
  // BlockAtoms is the size of the largest block, and NumBlocks the number of blocks for `atoms` atoms of one species.
  int BlockAtoms(bool wide) const { return wide ? wide_atoms_ : plan_.block_atoms; }
  int64_t NumBlocks(int64_t atoms, bool wide) const { return (atoms + BlockAtoms(wide) - 1) / BlockAtoms(wide); }
  int num_workers() const { return pool_ ? pool_->num_threads() : 1; }
  int64_t TileSize(bool wide, bool second_order) const;
  int64_t WorkerTileSize(bool wide) const;
  int64_t TransposedBlockSize(bool wide) const;
  T* EnergiesOf(T* tile) const;
  const T* ParametersOf(const Block& block, absl::Span<const T> parameters) const;
  // Packs the weights of layers from `first_layer` on if the blocks take the GEMM path; one call serves all later
  // passes with the same parameters.
  void PrepareWeights(absl::Span<const T> parameters, const AtomRows<T>& rows, bool back, int first_layer);
  void TransposeBlockOf(const Block& block, const AtomRows<T>& rows, T* transposed) const;
  // Runs the forward pass of one block on the features at `transposed`, which may be the tile; `next` is as in
  // ForwardTransposedBlock.
  void ForwardOf(const Block& block, absl::Span<const T> parameters, const T* transposed, const T* next, T* tile,
                 int worker);
  void BackwardOf(const Block& block, absl::Span<const T> parameters, T* tile, T* gradients, T* x_gradients,
                  int worker);
  void CheckParameters(absl::Span<const T> parameters) const;
  // Makes room for `blocks` stored tiles of `size` numbers each.
  void KeepTiles(int64_t blocks, int64_t size);
  // Makes room for one scratch tile of `size` numbers per worker.
  void TakeWorkerTiles(int64_t size);
  void AddUpEnergies(const AtomRows<T>& rows, absl::Span<double> sums);
  // slopes, tangents and x_second may be null.
  void AddGradients(absl::Span<const T> parameters, const AtomRows<T>& rows, const double* slopes, const T* tangents,
                    absl::Span<T> gradients, T* x_second);
  template <typename Body>
  void ForEach(int64_t n, const Body& body);
  // Calls body(block's index, worker, gradient of the block's species to add to) for all blocks of networks that are
  // not frozen, with pieces in parallel, and adds the sums of the pieces to `gradients`.
  template <typename Body>
  void SumOverBlocks(absl::Span<T> gradients, const Body& body);
  T* KeptTile(int64_t block) { return tiles_.data() + block * kept_tile_size_; }
  T* WorkerTile(int worker) { return worker_tiles_.data() + worker * worker_tile_size_; }

  const NetworkShape shape_;
  KernelPlan plan_;
  BlockLayout layout_;
  TangentLayout tangent_layout_;
  ThreadPool* const pool_;
  const bool suits_matrices_;             // layers are wide enough for kGemm
  std::unique_ptr<NetworkGemm<T>> wide_;  // null until a block takes the GEMM path
  int wide_atoms_ = kWideAtoms;
  bool rounding_ = false;
  bool is_wide_ = false;  // the algorithm of the last call was kGemm
  int64_t worker_tile_size_ = 0;
  std::vector<bool> frozen_;  // [species], or empty
  std::vector<Block> blocks_;
  std::vector<int64_t> active_;  // blocks that add to gradients
  std::vector<Piece> pieces_;
  Kept kept_ = Kept::kNothing;
  AlignedBuffer<T> tiles_;
  int64_t kept_tile_size_ = 0;
  AlignedBuffer<T> worker_tiles_;
  std::vector<T> gradient_buffers_;
  std::vector<T> atom_energies_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_NETWORK_NETWORK_KERNEL_H_
