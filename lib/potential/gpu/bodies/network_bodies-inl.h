// The networks of a potential on a GPU, as bodies: energies with their derivatives by the features, and the gradients
// of losses on energies, forces and stress. network_fused_tangent.h has the formulas, network_passes-inl.h launches
// them.
//
// A block of threads goes through tiles of rows. It keeps nothing of a tile but its share of the gradients, which it
// adds up in memory of its own; what the gradients need is computed anew, as this takes less time than to write and
// read it. Rows of a tile beyond the last one have features, tangents and slopes of 0 and add exactly nothing.

#ifndef RUTILE_LIB_POTENTIAL_GPU_BODIES_NETWORK_BODIES_INL_H_
#define RUTILE_LIB_POTENTIAL_GPU_BODIES_NETWORK_BODIES_INL_H_

#include <cstdint>

#include "lib/gpu/block.h"
#include "lib/gpu/device_function.h"
#include "lib/potential/gpu/bodies/network_tile-inl.h"
#include "lib/potential/gpu/network_layout.h"

namespace rutile {

inline constexpr int kNetworkThreads = 128;

// How a kernel is compiled: the rows of a tile, and whether tiles and packed weights lie in the block's shared memory
// rather than the device's.
template <int kRows, bool kTileShared, bool kWeightsShared>
struct NetworkVariant {
  static constexpr int kTileRows = kRows;
  static constexpr bool kSharesTile = kTileShared, kSharesWeights = kWeightsShared;
};

// The neurons' rows of a tile: values | d of hidden layers | their f' | their f'' u | zdot | mu of hidden layers |
// slopes. The forward pass has values and f' alone and puts d in the place of values.
inline int64_t ForwardTileRows(const NetworkLayout& layout) {
  return layout.num_rows + (layout.keeps_slopes ? layout.hidden_rows() : 0);
}
inline int64_t GradientTileRows(const NetworkLayout& layout, bool tangents) {
  const int hidden = layout.hidden_rows();
  int64_t rows = layout.num_rows + hidden + 1;
  if (layout.keeps_slopes) rows += tangents ? 2 * hidden : hidden;
  if (tangents) rows += layout.num_rows + hidden;
  return rows;
}

// What both passes share: the inputs of a launch, and the passes of one tile.
template <typename T, typename Variant>
struct NetworkRows {
  static constexpr int kRows = Variant::kTileRows;
  static constexpr int kStride = TileStride<kRows>();

  NetworkLayout layout;
  SpeciesBlocks blocks;
  const T *x, *energy_slope;
  const int32_t *row_atom, *row_structure;
  const T* parameters;  // [num_parameters]; read where weights are shared
  const T* packed;      // [species, packed_size]; read where they are not
  T* scratch;           // [blocks, tile_rows, kStride]; used where tiles are not shared
  int64_t tile_rows;

  // The memory and the rows of one tile.
  struct Tile {
    const T* weights;
    T *values, *deltas, *slopes, *curvatures, *zdot, *mu, *row_slopes;
    int64_t begin;  // its first row
    int n;          // how many it has
  };

  // Sets the pointers, and copies the weights of the species if they are shared. The caller syncs.
  RUTILE_DEVICE Tile Begin(const Block& block, int species, bool has_deltas, bool has_tangents) const {
    Tile tile;
    T* memory = static_cast<T*>(block.shared);
    if constexpr (Variant::kSharesWeights) {
      const T* const from = parameters + species * layout.parameters_per_species;
      for (int64_t i = block.thread; i < layout.packed_size; i += block.threads) {
        const int64_t p = layout.ParameterOf(i);
        memory[i] = p < 0 ? T(0) : from[p];
      }
      tile.weights = memory;
      memory += layout.packed_size;
    } else {
      tile.weights = packed + species * layout.packed_size;
    }
    if constexpr (!Variant::kSharesTile) memory = scratch + block.index * tile_rows * kStride;
    const int64_t hidden = int64_t{layout.hidden_rows()} * kStride, all = int64_t{layout.num_rows} * kStride;
    tile.values = memory;
    tile.deltas = has_deltas ? memory + all : memory + (all - hidden);
    tile.slopes = tile.deltas + hidden;
    tile.curvatures = tile.slopes + (layout.keeps_slopes ? hidden : 0);
    tile.zdot = tile.curvatures + (layout.keeps_slopes && has_tangents ? hidden : 0);
    tile.mu = has_tangents ? tile.zdot + all : tile.deltas;
    tile.row_slopes = has_tangents ? tile.mu + hidden : tile.zdot;
    return tile;
  }

  // Calls body(tile) for the tiles of a block of this species.
  template <typename Body>
  RUTILE_DEVICE void ForTiles(const Block& block, int species, Tile* tile, const Body& body) const {
    const int64_t first = blocks.first_block[species], count = blocks.first_block[species + 1] - first;
    const int64_t end = blocks.first_row[species + 1];
    int64_t begin = blocks.first_row[species] + (block.index - first) * kRows;
    for (; begin < end; begin += count * kRows) {
      tile->begin = begin;
      tile->n = static_cast<int>(end - begin < kRows ? end - begin : kRows);
      block.Sync();  // the last tile has been read
      body.RunTile(block, species, *tile);
    }
  }

  // Offset of hidden layer l's rows (1 is the first) in deltas, slopes, curvatures and mu.
  RUTILE_DEVICE int64_t HiddenAt(int l) const { return int64_t{layout.row[l] - layout.padded[0]} * kStride; }
  RUTILE_DEVICE int64_t ValuesAt(int l) const { return int64_t{layout.row[l]} * kStride; }

  // Computes all values but the output.
  RUTILE_DEVICE void RunForward(const Block& block, const Tile& tile, const Activator<T>& activator) const {
    ForTransposed<kRows>(block, layout.padded[0], LoadFeatures{*this, tile});
    block.Sync();
    for (int l = 0; l < layout.num_hidden; ++l) {
      const int64_t at = HiddenAt(l + 1);
      MultiplyOnward<kRows, true>(
          block, tile.weights + layout.weight[l], layout.stride[l], tile.weights + layout.bias[l],
          static_cast<const T*>(tile.values + ValuesAt(l)), layout.padded[l], layout.padded[l + 1],
          ActivateEnd<kRows, T>{activator, tile.values + ValuesAt(l + 1), tile.slopes + at, tile.curvatures + at});
      block.Sync();
    }
  }

  // Computes d of all hidden layers.
  RUTILE_DEVICE void RunBack(const Block& block, const Tile& tile, const Activator<T>& activator) const {
    const auto end_of = [&](int l) {
      const int64_t at = HiddenAt(l);
      return DeltaEnd<kRows, T>{activator, tile.values + ValuesAt(l), tile.slopes + at, tile.deltas + at,
                                tile.curvatures + at};
    };
    const int last = layout.num_hidden;
    if (last == 0) return;
    const T* const output = tile.weights + layout.weight[last];
    const auto end = end_of(last);
    for (int item = block.thread; item < layout.padded[last] * (kRows / 4); item += block.threads) {
      const int i = item / (kRows / 4), r = item % (kRows / 4) * 4;
      end.One(int64_t{i} * kStride + r, AllOf(output[i]));
    }
    block.Sync();
    for (int l = last - 1; l > 0; --l) {
      MultiplyBack<kRows>(block, tile.weights + layout.weight[l], layout.stride[l],
                          static_cast<const T*>(tile.deltas + HiddenAt(l + 1)), layout.padded[l + 1], layout.padded[l],
                          end_of(l));
      block.Sync();
    }
  }

  struct LoadFeatures {
    RUTILE_DEVICE void operator()(int r, int f) const {
      const bool is_there = r < tile.n && f < rows.layout.num_features;
      tile.values[f * kStride + r] =
          is_there ? rows.x[int64_t{rows.row_atom[tile.begin + r]} * rows.layout.num_features + f] : T(0);
    }
    const NetworkRows& rows;
    const Tile& tile;
  };
};

// Sets atom_energy[row] to the networks' outputs and q[atom, f], unless it is null, to d energy / d G.
template <typename T, typename Variant>
struct NetworkForwardBody {
  static constexpr int kThreads = kNetworkThreads;
  using Rows = NetworkRows<T, Variant>;
  using Tile = typename Rows::Tile;
  static constexpr int kRows = Rows::kRows, kStride = Rows::kStride;

  RUTILE_DEVICE void operator()(const Block& block) const {
    const int species = rows.blocks.SpeciesOf(block.index);
    Tile tile = rows.Begin(block, species, false, false);
    rows.ForTiles(block, species, &tile, *this);
  }

  RUTILE_DEVICE void RunTile(const Block& block, int species, const Tile& tile) const {
    const NetworkLayout& layout = rows.layout;
    const Activator<T> activator(layout, false);
    const int last = layout.num_hidden;
    rows.RunForward(block, tile, activator);
    const T* const output = tile.weights + layout.weight[last];
    for (int r = block.thread; r < tile.n; r += block.threads) {
      const T* z = tile.values + rows.ValuesAt(last) + r;
      T sum[4] = {tile.weights[layout.bias[last]], T(0), T(0), T(0)};
      for (int i = 0; i < layout.padded[last]; i += 4, z += 4 * kStride) {
        RUTILE_UNROLL
        for (int k = 0; k < 4; ++k) sum[k] += output[i + k] * z[k * kStride];
      }
      atom_energy[tile.begin + r] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
    if (q == nullptr) return;
    block.Sync();  // d takes the place of values
    rows.RunBack(block, tile, activator);
    if (last > 0) {
      MultiplyBack<kRows>(block, tile.weights + layout.weight[0], layout.stride[0], static_cast<const T*>(tile.deltas),
                          layout.padded[1], layout.padded[0], PlainEnd<kRows, T>{tile.values});
      block.Sync();
    }
    ForTransposed<kRows>(block, layout.num_features, StoreDerivatives{*this, tile, species});
  }

  struct StoreDerivatives {
    RUTILE_DEVICE void operator()(int r, int f) const {
      if (r >= tile.n) return;
      const NetworkLayout& layout = body.rows.layout;
      const T slope = layout.num_hidden > 0 ? tile.values[f * kStride + r] : tile.weights[layout.weight[0] + f];
      body.q[int64_t{body.rows.row_atom[tile.begin + r]} * layout.num_features + f] =
          slope * body.rows.energy_slope[int64_t{species} * layout.num_features + f];
    }
    const NetworkForwardBody& body;
    const Tile& tile;
    int species;
  };

  Rows rows;
  T* atom_energy;  // [R]
  T* q;            // [A, F], or null
};

// A term of the loss on d energy / d G, with constant tangents: sum over rows of sign * tangents[atom] . d energy / d
// G.
template <typename T>
struct TangentTerm {
  const T* tangents = nullptr;        // [A, F]
  const uint8_t* has_term = nullptr;  // [structures] where 0, tangents are not looked at and count as 0; null: all 1
  T sign = T(1);
  T* gradient = nullptr;  // [num_parameters], overwritten; null if the term is not computed
};

// Adds up the gradients by the packed parameters over the rows of each block: sums [blocks, terms, packed_size], where
// the terms are those of `tangents`, then that of energies.
template <typename T, typename Variant>
struct NetworkGradientsBody {
  static constexpr int kThreads = kNetworkThreads;
  using Rows = NetworkRows<T, Variant>;
  using Tile = typename Rows::Tile;
  static constexpr int kRows = Rows::kRows, kStride = Rows::kStride;

  RUTILE_DEVICE void operator()(const Block& block) const {
    const int species = rows.blocks.SpeciesOf(block.index);
    Tile tile = rows.Begin(block, species, true, num_tangents > 0);
    rows.ForTiles(block, species, &tile, *this);
  }

  RUTILE_DEVICE void RunTile(const Block& block, int species, const Tile& tile) const {
    const NetworkLayout& layout = rows.layout;
    const Activator<T> activator(layout, num_tangents > 0);
    const bool first = tile.begin < rows.blocks.first_row[species] + NumBlocksOf(species) * kRows;
    const int terms = num_tangents + (energy_slopes != nullptr);
    T* sum = sums + block.index * terms * layout.packed_size;
    if (energy_slopes != nullptr) {
      for (int r = block.thread; r < kRows; r += block.threads) {
        tile.row_slopes[r] = r < tile.n ? static_cast<T>(energy_slopes[rows.row_structure[tile.begin + r]]) : T(0);
      }
    }
    rows.RunForward(block, tile, activator);
    rows.RunBack(block, tile, activator);
    RUTILE_NO_UNROLL
    for (int t = 0; t < num_tangents; ++t, sum += layout.packed_size) {
      RunTangents(block, tile, activator, LoadTangents{rows, tangents[t], tile, species});
      AddUp<true>(block, tile, first, sum);
      block.Sync();
    }
    if (energy_slopes == nullptr) return;
    // Energies come last, since d is not needed any more: mu takes its place.
    for (int item = block.thread; item < layout.hidden_rows() * (kRows / 4); item += block.threads) {
      const int r = item % (kRows / 4) * 4;
      T* const at = tile.deltas + int64_t{item / (kRows / 4)} * kStride + r;
      Four<T> d = LoadFour(at);
      const Four<T> slope = LoadFour(tile.row_slopes + r);
      RUTILE_UNROLL
      for (int n = 0; n < 4; ++n) d.v[n] *= slope.v[n];
      StoreFour(d, at);
    }
    block.Sync();
    AddUp<false>(block, tile, first, sum);
  }

  RUTILE_DEVICE int64_t NumBlocksOf(int species) const {
    return rows.blocks.first_block[species + 1] - rows.blocks.first_block[species];
  }

  struct LoadTangents {
    RUTILE_DEVICE void operator()(int r, int f) const {
      const int num_features = rows.layout.num_features;
      T value = T(0);
      if (r < tile.n && f < num_features) {
        const int64_t row = tile.begin + r;
        if (term.has_term == nullptr || term.has_term[rows.row_structure[row]] != 0) {
          value = term.sign * rows.energy_slope[int64_t{species} * num_features + f] *
                  term.tangents[int64_t{rows.row_atom[row]} * num_features + f];
        }
      }
      tile.zdot[f * kStride + r] = value;
    }
    const Rows& rows;
    const TangentTerm<T>& term;
    const Tile& tile;
    int species;
  };

  // Computes zdot and mu of all hidden layers.
  RUTILE_DEVICE void RunTangents(const Block& block, const Tile& tile, const Activator<T>& activator,
                                 const LoadTangents& load) const {
    const NetworkLayout& layout = rows.layout;
    ForTransposed<kRows>(block, layout.padded[0], load);
    block.Sync();
    for (int l = 0; l < layout.num_hidden; ++l) {
      const int64_t at = rows.HiddenAt(l + 1), to = rows.ValuesAt(l + 1);
      MultiplyOnward<kRows, false>(block, tile.weights + layout.weight[l], layout.stride[l],
                                   static_cast<const T*>(nullptr), static_cast<const T*>(tile.zdot + rows.ValuesAt(l)),
                                   layout.padded[l], layout.padded[l + 1],
                                   TangentEnd<kRows, T>{activator, tile.values + to, tile.slopes + at, tile.deltas + at,
                                                        tile.curvatures + at, tile.zdot + to, tile.mu + at});
      block.Sync();
    }
    for (int l = layout.num_hidden - 1; l > 0; --l) {
      const int64_t at = rows.HiddenAt(l);
      MultiplyBack<kRows>(
          block, tile.weights + layout.weight[l], layout.stride[l],
          static_cast<const T*>(tile.mu + rows.HiddenAt(l + 1)), layout.padded[l + 1], layout.padded[l],
          ReverseEnd<kRows, T>{activator, tile.values + rows.ValuesAt(l), tile.slopes + at, tile.mu + at});
      block.Sync();
    }
  }

  // Adds the gradients of one term to `sum` [packed_size], or sets it if `first`.
  template <bool kTangents>
  RUTILE_DEVICE void AddUp(const Block& block, const Tile& tile, bool first, T* sum) const {
    const NetworkLayout& layout = rows.layout;
    const T* const mu = kTangents ? tile.mu : tile.deltas;
    const int last = layout.num_hidden;
    int skipped = 0;
    for (int l = 0; l < last; ++l) {
      const int64_t at = rows.HiddenAt(l + 1), from = rows.ValuesAt(l);
      skipped = AddOuterProducts<kRows, kTangents>(block, skipped, mu + at, static_cast<const T*>(tile.values + from),
                                                   static_cast<const T*>(tile.deltas + at),
                                                   static_cast<const T*>(tile.zdot + from), layout.padded[l + 1],
                                                   layout.padded[l], first, sum + layout.weight[l], layout.stride[l]);
      for (int o = Start(block, skipped); o < layout.padded[l + 1]; o += block.threads) {
        AddRowSum<kRows>(mu + at + int64_t{o} * kStride, static_cast<const T*>(nullptr), first,
                         sum + layout.bias[l] + o);
      }
      skipped += layout.padded[l + 1];
    }
    const T* const inputs = (kTangents ? tile.zdot : tile.values) + rows.ValuesAt(last);
    const T* const slopes = kTangents ? nullptr : tile.row_slopes;
    for (int i = Start(block, skipped); i < layout.padded[last]; i += block.threads) {
      AddRowSum<kRows>(inputs + int64_t{i} * kStride, slopes, first, sum + layout.weight[last] + i);
    }
    if (Start(block, skipped + layout.padded[last]) != 0) return;
    T* const bias = sum + layout.bias[last];
    if (kTangents) {
      if (first) *bias = T(0);
    } else {
      AddRowSum<kRows>(static_cast<const T*>(tile.row_slopes), static_cast<const T*>(nullptr), first, bias);
    }
  }

  // The first item of a thread where `skipped` items come before.
  RUTILE_DEVICE static int Start(const Block& block, int skipped) {
    return (block.thread + block.threads - skipped % block.threads) % block.threads;
  }

  Rows rows;
  const double* energy_slopes;  // [structures], or null
  TangentTerm<T> tangents[2];
  int num_tangents;
  T* sums;
};

// Adds up what the blocks of NetworkGradientsBody computed, in fp64 and in the order of blocks. For each term, species
// and packed parameter.
template <typename T>
struct NetworkSumBody {
  static constexpr int kThreads = 128;

  RUTILE_DEVICE void operator()(int64_t i) const {
    const int64_t in_term = i / layout.packed_size, packed = i % layout.packed_size;
    const int64_t parameter = layout.ParameterOf(packed);
    if (parameter < 0) return;
    const int species = static_cast<int>(in_term % layout.num_species),
              term = static_cast<int>(in_term / layout.num_species);
    const int64_t step = terms * layout.packed_size;
    const T* from = sums + blocks.first_block[species] * step + term * layout.packed_size + packed;
    int64_t count = blocks.first_block[species + 1] - blocks.first_block[species];
    constexpr int kAtOnce = 8;  // loads that wait for memory together
    double sum = 0;
    for (; count >= kAtOnce; count -= kAtOnce, from += kAtOnce * step) {
      T each[kAtOnce];
      RUTILE_UNROLL
      for (int k = 0; k < kAtOnce; ++k) each[k] = from[k * step];
      RUTILE_UNROLL
      for (int k = 0; k < kAtOnce; ++k) sum += each[k];
    }
    for (; count > 0; --count, from += step) sum += *from;
    gradient[term][species * layout.parameters_per_species + parameter] = static_cast<T>(sum);
  }

  NetworkLayout layout;
  SpeciesBlocks blocks;
  const T* sums;
  int64_t terms;
  T* gradient[3];
};

// Packs the weights of all species, for networks whose weights do not fit shared memory.
template <typename T>
struct PackWeightsBody {
  static constexpr int kThreads = 256;

  RUTILE_DEVICE void operator()(int64_t i) const {
    const int64_t species = i / layout.packed_size, p = layout.ParameterOf(i % layout.packed_size);
    packed[i] = p < 0 ? T(0) : parameters[species * layout.parameters_per_species + p];
  }

  NetworkLayout layout;
  const T* parameters;
  T* packed;
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_GPU_BODIES_NETWORK_BODIES_INL_H_
