#include "lib/descriptor/kernels/triplets/triplet_lists.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "lib/base/logging.h"

namespace rutile {
namespace {

constexpr int64_t kNumbers = 65536;  // the number of pairs of an atom that a triplet can index

int64_t WholeBlocks(int64_t count) { return (count + kTripletBlock - 1) / kTripletBlock * kTripletBlock; }

// Reserves memory for the most that can be selected: `triplets` of `centers`.
template <typename T>
void Reserve(int64_t triplets, int64_t centers, TripletPart<T>* part) {
  const int64_t size = triplets + (centers + 1) * kTripletBlock;
  part->centers.clear();
  part->a.Resize(size);
  part->b.Resize(size);
  part->spin.Resize(size);
}

// Ends a center whose triplets are [center.begin, end), and returns where the next one may start.
template <typename T>
int64_t Finish(typename TripletPart<T>::Center center, int64_t end, TripletPart<T>* part) {
  if (end == center.begin) return end;
  center.end = end;
  part->centers.push_back(center);
  const int64_t next = WholeBlocks(end);
  std::fill(part->a.data() + end, part->a.data() + next, part->a.data()[end - 1]);
  std::fill(part->b.data() + end, part->b.data() + next, part->b.data()[end - 1]);
  std::fill(part->spin.data() + end, part->spin.data() + next, T(0));
  return next;
}

// Appends the neighbors of atom i that count in angles, and maps its pairs to them.
template <typename T>
int64_t AppendNear(const ChebyshevTables<T>& tables, const StructureGeometry& geometry, int64_t i, int64_t near,
                   ListedState<T>* state) {
  const PairView& pairs = geometry.pairs;
  const int64_t begin = pairs.offset[i], count = std::min(pairs.offset[i + 1] - begin, kNumbers);
  const int64_t first = near;
  if (static_cast<int64_t>(state->number.size()) < count) state->number.resize(count);
  int32_t* const number = state->number.data();
  const Matrix3& cell = geometry.cell;
  for (int64_t k = 0; k < count; ++k) {
    const int64_t p = begin + k;
    const int32_t j = pairs.j[p] - pairs.first_atom;
    const int16_t* const shift = pairs.shift + 3 * p;
    double v[3];
    for (int axis = 0; axis < 3; ++axis) {
      v[axis] = geometry.position[3 * j + axis] - geometry.position[3 * i + axis] +
                (shift[0] * cell[axis] + shift[1] * cell[3 + axis] + shift[2] * cell[6 + axis]);
    }
    const double square = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
    if (!(square > tables.min_square && square <= tables.ang_square)) {
      number[k] = -1;
      continue;
    }
    number[k] = static_cast<int32_t>(near - first);
    const double r = std::sqrt(square);
    state->j.data()[near] = j;
    state->r.data()[near] = static_cast<T>(r);
    state->spin.data()[near] = tables.spins[geometry.species[j]];
    for (int axis = 0; axis < 3; ++axis) state->unit4.data()[4 * near + axis] = static_cast<T>(v[axis] / r);
    ++near;
  }
  return near;
}

}  // namespace

template <typename T>
void PlaceTriplets(const ChebyshevTables<T>& tables, const StructureGeometry& geometry, ListedState<T>* state) {
  const TripletView& triplets = geometry.triplets;
  const int64_t num_atoms = geometry.species.size();
  CHECK_EQ(static_cast<int64_t>(triplets.offset.size()), num_atoms + 1) << "triplets of another structure";
  state->num_atoms = num_atoms;
  state->sampled.clear();
  const int64_t most = WholeBlocks(geometry.pairs.num_pairs());
  state->j.Resize(most);
  state->unit4.Resize(4 * most);
  state->weight4.Resize(4 * most);
  for (auto* const each : {&state->r, &state->spin, &state->slope}) each->Resize(most);
  TripletPart<T>& part = state->all;
  Reserve(triplets.offset[num_atoms] - triplets.offset[0], num_atoms, &part);

  int64_t near = 0, at = 0;
  for (int64_t i = 0; i < num_atoms; ++i) {
    const int64_t begin = triplets.offset[i], end = triplets.offset[i + 1];
    if (begin == end) continue;
    const int64_t first = near;
    near = AppendNear(tables, geometry, i, near, state);
    const typename TripletPart<T>::Center center = {static_cast<int32_t>(i), static_cast<int32_t>(near - first), first,
                                                    at, at};
    const int32_t* const number = state->number.data();
    const T* const spin = state->spin.data() + first;
    uint16_t *const to_a = part.a.data(), *const to_b = part.b.data();
    T* const to_spin = part.spin.data();
    for (int64_t t = begin; t < end; ++t) {
      DCHECK_LT(std::max(triplets.a[t], triplets.b[t]), geometry.pairs.offset[i + 1] - geometry.pairs.offset[i]);
      const int32_t a = number[triplets.a[t]], b = number[triplets.b[t]];
      if ((a | b) < 0) continue;
      to_a[at] = static_cast<uint16_t>(a);
      to_b[at] = static_cast<uint16_t>(b);
      to_spin[at] = spin[a] * spin[b];
      ++at;
    }
    at = Finish(center, at, &part);
  }
  state->num_near = near;
  // Pads to whole blocks, because kernels read whole vectors.
  std::fill(state->r.data() + near, state->r.data() + WholeBlocks(near), tables.ang_padding);
}

template <typename T>
const TripletPart<T>& SelectTriplets(absl::Span<const uint8_t> sampled, ListedState<T>* state) {
  if (sampled.empty() || std::find(sampled.begin(), sampled.end(), 0) == sampled.end()) return state->all;
  const auto same = [](uint8_t x, uint8_t y) { return (x != 0) == (y != 0); };
  const TripletPart<T>& all = state->all;
  TripletPart<T>& some = state->some;
  std::vector<uint8_t>& wanted = state->sampled;
  if (wanted.size() == sampled.size() && std::equal(sampled.begin(), sampled.end(), wanted.begin(), same)) return some;
  wanted.resize(sampled.size());
  std::transform(sampled.begin(), sampled.end(), wanted.begin(), [](uint8_t x) { return x != 0; });
  Reserve(all.a.size(), 0, &some);
  int64_t at = 0;
  for (typename TripletPart<T>::Center center : all.centers) {
    const int32_t* const j = state->j.data() + center.near;
    const uint8_t own = wanted[center.atom];
    const int64_t begin = center.begin;
    center.begin = at;
    // Avoids a branch, because it would be unpredictable which triplets are selected.
    for (int64_t t = begin; t < center.end; ++t) {
      const uint16_t a = all.a.data()[t], b = all.b.data()[t];
      some.a.data()[at] = a;
      some.b.data()[at] = b;
      some.spin.data()[at] = all.spin.data()[t];
      at += own | wanted[j[a]] | wanted[j[b]];
    }
    at = Finish(center, at, &some);
  }
  return some;
}

template void PlaceTriplets(const ChebyshevTables<float>&, const StructureGeometry&, ListedState<float>*);
template void PlaceTriplets(const ChebyshevTables<double>&, const StructureGeometry&, ListedState<double>*);
template const TripletPart<float>& SelectTriplets(absl::Span<const uint8_t>, ListedState<float>*);
template const TripletPart<double>& SelectTriplets(absl::Span<const uint8_t>, ListedState<double>*);

}  // namespace rutile
