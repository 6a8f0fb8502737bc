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
    : shape_(shape), layout_(shape), pool_(pool), tile_size_(layout_.num_rows * TileStride<T>()) {
  CHECK_GE(shape.num_species, 1);
  CHECK_GE(shape.num_features, 1);
  worker_tiles_ = NewBuffer((pool ? pool->num_threads() : 1) * tile_size_);
}

template <typename T>
EnergyKernel<T>::~EnergyKernel() = default;

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
void EnergyKernel<T>::CutIntoBlocks(absl::Span<const T> parameters, const AtomRows<T>& rows) {
  CHECK_EQ(parameters.size(), shape_.num_parameters());
  CHECK_EQ(rows.species_offset.size(), shape_.num_species + 1);
  CHECK_EQ(rows.species_offset[0], 0);
  CHECK_GE(rows.x.size(), rows.num_atoms() * shape_.num_features);
  CHECK_GE(rows.structure.size(), rows.num_atoms());
  blocks_.clear();
  for (int s = 0; s < shape_.num_species; ++s) {
    const int64_t begin = rows.species_offset[s], end = rows.species_offset[s + 1];
    CHECK_LE(begin, end);
    // Blocks of nearly equal size, so that threads finish together; whole cache lines of atoms, but for the last.
    const int64_t count = (end - begin + kBlockAtoms - 1) / kBlockAtoms;
    const int64_t size = count == 0 ? 0 : ((end - begin + count - 1) / count + 15) / 16 * 16;
    for (int64_t at = begin; at < end; at += size) {
      blocks_.push_back({s, at, static_cast<int>(std::min(size, end - at))});
    }
  }
}

template <typename T>
void EnergyKernel<T>::Forward(absl::Span<const T> parameters, const AtomRows<T>& rows, absl::Span<double> sums) {
  CutIntoBlocks(parameters, rows);
  const int64_t num_blocks = blocks_.size();
  if (num_tiles_ < num_blocks) {
    num_tiles_ = num_blocks + num_blocks / 4;
    tiles_ = NewBuffer(num_tiles_ * tile_size_);
  }
  ForEach(num_blocks, [&](int64_t b, int) {
    const Block& block = blocks_[b];
    ForwardBlock(layout_, parameters.data() + block.species * shape_.parameters_per_species(),
                 rows.x.data() + block.begin * shape_.num_features, block.count, KeptTile(b));
  });
  std::fill(sums.begin(), sums.end(), 0.0);
  for (int64_t b = 0; b < num_blocks; ++b) {
    const T* energy = KeptTile(b) + layout_.result_row * TileStride<T>();
    const int32_t* structure = rows.structure.data() + blocks_[b].begin;
    for (int a = 0; a < blocks_[b].count; ++a) {
      DCHECK_LT(structure[a], sums.size());
      sums[structure[a]] += energy[a];
    }
  }
}

template <typename T>
void EnergyKernel<T>::Backward(absl::Span<const T> parameters, const AtomRows<T>& rows, absl::Span<const double> slopes,
                               absl::Span<T> gradients) {
  CHECK_EQ(gradients.size(), shape_.num_parameters());
  CHECK(blocks_.empty() || blocks_.back().begin + blocks_.back().count == rows.num_atoms()) << "Forward comes first";
  const int64_t num_blocks = blocks_.size();
  const int64_t num_pieces = std::min(num_blocks, kMaxPieces);
  const int64_t per_species = shape_.parameters_per_species();
  pieces_.clear();
  int64_t buffer_size = 0;
  for (int64_t p = 0; p < num_pieces; ++p) {
    Piece piece;
    piece.begin = p * num_blocks / num_pieces;
    piece.end = (p + 1) * num_blocks / num_pieces;
    piece.parameter_begin = blocks_[piece.begin].species * per_species;
    piece.parameter_end = (blocks_[piece.end - 1].species + 1) * per_species;
    piece.buffer = buffer_size;
    buffer_size += piece.parameter_end - piece.parameter_begin;
    pieces_.push_back(piece);
  }
  if (gradient_buffers_.size() < buffer_size) gradient_buffers_.resize(buffer_size);
  ForEach(num_pieces, [&](int64_t p, int) {
    const Piece& piece = pieces_[p];
    T* sum = gradient_buffers_.data() + piece.buffer;
    std::fill(sum, sum + (piece.parameter_end - piece.parameter_begin), T(0));
    for (int64_t b = piece.begin; b < piece.end; ++b) {
      const Block& block = blocks_[b];
      const int64_t begin = block.species * per_species;
      T* result = KeptTile(b) + layout_.result_row * TileStride<T>();
      const int32_t* structure = rows.structure.data() + block.begin;
      for (int a = 0; a < block.count; ++a) result[a] = static_cast<T>(slopes[structure[a]]);
      BackwardBlock(layout_, parameters.data() + begin, block.count, KeptTile(b), sum + (begin - piece.parameter_begin),
                    nullptr);
    }
  });
  for (const Piece& piece : pieces_) {
    const T* sum = gradient_buffers_.data() + piece.buffer;
    T* out = gradients.data() + piece.parameter_begin;
    for (int64_t i = 0; i < piece.parameter_end - piece.parameter_begin; ++i) out[i] += sum[i];
  }
  blocks_.clear();  // the activations are gone
}

template <typename T>
void EnergyKernel<T>::Evaluate(absl::Span<const T> parameters, const AtomRows<T>& rows, absl::Span<double> sums,
                               absl::Span<T> atom_energies) {
  CutIntoBlocks(parameters, rows);
  const int64_t num_atoms = rows.num_atoms();
  if (atom_energies.empty()) {
    if (atom_energies_.size() < num_atoms) atom_energies_.resize(num_atoms);
    atom_energies = absl::MakeSpan(atom_energies_).first(num_atoms);
  }
  CHECK_EQ(atom_energies.size(), num_atoms);
  ForEach(blocks_.size(), [&](int64_t b, int worker) {
    const Block& block = blocks_[b];
    T* tile = WorkerTile(worker);
    ForwardBlock(layout_, parameters.data() + block.species * shape_.parameters_per_species(),
                 rows.x.data() + block.begin * shape_.num_features, block.count, tile);
    const T* energy = tile + layout_.result_row * TileStride<T>();
    std::copy(energy, energy + block.count, atom_energies.data() + block.begin);
  });
  blocks_.clear();
  std::fill(sums.begin(), sums.end(), 0.0);
  for (int64_t a = 0; a < num_atoms; ++a) sums[rows.structure[a]] += atom_energies[a];
}

template <typename T>
void EnergyKernel<T>::InputGradients(absl::Span<const T> parameters, const AtomRows<T>& rows,
                                     absl::Span<T> x_gradients) {
  CutIntoBlocks(parameters, rows);
  CHECK_EQ(x_gradients.size(), rows.num_atoms() * shape_.num_features);
  ForEach(blocks_.size(), [&](int64_t b, int worker) {
    const Block& block = blocks_[b];
    T* tile = WorkerTile(worker);
    const T* network = parameters.data() + block.species * shape_.parameters_per_species();
    ForwardBlock(layout_, network, rows.x.data() + block.begin * shape_.num_features, block.count, tile);
    T* result = tile + layout_.result_row * TileStride<T>();
    std::fill(result, result + block.count, T(1));
    BackwardBlock(layout_, network, block.count, tile, nullptr, x_gradients.data() + block.begin * shape_.num_features);
  });
  blocks_.clear();
}

template class EnergyKernel<float>;
template class EnergyKernel<double>;

}  // namespace rutile
