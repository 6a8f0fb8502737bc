#include "lib/descriptor/kernels/neighbor_selection.h"

#include <algorithm>
#include <cstddef>

namespace rutile {
namespace {

// Finds the neighbors to select, state->kept, and the centers that have any, state->kept_order, those with fewest
// first. With moments, a sampled center keeps all neighbors, another one those that are sampled. With triplets, a
// center that is not sampled but has sampled neighbors keeps its angular neighbors as well, behind the sampled ones.
template <typename T>
void FindKept(size_t num_species, bool triplets, InterleavedNeighbors<T>* state) {
  const InterleavedView<T>& all = state->all;
  const size_t lanes = state->lanes, num_elements = all.num_groups * lanes;
  const int64_t num_atoms = state->num_atoms;
  const std::vector<uint8_t>& wanted = state->sampled;
  int64_t most = 0;
  for (size_t b = 0; b < all.num_groups * num_species; ++b) most += all.block[b].slots;
  state->kept.resize(most * lanes + 1);
  state->kept_offset.clear();
  state->kept_first.clear();
  state->kept_order.clear();
  int64_t* const kept = state->kept.data();
  int64_t count = 0;
  for (size_t element = 0; element < num_elements; ++element) {
    const int64_t start = count;
    const bool there = all.atom[element] < num_atoms;
    const uint8_t own = there && wanted[all.atom[element]] != 0;
    const auto block_of = [&](size_t s) -> const auto& { return all.block[element / lanes * num_species + s]; };
    const auto atom_at = [&](size_t s, int slot) {
      return all.j[(block_of(s).begin + slot) * lanes + element % lanes];
    };
    uint8_t has_sampled = own;
    for (size_t s = 0; triplets && there && s < num_species; ++s) {
      for (int slot = 0; slot < block_of(s).angular; ++slot) has_sampled |= wanted[atom_at(s, slot)];
    }
    uint64_t work = 0;
    for (size_t s = 0; s < num_species; ++s) {
      state->kept_offset.push_back(count);
      state->kept_first.push_back(0);
      // Avoids a branch, because it would be unpredictable: keeps all neighbors if `any`, else those where `wanted` is
      // not `flip`.
      const auto keep = [&](int begin, int end, uint8_t any, uint8_t flip) {
        for (int slot = begin; slot < end; ++slot) {
          const int32_t j = atom_at(s, slot);
          kept[count] = (block_of(s).begin + slot) * lanes + element % lanes;
          count += (j < num_atoms) & (any | (wanted[j] ^ flip));
        }
      };
      if (!there) continue;
      const auto& block = block_of(s);
      if (!triplets) {
        keep(0, block.slots, own, 0);
        continue;
      }
      keep(0, block.angular, own, 0);
      state->kept_first.back() = static_cast<int32_t>(count - state->kept_offset.back());
      work += state->kept_first.back();
      if (own == 0 && has_sampled != 0) keep(0, block.angular, 0, 1);
      keep(block.angular, block.slots, own, 0);
    }
    if (!triplets) work = count - start;
    if (count > start) state->kept_order.push_back(uint64_t{own} << 63 | work << 32 | element);
  }
  state->kept_offset.push_back(count);
  std::sort(state->kept_order.begin(), state->kept_order.end());
}

}  // namespace

template <typename T>
InterleavedView<T> SelectSampled(const ChebyshevTables<T>& tables, absl::Span<const uint8_t> sampled,
                                 InterleavedNeighbors<T>* state) {
  if (sampled.empty() || std::find(sampled.begin(), sampled.end(), 0) == sampled.end()) return state->all;
  const InterleavedView<T>& all = state->all;
  NeighborBlocks<T>& some = state->some;
  std::vector<uint8_t>& wanted = state->sampled;
  const auto same = [](uint8_t a, uint8_t b) { return (a != 0) == (b != 0); };
  if (wanted.size() == sampled.size() + 1 && std::equal(sampled.begin(), sampled.end(), wanted.begin(), same)) {
    return some.view();
  }
  wanted.resize(sampled.size() + 1);
  std::transform(sampled.begin(), sampled.end(), wanted.begin(), [](uint8_t x) { return x != 0; });
  wanted.back() = 0;  // for padding, whose index is the number of atoms
  const size_t lanes = state->lanes, num_species = tables.spins.size();
  const bool triplets = tables.method == AngularMethod::kTriplets;
  FindKept(num_species, triplets, state);

  const size_t num_centers = state->kept_order.size();
  const size_t num_moments = NumMoments(tables);
  some.num_groups = (num_centers + lanes - 1) / lanes;
  some.atom.assign(some.num_groups * lanes, static_cast<int32_t>(state->num_atoms));
  some.block.resize(some.num_groups * num_species);
  some.moments.Resize(some.num_groups * num_moments * lanes);
  std::fill_n(some.moments.data(), some.moments.size(), T(0));
  int64_t slots = 0;
  for (int64_t g = 0; g < some.num_groups; ++g) {
    const size_t count = std::min(lanes, num_centers - g * lanes);
    const uint64_t* const center = &state->kept_order[g * lanes];
    for (size_t s = 0; s < num_species; ++s) {
      auto& block = some.block[g * num_species + s];
      block = {slots, 0, 0, 0, 0};
      for (size_t lane = 0; lane < count; ++lane) {
        const size_t element = center[lane] & 0xffffffffu;
        const int64_t* const kept = state->kept.data() + state->kept_offset[element * num_species + s];
        const int64_t* const end = state->kept.data() + state->kept_offset[element * num_species + s + 1];
        const auto& from = all.block[element / lanes * num_species + s];
        const auto below = [&](int32_t limit) {
          const int64_t behind = (from.begin + limit) * static_cast<int64_t>(lanes);
          return static_cast<int32_t>(std::count_if(kept, end, [=](int64_t p) { return p < behind; }));
        };
        block.slots = std::max(block.slots, static_cast<int32_t>(end - kept));
        block.radial = std::max(block.radial, below(from.radial));
        block.angular = std::max(block.angular, below(from.angular));
        block.first = std::max(block.first, state->kept_first[element * num_species + s]);
      }
      // With triplets, sampled atoms come first, so that radial neighbors may be in any slot.
      if (triplets) block.radial = block.slots;
      slots += block.slots;
      const size_t first = block.begin * lanes, size = slots * lanes;
      for (auto* to : {&some.x, &some.y, &some.z, &some.r}) to->Resize(size);
      some.j.Resize(size);
      std::fill_n(some.x.data() + first, size - first, T(0));
      std::fill_n(some.y.data() + first, size - first, T(0));
      std::fill_n(some.z.data() + first, size - first, T(1));
      std::fill_n(some.r.data() + first, size - first, tables.lane_padding);
      std::fill_n(some.j.data() + first, size - first, static_cast<int32_t>(state->num_atoms));
      for (size_t lane = 0; lane < count; ++lane) {
        const size_t element = center[lane] & 0xffffffffu;
        const int64_t begin = state->kept_offset[element * num_species + s];
        const int64_t end = state->kept_offset[element * num_species + s + 1];
        for (int64_t k = begin; k < end; ++k) {
          const int64_t from = state->kept[k], to = first + (k - begin) * lanes + lane;
          some.x.data()[to] = all.x[from];
          some.y.data()[to] = all.y[from];
          some.z.data()[to] = all.z[from];
          some.r.data()[to] = all.r[from];
          some.j.data()[to] = all.j[from];
        }
      }
    }
    for (size_t lane = 0; lane < count; ++lane) {
      const size_t element = center[lane] & 0xffffffffu;
      some.atom[g * lanes + lane] = all.atom[element];
      const T* const from = all.moments + element / lanes * num_moments * lanes + element % lanes;
      T* const to = some.moments.data() + g * num_moments * lanes + lane;
      for (size_t b = 0; b < num_moments; ++b) to[b * lanes] = from[b * lanes];
    }
  }
  return some.view();
}

template InterleavedView<float> SelectSampled(const ChebyshevTables<float>&, absl::Span<const uint8_t>,
                                              InterleavedNeighbors<float>*);
template InterleavedView<double> SelectSampled(const ChebyshevTables<double>&, absl::Span<const uint8_t>,
                                               InterleavedNeighbors<double>*);

}  // namespace rutile
