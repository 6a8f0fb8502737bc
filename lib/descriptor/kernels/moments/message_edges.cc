#include "lib/descriptor/kernels/moments/message_edges.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/descriptor/kernels/moments/message_edges.cc"
#include <hwy/foreach_target.h>

#include "lib/base/round_up.h"
#include "lib/descriptor/kernels/moments/moment_functions-inl.h"
#include "lib/descriptor/kernels/moments/moment_sums-inl.h"
#include "lib/machine/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {

// Lanes are neighbors, of which an atom has some ten to a hundred: padding costs more than width gains.
template <typename T>
using EdgeTag = hn::CappedTag<T, 32 / sizeof(T)>;
// Lanes are harmonics.
template <typename T>
using RowTag = hn::CappedTag<T, kMomentRowUnit>;

// The vectors of harmonics up to degree L, in whole blocks for StoreHarmonics.
template <int L>
constexpr int PaddedHarmonics() {
  return ((L + 1) * (L + 1) + 7) / 8 * 8;
}

// Copies the neighbors of atom i, of all species, to the front of the buffers.
template <typename T>
HWY_INLINE void CopyEdges(const MomentTables<T>& tables, const MomentView<T>& all, int64_t i, MessageEdges<T>* edges) {
  int64_t count = 0;
  const MomentBlock* const blocks = all.block + i * tables.num_species;
  for (int s = 0; s < tables.num_species; ++s) count += blocks[s].count;
  edges->count = count;
  edges->stride = RoundUp(count, static_cast<int64_t>(hn::Lanes(EdgeTag<T>())));
  if (static_cast<int64_t>(edges->j.size()) < count) edges->j.resize(count);
  T* const to[4] = {edges->x.Take(edges->stride), edges->y.Take(edges->stride), edges->z.Take(edges->stride),
                    edges->r.Take(edges->stride)};
  int64_t at = 0;
  for (int s = 0; s < tables.num_species; ++s) {
    const MomentBlock block = blocks[s];
    const T* const from[4] = {all.x + block.begin, all.y + block.begin, all.z + block.begin, all.r + block.begin};
    for (int c = 0; c < 4; ++c) std::copy_n(from[c], block.count, to[c] + at);
    std::copy_n(all.j + block.begin, block.count, edges->j.data() + at);
    at += block.count;
  }
  // Beyond the cutoff all functions are 0.
  for (; at < edges->stride; ++at) {
    to[0][at] = to[1][at] = 0;
    to[2][at] = 1;
    to[3][at] = 2 * tables.cutoff;
  }
}

template <int L, bool kSlopes, typename T>
HWY_NOINLINE void Functions(const MomentTables<T>& tables, MessageEdges<T>* edges) {
  using V = hn::Vec<EdgeTag<T>>;
  const EdgeTag<T> d;
  const int64_t lanes = hn::Lanes(d), row = tables.row, stride = edges->stride;
  T* const phi = edges->phi.Take(tables.num_radial * stride);
  T* const phi_slope = kSlopes ? edges->phi_slope.Take(tables.num_radial * stride) : nullptr;
  T* const harmonics = edges->harmonics.Take(stride * row);
  T* slopes[3] = {};
  if constexpr (kSlopes) {
    slopes[0] = edges->slope_x.Take(stride * row);
    slopes[1] = edges->slope_y.Take(stride * row);
    slopes[2] = edges->slope_z.Take(stride * row);
  }
  V values[PaddedHarmonics<L>()];
  for (V& v : values) v = hn::Zero(d);
  constexpr int64_t kStored = PaddedHarmonics<L>();
  for (int64_t p = 0; p < stride; p += lanes) {
    const V unit[3] = {hn::Load(d, edges->x.data() + p), hn::Load(d, edges->y.data() + p),
                       hn::Load(d, edges->z.data() + p)};
    const V r = hn::Load(d, edges->r.data() + p);
    MomentRadial<kSlopes>(d, tables, r, stride, phi + p, kSlopes ? phi_slope + p : nullptr);
    HarmonicFactors<L, V> factors;
    ComputeFactors<L>(d, tables, unit[0], unit[1], unit[2], &factors);
    const auto store = [&](T* rows) HWY_ATTR {
      StoreHarmonics(d, values, row, rows + p * row);
      for (int64_t e = p; e < p + lanes; ++e) std::fill(rows + e * row + kStored, rows + (e + 1) * row, T(0));
    };
    HarmonicValues<L>(factors, values);
    store(harmonics);
    if constexpr (kSlopes) {
      const V inverse = hn::Div(hn::Set(d, T(1)), r);
      for (int axis = 0; axis < 3; ++axis) {
        // How the unit vector changes as r_ij moves along the axis.
        V change[3];
        for (int a = 0; a < 3; ++a) {
          const V along = hn::Set(d, T(a == axis ? 1 : 0));
          change[a] = hn::Mul(inverse, hn::NegMulAdd(unit[axis], unit[a], along));
        }
        HarmonicChanges<L>(d, tables, factors, change[0], change[1], change[2], values);
        store(slopes[axis]);
      }
    }
  }
}

template <int L, typename T>
HWY_INLINE void FunctionsOf(const MomentTables<T>& tables, bool slopes, MessageEdges<T>* edges) {
  if (slopes) {
    Functions<L, true>(tables, edges);
  } else {
    Functions<L, false>(tables, edges);
  }
}

template <typename T>
HWY_INLINE void Find(const MomentTables<T>& tables, const MomentView<T>& all, int64_t i, bool slopes,
                     MessageEdges<T>* edges) {
  CopyEdges(tables, all, i, edges);
  switch (tables.max_l) {
    case 0:
      return FunctionsOf<0>(tables, slopes, edges);
    case 1:
      return FunctionsOf<1>(tables, slopes, edges);
    case 2:
      return FunctionsOf<2>(tables, slopes, edges);
    case 3:
      return FunctionsOf<3>(tables, slopes, edges);
    default:
      return FunctionsOf<4>(tables, slopes, edges);
  }
}

// Stores a row as [N, H], which is `width` wide with zeros at its end. value(n, k): the vector of functions n and
// harmonics k and following, zeros beyond the last harmonic.
template <typename T, class Value>
HWY_INLINE void StoreRow(const MomentTables<T>& tables, int64_t width, const Value& value, T* row) {
  const RowTag<T> d;
  const int64_t lanes = hn::Lanes(d), harmonics = tables.num_harmonics;
  int64_t end = 0;
  for (int n = 0; n < tables.num_radial; ++n) {
    // What is stored beyond the last harmonic is overwritten by the next function.
    for (int64_t k = 0; k < tables.row; k += lanes) hn::StoreU(value(n, k), d, row + n * harmonics + k);
    end = n * harmonics + tables.row;
  }
  std::fill(row + end, row + width, T(0));
}

template <typename T>
HWY_INLINE void Rows(const MomentTables<T>& tables, const MessageEdges<T>& edges, T* rows) {
  const RowTag<T> d;
  const int64_t width = MessageRowWidth(tables), stride = edges.stride;
  for (int64_t e = 0; e < edges.count; ++e) {
    const T *const y = edges.harmonics.data() + e * tables.row, *const phi = edges.phi.data() + e;
    const auto value = [&](int64_t n, int64_t k)
                           HWY_ATTR { return hn::Mul(hn::Set(d, phi[n * stride]), hn::Load(d, y + k)); };
    StoreRow(tables, width, value, rows + e * width);
  }
}

template <typename T>
HWY_INLINE void Changes(const MomentTables<T>& tables, const MessageEdges<T>& edges, const T* change, T* rows) {
  const RowTag<T> d;
  const int64_t width = MessageRowWidth(tables), stride = edges.stride, lanes = hn::Lanes(d);
  HWY_ALIGN T tilt[2 * kMomentRowUnit];  // how harmonics change
  for (int64_t e = 0; e < edges.count; ++e, change += 3) {
    const int64_t at = e * tables.row;
    const T* const y = edges.harmonics.data() + at;
    const T *const phi = edges.phi.data() + e, *const phi_slope = edges.phi_slope.data() + e;
    const T along = change[0] * edges.x[e] + change[1] * edges.y[e] + change[2] * edges.z[e];
    const auto dx = hn::Set(d, change[0]), dy = hn::Set(d, change[1]), dz = hn::Set(d, change[2]);
    for (int64_t k = 0; k < tables.row; k += lanes) {
      const auto by_x = hn::Mul(dx, hn::Load(d, edges.slope_x.data() + at + k));
      const auto by_xy = hn::MulAdd(dy, hn::Load(d, edges.slope_y.data() + at + k), by_x);
      hn::Store(hn::MulAdd(dz, hn::Load(d, edges.slope_z.data() + at + k), by_xy), d, tilt + k);
    }
    const auto value = [&](int64_t n, int64_t k) HWY_ATTR {
      const auto turned = hn::Mul(hn::Set(d, phi[n * stride]), hn::Load(d, tilt + k));
      return hn::MulAdd(hn::Set(d, along * phi_slope[n * stride]), hn::Load(d, y + k), turned);
    };
    StoreRow(tables, width, value, rows + e * width);
  }
}

template <typename T>
HWY_INLINE void Forces(const MomentTables<T>& tables, const MessageEdges<T>& edges, const T* q, T* force) {
  const RowTag<T> d;
  const int64_t width = MessageRowWidth(tables), stride = edges.stride, lanes = hn::Lanes(d);
  const int64_t harmonics = tables.num_harmonics;
  for (int64_t e = 0; e < edges.count; ++e, q += width, force += 3) {
    const int64_t at = e * tables.row;
    const T *const phi = edges.phi.data() + e, *const phi_slope = edges.phi_slope.data() + e;
    auto along = hn::Zero(d), x = hn::Zero(d), y = hn::Zero(d), z = hn::Zero(d);
    for (int64_t k = 0; k < tables.row; k += lanes) {
      auto value = hn::Zero(d), slope = hn::Zero(d);
      for (int n = 0; n < tables.num_radial; ++n) {
        const auto weight = hn::LoadU(d, q + n * harmonics + k);
        value = hn::MulAdd(hn::Set(d, phi[n * stride]), weight, value);
        slope = hn::MulAdd(hn::Set(d, phi_slope[n * stride]), weight, slope);
      }
      // Harmonics and their slopes are 0 where `weight` is that of the next function.
      along = hn::MulAdd(slope, hn::Load(d, edges.harmonics.data() + at + k), along);
      x = hn::MulAdd(value, hn::Load(d, edges.slope_x.data() + at + k), x);
      y = hn::MulAdd(value, hn::Load(d, edges.slope_y.data() + at + k), y);
      z = hn::MulAdd(value, hn::Load(d, edges.slope_z.data() + at + k), z);
    }
    const T radial = hn::GetLane(hn::SumOfLanes(d, along));
    force[0] = hn::GetLane(hn::SumOfLanes(d, x)) + radial * edges.x[e];
    force[1] = hn::GetLane(hn::SumOfLanes(d, y)) + radial * edges.y[e];
    force[2] = hn::GetLane(hn::SumOfLanes(d, z)) + radial * edges.z[e];
  }
}

void FindF32(const MomentTables<float>& t, const MomentView<float>& all, int64_t i, bool s, MessageEdges<float>* e) {
  Find(t, all, i, s, e);
}
void FindF64(const MomentTables<double>& t, const MomentView<double>& all, int64_t i, bool s, MessageEdges<double>* e) {
  Find(t, all, i, s, e);
}
void RowsF32(const MomentTables<float>& t, const MessageEdges<float>& e, float* rows) { Rows(t, e, rows); }
void RowsF64(const MomentTables<double>& t, const MessageEdges<double>& e, double* rows) { Rows(t, e, rows); }
void ChangesF32(const MomentTables<float>& t, const MessageEdges<float>& e, const float* change, float* rows) {
  Changes(t, e, change, rows);
}
void ChangesF64(const MomentTables<double>& t, const MessageEdges<double>& e, const double* change, double* rows) {
  Changes(t, e, change, rows);
}
void ForcesF32(const MomentTables<float>& t, const MessageEdges<float>& e, const float* q, float* force) {
  Forces(t, e, q, force);
}
void ForcesF64(const MomentTables<double>& t, const MessageEdges<double>& e, const double* q, double* force) {
  Forces(t, e, q, force);
}

}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace rutile {
namespace {

HWY_EXPORT(FindF32);
HWY_EXPORT(FindF64);
HWY_EXPORT(RowsF32);
HWY_EXPORT(RowsF64);
HWY_EXPORT(ChangesF32);
HWY_EXPORT(ChangesF64);
HWY_EXPORT(ForcesF32);
HWY_EXPORT(ForcesF64);

}  // namespace

template <typename T>
int64_t MessageRowWidth(const MomentTables<T>& tables) {
  return RoundUp((tables.num_radial - 1) * tables.num_harmonics + tables.row, kMomentRowUnit);
}
template int64_t MessageRowWidth(const MomentTables<float>&);
template int64_t MessageRowWidth(const MomentTables<double>&);

template <>
void FindMessageEdges(const MomentTables<float>& tables, const MomentView<float>& all, int64_t i, bool slopes,
                      MessageEdges<float>* edges) {
  HWY_DYNAMIC_DISPATCH(FindF32)(tables, all, i, slopes, edges);
}
template <>
void FindMessageEdges(const MomentTables<double>& tables, const MomentView<double>& all, int64_t i, bool slopes,
                      MessageEdges<double>* edges) {
  HWY_DYNAMIC_DISPATCH(FindF64)(tables, all, i, slopes, edges);
}
template <>
void MessageRows(const MomentTables<float>& tables, const MessageEdges<float>& edges, float* rows) {
  HWY_DYNAMIC_DISPATCH(RowsF32)(tables, edges, rows);
}
template <>
void MessageRows(const MomentTables<double>& tables, const MessageEdges<double>& edges, double* rows) {
  HWY_DYNAMIC_DISPATCH(RowsF64)(tables, edges, rows);
}
template <>
void MessageRowChanges(const MomentTables<float>& tables, const MessageEdges<float>& edges, const float* change,
                       float* rows) {
  HWY_DYNAMIC_DISPATCH(ChangesF32)(tables, edges, change, rows);
}
template <>
void MessageRowChanges(const MomentTables<double>& tables, const MessageEdges<double>& edges, const double* change,
                       double* rows) {
  HWY_DYNAMIC_DISPATCH(ChangesF64)(tables, edges, change, rows);
}
template <>
void MessageForces(const MomentTables<float>& tables, const MessageEdges<float>& edges, const float* q, float* force) {
  HWY_DYNAMIC_DISPATCH(ForcesF32)(tables, edges, q, force);
}
template <>
void MessageForces(const MomentTables<double>& tables, const MessageEdges<double>& edges, const double* q,
                   double* force) {
  HWY_DYNAMIC_DISPATCH(ForcesF64)(tables, edges, q, force);
}

}  // namespace rutile

#endif  // HWY_ONCE
