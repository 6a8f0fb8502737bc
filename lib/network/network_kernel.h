// Energies of structures as sums of atomic networks, and their gradients, without LibTorch and without a graph.
//
//   E_s = sum over atoms a of structure s of network_{species(a)}(x_a)
//
// Forward gives the sums; the caller turns them into a loss and hands d loss/d E_s to Backward, which uses the
// activations that Forward kept. lib/network/network_reference.h defines the same with LibTorch operations. Atoms are
// cut into blocks by their number and the plan alone, and blocks are summed in order: any number of threads gives the
// same bits.
//
// Blocks are computed in one of two forms, NetworkAlgorithm. By width: as matrices where each hidden layer has at least
// kWideLayer neurons (fp64: kWideLayer64; fp32 without AMX: kWideLayerNoTiles) and, in fp32, the call kFewAtoms atoms:
// with AMX weights are packed in each call.

#ifndef RUTILE_LIB_NETWORK_NETWORK_KERNEL_H_
#define RUTILE_LIB_NETWORK_NETWORK_KERNEL_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "lib/base/parallel_for.h"
#include "lib/network/kernel_plan.h"
#include "lib/network/network_fused.h"
#include "lib/network/network_fused_tangent.h"
#include "lib/network/network_gemm.h"
#include "lib/network/network_shape.h"

namespace rutile {

// Measured: docs/performance.md.
inline constexpr int kWideLayer = 256, kWideLayer64 = 384, kWideLayerNoTiles = 384;
inline constexpr int64_t kFewAtoms = 128;
// Of a block of matrices that are chosen by width.
inline constexpr int kWideAtoms = 256;

// The atoms of some structures, those of one species next to each other. A = atoms.
template <typename T>
struct AtomRows {
  absl::Span<const T> x;                     // [A, F] standardized features, row-major
  absl::Span<const int64_t> species_offset;  // [num_species + 1]: rows of species s are [offset[s], offset[s + 1])
  absl::Span<const int32_t> structure;       // [A] whose energy the atom adds to
  // [A], or empty. An atom's row of x, which then has any number of rows: features are read where they lie. Values
  // alone (Forward, Backward, Evaluate), no derivatives.
  absl::Span<const int64_t> row = {};
  // What Turn made of x and row, or null: Evaluate reads it instead.
  const T* transposed = nullptr;
  int64_t num_atoms() const { return species_offset.back(); }
};

// T is float or double. One thread at a time may use an object; the pool's threads work inside a call. Memory grows
// with the largest batch seen and is kept: from then on no call allocates.
template <typename T>
class NetworkKernel {
 public:
  // pool: not owned, may be null (one thread), outlives the kernel.
  explicit NetworkKernel(const NetworkShape& shape, ThreadPool* pool = nullptr);
  ~NetworkKernel();

  // [species], or empty: gradients of the networks of these are not computed from now on, and stay as they are.
  void SetFrozen(const std::vector<bool>& species);

  // From the next Forward on. CHECK-fails on a plan without meaning.
  void SetPlan(const KernelPlan& plan);
  const KernelPlan& plan() const { return plan_; }

  // Mixed precision, from the next Forward on: factors of matrix products are rounded to bfloat16, sums stay fp32, and
  // the form is matrices whatever the plan says. At first it is off. CHECK-fails for double.
  void SetRounding(bool on);

  // Takes now the memory of batches of at most so many atoms of each species: no call of Forward, Backward or Evaluate
  // allocates for them; with second_order no call at all. After SetPlan and SetRounding(true), where these are called.
  void Reserve(absl::Span<const int64_t> atoms, bool second_order);

  // sums: [structures], overwritten, in the network's units, added in fp64. parameters: [num_parameters].
  // CHECK-fails when lengths disagree. Keeps (F + neurons) numbers for each atom until the next call.
  void Forward(absl::Span<const T> parameters, const AtomRows<T>& rows, absl::Span<double> sums);

  // After Forward of the same parameters and rows, once. slopes: [structures] d loss/d sums. gradients:
  // [num_parameters], d loss/d parameters is added.
  void Backward(absl::Span<const T> parameters, const AtomRows<T>& rows, absl::Span<const double> slopes,
                absl::Span<T> gradients);

  // Features of these rows in the form that the plan's blocks are computed in, a third of the work of Evaluate, for
  // those who evaluate the same rows again and again: [TransposedSize(rows)] numbers, 64-byte aligned, overwritten.
  int64_t TransposedSize(const AtomRows<T>& rows) const;
  void Turn(const AtomRows<T>& rows, T* transposed);

  // Forward that keeps nothing. atom_energies: [A], overwritten; may be empty.
  void Evaluate(absl::Span<const T> parameters, const AtomRows<T>& rows, absl::Span<double> sums,
                absl::Span<T> atom_energies = {});

  // d energy of each atom / d its x: [A, F], overwritten. What forces begin with.
  void InputGradients(absl::Span<const T> parameters, const AtomRows<T>& rows, absl::Span<T> x_gradients);

  // ---- second order, for losses that contain derivatives of the energy; tangent_blocks.h has the formulas
  //
  // sums as in Forward; x_gradients: [A, F], overwritten, d energy of each atom / d its x. Keeps what the functions
  // below need (F + 2 or 3 numbers for each neuron) until the next call of any other.
  void ForwardWithInputGradients(absl::Span<const T> parameters, const AtomRows<T>& rows, absl::Span<double> sums,
                                 absl::Span<T> x_gradients);
  // After it, of the same parameters and rows, in any order and number. gradients: [num_parameters], added to.
  // slopes: [structures]: d/d parameters of sum_s slopes[s] sums[s].
  void AddEnergyGradients(absl::Span<const T> parameters, const AtomRows<T>& rows, absl::Span<const double> slopes,
                          absl::Span<T> gradients);
  // tangents: [A, F], constants: d/d parameters of sum_a tangents[a] . x_gradients[a], by a tangent forward pass and
  // its reverse.
  void AddTangentGradients(absl::Span<const T> parameters, const AtomRows<T>& rows, absl::Span<const T> tangents,
                           absl::Span<T> gradients);
  // Both to the same gradients, at the cost of the tangents alone.
  void AddEnergyAndTangentGradients(absl::Span<const T> parameters, const AtomRows<T>& rows,
                                    absl::Span<const double> slopes, absl::Span<const T> tangents,
                                    absl::Span<T> gradients);

 private:
  struct Block {
    int species;
    int64_t begin;  // row
    int count;
  };
  // Blocks of one gradient buffer, and the parameters of the species that they touch.
  struct Piece {
    int64_t begin, end;                      // in active_
    int64_t parameter_begin, parameter_end;  // in the flat parameters
    int64_t buffer;                          // offset in gradient_buffers_; -1: straight into the gradients
  };

  // What the kept tiles hold.
  enum class Kept { kNothing, kValues, kDerivatives };

  // Whether so many atoms are computed as matrices.
  bool IsWide(int64_t num_atoms) const;
  // wide_ of so many atoms, with the rounding that is.
  void MakeWide(int block_atoms);
  // And takes the memory of threads, whichever of them will work.
  void CutIntoBlocks(const AtomRows<T>& rows, bool second_order = false);
  // Atoms of the largest block; blocks that so many atoms of one species become.
  int BlockAtoms(bool wide) const { return wide ? wide_atoms_ : plan_.block_atoms; }
  int64_t NumBlocks(int64_t atoms, bool wide) const { return (atoms + BlockAtoms(wide) - 1) / BlockAtoms(wide); }
  int num_workers() const { return pool_ ? pool_->num_threads() : 1; }
  int64_t TileSize(bool wide, bool second_order) const;
  int64_t WorkerTileSize(bool wide) const;
  int64_t TransposedBlockSize(bool wide) const;
  T* EnergiesOf(T* tile) const;
  const T* ParametersOf(const Block& block, absl::Span<const T> parameters) const;
  // Weights for products, where the blocks are matrices: for all calls after it of the same parameters.
  void PrepareWeights(absl::Span<const T> parameters, const AtomRows<T>& rows, bool back, int first_layer);
  void TransposeBlockOf(const Block& block, const AtomRows<T>& rows, T* transposed) const;
  // Of features at `turned`, which may be the tile; `next` as ForwardTransposedBlock has it.
  void ForwardOf(const Block& block, absl::Span<const T> parameters, const T* transposed, const T* next, T* tile,
                 int worker);
  void BackwardOf(const Block& block, absl::Span<const T> parameters, T* tile, T* gradients, T* x_gradients,
                  int worker);
  void CheckParameters(absl::Span<const T> parameters) const;
  // Room for so many tiles of `size` numbers.
  void KeepTiles(int64_t blocks, int64_t size);
  // And for the workers' own.
  void TakeWorkerTiles(int64_t size);
  void AddUpEnergies(const AtomRows<T>& rows, absl::Span<double> sums);
  // Slopes and tangents null where there are none.
  void AddGradients(absl::Span<const T> parameters, const AtomRows<T>& rows, const double* slopes, const T* tangents,
                    absl::Span<T> gradients);
  template <typename Body>
  void ForEach(int64_t n, const Body& body);
  // Calls body(block's index, worker, d loss/d parameters of its species to add to) for all blocks of networks that do
  // not rest, pieces in parallel, and adds the sums of the pieces to gradients.
  template <typename Body>
  void SumOverBlocks(absl::Span<T> gradients, const Body& body);
  T* KeptTile(int64_t block) { return tiles_.get() + block * kept_tile_size_; }
  T* WorkerTile(int worker) { return worker_tiles_.get() + worker * worker_tile_size_; }

  struct Free {
    void operator()(T* p) const;
  };
  using Buffer = std::unique_ptr<T[], Free>;
  static Buffer NewBuffer(int64_t size);

  const NetworkShape shape_;
  KernelPlan plan_;
  BlockLayout layout_;
  TangentLayout tangent_layout_;
  ThreadPool* const pool_;
  const bool suits_matrices_;             // by width
  std::unique_ptr<NetworkGemm<T>> wide_;  // null until blocks may be matrices
  int wide_atoms_ = kWideAtoms;
  bool rounding_ = false;
  bool is_wide_ = false;  // the blocks of the last call
  int64_t worker_tile_size_ = 0;
  std::vector<bool> frozen_;  // [species], or empty
  std::vector<Block> blocks_;
  std::vector<int64_t> active_;  // blocks that add to gradients
  std::vector<Piece> pieces_;
  Kept kept_ = Kept::kNothing;
  Buffer tiles_;
  int64_t tiles_size_ = 0;
  int64_t kept_tile_size_ = 0;
  Buffer worker_tiles_;
  std::vector<T> gradient_buffers_;
  std::vector<T> atom_energies_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_NETWORK_NETWORK_KERNEL_H_
