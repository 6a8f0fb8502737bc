#include "lib/potential/training/force_kernel.h"

#include <algorithm>
#include <functional>
#include <tuple>

namespace rutile {
namespace {

// The number of pairs that structures handled together have, roughly: their sorted neighbors stay in the cache, and
// memory does not grow with the batch. With a second layer an atom has some 40 kB instead of some 2.
constexpr int64_t kChunkPairs = 1 << 18, kChunkPairsOfTwoLayers = 1 << 13;

// The least cost of a piece, in pairs of a structure with forces (some 70 us), and its least number of atoms: a piece
// must be worth a thread, and its blocks of atoms must not be mostly empty. The number of pieces is a power of two, as
// the number of threads mostly is. Atoms of many-body potentials cost some 10 us in one layer and 90 in two, so that so
// many of them are always worth the gradients of a piece of its own (some 40 and 400 us).
constexpr int64_t kPieceCost = 4096, kPieceAtoms = 32, kPieceAtomsOfTwoLayers = 24;
// Limits on the number of pieces, and on the numbers in all gradient buffers: each piece has gradients of its own.
constexpr int64_t kMinPieces = 4, kMaxPieces = 64, kBufferSize = 1 << 24;

}  // namespace

template <typename T>
ForceKernel<T>::ForceKernel(const AtomisticModel& model, const LossOptions& loss, AngularMethod method,
                            ThreadPool* pool, GeometryCache<T>* cache)
    : formulas_(model, loss, method), num_parameters_(model.shape().num_parameters()), pool_(pool) {
  const int num_threads = pool == nullptr ? 1 : pool->num_threads();
  for (int worker = 0; worker < num_threads; ++worker) {
    chunks_.push_back(std::make_unique<StructureWorker<T>>(formulas_, cache));
  }
}

template <typename T>
void ForceKernel<T>::SetFrozen(const std::vector<bool>& species) {
  for (const auto& chunk : chunks_) chunk->SetFrozen(species);
}

template <typename T>
template <typename Body>
void ForceKernel<T>::ForEach(int64_t n, int64_t grain, const Body& body) {
  if (pool_ == nullptr) return body(0, n, 0);
  pool_->For(n, grain, std::ref(body));  // captures one pointer: std::function stores it without allocating
}

// The cost of a structure in pairs of a structure with forces, measured in fp32 at 4 and 8 Angstrom
// (benchmarks/potentials/force_benchmark.cc).
template <typename T>
int64_t ForceKernel<T>::Cost(const ForceBatch<T>& batch, int64_t s, bool forces) const {
  const int64_t atoms = batch.num_atoms(s);
  if (forces) return 12 * atoms + num_pairs_[s];
  return batch.has_geometry[s] ? 7 * atoms + num_pairs_[s] / 3 : 3 * atoms;
}

template <typename T>
void ForceKernel<T>::Cut(const ForceBatch<T>& batch, int64_t begin, int64_t end, bool forces) {
  int64_t total = 0, atoms = 0;
  for (int64_t k = begin; k < end; ++k) {
    total += Cost(batch, order_[k], forces);
    atoms += batch.num_atoms(order_[k]);
  }
  const int64_t most = std::clamp(kBufferSize / (3 * num_parameters_), kMinPieces, kMaxPieces);
  const NetworkShape& shape = formulas_.model.shape();
  const int64_t least_atoms = shape.has_messages() ? kPieceAtomsOfTwoLayers : kPieceAtoms;
  const int64_t worth = shape.has_moments() ? end - begin : total / kPieceCost;
  int64_t count = 1;
  while (2 * count <= std::min({most, end - begin, worth, atoms / least_atoms})) count *= 2;
  int64_t before = 0, at = begin;
  for (int64_t piece = 0; piece < count; ++piece) {
    const int64_t first = at, cost_before = before;
    // A structure belongs to the piece that the middle of its cost falls into.
    for (; at < end; ++at) {
      const int64_t cost = Cost(batch, order_[at], forces);
      if (piece + 1 < count && (2 * before + cost) * count >= 2 * (piece + 1) * total) break;
      before += cost;
    }
    if (at > first) pieces_.push_back({first, at, 0, forces, before - cost_before});
  }
}

template <typename T>
void ForceKernel<T>::RunPiece(absl::Span<const T> parameters, const ForceBatch<T>& batch, const Piece& piece,
                              bool train, int worker) {
  TermGradients<T> gradients;
  if (train) {
    T* buffer = gradient_buffers_.data() + piece.buffer;
    const auto next = [&](double weight) {
      if (weight <= 0) return absl::Span<T>();
      const absl::Span<T> term(buffer, num_parameters_);
      std::fill(term.begin(), term.end(), T(0));
      buffer += num_parameters_;
      return term;
    };
    gradients.energy = next(1);
    if (piece.forces) {
      gradients.force = next(formulas_.loss.force_weight);
      gradients.stress = next(formulas_.loss.stress_weight);
    }
  }
  const int64_t most = formulas_.model.shape().has_messages() ? kChunkPairsOfTwoLayers : kChunkPairs;
  for (int64_t begin = piece.begin; begin < piece.end;) {
    int64_t end = begin, pairs = 0;
    do {
      pairs += num_pairs_[order_[end++]];
    } while (end < piece.end && pairs + num_pairs_[order_[end]] <= most);
    chunks_[worker]->Run(parameters, batch, absl::MakeSpan(order_).subspan(begin, end - begin),
                         train ? &gradients : nullptr, absl::MakeSpan(sums_));
    begin = end;
  }
}

template <typename T>
void ForceKernel<T>::AddBuffers(absl::Span<Tensor> gradients) {
  constexpr int64_t kGrain = 4096;
  ForEach(num_parameters_, kGrain, [&](int64_t begin, int64_t end, int /*worker*/) {
    for (size_t term = 0; term < gradients.size(); ++term) {
      T* const out = gradients[term].mutable_values<T>().data();
      for (const Piece& piece : pieces_) {
        if (term > 0 && !piece.forces) continue;
        const T* const sum = gradient_buffers_.data() + piece.buffer + term * num_parameters_;
        for (int64_t i = begin; i < end; ++i) out[i] += sum[i];
      }
    }
  });
}

template <typename T>
void ForceKernel<T>::Run(absl::Span<const T> parameters, const ForceBatch<T>& batch, absl::Span<Tensor> gradients,
                         TermSums* sums, BatchErrors* errors) {
  const int64_t b = batch.num_structures();
  const bool train = !gradients.empty();
  for (const auto& chunk : chunks_) chunk->SetRounding(train && rounding_);
  sums_.resize(b);
  energy_errors_.resize(b);
  order_.resize(b);
  int64_t num_full = 0;
  for (int64_t s = 0; s < b; ++s) num_full += NeedsForces(formulas_.loss, batch, s);
  int64_t next_full = 0, next_plain = num_full;
  for (int64_t s = 0; s < b; ++s) order_[NeedsForces(formulas_.loss, batch, s) ? next_full++ : next_plain++] = s;
  num_pairs_.resize(b);
  for (int64_t s = 0; s < b; ++s) num_pairs_[s] = batch.has_geometry[s] ? batch.geometry(s).pairs.num_pairs() : 0;
  pieces_.clear();
  Cut(batch, 0, num_full, true);
  Cut(batch, num_full, b, false);
  // Long pieces run first, so that threads end together.
  std::sort(pieces_.begin(), pieces_.end(), [](const Piece& a, const Piece& b) {
    return std::make_tuple(!a.forces, -a.cost, a.begin) < std::make_tuple(!b.forces, -b.cost, b.begin);
  });
  if (train) {
    int64_t size = 0;
    for (Piece& piece : pieces_) {
      piece.buffer = size;
      size += (piece.forces ? static_cast<int64_t>(gradients.size()) : 1) * num_parameters_;
    }
    if (static_cast<int64_t>(gradient_buffers_.size()) < size) gradient_buffers_.resize(size);
  }
  ForEach(pieces_.size(), 1, [&](int64_t begin, int64_t end, int worker) {
    for (int64_t p = begin; p < end; ++p) RunPiece(parameters, batch, pieces_[p], train, worker);
  });
  if (train) AddBuffers(gradients);

  const double count_scale = ForceCountScale(formulas_.loss, batch.sampled_share);
  for (int64_t s = 0; s < b; ++s) {
    energy_errors_[s] = sums_[s].energy_error;
    AddStructureSums(formulas_.loss, count_scale, sums_[s], sums, errors);
  }
}

void AddStructureSums(const LossOptions& loss, double count_scale, const StructureSums& parts, TermSums* sums,
                      BatchErrors* errors) {
  sums->sum[0] += parts.energy_loss;
  sums->count[0] += parts.energy_count;
  int term = 1;
  if (loss.force_weight > 0) {
    sums->sum[term] += parts.force_loss;
    sums->count[term++] += parts.force_count * count_scale;
  }
  if (loss.stress_weight > 0) {
    sums->sum[term] += parts.stress_loss;
    sums->count[term] += parts.stress_count;
  }
  if (errors == nullptr) return;
  errors->energy.Add(parts.errors.energy);
  errors->force.Add(parts.errors.force);
  errors->stress.Add(parts.errors.stress);
}

double ForceCountScale(const LossOptions& loss, double sampled_share) {
  return loss.force_scale_unbiased ? sampled_share : 1;
}

template class ForceKernel<float>;
template class ForceKernel<double>;

}  // namespace rutile
