// Bodies that count the entities that score above a target, or as high, without storing scores.
//
// A score is one chain of fused multiply-adds over the dimensions in order, from 0, and then the bias is added: the
// definition in lib/ranking/scores/score_kernel.h. It therefore has the same bits here, there (where the CPU has fused
// multiply-adds), in a tile, and alone.

#ifndef RUTILE_LIB_RANKING_GPU_COUNT_BODIES_INL_H_
#define RUTILE_LIB_RANKING_GPU_COUNT_BODIES_INL_H_

#include <cmath>
#include <cstdint>

#include "lib/gpu/async_copy.h"
#include "lib/gpu/block.h"
#include "lib/gpu/device_function.h"

namespace rutile {

RUTILE_DEVICE inline float MultiplyAdd(float a, float b, float c) { return fmaf(a, b, c); }
RUTILE_DEVICE inline double MultiplyAdd(double a, double b, double c) { return fma(a, b, c); }

// Adds to a number that other threads add to. Sums of whole numbers do not depend on the order.
RUTILE_DEVICE inline void AddTo(uint64_t* sum, uint64_t value) {
#ifdef __CUDA_ARCH__
  atomicAdd(reinterpret_cast<unsigned long long*>(sum), static_cast<unsigned long long>(value));
#else
  *sum += value;
#endif
}
RUTILE_DEVICE inline void AddTo(uint32_t* sum, uint32_t value) {
#ifdef __CUDA_ARCH__
  atomicAdd(sum, value);
#else
  *sum += value;
#endif
}

// The counts of a target are one number, so that both are added at once: greater + 2^32 equal, modulo 2^64. What is
// subtracted may be subtracted first.
RUTILE_DEVICE inline uint64_t PairOfCounts(uint32_t greater, uint32_t equal) {
  return static_cast<uint64_t>(equal) << 32 | greater;
}

// How scores are divided. A block computes tiles of kQueries x kEntities scores, each thread kThreadQueries x
// kThreadEntities of them in registers. A warp of 4 x 8 threads has 32 queries and half of the entities, in groups of
// 16 bytes for each thread, so that the loads of a warp are adjacent.
template <typename T>
struct CountTile {
  static constexpr int kThreads = 256;
  static constexpr int kGroup = Numbers16<T>::kSize;
  static constexpr int kThreadQueries = 8, kThreadEntities = sizeof(T) == 4 ? 8 : 4;
  static constexpr int kQueries = 128, kEntities = 16 * kThreadEntities;
  static constexpr int kSlice = 8;   // dimensions in the memory of a block at a time
  static constexpr int kStages = 4;  // slices there, of which one is used while others arrive

  // Returns which of a tile's queries or entities is the i-th of a thread.
  RUTILE_DEVICE static int Query(int thread, int i) {
    const int warp = thread / 32, lane = thread % 32;
    return warp / 2 * 32 + i / kGroup * (4 * kGroup) + lane / 8 * kGroup + i % kGroup;
  }
  RUTILE_DEVICE static int Entity(int thread, int i) {
    const int warp = thread / 32, lane = thread % 32;
    return warp % 2 * (kEntities / 2) + i / kGroup * (8 * kGroup) + lane % 8 * kGroup + i % kGroup;
  }
};

// Packs rows for CountBody: panels [ceil(num / width)][padded_dim][width] of rows [num, dim], filled up with 0. For
// each i of the panels' elements.
template <typename T>
struct PackBody {
  static constexpr int kThreads = 256;
  const T* rows;
  int64_t num, dim, padded_dim;
  int width;
  T* panels;

  RUTILE_DEVICE void operator()(int64_t i) const {
    const int64_t row = i / (padded_dim * width) * width + i % width, k = i / width % padded_dim;
    panels[i] = row < num && k < dim ? rows[row * dim + k] : T{0};
  }
};

// Fills the padded bias of CountBody from bias [num], which may be null. What fills up is NaN, which makes scores that
// are not counted. For each i of `padded`.
template <typename T>
struct PadBiasBody {
  static constexpr int kThreads = 256;
  const T* bias;
  int64_t num;
  T* padded;

  RUTILE_DEVICE void operator()(int64_t i) const {
    padded[i] = i >= num ? static_cast<T>(NAN) : bias == nullptr ? T{0} : bias[i];
  }
};

// Returns the score of one query and one entity. Rows begin at multiples of their size.
template <typename T>
RUTILE_DEVICE inline T ChainScore(const T* query, const T* entity, int64_t dim, T bias) {
  using Group = Numbers16<T>;
  T sum = 0;
  if (dim % Group::kSize == 0) {
    const auto* const q = reinterpret_cast<const Group*>(query);
    const auto* const e = reinterpret_cast<const Group*>(entity);
    for (int64_t g = 0; g < dim / Group::kSize; ++g) {
      const Group a = q[g], b = e[g];
      RUTILE_UNROLL
      for (int i = 0; i < Group::kSize; ++i) sum = MultiplyAdd(a.value[i], b.value[i], sum);
    }
  } else {
    for (int64_t k = 0; k < dim; ++k) sum = MultiplyAdd(query[k], entity[k], sum);
  }
  return sum + bias;
}

// Returns q with offsets[q] <= i < offsets[q + 1]. offsets: [num + 1].
RUTILE_DEVICE inline int64_t OwnerOf(int64_t i, const int64_t* offsets, int64_t num) {
  int64_t low = 0, high = num;
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    (offsets[middle] <= i ? low : high) = middle;
  }
  return low;
}

// Computes the scores of targets. For each target i.
template <typename T>
struct TargetScoreBody {
  static constexpr int kThreads = 128;
  const T *queries, *entities;  // [Q, dim], [N, dim]
  const T* bias;                // [N]
  int64_t dim;
  const int64_t* offsets;  // [Q + 1] targets of queries
  int64_t num_queries;
  const int32_t* entity;  // the target's row
  T* scores;

  RUTILE_DEVICE void operator()(int64_t i) const {
    const int64_t q = OwnerOf(i, offsets, num_queries), e = entity[i];
    scores[i] = ChainScore(queries + q * dim, entities + e * dim, dim, bias[e]);
  }
};

// Subtracts known entities from the counts of their query's targets. For each known entity i.
template <typename T>
struct KnownBody {
  static constexpr int kThreads = 128;
  const T *queries, *entities;  // [Q, dim], [N, dim]
  const T* bias;                // [N]
  int64_t dim, first, num;      // the rows are entities first .. first + num - 1
  const int64_t *offsets, *known_offsets;
  int64_t num_queries;
  const int32_t* known;
  const T* scores;
  uint64_t* counts;

  RUTILE_DEVICE void operator()(int64_t i) const {
    const int64_t e = known[i] - first;
    if (e < 0 || e >= num) return;
    const int64_t q = OwnerOf(i, known_offsets, num_queries);
    const T score = ChainScore(queries + q * dim, entities + e * dim, dim, bias[e]);
    for (int64_t t = offsets[q]; t < offsets[q + 1]; ++t) {
      const bool greater = score > scores[t], equal = score == scores[t];
      if (greater || equal) AddTo(counts + t, uint64_t{0} - PairOfCounts(greater, equal));
    }
  }
};

// Adds all entities to the counts of targets. A block takes a tile of queries and some tiles of entities.
template <typename T>
struct CountBody {
  using Tile = CountTile<T>;
  using Group = Numbers16<T>;
  static constexpr int kThreads = Tile::kThreads;
  static constexpr int kKept = 1024;  // targets of a tile whose counts are kept in the memory of the block
  // A block's counts must fit 16 bits.
  static constexpr int64_t kMostTiles = 64;

  const T *queries, *entities;  // panels with the widths of a tile
  const T* bias;                // padded to whole tiles, with NaN
  int64_t padded_dim;
  const int64_t* offsets;  // [num_queries + 1] targets of queries
  int64_t num_queries, query_tiles, entity_tiles, tiles_per_block;
  const T* scores;
  uint64_t* counts;

  struct Shared {
    Group queries[Tile::kStages][Tile::kSlice * Tile::kQueries / Group::kSize];
    Group entities[Tile::kStages][Tile::kSlice * Tile::kEntities / Group::kSize];
    T score[kKept];
    uint32_t count[kKept];  // greater + 2^16 equal
    int32_t first[Tile::kQueries + 1];
  };

  int64_t num_blocks() const { return query_tiles * ((entity_tiles + tiles_per_block - 1) / tiles_per_block); }

  // Adjacent blocks share entities, so that a table that is larger than the cache is read about once.
  RUTILE_DEVICE void operator()(const Block& block) const {
    Shared* const shared = static_cast<Shared*>(block.shared);
    const int64_t query_tile = block.index % query_tiles;
    const int64_t first_tile = block.index / query_tiles * tiles_per_block;
    const int64_t rest = entity_tiles - first_tile;
    const int64_t slices = padded_dim / Tile::kSlice;
    const int64_t num_slices = (rest < tiles_per_block ? rest : tiles_per_block) * slices;
    const int64_t base = offsets[query_tile * Tile::kQueries];
    const int kept = KeepTargets(block, query_tile, base, shared);

    // On a GPU each thread has one part of the tile. Otherwise a thread has several parts, each with its own sums.
#ifdef __CUDA_ARCH__
    constexpr int kParts = 1;
#else
    constexpr int kParts = kThreads;
#endif
    T sum[kParts][Tile::kThreadQueries][Tile::kThreadEntities];
    for (int s = 0; s < Tile::kStages - 1; ++s) Load(block, query_tile, first_tile, slices, num_slices, s, shared);
    int64_t tile = first_tile, slice = 0;
    for (int64_t s = 0; s < num_slices; ++s) {
      WaitForCopies<Tile::kStages - 2>();
      block.Sync();
      Load(block, query_tile, first_tile, slices, num_slices, s + Tile::kStages - 1, shared);
      const int stage = static_cast<int>(s % Tile::kStages);
      for (int p = 0; p < kParts; ++p) {
        const int thread = block.thread + p * block.threads;
        if (kParts > 1 && thread >= kThreads) break;
        if (slice == 0) Reset(sum[p]);
        Multiply(thread, shared->queries[stage], shared->entities[stage], sum[p]);
        if (slice == slices - 1) Count(thread, tile, base, sum[p], shared);
      }
      if (++slice == slices) {
        slice = 0;
        ++tile;
      }
    }
    block.Sync();
    for (int i = block.thread; i < kept; i += block.threads) {
      const uint32_t count = shared->count[i];
      if (count != 0) AddTo(counts + base + i, PairOfCounts(count & 0xffff, count >> 16));
    }
  }

 private:
  // Returns the number of targets whose counts are kept.
  RUTILE_DEVICE int KeepTargets(const Block& block, int64_t query_tile, int64_t base, Shared* shared) const {
    const int64_t first = query_tile * Tile::kQueries;
    const auto from = [&](int64_t i) { return offsets[first + i < num_queries ? first + i : num_queries] - base; };
    for (int i = block.thread; i <= Tile::kQueries; i += block.threads) {
      shared->first[i] = static_cast<int32_t>(from(i));
    }
    const int64_t num = from(Tile::kQueries);
    const int kept = num < kKept ? static_cast<int>(num) : kKept;
    for (int i = block.thread; i < kept; i += block.threads) {
      shared->score[i] = scores[base + i];
      shared->count[i] = 0;
    }
    return kept;
  }

  // Starts to load slice s of this block. Slices of consecutive tiles of entities are adjacent.
  RUTILE_DEVICE void Load(const Block& block, int64_t query_tile, int64_t first_tile, int64_t slices,
                          int64_t num_slices, int64_t s, Shared* shared) const {
    constexpr int kOfQueries = Tile::kSlice * Tile::kQueries / Group::kSize;
    constexpr int kOfEntities = Tile::kSlice * Tile::kEntities / Group::kSize;
    if (s < num_slices) {
      const int stage = static_cast<int>(s % Tile::kStages);
      const Group* const q = reinterpret_cast<const Group*>(queries) + (query_tile * slices + s % slices) * kOfQueries;
      const Group* const e = reinterpret_cast<const Group*>(entities) + (first_tile * slices + s) * kOfEntities;
      for (int i = block.thread; i < kOfQueries; i += block.threads) StartCopy(&shared->queries[stage][i], q + i);
      for (int i = block.thread; i < kOfEntities; i += block.threads) StartCopy(&shared->entities[stage][i], e + i);
    }
    EndCopies();
  }

  RUTILE_DEVICE static void Reset(T (*sum)[Tile::kThreadEntities]) {
    RUTILE_UNROLL
    for (int i = 0; i < Tile::kThreadQueries; ++i) {
      RUTILE_UNROLL
      for (int j = 0; j < Tile::kThreadEntities; ++j) sum[i][j] = 0;
    }
  }

  // Adds the products of a slice.
  RUTILE_DEVICE static void Multiply(int thread, const Group* query, const Group* entity,
                                     T (*sum)[Tile::kThreadEntities]) {
    const Group* const q = query + Tile::Query(thread, 0) / Group::kSize;
    const Group* const e = entity + Tile::Entity(thread, 0) / Group::kSize;
    RUTILE_UNROLL
    for (int k = 0; k < Tile::kSlice; ++k) {
      Group a[Tile::kThreadQueries / Group::kSize], b[Tile::kThreadEntities / Group::kSize];
      RUTILE_UNROLL
      for (int g = 0; g < Tile::kThreadQueries / Group::kSize; ++g) {
        a[g] = q[k * (Tile::kQueries / Group::kSize) + g * 4];
      }
      RUTILE_UNROLL
      for (int g = 0; g < Tile::kThreadEntities / Group::kSize; ++g) {
        b[g] = e[k * (Tile::kEntities / Group::kSize) + g * 8];
      }
      RUTILE_UNROLL
      for (int i = 0; i < Tile::kThreadQueries; ++i) {
        RUTILE_UNROLL
        for (int j = 0; j < Tile::kThreadEntities; ++j) {
          sum[i][j] = MultiplyAdd(a[i / Group::kSize].value[i % Group::kSize],
                                  b[j / Group::kSize].value[j % Group::kSize], sum[i][j]);
        }
      }
    }
  }

  // Compares complete sums with the targets of their queries.
  RUTILE_DEVICE void Count(int thread, int64_t tile, int64_t base, T (*sum)[Tile::kThreadEntities],
                           Shared* shared) const {
    const T* const beta = bias + tile * Tile::kEntities;
    RUTILE_UNROLL
    for (int j = 0; j < Tile::kThreadEntities; ++j) {
      const T b = beta[Tile::Entity(thread, j)];
      RUTILE_UNROLL
      for (int i = 0; i < Tile::kThreadQueries; ++i) sum[i][j] += b;
    }
    RUTILE_UNROLL
    for (int i = 0; i < Tile::kThreadQueries; ++i) {
      const int q = Tile::Query(thread, i);
      for (int t = shared->first[q]; t < shared->first[q + 1]; ++t) {
        const T target = t < kKept ? shared->score[t] : scores[base + t];
        uint32_t count = 0;
        RUTILE_UNROLL
        for (int j = 0; j < Tile::kThreadEntities; ++j) {
          count += (sum[i][j] > target ? 1 : 0) + (sum[i][j] == target ? 1 << 16 : 0);
        }
        // The eight threads of a warp that have this query take part in its loop together.
#ifdef __CUDA_ARCH__
        const unsigned group = 0xffu << (thread & 24);
        for (int lane = 4; lane > 0; lane /= 2) count += __shfl_xor_sync(group, count, lane);
        if (thread % 8 != 0) continue;
#endif
        if (count == 0) continue;
        if (t < kKept) {
          AddTo(&shared->count[t], count);
        } else {
          AddTo(counts + base + t, PairOfCounts(count & 0xffff, count >> 16));
        }
      }
    }
  }
};

}  // namespace rutile

#endif  // RUTILE_LIB_RANKING_GPU_COUNT_BODIES_INL_H_
