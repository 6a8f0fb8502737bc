// Launches the bodies of network_bodies-inl.h: chooses tiles, their memory, and the blocks of each species.

#ifndef RUTILE_LIB_POTENTIAL_GPU_BODIES_NETWORK_PASSES_INL_H_
#define RUTILE_LIB_POTENTIAL_GPU_BODIES_NETWORK_PASSES_INL_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "lib/gpu/device_array-inl.h"
#include "lib/potential/gpu/bodies/network_bodies-inl.h"
#include "lib/potential/gpu/network_layout.h"

namespace rutile {

// The term sum over rows of slopes[structure] * energy of the row, of the networks' output.
template <typename T>
struct EnergyTerm {
  const double* slopes = nullptr;  // [structures]
  T* gradient = nullptr;           // [num_parameters], overwritten; null if the term is not computed
};

// The networks of a potential on a device; NetworkKernel has the same for the CPU. T is float or double. Calls return
// when their work is queued. Sums are added in an order that depends on the batch and the backend alone.
template <typename T, typename Backend>
class NetworkPasses {
 public:
  // backend: not owned, must outlive the object.
  NetworkPasses(const PlainNetworkShape& shape, Backend* backend)
      : layout_(shape), backend_(backend), packed_(backend), scratch_(backend), sums_(backend) {}

  // Freezes networks: Gradients sets their part to 0 without work. [species], or empty to freeze none.
  void SetFrozen(const std::vector<bool>& species) { frozen_ = species; }

  // Sets atom_energy [R] to the networks' outputs and, unless it is null, q [A, F] to d energy / d G of the rows'
  // atoms.
  void Forward(const T* parameters, const NetworkBatch<T>& batch, T* atom_energy, T* q) {
    const Plan plan = PlanFor(ForwardTileRows(layout_), kMaxForward);
    WithVariant(plan, [&](auto variant) {
      NetworkForwardBody<T, decltype(variant)> body = {Rows<decltype(variant)>(plan, batch, 0, false), atom_energy, q};
      Launch(plan, parameters, &body);
    });
  }

  // Computes the gradients of up to three terms by the parameters, each on its own.
  void Gradients(const T* parameters, const NetworkBatch<T>& batch, const EnergyTerm<T>& energy,
                 const TangentTerm<T>& force, const TangentTerm<T>& stress) {
    NetworkSumBody<T> sum = {layout_, {}, nullptr, 0, {}};
    TangentTerm<T> tangents[2];
    int num_tangents = 0;
    for (const TangentTerm<T>* term : {&force, &stress}) {
      if (term->gradient == nullptr) continue;
      sum.gradient[num_tangents] = term->gradient;
      tangents[num_tangents++] = *term;
    }
    sum.terms = num_tangents;
    if (energy.gradient != nullptr) sum.gradient[sum.terms++] = energy.gradient;
    if (sum.terms == 0) return;
    const Plan plan = PlanFor(GradientTileRows(layout_, num_tangents > 0), kMaxGradients);
    WithVariant(plan, [&](auto variant) {
      NetworkGradientsBody<T, decltype(variant)> body = {Rows<decltype(variant)>(plan, batch, sum.terms, true),
                                                         energy.gradient != nullptr ? energy.slopes : nullptr,
                                                         {tangents[0], tangents[1]},
                                                         num_tangents,
                                                         nullptr};
      sum.blocks = body.rows.blocks;
      sums_.Grow(NumBlocks(sum.blocks) * sum.terms * layout_.packed_size);
      sum.sums = body.sums = sums_.data();
      Launch(plan, parameters, &body);
    });
    backend_->ForEach(sum.terms * layout_.num_species * layout_.packed_size, sum);
  }

  // Bytes of the device's memory that the object holds.
  int64_t device_bytes() const { return (packed_.size() + scratch_.size() + sums_.size()) * sizeof(T); }

 private:
  // The most memory that blocks may use for sums, and for tiles; one block of each species may exceed it.
  static constexpr int64_t kMaxBytes = int64_t{512} << 20;
  // How many blocks the registers of a processor are enough for (128, in fp64 168, for each thread of Gradients). More
  // would wait for others to end, and then run alone.
  static constexpr bool kIsFloat = sizeof(T) == sizeof(float);
  static constexpr int64_t kMaxForward = kIsFloat ? 6 : 4, kMaxGradients = kIsFloat ? 4 : 3;

  // How a pass with tiles of so many neurons is run.
  struct Plan {
    int64_t tile_rows;  // of neurons
    int rows;           // of atoms
    bool shares_tile, shares_weights;
    int64_t shared_bytes, resident;  // of a block; blocks on a processor
  };

  int64_t BytesOfTile(int64_t tile_rows, int rows) const { return tile_rows * (rows + 4) * sizeof(T); }

  // Large tiles read the weights less often, but two blocks at least should share a processor, since one computes
  // while another waits.
  Plan PlanFor(int64_t tile_rows, int64_t max_resident) const {
    const int64_t weights = layout_.packed_size * sizeof(T), most = backend_->max_shared_bytes();
    const auto resident = [&](int64_t bytes) {
      return std::min(max_resident, (most + kReserved) / (std::max<int64_t>(bytes, 1) + kReserved));
    };
    const int64_t large = BytesOfTile(tile_rows, 64), small = BytesOfTile(tile_rows, 32);
    if (kIsFloat && resident(large + weights) >= 2) {
      return {tile_rows, 64, true, true, large + weights, resident(large + weights)};
    }
    if (small + weights <= most) return {tile_rows, 32, true, true, small + weights, resident(small + weights)};
    if (small <= most) return {tile_rows, 32, true, false, small, resident(small)};
    return {tile_rows, 32, false, false, 0, max_resident};
  }
  static constexpr int64_t kReserved = 1 << 10;  // bytes of shared memory that the system takes from each block

  template <typename Function>
  static void WithVariant(const Plan& plan, const Function& function) {
    if (!plan.shares_tile) return function(NetworkVariant<32, false, false>());
    if (!plan.shares_weights) return function(NetworkVariant<32, true, false>());
    if constexpr (kIsFloat) {
      if (plan.rows == 64) return function(NetworkVariant<64, true, true>());
    }
    function(NetworkVariant<32, true, true>());
  }

  // terms: of gradients, whose sums each block has.
  template <typename Variant>
  NetworkRows<T, Variant> Rows(const Plan& plan, const NetworkBatch<T>& batch, int64_t terms, bool skips_frozen) const {
    return {layout_,        Cut(plan, batch, terms, skips_frozen),
            batch.x,        batch.energy_slope,
            batch.row_atom, batch.row_structure,
            nullptr,        nullptr,
            nullptr,        plan.tile_rows};
  }

  // Shares the blocks that the device runs at once out to species, so that each block gets as many tiles.
  SpeciesBlocks Cut(const Plan& plan, const NetworkBatch<T>& batch, int64_t terms, bool skips_frozen) const {
    int64_t most = plan.resident * backend_->num_processors();
    if (terms > 0) most = std::min<int64_t>(most, kMaxBytes / (terms * layout_.packed_size * sizeof(T)));
    if (!plan.shares_tile) most = std::min(most, kMaxBytes / BytesOfTile(plan.tile_rows, plan.rows));
    most = std::max<int64_t>(most, 1);
    const auto tiles_of = [&](int s) {
      if (skips_frozen && !frozen_.empty() && frozen_[s]) return int64_t{0};
      return (batch.species_offset[s + 1] - batch.species_offset[s] + plan.rows - 1) / plan.rows;
    };
    int64_t tiles = 0;
    for (int s = 0; s < layout_.num_species; ++s) tiles += tiles_of(s);
    const int64_t share = std::max<int64_t>((tiles + most - 1) / most, 1);
    SpeciesBlocks blocks = {};
    for (int s = 0; s < layout_.num_species; ++s) {
      blocks.first_row[s] = static_cast<int32_t>(batch.species_offset[s]);
      blocks.first_block[s + 1] = blocks.first_block[s] + static_cast<int32_t>((tiles_of(s) + share - 1) / share);
    }
    blocks.first_row[layout_.num_species] = static_cast<int32_t>(batch.species_offset[layout_.num_species]);
    return blocks;
  }

  int64_t NumBlocks(const SpeciesBlocks& blocks) const { return blocks.first_block[layout_.num_species]; }

  template <typename Body>
  void Launch(const Plan& plan, const T* parameters, Body* body) {
    const int64_t blocks = NumBlocks(body->rows.blocks);
    body->rows.parameters = parameters;
    if (!plan.shares_weights) {
      packed_.Resize(layout_.num_species * layout_.packed_size);
      backend_->ForEach(packed_.size(), PackWeightsBody<T>{layout_, parameters, packed_.data()});
      body->rows.packed = packed_.data();
    }
    if (!plan.shares_tile) {
      scratch_.Grow(blocks * BytesOfTile(plan.tile_rows, plan.rows) / static_cast<int64_t>(sizeof(T)));
      body->rows.scratch = scratch_.data();
    }
    backend_->ForEachBlock(blocks, plan.shared_bytes, *body);
  }

  const NetworkLayout layout_;
  Backend* const backend_;
  std::vector<bool> frozen_;
  DeviceArray<T, Backend> packed_, scratch_, sums_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_GPU_BODIES_NETWORK_PASSES_INL_H_
