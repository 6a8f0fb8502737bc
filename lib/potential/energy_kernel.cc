#include "lib/potential/energy_kernel.h"

#include <algorithm>
#include <cstdlib>
#include <functional>

#include "lib/base/logging.h"

namespace rutile {
namespace {

// Gradient buffers of one call: as many as threads could ever use well, and few enough that clearing and adding them
// stays cheap. Fixed, so that the order of sums is.
constexpr int64_t kMaxPieces = 8;

// A pool wakes its threads in some microseconds: below this many blocks one thread is faster.
constexpr int64_t kMinBlocksForThreads = 2;

// sums[structure[a]] += energies[a] for `count` atoms, in their order. Those of one structure follow one another: their
// sum stays in a register.
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
void EnergyKernel<T>::Free::operator()(T* p) const {
  std::free(p);
}

template <typename T>
typename EnergyKernel<T>::Buffer EnergyKernel<T>::NewBuffer(int64_t size) {
  T* p = static_cast<T*>(std::aligned_alloc(64, (size * sizeof(T) + 63) / 64 * 64));
  CHECK(p != nullptr) << "out of memory: " << size * sizeof(T) << " bytes for activations";
  std::fill(p, p + size, T(0));
  return Buffer(p);
}

template <typename T>
EnergyKernel<T>::EnergyKernel(const NetworkShape& shape, ThreadPool* pool)
    : shape_(shape),
      layout_(shape),
      tangent_layout_(shape),
      pool_(pool),
      worker_tile_size_(std::max(layout_.num_rows, tangent_layout_.num_scratch_rows) * TileStride<T>()) {
  CHECK_GE(shape.num_species, 1);
  CHECK_GE(shape.num_features, 1);
  worker_tiles_ = NewBuffer((pool ? pool->num_threads() : 1) * worker_tile_size_);
}

template <typename T>
EnergyKernel<T>::~EnergyKernel() = default;

template <typename T>
void EnergyKernel<T>::SetPlan(const KernelPlan& plan) {
  CHECK(plan.block_atoms >= 1 && plan.block_atoms <= kBlockAtoms) << plan.block_atoms;
  plan_ = plan;
  layout_.gradients = tangent_layout_.values.gradients = plan.gradients;
  kept_ = Kept::kNothing;
}

template <typename T>
void EnergyKernel<T>::Reserve(absl::Span<const int64_t> atoms, bool second_order) {
  CHECK_EQ(atoms.size(), shape_.num_species);
  int64_t num_atoms = 0, num_blocks = 0;
  for (const int64_t n : atoms) {
    num_atoms += n;
    num_blocks += NumBlocks(n);
  }
  blocks_.reserve(num_blocks);
  active_.reserve(num_blocks);
  pieces_.reserve(kMaxPieces);
  KeepTiles(num_blocks, second_order ? tangent_layout_.num_rows : layout_.num_rows);
  if (atom_energies_.size() < num_atoms) atom_energies_.resize(num_atoms);
  // Neighbouring pieces share one species at most.
  const int64_t num_networks = std::min(num_blocks, kMaxPieces) + shape_.num_species - 1;
  const size_t size = num_networks * shape_.parameters_per_species();
  if (gradient_buffers_.size() < size) gradient_buffers_.resize(size);
}

template <typename T>
template <typename Body>
void EnergyKernel<T>::ForEach(int64_t n, const Body& body) {
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
void EnergyKernel<T>::CheckParameters(absl::Span<const T> parameters) const {
  CHECK_EQ(parameters.size(), shape_.num_parameters());
}

template <typename T>
void EnergyKernel<T>::CutIntoBlocks(const AtomRows<T>& rows) {
  CHECK_EQ(rows.species_offset.size(), shape_.num_species + 1);
  CHECK_EQ(rows.species_offset[0], 0);
  if (rows.row.empty()) {
    CHECK_GE(rows.x.size(), rows.num_atoms() * shape_.num_features);
  } else {
    CHECK_EQ(rows.row.size(), rows.num_atoms());
  }
  CHECK_GE(rows.structure.size(), rows.num_atoms());
  kept_ = Kept::kNothing;
  blocks_.clear();
  for (int s = 0; s < shape_.num_species; ++s) {
    const int64_t begin = rows.species_offset[s], end = rows.species_offset[s + 1];
    CHECK_LE(begin, end);
    // Blocks of nearly equal size, so that threads finish together; whole cache lines of atoms, but for the last.
    const int64_t count = NumBlocks(end - begin);
    const int64_t even = count == 0 ? 0 : (end - begin + count - 1) / count;
    const int64_t size = std::min<int64_t>((even + 15) / 16 * 16, plan_.block_atoms);
    for (int64_t at = begin; at < end; at += size) {
      blocks_.push_back({s, at, static_cast<int>(std::min(size, end - at))});
    }
  }
}

template <typename T>
void EnergyKernel<T>::TurnBlockOf(const Block& block, const AtomRows<T>& rows, T* turned) const {
  if (rows.row.empty()) {
    TurnBlock(shape_.num_features, rows.x.data() + block.begin * shape_.num_features, nullptr, block.count, turned);
  } else {
    TurnBlock(shape_.num_features, rows.x.data(), rows.row.data() + block.begin, block.count, turned);
  }
}

template <typename T>
void EnergyKernel<T>::ForwardOf(const Block& block, absl::Span<const T> parameters, const AtomRows<T>& rows,
                                T* tile) const {
  TurnBlockOf(block, rows, tile);
  ForwardTurnedBlock(layout_, parameters.data() + block.species * shape_.parameters_per_species(), tile,
                     static_cast<const T*>(nullptr), block.count, tile);
}

template <typename T>
void EnergyKernel<T>::KeepTiles(int64_t blocks, int rows) {
  kept_tile_size_ = rows * TileStride<T>();
  const int64_t size = blocks * kept_tile_size_;
  if (size <= tiles_size_) return;
  tiles_size_ = size + size / 4;
  tiles_ = NewBuffer(tiles_size_);
}

template <typename T>
void EnergyKernel<T>::AddUpEnergies(const AtomRows<T>& rows, absl::Span<double> sums) {
  std::fill(sums.begin(), sums.end(), 0.0);
  for (int64_t b = 0; b < blocks_.size(); ++b) {
    const T* energy = KeptTile(b) + layout_.result_row * TileStride<T>();
    AddUp(rows.structure.data() + blocks_[b].begin, energy, blocks_[b].count, sums);
  }
}

template <typename T>
void EnergyKernel<T>::SetResting(const std::vector<bool>& species) {
  CHECK(species.empty() || species.size() == shape_.num_species) << species.size() << " vs. " << shape_.num_species;
  resting_ = species;
}

template <typename T>
template <typename Body>
void EnergyKernel<T>::SumOverBlocks(absl::Span<T> gradients, const Body& body) {
  CHECK_EQ(gradients.size(), shape_.num_parameters());
  active_.clear();
  for (int64_t b = 0; b < blocks_.size(); ++b) {
    if (resting_.empty() || !resting_[blocks_[b].species]) active_.push_back(b);
  }
  const int64_t num_blocks = active_.size();
  const int64_t num_pieces = std::min(num_blocks, kMaxPieces);
  const int64_t per_species = shape_.parameters_per_species();
  pieces_.clear();
  int64_t buffer_size = 0;
  for (int64_t p = 0; p < num_pieces; ++p) {
    Piece piece;
    piece.begin = p * num_blocks / num_pieces;
    piece.end = (p + 1) * num_blocks / num_pieces;
    piece.parameter_begin = blocks_[active_[piece.begin]].species * per_species;
    piece.parameter_end = (blocks_[active_[piece.end - 1]].species + 1) * per_species;
    piece.buffer = buffer_size;
    buffer_size += piece.parameter_end - piece.parameter_begin;
    pieces_.push_back(piece);
  }
  if (gradient_buffers_.size() < buffer_size) gradient_buffers_.resize(buffer_size);
  ForEach(num_pieces, [&](int64_t p, int worker) {
    const Piece& piece = pieces_[p];
    T* sum = gradient_buffers_.data() + piece.buffer;
    std::fill(sum, sum + (piece.parameter_end - piece.parameter_begin), T(0));
    for (int64_t i = piece.begin; i < piece.end; ++i) {
      const int64_t b = active_[i];
      body(b, worker, sum + (blocks_[b].species * per_species - piece.parameter_begin));
    }
  });
  for (const Piece& piece : pieces_) {
    const T* sum = gradient_buffers_.data() + piece.buffer;
    T* out = gradients.data() + piece.parameter_begin;
    for (int64_t i = 0; i < piece.parameter_end - piece.parameter_begin; ++i) out[i] += sum[i];
  }
}

template <typename T>
void EnergyKernel<T>::Forward(absl::Span<const T> parameters, const AtomRows<T>& rows, absl::Span<double> sums) {
  CheckParameters(parameters);
  CutIntoBlocks(rows);
  KeepTiles(blocks_.size(), layout_.num_rows);
  ForEach(blocks_.size(), [&](int64_t b, int) { ForwardOf(blocks_[b], parameters, rows, KeptTile(b)); });
  AddUpEnergies(rows, sums);
  kept_ = Kept::kValues;
}

template <typename T>
void EnergyKernel<T>::Backward(absl::Span<const T> parameters, const AtomRows<T>& rows, absl::Span<const double> slopes,
                               absl::Span<T> gradients) {
  CHECK(kept_ == Kept::kValues) << "Forward comes first";
  CHECK(blocks_.empty() || blocks_.back().begin + blocks_.back().count == rows.num_atoms()) << "Forward of other atoms";
  SumOverBlocks(gradients, [&](int64_t b, int, T* sum) {
    const Block& block = blocks_[b];
    T* result = KeptTile(b) + layout_.result_row * TileStride<T>();
    const int32_t* structure = rows.structure.data() + block.begin;
    for (int a = 0; a < block.count; ++a) result[a] = static_cast<T>(slopes[structure[a]]);
    BackwardBlock(layout_, parameters.data() + block.species * shape_.parameters_per_species(), block.count,
                  KeptTile(b), sum, nullptr);
  });
  kept_ = Kept::kNothing;  // the activations are gone
}

template <typename T>
int64_t EnergyKernel<T>::TurnedSize(const AtomRows<T>& rows) const {
  int64_t blocks = 0;
  for (int s = 0; s < shape_.num_species; ++s) blocks += NumBlocks(rows.species_offset[s + 1] - rows.species_offset[s]);
  return blocks * turned_block_size();
}

template <typename T>
void EnergyKernel<T>::Turn(const AtomRows<T>& rows, T* turned) {
  CutIntoBlocks(rows);
  CHECK_LE(blocks_.size() * turned_block_size(), TurnedSize(rows));
  ForEach(blocks_.size(), [&](int64_t b, int) { TurnBlockOf(blocks_[b], rows, turned + b * turned_block_size()); });
}

template <typename T>
void EnergyKernel<T>::Evaluate(absl::Span<const T> parameters, const AtomRows<T>& rows, absl::Span<double> sums,
                               absl::Span<T> atom_energies) {
  CheckParameters(parameters);
  CutIntoBlocks(rows);
  const int64_t num_atoms = rows.num_atoms();
  if (atom_energies.empty()) {
    if (atom_energies_.size() < num_atoms) atom_energies_.resize(num_atoms);
    atom_energies = absl::MakeSpan(atom_energies_).first(num_atoms);
  }
  CHECK_EQ(atom_energies.size(), num_atoms);
  ForEach(blocks_.size(), [&](int64_t b, int worker) {
    const Block& block = blocks_[b];
    T* tile = WorkerTile(worker);
    if (rows.turned == nullptr) {
      ForwardOf(block, parameters, rows, tile);
    } else {
      const T* const turned = rows.turned + b * turned_block_size();
      ForwardTurnedBlock(layout_, parameters.data() + block.species * shape_.parameters_per_species(), turned,
                         b + 1 < blocks_.size() ? turned + turned_block_size() : nullptr, block.count, tile);
    }
    const T* energy = tile + layout_.result_row * TileStride<T>();
    std::copy(energy, energy + block.count, atom_energies.data() + block.begin);
  });
  std::fill(sums.begin(), sums.end(), 0.0);
  AddUp(rows.structure.data(), atom_energies.data(), num_atoms, sums);
}

template <typename T>
void EnergyKernel<T>::InputGradients(absl::Span<const T> parameters, const AtomRows<T>& rows,
                                     absl::Span<T> x_gradients) {
  CHECK(rows.row.empty()) << "values alone are read where they lie";
  CheckParameters(parameters);
  CutIntoBlocks(rows);
  CHECK_EQ(x_gradients.size(), rows.num_atoms() * shape_.num_features);
  ForEach(blocks_.size(), [&](int64_t b, int worker) {
    const Block& block = blocks_[b];
    T* tile = WorkerTile(worker);
    const T* network = parameters.data() + block.species * shape_.parameters_per_species();
    ForwardOf(block, parameters, rows, tile);
    T* result = tile + layout_.result_row * TileStride<T>();
    std::fill(result, result + block.count, T(1));
    BackwardBlock(layout_, network, block.count, tile, nullptr, x_gradients.data() + block.begin * shape_.num_features);
  });
}

template <typename T>
void EnergyKernel<T>::ForwardWithInputGradients(absl::Span<const T> parameters, const AtomRows<T>& rows,
                                                absl::Span<double> sums, absl::Span<T> x_gradients) {
  CHECK(rows.row.empty()) << "values alone are read where they lie";
  CheckParameters(parameters);
  CutIntoBlocks(rows);
  CHECK_EQ(x_gradients.size(), rows.num_atoms() * shape_.num_features);
  KeepTiles(blocks_.size(), tangent_layout_.num_rows);
  ForEach(blocks_.size(), [&](int64_t b, int worker) {
    const Block& block = blocks_[b];
    const int64_t at = block.begin * shape_.num_features;
    ForwardWithInputGradientsBlock(tangent_layout_, parameters.data() + block.species * shape_.parameters_per_species(),
                                   rows.x.data() + at, block.count, KeptTile(b), WorkerTile(worker),
                                   x_gradients.data() + at);
  });
  AddUpEnergies(rows, sums);
  kept_ = Kept::kDerivatives;
}

template <typename T>
void EnergyKernel<T>::AddGradients(absl::Span<const T> parameters, const AtomRows<T>& rows, const double* slopes,
                                   const T* tangents, absl::Span<T> gradients) {
  CHECK(kept_ == Kept::kDerivatives) << "ForwardWithInputGradients comes first";
  CHECK_EQ(parameters.size(), shape_.num_parameters());
  CHECK(blocks_.empty() || blocks_.back().begin + blocks_.back().count == rows.num_atoms())
      << "ForwardWithInputGradients of other atoms";
  SumOverBlocks(gradients, [&](int64_t b, int worker, T* sum) {
    const Block& block = blocks_[b];
    T atom_slopes[kBlockAtoms];
    if (slopes != nullptr) {
      const int32_t* structure = rows.structure.data() + block.begin;
      for (int a = 0; a < block.count; ++a) atom_slopes[a] = static_cast<T>(slopes[structure[a]]);
    }
    AddGradientsBlock(tangent_layout_, parameters.data() + block.species * shape_.parameters_per_species(), block.count,
                      slopes ? atom_slopes : nullptr, tangents ? tangents + block.begin * shape_.num_features : nullptr,
                      KeptTile(b), WorkerTile(worker), sum);
  });
}

template <typename T>
void EnergyKernel<T>::AddEnergyGradients(absl::Span<const T> parameters, const AtomRows<T>& rows,
                                         absl::Span<const double> slopes, absl::Span<T> gradients) {
  CHECK(!slopes.empty() || blocks_.empty());
  AddGradients(parameters, rows, slopes.data(), nullptr, gradients);
}

template <typename T>
void EnergyKernel<T>::AddTangentGradients(absl::Span<const T> parameters, const AtomRows<T>& rows,
                                          absl::Span<const T> tangents, absl::Span<T> gradients) {
  CHECK_EQ(tangents.size(), rows.num_atoms() * shape_.num_features);
  AddGradients(parameters, rows, nullptr, tangents.data(), gradients);
}

template <typename T>
void EnergyKernel<T>::AddEnergyAndTangentGradients(absl::Span<const T> parameters, const AtomRows<T>& rows,
                                                   absl::Span<const double> slopes, absl::Span<const T> tangents,
                                                   absl::Span<T> gradients) {
  CHECK_EQ(tangents.size(), rows.num_atoms() * shape_.num_features);
  AddGradients(parameters, rows, slopes.data(), tangents.data(), gradients);
}

template class EnergyKernel<float>;
template class EnergyKernel<double>;

}  // namespace rutile
