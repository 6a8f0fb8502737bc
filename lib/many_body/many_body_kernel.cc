#include "lib/many_body/many_body_kernel.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "lib/base/logging.h"
#include "lib/base/round_up.h"

namespace rutile {
namespace {

// The most gradient buffers of a species: enough for the threads of a large machine, and few enough that clearing and
// adding them stays cheap. A constant, so that the order of sums does not depend on the threads.
constexpr int64_t kMaxPieces = 8;

// Waking a pool's threads takes some microseconds: with fewer blocks than this one thread is faster.
constexpr int64_t kMinBlocksForThreads = 2;

const NetworkShape& Checked(const NetworkShape& shape) {
  CHECK(shape.has_moments()) << "plain networks have NetworkKernel";
  CHECK(shape.Validate().ok()) << shape.Validate();
  return shape;
}

}  // namespace

template <typename T>
ManyBodyKernel<T>::ManyBodyKernel(const NetworkShape& shape, ThreadPool* pool)
    : ManyBodyKernel(shape, {0, shape.parameters_per_species()}, pool) {}

template <typename T>
ManyBodyKernel<T>::ManyBodyKernel(const NetworkShape& shape, const SpeciesPlaces& model, ThreadPool* pool)
    : shape_(Checked(shape)),
      model_(model),
      packing_(shape),
      sizes_(packing_.sizes()),
      places_(packing_.places()),
      network_shape_(packing_.networks()),
      table_(shape.moments.max_l, sizes_.channels),
      pool_(pool),
      networks_(network_shape_, pool) {
  coefficients_ = AlignedBuffer<T>::Zeros(shape.num_species * places_.size);  // padding stays 0
  network_parameters_.resize(network_shape_.num_parameters());
  network_gradients_.resize(network_shape_.num_parameters());
  packed_parameters_.resize(shape.num_parameters());
  is_packed_.resize(shape.num_species, false);
  // The scratch of a worker: A (or Abar), Abardot, and the seeds of a block.
  worker_size_ = kMomentBlock * (2 * AtomSize() + 2 * sizes_.channels);
  workers_ = AlignedBuffer<T>::Zeros(num_workers() * worker_size_);
}

template <typename T>
void ManyBodyKernel<T>::SetFrozen(const std::vector<bool>& species) {
  networks_.SetFrozen(species);
  frozen_ = species;
}

template <typename T>
void ManyBodyKernel<T>::SetPlan(const KernelPlan& plan) {
  networks_.SetPlan(plan);
  kept_ = Kept::kNothing;
}

template <typename T>
void ManyBodyKernel<T>::SetRounding(bool on) {
  CHECK(!on) << "many-body potentials have no mixed precision";
}

template <typename T>
void ManyBodyKernel<T>::Reserve(absl::Span<const int64_t> atoms, bool second_order) {
  networks_.Reserve(atoms, /*second_order=*/true);  // Forward needs their derivatives, too
  int64_t num_atoms = 0, num_blocks = 0, num_pieces = 0;
  for (const int64_t n : atoms) {
    num_atoms += n;
    num_blocks += CeilDivide(n, int64_t{kMomentBlock});
    num_pieces += std::min(CeilDivide(n, int64_t{kMomentBlock}), kMaxPieces);
  }
  blocks_.reserve(num_blocks);
  pieces_.reserve(num_pieces);
  piece_gradients_.Take(num_pieces * places_.gradients_size);
  TakeBuffers(num_atoms, second_order);
  moments_.Take(num_atoms * AtomSize());
  slopes_.Take(num_atoms * sizes_.channels);
  if (atom_energies_.size() < num_atoms) atom_energies_.resize(num_atoms);
}

template <typename T>
void ManyBodyKernel<T>::TakeBuffers(int64_t num_atoms, bool second_order) {
  invariants_.Take(num_atoms * sizes_.channels);
  if (linear_.size() < num_atoms) linear_.resize(num_atoms);
  if (!second_order) return;
  tangent_moments_.Take(num_atoms * AtomSize());
  tangent_invariants_.Take(num_atoms * sizes_.channels);
  tangent_slopes_.Take(num_atoms * sizes_.channels);
}

template <typename T>
template <typename Body>
void ManyBodyKernel<T>::ForEach(int64_t n, const Body& body) {
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
AtomRows<T> ManyBodyKernel<T>::NetworkRows(const AtomRows<T>& rows) const {
  const absl::Span<const T> m(invariants_.data(), rows.num_atoms() * sizes_.channels);
  return {m, rows.species_offset, rows.structure};
}

template <typename T>
void ManyBodyKernel<T>::PointAtRows(const Block& block, const AtomRows<T>& rows, absl::Span<const T> features,
                                    const T** x) const {
  for (int a = 0; a < block.count; ++a) {
    const int64_t atom = block.begin + a;
    x[a] = features.data() + (rows.row.empty() ? atom : rows.row[atom]) * shape_.num_features;
  }
}

template <typename T>
void ManyBodyKernel<T>::Start(absl::Span<const T> parameters, const AtomRows<T>& rows, bool keeps_moments) {
  CHECK_EQ(parameters.size(), num_model_parameters());
  CHECK_EQ(rows.species_offset.size(), shape_.num_species + 1);
  CHECK_EQ(rows.species_offset[0], 0);
  CHECK(rows.transposed == nullptr) << "there is no such form";
  if (rows.row.empty()) {
    CHECK_GE(rows.x.size(), rows.num_atoms() * shape_.num_features);
  } else {
    CHECK_EQ(rows.row.size(), rows.num_atoms());
  }
  CHECK_GE(rows.structure.size(), rows.num_atoms());
  kept_ = Kept::kNothing;
  vector_slopes_ = nullptr;
  blocks_.clear();
  for (int s = 0; s < shape_.num_species; ++s) {
    const int64_t begin = rows.species_offset[s], end = rows.species_offset[s + 1];
    CHECK_LE(begin, end);
    for (int64_t at = begin; at < end; at += kMomentBlock) {
      blocks_.push_back({s, at, static_cast<int>(std::min<int64_t>(kMomentBlock, end - at))});
    }
    if (begin < end) PackSpecies(s, parameters);
  }
  TakeBuffers(rows.num_atoms(), /*second_order=*/false);
  if (!keeps_moments) return;
  moments_.Take(rows.num_atoms() * AtomSize());
  slopes_.Take(rows.num_atoms() * sizes_.channels);
}

template <typename T>
void ManyBodyKernel<T>::PackSpecies(int species, absl::Span<const T> parameters) {
  const int64_t size = shape_.parameters_per_species();
  const T* const of_species = parameters.data() + model_.first + species * model_.stride;
  T* const packed = packed_parameters_.data() + species * size;
  if (is_packed_[species] && std::memcmp(packed, of_species, size * sizeof(T)) == 0) return;
  packing_.Pack(species, of_species, coefficients_.data() + species * places_.size, network_parameters_.data());
  std::copy_n(of_species, size, packed);
  is_packed_[species] = true;
}

template <typename T>
void ManyBodyKernel<T>::ComputeInvariants(const AtomRows<T>& rows, bool keep) {
  const int64_t channels = sizes_.channels;
  ForEach(blocks_.size(), [&](int64_t b, int worker) {
    const Block& block = blocks_[b];
    const T* const coefficients = CoefficientsOf(block.species);
    const T* x[kMomentBlock];
    PointAtRows(block, rows, rows.x, x);
    T* const a = keep ? moments_.data() + block.begin * AtomSize() : workers_.data() + worker * worker_size_;
    T* const m = invariants_.data() + block.begin * channels;
    MomentsOfBlock(sizes_, coefficients + places_.radial, block.count, x, a);
    ProductsOfBlock(table_, channels, coefficients + places_.product, block.count, WithTangent<const T>{a, nullptr},
                    WithTangent<T>{m, nullptr});
    const T* const v = coefficients + places_.linear;
    for (int64_t atom = 0; atom < block.count; ++atom) {
      T sum = 0;
      for (int64_t k = 0; k < channels; ++k) sum += v[k] * m[atom * channels + k];
      linear_[block.begin + atom] = sum;
    }
  });
}

template <typename T>
void ManyBodyKernel<T>::AddLinear(const AtomRows<T>& rows, absl::Span<double> sums) const {
  for (int64_t a = 0; a < rows.num_atoms(); ++a) sums[rows.structure[a]] += linear_[a];
}

template <typename T>
void ManyBodyKernel<T>::FinishSlopes(const T* m_slopes, T* x_gradients, bool energies) {
  const int64_t channels = sizes_.channels;
  ForEach(blocks_.size(), [&](int64_t b, int worker) {
    const Block& block = blocks_[b];
    const T* const coefficients = CoefficientsOf(block.species);
    const T* const v = coefficients + places_.linear;
    T* const slopes = slopes_.data() + block.begin * channels;
    if (!energies) std::fill_n(slopes, block.count * channels, T(0));
    for (int64_t atom = 0; energies && atom < block.count; ++atom) {
      for (int64_t k = 0; k < channels; ++k) slopes[atom * channels + k] += v[k];
    }
    const T* const more = m_slopes == nullptr ? nullptr : m_slopes + block.begin * channels;
    for (int64_t k = 0; more != nullptr && k < block.count * channels; ++k) slopes[k] += more[k];
    if (x_gradients == nullptr) return;
    T* const bar = workers_.data() + worker * worker_size_;
    ProductSlopesOfBlock(table_, channels, coefficients + places_.product, block.count,
                         WithTangent<const T>{moments_.data() + block.begin * AtomSize(), nullptr},
                         WithTangent<const T>{slopes, nullptr}, WithTangent<T>{bar, nullptr}, nullptr);
    AddVectorSlopes(block, {}, nullptr, bar, nullptr);
    FeatureSlopesOfBlock(sizes_, coefficients + places_.back, block.count, bar,
                         x_gradients + block.begin * shape_.num_features);
  });
}

template <typename T>
void ManyBodyKernel<T>::Forward(absl::Span<const T> parameters, const AtomRows<T>& rows, absl::Span<double> sums) {
  Start(parameters, rows, /*keeps_moments=*/true);
  ComputeInvariants(rows, /*keep=*/true);
  networks_.ForwardWithInputGradients(network_parameters_, NetworkRows(rows), sums,
                                      {slopes_.data(), static_cast<size_t>(slopes_.size())});
  FinishSlopes(nullptr, nullptr);
  AddLinear(rows, sums);
  kept_ = Kept::kValues;
}

template <typename T>
void ManyBodyKernel<T>::Backward(absl::Span<const T> parameters, const AtomRows<T>& rows,
                                 absl::Span<const double> slopes, absl::Span<T> gradients) {
  CHECK(kept_ == Kept::kValues) << "Forward comes first";
  CheckFollows(parameters, rows, gradients);
  AddGradients(rows, slopes, nullptr, gradients);
  kept_ = Kept::kNothing;
}

template <typename T>
void ManyBodyKernel<T>::Evaluate(absl::Span<const T> parameters, const AtomRows<T>& rows, absl::Span<double> sums,
                                 absl::Span<T> atom_energies) {
  Start(parameters, rows, keeps_moments_);
  ComputeInvariants(rows, keeps_moments_);
  networks_.Evaluate(network_parameters_, NetworkRows(rows), sums, atom_energies);
  for (size_t a = 0; a < atom_energies.size(); ++a) atom_energies[a] += linear_[a];
  AddLinear(rows, sums);
}

template <typename T>
void ManyBodyKernel<T>::InputGradients(absl::Span<const T> parameters, const AtomRows<T>& rows,
                                       absl::Span<T> x_gradients) {
  CHECK(rows.row.empty()) << "values alone are read where they lie";
  CHECK_EQ(x_gradients.size(), rows.num_atoms() * shape_.num_features);
  Start(parameters, rows, /*keeps_moments=*/true);
  ComputeInvariants(rows, /*keep=*/true);
  networks_.InputGradients(network_parameters_, NetworkRows(rows),
                           {slopes_.data(), static_cast<size_t>(slopes_.size())});
  FinishSlopes(nullptr, x_gradients.data());
}

template <typename T>
void ManyBodyKernel<T>::ForwardWithInputGradients(absl::Span<const T> parameters, const AtomRows<T>& rows,
                                                  absl::Span<double> sums, absl::Span<T> x_gradients) {
  CHECK_EQ(x_gradients.size(), rows.num_atoms() * shape_.num_features);
  ForwardInvariants(parameters, rows, sums);
  FinishForward(rows, nullptr, x_gradients.data());
}

template <typename T>
void ManyBodyKernel<T>::ForwardInvariants(absl::Span<const T> parameters, const AtomRows<T>& rows,
                                          absl::Span<double> sums) {
  CHECK(rows.row.empty()) << "values alone are read where they lie";
  Start(parameters, rows, /*keeps_moments=*/true);
  ComputeInvariants(rows, /*keep=*/true);
  has_energies_ = !sums.empty() || rows.num_atoms() == 0;
  if (!has_energies_) return;
  networks_.ForwardWithInputGradients(network_parameters_, NetworkRows(rows), sums,
                                      {slopes_.data(), static_cast<size_t>(slopes_.size())});
  AddLinear(rows, sums);
}

template <typename T>
void ManyBodyKernel<T>::FinishForward(const AtomRows<T>& rows, const T* m_slopes, T* x_gradients,
                                      const T* vector_slopes) {
  vector_slopes_ = vector_slopes;
  FinishSlopes(m_slopes, x_gradients, has_energies_);
  if (has_energies_) kept_ = Kept::kDerivatives;
}

template <typename T>
void ManyBodyKernel<T>::CheckFollows(absl::Span<const T> parameters, const AtomRows<T>& rows,
                                     absl::Span<T> gradients) const {
  CHECK_EQ(parameters.size(), num_model_parameters());
  CHECK_EQ(gradients.size(), num_model_parameters());
  CHECK_EQ(blocks_.empty() ? 0 : blocks_.back().begin + blocks_.back().count, rows.num_atoms())
      << "the forward pass was of other atoms";
}

template <typename T>
void ManyBodyKernel<T>::AddVectorSlopes(const Block& block, const AtomRows<T>& rows, const double* slopes, T* bar,
                                        T* bar_dot) const {
  if (vector_slopes_ == nullptr) return;
  const int64_t channels = sizes_.channels, size = 3 * channels;
  for (int64_t atom = 0; atom < block.count; ++atom) {
    const int64_t from = (block.begin + atom) * size, to = atom * AtomSize() + channels;
    const T* const of_atom = vector_slopes_ + from;
    const T slope = slopes != nullptr ? static_cast<T>(slopes[rows.structure[block.begin + atom]]) : T(0);
    const T factor = slopes != nullptr && bar_dot == nullptr ? slope : T(1);
    for (int64_t k = 0; k < size; ++k) bar[to + k] += factor * of_atom[k];
    if (bar_dot == nullptr) continue;
    for (int64_t k = 0; k < size; ++k) bar_dot[to + k] += slope * of_atom[k];
    if (vector_slope_tangents_ == nullptr) continue;
    for (int64_t k = 0; k < size; ++k) bar_dot[to + k] += vector_slope_tangents_[from + k];
  }
}

template <typename T>
void ManyBodyKernel<T>::AddPiece(const Piece& piece, const AtomRows<T>& rows, const double* slopes, const T* tangents,
                                 int worker, T* sum, T* x_gradient_tangents) {
  const int64_t channels = sizes_.channels;
  const T* const coefficients = CoefficientsOf(piece.species);
  const T* const v = coefficients + places_.linear;
  T* const v_gradients = sum + places_.linear;
  T* const bar = workers_.data() + worker * worker_size_;
  T* const bar_dot = bar + kMomentBlock * AtomSize();
  T* const seed = bar_dot + kMomentBlock * AtomSize();
  for (int64_t b = piece.begin; b < piece.end; ++b) {
    const Block& block = blocks_[b];
    const T *x[kMomentBlock], *x_dot[kMomentBlock];
    PointAtRows(block, rows, rows.x, x);
    const T* const m = invariants_.data() + block.begin * channels;
    const T* const m_bar = slopes_.data() + block.begin * channels;
    const T* const m_dot = tangents ? tangent_invariants_.data() + block.begin * channels : nullptr;
    const T* const m_bar_dot = tangents ? tangent_slopes_.data() + block.begin * channels : nullptr;
    for (int64_t atom = 0, at = 0; atom < block.count; ++atom) {
      const T slope = slopes ? static_cast<T>(slopes[rows.structure[block.begin + atom]]) : T(0);
      for (int64_t k = 0; k < channels; ++k, ++at) {
        // The networks' part of the tangent's seed has the slope's share already.
        seed[at] = tangents ? m_bar_dot[at] + slope * v[k] : slope * m_bar[at];
        v_gradients[k] += tangents ? m_dot[at] + slope * m[at] : slope * m[at];
      }
    }
    WithTangent<const T> a = {moments_.data() + block.begin * AtomSize(), nullptr}, seeds = {seed, nullptr};
    WithTangent<T> bars = {bar, nullptr};
    if (tangents != nullptr) {
      PointAtRows(block, rows, {tangents, rows.x.size()}, x_dot);
      a.dot = tangent_moments_.data() + block.begin * AtomSize();
      seeds = {m_bar, seed};
      bars.dot = bar_dot;
    }
    ProductSlopesOfBlock(table_, channels, coefficients + places_.product, block.count, a, seeds, bars,
                         sum + places_.product);
    AddVectorSlopes(block, rows, slopes, bar, bars.dot);
    AddCoefficientGradients(sizes_, block.count, x, tangents ? x_dot : nullptr, WithTangent<const T>{bar, bars.dot},
                            sum + places_.radial);
    if (x_gradient_tangents == nullptr) continue;
    FeatureSlopesOfBlock(sizes_, coefficients + places_.back, block.count, bar_dot,
                         x_gradient_tangents + block.begin * shape_.num_features);
  }
}

template <typename T>
void ManyBodyKernel<T>::ForwardTangents(const AtomRows<T>& rows, const T* tangents) {
  const int64_t channels = sizes_.channels;
  TakeBuffers(rows.num_atoms(), /*second_order=*/true);
  ForEach(blocks_.size(), [&](int64_t b, int) {
    const Block& block = blocks_[b];
    if (IsFrozen(block.species)) return;
    const T* const coefficients = CoefficientsOf(block.species);
    const T* x_dot[kMomentBlock];
    PointAtRows(block, rows, {tangents, rows.x.size()}, x_dot);
    T* const a_dot = tangent_moments_.data() + block.begin * AtomSize();
    MomentsOfBlock(sizes_, coefficients + places_.radial, block.count, x_dot, a_dot);
    // Values are computed again beside their derivatives, into a place that is not read before it is overwritten.
    ProductsOfBlock(table_, channels, coefficients + places_.product, block.count,
                    WithTangent<const T>{moments_.data() + block.begin * AtomSize(), a_dot},
                    WithTangent<T>{tangent_slopes_.data() + block.begin * channels,
                                   tangent_invariants_.data() + block.begin * channels});
  });
}

template <typename T>
void ManyBodyKernel<T>::AddNetworkGradientsAlong(const AtomRows<T>& rows, absl::Span<const double> slopes) {
  const size_t size = rows.num_atoms() * sizes_.channels;
  networks_.AddGradientsAndInputSlopes(network_parameters_, NetworkRows(rows), slopes,
                                       {tangent_invariants_.data(), size}, absl::MakeSpan(network_gradients_),
                                       {tangent_slopes_.data(), size});
}

template <typename T>
void ManyBodyKernel<T>::AddGradientsAlong(const AtomRows<T>& rows, const T* tangents, const T* m_slope_tangents,
                                          absl::Span<T> gradients, T* x_gradient_tangents,
                                          const T* vector_slope_tangents) {
  CHECK(frozen_.empty()) << "all layers are needed";
  std::fill(network_gradients_.begin(), network_gradients_.end(), T(0));
  AddNetworkGradientsAlong(rows, {});
  const int64_t size = rows.num_atoms() * sizes_.channels;
  for (int64_t k = 0; m_slope_tangents != nullptr && k < size; ++k) tangent_slopes_[k] += m_slope_tangents[k];
  vector_slope_tangents_ = vector_slope_tangents;
  AddMomentGradients(rows, nullptr, tangents, gradients, x_gradient_tangents);
  vector_slope_tangents_ = nullptr;
}

template <typename T>
void ManyBodyKernel<T>::AddGradients(const AtomRows<T>& rows, absl::Span<const double> slopes, const T* tangents,
                                     absl::Span<T> gradients) {
  std::fill(network_gradients_.begin(), network_gradients_.end(), T(0));
  if (tangents == nullptr) {
    networks_.AddEnergyGradients(network_parameters_, NetworkRows(rows), slopes, absl::MakeSpan(network_gradients_));
  } else {
    ForwardTangents(rows, tangents);
    AddNetworkGradientsAlong(rows, slopes);
  }
  AddMomentGradients(rows, slopes.empty() ? nullptr : slopes.data(), tangents, gradients, nullptr);
}

template <typename T>
void ManyBodyKernel<T>::AddMomentGradients(const AtomRows<T>& rows, const double* slopes, const T* tangents,
                                           absl::Span<T> gradients, T* x_gradient_tangents) {
  pieces_.clear();
  for (int64_t begin = 0, end; begin < blocks_.size(); begin = end) {
    const int species = blocks_[begin].species;
    for (end = begin; end < blocks_.size() && blocks_[end].species == species; ++end) {
    }
    if (IsFrozen(species)) continue;
    const int64_t num_blocks = end - begin, num_pieces = std::min(num_blocks, kMaxPieces);
    for (int64_t p = 0; p < num_pieces; ++p) {
      pieces_.push_back({species, begin + p * num_blocks / num_pieces, begin + (p + 1) * num_blocks / num_pieces});
    }
  }
  T* const sums = piece_gradients_.Take(pieces_.size() * places_.gradients_size);
  ForEach(pieces_.size(), [&](int64_t p, int worker) {
    T* const sum = sums + p * places_.gradients_size;
    std::fill_n(sum, places_.gradients_size, T(0));
    AddPiece(pieces_[p], rows, slopes, tangents, worker, sum, x_gradient_tangents);
  });
  for (size_t p = 0, first = 0; p < pieces_.size(); ++p) {
    if (pieces_[p].species != pieces_[first].species) first = p;
    T* const total = sums + first * places_.gradients_size;
    const T* const sum = sums + p * places_.gradients_size;
    for (int64_t i = 0; p > first && i < places_.gradients_size; ++i) total[i] += sum[i];
    const int species = pieces_[p].species;
    if (p + 1 < pieces_.size() && pieces_[p + 1].species == species) continue;
    if (!dropped_.empty() && dropped_[species]) continue;
    packing_.AddGradients(species, total, network_gradients_.data(),
                          gradients.data() + model_.first + species * model_.stride);
  }
}

template <typename T>
void ManyBodyKernel<T>::AddEnergyGradients(absl::Span<const T> parameters, const AtomRows<T>& rows,
                                           absl::Span<const double> slopes, absl::Span<T> gradients) {
  CHECK(kept_ == Kept::kDerivatives) << "ForwardWithInputGradients comes first";
  CheckFollows(parameters, rows, gradients);
  AddGradients(rows, slopes, nullptr, gradients);
}

template <typename T>
void ManyBodyKernel<T>::AddTangentGradients(absl::Span<const T> parameters, const AtomRows<T>& rows,
                                            absl::Span<const T> tangents, absl::Span<T> gradients) {
  CHECK(kept_ == Kept::kDerivatives) << "ForwardWithInputGradients comes first";
  CHECK_EQ(tangents.size(), rows.num_atoms() * shape_.num_features);
  CheckFollows(parameters, rows, gradients);
  AddGradients(rows, {}, tangents.data(), gradients);
}

template <typename T>
void ManyBodyKernel<T>::AddEnergyAndTangentGradients(absl::Span<const T> parameters, const AtomRows<T>& rows,
                                                     absl::Span<const double> slopes, absl::Span<const T> tangents,
                                                     absl::Span<T> gradients) {
  CHECK(kept_ == Kept::kDerivatives) << "ForwardWithInputGradients comes first";
  CHECK_EQ(tangents.size(), rows.num_atoms() * shape_.num_features);
  CheckFollows(parameters, rows, gradients);
  AddGradients(rows, slopes, tangents.data(), gradients);
}

template class ManyBodyKernel<float>;
template class ManyBodyKernel<double>;

}  // namespace rutile
