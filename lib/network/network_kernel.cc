#include "lib/network/network_kernel.h"

#include <algorithm>
#include <functional>

#include "lib/base/logging.h"
#include "lib/base/round_up.h"
#include "lib/machine/aligned_buffer.h"
#include "lib/matrix/bf16/bf16_products.h"

namespace rutile {
namespace {

// The most gradient buffers of one call: enough for the threads of a large machine, and few enough that clearing and
// adding them stays cheap. A constant, so that the order of sums does not depend on the threads.
constexpr int64_t kMaxPieces = 8;

// Blocks are whole units of atoms: cache lines of a tile's row (kFused), or tiles of a product (kGemm).
constexpr int64_t kUnit = 16, kWideUnit = 32;

// Waking a pool's threads takes some microseconds: with fewer blocks than this one thread is faster.
constexpr int64_t kMinBlocksForThreads = 2;

// True if kGemm is the faster algorithm for networks of this shape.
template <typename T>
bool SuitsMatrices(const NetworkShape& shape) {
  if (shape.hidden.empty()) return false;
  const int narrowest = *std::min_element(shape.hidden.begin(), shape.hidden.end());
  if (narrowest < std::min(kWideLayer, kWideLayer64)) return false;
  if (sizeof(T) == sizeof(double)) return narrowest >= kWideLayer64;
  return narrowest >= (Bf16Forms().front() == Bf16Form::kAmx ? kWideLayer : kWideLayerNoTiles);
}

// Adds energies[a] to sums[structure[a]] for `count` atoms in their order. Atoms of one structure follow one another,
// so that their sum stays in a register.
template <typename T>
void AddUp(const int32_t* structure, const T* energies, int64_t count, absl::Span<double> sums) {
  for (int64_t a = 0; a < count;) {
    const int32_t s = structure[a];
    DCHECK_LT(s, sums.size());
    double sum = sums[s];
    do {
      sum += energies[a++];
    } while (a < count && structure[a] == s);
    sums[s] = sum;
  }
}

}  // namespace

template <typename T>
NetworkKernel<T>::NetworkKernel(const NetworkShape& shape, ThreadPool* pool)
    : shape_(shape), layout_(shape), tangent_layout_(shape), pool_(pool), suits_matrices_(SuitsMatrices<T>(shape)) {
  CHECK_GE(shape.num_species, 1);
  CHECK_GE(shape.num_features, 1);
  CHECK(!shape.has_moments()) << "lib/many_body has the kernel of moments";
  SetPlan(plan_);
}

template <typename T>
NetworkKernel<T>::~NetworkKernel() = default;

template <typename T>
void NetworkKernel<T>::MakeWide(int block_atoms) {
  kept_ = Kept::kNothing;
  if (wide_ == nullptr || wide_atoms_ != block_atoms) {
    wide_ = std::make_unique<NetworkGemm<T>>(shape_, block_atoms, num_workers());
    wide_atoms_ = block_atoms;
  }
  wide_->SetRounding(rounding_);
}

template <typename T>
void NetworkKernel<T>::SetPlan(const KernelPlan& plan) {
  CHECK(IsValid(plan)) << plan.block_atoms;
  plan_ = plan;
  layout_.gradients = tangent_layout_.values.gradients = plan.gradients;
  kept_ = Kept::kNothing;
  if (plan.algorithm == NetworkAlgorithm::kGemm) {
    MakeWide(plan.block_atoms);
  } else if (rounding_ || (plan.algorithm == NetworkAlgorithm::kAuto && suits_matrices_)) {
    MakeWide(kWideAtoms);
  }
}

template <typename T>
void NetworkKernel<T>::SetRounding(bool on) {
  CHECK(!on || sizeof(T) == sizeof(float)) << "mixed precision is of fp32";
  if (on == rounding_) return;
  rounding_ = on;
  MakeWide(plan_.algorithm == NetworkAlgorithm::kGemm ? plan_.block_atoms : kWideAtoms);
}

template <typename T>
bool NetworkKernel<T>::IsWide(int64_t num_atoms) const {
  if (rounding_ || plan_.algorithm == NetworkAlgorithm::kGemm) return true;
  const bool are_enough = sizeof(T) == sizeof(double) || num_atoms >= kFewAtoms;
  return plan_.algorithm == NetworkAlgorithm::kAuto && suits_matrices_ && are_enough;
}

template <typename T>
int64_t NetworkKernel<T>::TileSize(bool wide, bool second_order) const {
  if (wide) return wide_->tile_size(second_order);
  return (second_order ? tangent_layout_.num_rows : layout_.num_rows) * TileStride<T>();
}

template <typename T>
int64_t NetworkKernel<T>::WorkerTileSize(bool wide) const {
  if (wide) return wide_->tile_size(/*second_order=*/false);
  return std::max(layout_.num_rows, tangent_layout_.num_scratch_rows) * TileStride<T>();
}

template <typename T>
int64_t NetworkKernel<T>::TransposedBlockSize(bool wide) const {
  return wide ? wide_->transposed_size() : shape_.num_features * TileStride<T>();
}

template <typename T>
void NetworkKernel<T>::Reserve(absl::Span<const int64_t> atoms, bool second_order) {
  CHECK_EQ(atoms.size(), shape_.num_species);
  int64_t num_atoms = 0;
  for (const int64_t n : atoms) num_atoms += n;
  if (atom_energies_.size() < num_atoms) atom_energies_.resize(num_atoms);
  pieces_.reserve(kMaxPieces);
  // Reserves memory for both forms: a call chooses one by the number of its atoms and the rounding.
  for (const bool wide : {false, true}) {
    if (wide ? wide_ == nullptr : plan_.algorithm == NetworkAlgorithm::kGemm) continue;
    int64_t num_blocks = 0;
    for (const int64_t n : atoms) num_blocks += NumBlocks(n, wide);
    blocks_.reserve(num_blocks);
    active_.reserve(num_blocks);
    KeepTiles(num_blocks, TileSize(wide, second_order));
    TakeWorkerTiles(WorkerTileSize(wide));
    if (wide) wide_->Reserve(second_order);
    // Neighboring pieces share one species at most.
    const int64_t num_networks = std::min(num_blocks, kMaxPieces) + shape_.num_species - 1;
    const size_t size = num_networks * shape_.parameters_per_species();
    if (gradient_buffers_.size() < size) gradient_buffers_.resize(size);
  }
}

template <typename T>
template <typename Body>
void NetworkKernel<T>::ForEach(int64_t n, const Body& body) {
  if (pool_ == nullptr || n < kMinBlocksForThreads) {
    for (int64_t i = 0; i < n; ++i) body(i, 0);
    return;
  }
  // One pointer is captured: std::function stores it without allocating.
  const auto run = [&body](int64_t begin, int64_t end, int worker) {
    for (int64_t i = begin; i < end; ++i) body(i, worker);
  };
  pool_->For(n, 1, std::ref(run));
}

template <typename T>
void NetworkKernel<T>::CheckParameters(absl::Span<const T> parameters) const {
  CHECK_EQ(parameters.size(), shape_.num_parameters());
}

template <typename T>
void NetworkKernel<T>::CutIntoBlocks(const AtomRows<T>& rows, bool second_order) {
  CHECK_EQ(rows.species_offset.size(), shape_.num_species + 1);
  CHECK_EQ(rows.species_offset[0], 0);
  if (rows.row.empty()) {
    CHECK_GE(rows.x.size(), rows.num_atoms() * shape_.num_features);
  } else {
    CHECK_EQ(rows.row.size(), rows.num_atoms());
  }
  CHECK_GE(rows.structure.size(), rows.num_atoms());
  kept_ = Kept::kNothing;
  is_wide_ = IsWide(rows.num_atoms());
  TakeWorkerTiles(WorkerTileSize(is_wide_));
  if (is_wide_) wide_->Reserve(second_order);
  const int64_t unit = is_wide_ ? kWideUnit : kUnit, most = BlockAtoms(is_wide_);
  blocks_.clear();
  for (int s = 0; s < shape_.num_species; ++s) {
    const int64_t begin = rows.species_offset[s], end = rows.species_offset[s + 1];
    CHECK_LE(begin, end);
    // Makes blocks of nearly equal size, so that threads finish together; all but the last are whole units of atoms.
    const int64_t count = NumBlocks(end - begin, is_wide_);
    const int64_t even = count == 0 ? 0 : CeilDivide(end - begin, count);
    const int64_t size = std::min(RoundUp(even, unit), most);
    for (int64_t at = begin; at < end; at += size) {
      blocks_.push_back({s, at, static_cast<int>(std::min(size, end - at))});
    }
  }
}

template <typename T>
void NetworkKernel<T>::PrepareWeights(absl::Span<const T> parameters, const AtomRows<T>& rows, bool back,
                                      int first_layer) {
  if (!is_wide_) return;
  ForEach(wide_->num_weights(), [&](int64_t i, int worker) {
    const int s = wide_->SpeciesOf(i);
    if (rows.species_offset[s] == rows.species_offset[s + 1] || wide_->LayerOf(i) < first_layer) return;
    wide_->PrepareWeights(static_cast<int>(i), back, parameters.data(), worker);
  });
}

template <typename T>
const T* NetworkKernel<T>::ParametersOf(const Block& block, absl::Span<const T> parameters) const {
  return parameters.data() + block.species * shape_.parameters_per_species();
}

template <typename T>
T* NetworkKernel<T>::EnergiesOf(T* tile) const {
  return tile + (is_wide_ ? wide_->energies_at() : layout_.result_row * TileStride<T>());
}

template <typename T>
void NetworkKernel<T>::TransposeBlockOf(const Block& block, const AtomRows<T>& rows, T* transposed) const {
  const bool in_place = rows.row.empty();
  const T* const x = rows.x.data() + (in_place ? block.begin * shape_.num_features : 0);
  const int64_t* const row = in_place ? nullptr : rows.row.data() + block.begin;
  if (is_wide_) return wide_->Transpose(x, row, block.count, transposed);
  TransposeBlock(shape_.num_features, x, row, block.count, transposed);
}

template <typename T>
void NetworkKernel<T>::ForwardOf(const Block& block, absl::Span<const T> parameters, const T* transposed, const T* next,
                                 T* tile, int worker) {
  const T* const network = ParametersOf(block, parameters);
  if (is_wide_) return wide_->Forward(block.species, network, transposed, block.count, tile, worker);
  ForwardTransposedBlock(layout_, network, transposed, next, block.count, tile);
}

template <typename T>
void NetworkKernel<T>::BackwardOf(const Block& block, absl::Span<const T> parameters, T* tile, T* gradients,
                                  T* x_gradients, int worker) {
  const T* const network = ParametersOf(block, parameters);
  if (is_wide_) {
    return wide_->Backward(block.species, network, tile, block.count, tile, gradients, x_gradients, worker);
  }
  BackwardBlock(layout_, network, block.count, tile, gradients, x_gradients);
}

template <typename T>
void NetworkKernel<T>::KeepTiles(int64_t blocks, int64_t size) {
  kept_tile_size_ = size;
  const int64_t all = blocks * size;
  if (all > tiles_.size()) tiles_ = AlignedBuffer<T>::Zeros(all + all / 4);
}

template <typename T>
void NetworkKernel<T>::TakeWorkerTiles(int64_t size) {
  if (size <= worker_tile_size_) return;
  worker_tile_size_ = size;
  worker_tiles_ = AlignedBuffer<T>::Zeros(num_workers() * size);
}

template <typename T>
void NetworkKernel<T>::AddUpEnergies(const AtomRows<T>& rows, absl::Span<double> sums) {
  std::fill(sums.begin(), sums.end(), 0.0);
  for (int64_t b = 0; b < blocks_.size(); ++b) {
    AddUp(rows.structure.data() + blocks_[b].begin, EnergiesOf(KeptTile(b)), blocks_[b].count, sums);
  }
}

template <typename T>
void NetworkKernel<T>::SetFrozen(const std::vector<bool>& species) {
  CHECK(species.empty() || species.size() == shape_.num_species) << species.size() << " vs. " << shape_.num_species;
  frozen_ = species;
}

template <typename T>
template <typename Body>
void NetworkKernel<T>::SumOverBlocks(absl::Span<T> gradients, const Body& body) {
  CHECK_EQ(gradients.size(), shape_.num_parameters());
  active_.clear();
  for (int64_t b = 0; b < blocks_.size(); ++b) {
    if (frozen_.empty() || !frozen_[blocks_[b].species]) active_.push_back(b);
  }
  const int64_t num_blocks = active_.size();
  const int64_t num_pieces = std::min(num_blocks, kMaxPieces);
  const int64_t per_species = shape_.parameters_per_species();
  pieces_.clear();
  int64_t buffer_size = 0, last_end = 0;
  for (int64_t p = 0; p < num_pieces; ++p) {
    Piece piece;
    piece.begin = p * num_blocks / num_pieces;
    piece.end = (p + 1) * num_blocks / num_pieces;
    piece.parameter_begin = blocks_[active_[piece.begin]].species * per_species;
    piece.parameter_end = (blocks_[active_[piece.end - 1]].species + 1) * per_species;
    // With kGemm gradients are large, so the first piece of a species adds to them without a buffer.
    const bool needs_buffer = !is_wide_ || piece.parameter_begin < last_end;
    piece.buffer = needs_buffer ? buffer_size : -1;
    if (needs_buffer) buffer_size += piece.parameter_end - piece.parameter_begin;
    last_end = piece.parameter_end;
    pieces_.push_back(piece);
  }
  if (gradient_buffers_.size() < buffer_size) gradient_buffers_.resize(buffer_size);
  ForEach(num_pieces, [&](int64_t p, int worker) {
    const Piece& piece = pieces_[p];
    T* const sum =
        piece.buffer < 0 ? gradients.data() + piece.parameter_begin : gradient_buffers_.data() + piece.buffer;
    if (piece.buffer >= 0) std::fill(sum, sum + (piece.parameter_end - piece.parameter_begin), T(0));
    for (int64_t i = piece.begin; i < piece.end; ++i) {
      const int64_t b = active_[i];
      body(b, worker, sum + (blocks_[b].species * per_species - piece.parameter_begin));
    }
  });
  for (const Piece& piece : pieces_) {
    if (piece.buffer < 0) continue;
    const T* sum = gradient_buffers_.data() + piece.buffer;
    T* out = gradients.data() + piece.parameter_begin;
    for (int64_t i = 0; i < piece.parameter_end - piece.parameter_begin; ++i) out[i] += sum[i];
  }
}

template <typename T>
void NetworkKernel<T>::Forward(absl::Span<const T> parameters, const AtomRows<T>& rows, absl::Span<double> sums) {
  CheckParameters(parameters);
  CutIntoBlocks(rows);
  KeepTiles(blocks_.size(), TileSize(is_wide_, /*second_order=*/false));
  PrepareWeights(parameters, rows, /*back=*/false, /*first_layer=*/0);
  ForEach(blocks_.size(), [&](int64_t b, int worker) {
    TransposeBlockOf(blocks_[b], rows, KeptTile(b));
    ForwardOf(blocks_[b], parameters, KeptTile(b), nullptr, KeptTile(b), worker);
  });
  AddUpEnergies(rows, sums);
  kept_ = Kept::kValues;
}

template <typename T>
void NetworkKernel<T>::Backward(absl::Span<const T> parameters, const AtomRows<T>& rows,
                                absl::Span<const double> slopes, absl::Span<T> gradients) {
  CHECK(kept_ == Kept::kValues) << "Forward comes first";
  CHECK(blocks_.empty() || blocks_.back().begin + blocks_.back().count == rows.num_atoms()) << "Forward of other atoms";
  PrepareWeights(parameters, rows, /*back=*/true, /*first_layer=*/1);
  SumOverBlocks(gradients, [&](int64_t b, int worker, T* sum) {
    const Block& block = blocks_[b];
    T* const result = EnergiesOf(KeptTile(b));
    const int32_t* structure = rows.structure.data() + block.begin;
    for (int a = 0; a < block.count; ++a) result[a] = static_cast<T>(slopes[structure[a]]);
    BackwardOf(block, parameters, KeptTile(b), sum, nullptr, worker);
  });
  kept_ = Kept::kNothing;  // Backward has overwritten the activations
}

template <typename T>
int64_t NetworkKernel<T>::TransposedSize(const AtomRows<T>& rows) const {
  const bool wide = IsWide(rows.num_atoms());
  int64_t blocks = 0;
  for (int s = 0; s < shape_.num_species; ++s) {
    blocks += NumBlocks(rows.species_offset[s + 1] - rows.species_offset[s], wide);
  }
  return blocks * TransposedBlockSize(wide);
}

template <typename T>
void NetworkKernel<T>::Transpose(const AtomRows<T>& rows, T* transposed) {
  CutIntoBlocks(rows);
  const int64_t size = TransposedBlockSize(is_wide_);
  CHECK_LE(blocks_.size() * size, TransposedSize(rows));
  ForEach(blocks_.size(), [&](int64_t b, int) { TransposeBlockOf(blocks_[b], rows, transposed + b * size); });
}

template <typename T>
void NetworkKernel<T>::Evaluate(absl::Span<const T> parameters, const AtomRows<T>& rows, absl::Span<double> sums,
                                absl::Span<T> atom_energies) {
  CheckParameters(parameters);
  CutIntoBlocks(rows);
  const int64_t num_atoms = rows.num_atoms();
  if (atom_energies.empty()) {
    if (atom_energies_.size() < num_atoms) atom_energies_.resize(num_atoms);
    atom_energies = absl::MakeSpan(atom_energies_).first(num_atoms);
  }
  CHECK_EQ(atom_energies.size(), num_atoms);
  PrepareWeights(parameters, rows, /*back=*/false, /*first_layer=*/0);
  const int64_t transposed_size = TransposedBlockSize(is_wide_);
  ForEach(blocks_.size(), [&](int64_t b, int worker) {
    const Block& block = blocks_[b];
    T* const tile = WorkerTile(worker);
    if (rows.transposed == nullptr) {
      TransposeBlockOf(block, rows, tile);
      ForwardOf(block, parameters, tile, nullptr, tile, worker);
    } else {
      const T* const transposed = rows.transposed + b * transposed_size;
      ForwardOf(block, parameters, transposed, b + 1 < blocks_.size() ? transposed + transposed_size : nullptr, tile,
                worker);
    }
    const T* const energy = EnergiesOf(tile);
    std::copy(energy, energy + block.count, atom_energies.data() + block.begin);
  });
  std::fill(sums.begin(), sums.end(), 0.0);
  AddUp(rows.structure.data(), atom_energies.data(), num_atoms, sums);
}

template <typename T>
void NetworkKernel<T>::InputGradients(absl::Span<const T> parameters, const AtomRows<T>& rows,
                                      absl::Span<T> x_gradients) {
  CHECK(rows.row.empty()) << "values alone are read where they lie";
  CheckParameters(parameters);
  CutIntoBlocks(rows);
  CHECK_EQ(x_gradients.size(), rows.num_atoms() * shape_.num_features);
  PrepareWeights(parameters, rows, /*back=*/false, /*first_layer=*/0);
  PrepareWeights(parameters, rows, /*back=*/true, /*first_layer=*/0);
  ForEach(blocks_.size(), [&](int64_t b, int worker) {
    const Block& block = blocks_[b];
    T* const tile = WorkerTile(worker);
    TransposeBlockOf(block, rows, tile);
    ForwardOf(block, parameters, tile, nullptr, tile, worker);
    std::fill_n(EnergiesOf(tile), block.count, T(1));
    BackwardOf(block, parameters, tile, nullptr, x_gradients.data() + block.begin * shape_.num_features, worker);
  });
}

template <typename T>
void NetworkKernel<T>::ForwardWithInputGradients(absl::Span<const T> parameters, const AtomRows<T>& rows,
                                                 absl::Span<double> sums, absl::Span<T> x_gradients) {
  CHECK(rows.row.empty()) << "values alone are read where they lie";
  CheckParameters(parameters);
  CutIntoBlocks(rows, /*second_order=*/true);
  CHECK_EQ(x_gradients.size(), rows.num_atoms() * shape_.num_features);
  KeepTiles(blocks_.size(), TileSize(is_wide_, /*second_order=*/true));
  PrepareWeights(parameters, rows, /*back=*/false, /*first_layer=*/0);
  PrepareWeights(parameters, rows, /*back=*/true, /*first_layer=*/0);
  ForEach(blocks_.size(), [&](int64_t b, int worker) {
    const Block& block = blocks_[b];
    const int64_t at = block.begin * shape_.num_features;
    const T* const network = ParametersOf(block, parameters);
    if (is_wide_) {
      wide_->ForwardWithInputGradients(block.species, network, rows.x.data() + at, block.count, KeptTile(b),
                                       x_gradients.data() + at, worker);
    } else {
      ForwardWithInputGradientsBlock(tangent_layout_, network, rows.x.data() + at, block.count, KeptTile(b),
                                     WorkerTile(worker), x_gradients.data() + at);
    }
  });
  AddUpEnergies(rows, sums);
  kept_ = Kept::kDerivatives;
}

template <typename T>
void NetworkKernel<T>::AddGradients(absl::Span<const T> parameters, const AtomRows<T>& rows, const double* slopes,
                                    const T* tangents, absl::Span<T> gradients, T* x_second) {
  CHECK(kept_ == Kept::kDerivatives) << "ForwardWithInputGradients comes first";
  CHECK_EQ(parameters.size(), shape_.num_parameters());
  CHECK(blocks_.empty() || blocks_.back().begin + blocks_.back().count == rows.num_atoms())
      << "ForwardWithInputGradients of other atoms";
  if (is_wide_) wide_->MoveWeights(parameters.data());
  SumOverBlocks(gradients, [&](int64_t b, int worker, T* sum) {
    const Block& block = blocks_[b];
    T slopes_of_atoms[std::max(kBlockAtoms, kMostWideAtoms)];
    if (slopes != nullptr) {
      const int32_t* structure = rows.structure.data() + block.begin;
      for (int a = 0; a < block.count; ++a) slopes_of_atoms[a] = static_cast<T>(slopes[structure[a]]);
    }
    const T* const network = ParametersOf(block, parameters);
    const T* const atom_slopes = slopes ? slopes_of_atoms : nullptr;
    const int64_t at = block.begin * shape_.num_features;
    const T* const atom_tangents = tangents ? tangents + at : nullptr;
    T* const atom_second = x_second ? x_second + at : nullptr;
    if (is_wide_) {
      wide_->AddGradients(block.species, network, block.count, atom_slopes, atom_tangents, KeptTile(b), sum,
                          atom_second, worker);
    } else {
      AddGradientsBlock(tangent_layout_, network, block.count, atom_slopes, atom_tangents, KeptTile(b),
                        WorkerTile(worker), sum, atom_second);
    }
  });
}

template <typename T>
void NetworkKernel<T>::AddEnergyGradients(absl::Span<const T> parameters, const AtomRows<T>& rows,
                                          absl::Span<const double> slopes, absl::Span<T> gradients) {
  CHECK(!slopes.empty() || blocks_.empty());
  AddGradients(parameters, rows, slopes.data(), nullptr, gradients, nullptr);
}

template <typename T>
void NetworkKernel<T>::AddTangentGradients(absl::Span<const T> parameters, const AtomRows<T>& rows,
                                           absl::Span<const T> tangents, absl::Span<T> gradients) {
  CHECK_EQ(tangents.size(), rows.num_atoms() * shape_.num_features);
  AddGradients(parameters, rows, nullptr, tangents.data(), gradients, nullptr);
}

template <typename T>
void NetworkKernel<T>::AddEnergyAndTangentGradients(absl::Span<const T> parameters, const AtomRows<T>& rows,
                                                    absl::Span<const double> slopes, absl::Span<const T> tangents,
                                                    absl::Span<T> gradients) {
  CHECK_EQ(tangents.size(), rows.num_atoms() * shape_.num_features);
  AddGradients(parameters, rows, slopes.data(), tangents.data(), gradients, nullptr);
}

template <typename T>
void NetworkKernel<T>::AddGradientsAndInputSlopes(absl::Span<const T> parameters, const AtomRows<T>& rows,
                                                  absl::Span<const double> slopes, absl::Span<const T> tangents,
                                                  absl::Span<T> gradients, absl::Span<T> x_second) {
  CHECK_EQ(tangents.size(), rows.num_atoms() * shape_.num_features);
  CHECK_EQ(x_second.size(), tangents.size());
  AddGradients(parameters, rows, slopes.empty() ? nullptr : slopes.data(), tangents.data(), gradients, x_second.data());
}

template class NetworkKernel<float>;
template class NetworkKernel<double>;

}  // namespace rutile
