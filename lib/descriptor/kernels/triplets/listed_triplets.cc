#include "lib/descriptor/kernels/triplets/listed_triplets.h"

#include <algorithm>
#include <cstddef>

#include "lib/descriptor/kernels/triplets/triplet_lists.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/descriptor/kernels/triplets/listed_triplets.cc"
#include <hwy/foreach_target.h>

#include "lib/descriptor/kernels/cutoff-inl.h"
#include "lib/descriptor/kernels/radial_basis-inl.h"
#include "lib/descriptor/kernels/triplets/triplet_gather-inl.h"
#include "lib/descriptor/kernels/triplets/triplet_loops-inl.h"
#include "lib/machine/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {

template <typename T>
using ListedTag = hn::CappedTag<T, 32 / sizeof(T)>;

// The data of one center.
template <typename T>
struct ListedCenter {
  const ChebyshevTables<T>& tables;
  const T *unit4, *weight4, *spin;  // from its first near neighbor on; spin: from its first triplet on
  const uint16_t *a, *b;
  int64_t count;

  ListedCenter(const ChebyshevTables<T>& tables, const ListedState<T>& state, const TripletPart<T>& part,
               const typename TripletPart<T>::Center& center)
      : tables(tables),
        unit4(state.unit4.data() + 4 * center.near),
        weight4(state.weight4.data() + 4 * center.near),
        spin(part.spin.data() + center.begin),
        a(part.a.data() + center.begin),
        b(part.b.data() + center.begin),
        count(center.end - center.begin) {}
};

// The first angular column of weight w in a row of features.
template <typename T>
HWY_INLINE int AngularColumn(const ChebyshevTables<T>& tables, int w) {
  return (w + 1) * (tables.rad_order + 1) + w * (tables.ang_order + 1);
}

// Calls body.Run<slots>(d, t, left) for vectors of triplets from `begin` on, several at a time. Only the last vector
// may reach beyond `end`; `left` of its elements count.
template <class D, class Body>
HWY_INLINE void ForEachVector(D d, int64_t begin, int64_t end, const Body& body) {
  const int64_t lanes = hn::Lanes(d);
  int64_t t = begin;
  for (; t + kRadialSlots * lanes <= end; t += kRadialSlots * lanes) {
    body.template Run<kRadialSlots>(d, t, static_cast<size_t>(lanes));
  }
  for (; t < end; t += lanes) body.template Run<1>(d, t, static_cast<size_t>(std::min(lanes, end - t)));
}

template <class D, class V>
HWY_INLINE V Clamp(D d, V cosine) {
  return hn::Min(hn::Max(cosine, hn::Set(d, -1)), hn::Set(d, 1));
}

// --- Features ---

// Adds T_n f_a f_b to sums[n], and spins times it to sums[angular + n].
template <bool kWeighted, typename T>
struct ListedValues {
  const ListedCenter<T>& center;
  T* sums;

  template <int kSlots, class D>
  HWY_INLINE void Run(D d, int64_t t, size_t left) const {
    using V = hn::Vec<D>;
    const size_t lanes = hn::Lanes(d);
    V cosine[kSlots], weight[kSlots], spun[kSlots];
    for (int k = 0; k < kSlots; ++k) {
      const int64_t at = t + k * lanes;
      const auto a = FetchRows(d, center.unit4, center.a + at), b = FetchRows(d, center.unit4, center.b + at);
      cosine[k] = Clamp(d, DotOf(d, a, b));
      weight[k] = hn::Mul(a.f, b.f);
      if (kSlots == 1) weight[k] = hn::IfThenElseZero(hn::FirstN(d, left), weight[k]);
      if (kWeighted) spun[k] = hn::Mul(weight[k], hn::Load(d, center.spin + at));
    }
    Recurrence<kSlots, V> p;
    StartAngles(d, cosine, &p);
    const int angular = center.tables.ang_order + 1;
    T *to = sums, *to_spun = sums + angular * lanes;
    for (int n = 0; n < angular; ++n, to += lanes, to_spun += lanes) {
      V sum = hn::Load(d, to);
      for (int k = 0; k < kSlots; ++k) sum = hn::MulAdd(p.current[k], weight[k], sum);
      hn::Store(sum, d, to);
      if (kWeighted) {
        V spun_sum = hn::Load(d, to_spun);
        for (int k = 0; k < kSlots; ++k) spun_sum = hn::MulAdd(p.current[k], spun[k], spun_sum);
        hn::Store(spun_sum, d, to_spun);
      }
      p.Advance();
    }
  }
};

// Computes f_c of the near neighbors, its derivative, and weight4.
template <typename T>
HWY_NOINLINE void FinishNear(const ChebyshevTables<T>& tables, ListedState<T>* state) {
  const ListedTag<T> d;
  const int64_t lanes = hn::Lanes(d);
  HWY_ALIGN T values[HWY_LANES(T)];
  for (int64_t p = 0; p < state->num_near; p += lanes) {
    const auto f = CutoffWithSlope(d, hn::Load(d, state->r.data() + p), tables.ang_inverse_square);
    hn::Store(f.slope, d, state->slope.data() + p);
    hn::Store(f.value, d, values);
    for (int64_t k = 0; k < std::min(lanes, state->num_near - p); ++k) {
      T *const unit = state->unit4.data() + 4 * (p + k), *const weight = state->weight4.data() + 4 * (p + k);
      for (int axis = 0; axis < 3; ++axis) weight[axis] = values[k] * unit[axis];
      weight[3] = unit[3] = values[k];
    }
  }
}

template <bool kWeighted, typename T>
HWY_NOINLINE void AddListedFeatures(const ChebyshevTables<T>& tables, ListedState<T>* state, T* features) {
  const ListedTag<T> d;
  const size_t lanes = hn::Lanes(d), angular = tables.ang_order + 1, size = angular * (kWeighted ? 2 : 1);
  state->sums.Resize(size * lanes);
  T* const sums = state->sums.data();
  for (const auto& at : state->all.centers) {
    const ListedCenter<T> center(tables, *state, state->all, at);
    std::fill_n(sums, size * lanes, T(0));
    ForEachVector(d, 0, center.count, ListedValues<kWeighted, T>{center, sums});
    T* const row = features + int64_t{at.atom} * tables.num_features;
    for (size_t k = 0; k < size; ++k) {
      const int column = AngularColumn(tables, k >= angular) + static_cast<int>(k % angular);
      row[column] = hn::GetLane(hn::SumOfLanes(d, hn::Load(d, sums + k * lanes)));
    }
  }
}

// --- The vector-Jacobian product ---

constexpr int64_t kBuffered = 64;  // triplets whose slopes wait to be added to their neighbors

// Computes P = sum_n value[n] T_n of the cosine and P' = sum_n slope[n] T_n, where value = q + spins q_spun, into
// buffers.
template <bool kWeighted, typename T>
struct ListedSlopes {
  const ListedCenter<T>& center;
  const T *value, *slope, *spun_value, *spun_slope;  // [angular]
  T *sum, *by_cosine;                                // [kBuffered]

  template <int kSlots, class D>
  HWY_INLINE void Run(D d, int64_t t, size_t /*left*/) const {
    using V = hn::Vec<D>;
    const size_t lanes = hn::Lanes(d);
    V cosine[kSlots], p[kSlots], c[kSlots], spun_p[kSlots], spun_c[kSlots];
    for (int k = 0; k < kSlots; ++k) {
      const int64_t at = t + k * lanes;
      cosine[k] =
          Clamp(d, DotOf(d, FetchRows(d, center.unit4, center.a + at), FetchRows(d, center.unit4, center.b + at)));
      p[k] = c[k] = spun_p[k] = spun_c[k] = hn::Zero(d);
    }
    Recurrence<kSlots, V> at_n;
    StartAngles(d, cosine, &at_n);
    for (int n = 0; n <= center.tables.ang_order; ++n) {
      const V pn = hn::Set(d, value[n]), cn = hn::Set(d, slope[n]);
      for (int k = 0; k < kSlots; ++k) {
        p[k] = hn::MulAdd(pn, at_n.current[k], p[k]);
        c[k] = hn::MulAdd(cn, at_n.current[k], c[k]);
      }
      if (kWeighted) {
        const V spun_pn = hn::Set(d, spun_value[n]), spun_cn = hn::Set(d, spun_slope[n]);
        for (int k = 0; k < kSlots; ++k) {
          spun_p[k] = hn::MulAdd(spun_pn, at_n.current[k], spun_p[k]);
          spun_c[k] = hn::MulAdd(spun_cn, at_n.current[k], spun_c[k]);
        }
      }
      at_n.Advance();
    }
    for (int k = 0; k < kSlots; ++k) {
      const size_t to = t % kBuffered + k * lanes;
      if (kWeighted) {
        const V spin = hn::Load(d, center.spin + t + k * lanes);
        p[k] = hn::MulAdd(spin, spun_p[k], p[k]);
        c[k] = hn::MulAdd(spin, spun_c[k], c[k]);
      }
      hn::Store(p[k], d, sum + to);
      hn::Store(c[k], d, by_cosine + to);
    }
  }
};

// Computes the coefficients c[n] of dP/dx = sum_n c[n] T_n(x), where P = sum_n w[n] T_n(x), by c_{n-1} = c_{n+1} + 2 n
// w_n with c_0 halved.
template <typename T>
HWY_INLINE void PolynomialSlopes(int order, const T* w, T* c) {
  c[order] = 0;
  for (int n = order; n > 0; --n) c[n - 1] = (n < order ? c[n + 1] : T(0)) + 2 * n * w[n];
  c[0] *= T(0.5);
}

// Turns the sums that triplets added to the neighbors of one center into forces.
template <typename T>
HWY_NOINLINE void AddListedForces(const ListedState<T>& state, const typename TripletPart<T>::Center& center,
                                  const T* sums4, T* force, double* strain_gradient) {
  T own[3] = {};
  for (int32_t k = 0; k < center.num_near; ++k, sums4 += 4) {
    const int64_t p = center.near + k;
    const T *const u = state.unit4.data() + 4 * p, r = state.r.data()[p];
    const T across = u[3] / r, dot = sums4[0] * u[0] + (sums4[1] * u[1] + sums4[2] * u[2]);
    const T along = state.slope.data()[p] * sums4[3] - across * dot;
    T* const to = force + 3 * int64_t{state.j.data()[p]};
    for (int axis = 0; axis < 3; ++axis) {
      const T d = across * sums4[axis] + along * u[axis];
      own[axis] += d;
      to[axis] -= d;
      if (strain_gradient == nullptr) continue;
      for (int other = 0; other < 3; ++other) strain_gradient[3 * axis + other] += d * r * u[other];
    }
  }
  for (int axis = 0; axis < 3; ++axis) force[3 * int64_t{center.atom} + axis] += own[axis];
}

template <bool kWeighted, typename T>
HWY_NOINLINE void AddListedVjp(const ChebyshevTables<T>& tables, const TripletPart<T>& part, ListedState<T>* state,
                               const T* slopes, T* force, double* strain_gradient) {
  const ListedTag<T> d;
  const int angular = tables.ang_order + 1;
  state->sums.Resize(2 * angular);
  T *const slope = state->sums.data(), *const spun_slope = slope + angular;
  HWY_ALIGN T sum[kBuffered], by_cosine[kBuffered];
  for (const auto& at : part.centers) {
    const ListedCenter<T> center(tables, *state, part, at);
    const T* const row = slopes + int64_t{at.atom} * tables.num_features;
    const T *const value = row + AngularColumn(tables, 0), *const spun_value = row + AngularColumn(tables, 1);
    PolynomialSlopes(tables.ang_order, value, slope);
    if (kWeighted) PolynomialSlopes(tables.ang_order, spun_value, spun_slope);
    state->near4.Resize(4 * at.num_near);
    T* const sums4 = state->near4.data();
    std::fill_n(sums4, 4 * at.num_near, T(0));
    const ListedSlopes<kWeighted, T> body = {center, value, slope, spun_value, spun_slope, sum, by_cosine};
    for (int64_t t = 0; t < center.count; t += kBuffered) {
      const int64_t count = std::min(kBuffered, center.count - t);
      ForEachVector(d, t, t + count, body);
      AddToNeighbors(center.a + t, center.b + t, by_cosine, sum, count, center.weight4, sums4);
    }
    AddListedForces(*state, at, sums4, force, strain_gradient);
  }
}

// --- The Jacobian-vector product ---

// Adds T_n d(f_a f_b) to value[n] and T_n f_a f_b dcosine to slope[n]; behind both, adds the same with spins.
template <bool kWeighted, typename T>
struct ListedTangents {
  const ListedCenter<T>& center;
  const T* tangents4;  // [near, 4] changes of unit4
  T* sums;             // [2 or 4 angular] vectors: value, slope, and both with spins

  template <int kSlots, class D>
  HWY_INLINE void Run(D d, int64_t t, size_t left) const {
    using V = hn::Vec<D>;
    const size_t lanes = hn::Lanes(d);
    V cosine[kSlots], by_value[kSlots], by_slope[kSlots], spun_value[kSlots], spun_slope[kSlots];
    for (int k = 0; k < kSlots; ++k) {
      const int64_t at = t + k * lanes;
      const auto a = FetchRows(d, center.unit4, center.a + at), b = FetchRows(d, center.unit4, center.b + at);
      const auto da = FetchRows(d, tangents4, center.a + at), db = FetchRows(d, tangents4, center.b + at);
      cosine[k] = Clamp(d, DotOf(d, a, b));
      by_value[k] = hn::MulAdd(da.f, b.f, hn::Mul(a.f, db.f));
      by_slope[k] = hn::Mul(hn::Add(DotOf(d, da, b), DotOf(d, a, db)), hn::Mul(a.f, b.f));
      if (kSlots == 1) {
        const auto counts = hn::FirstN(d, left);
        by_value[k] = hn::IfThenElseZero(counts, by_value[k]);
        by_slope[k] = hn::IfThenElseZero(counts, by_slope[k]);
      }
      if (kWeighted) {
        const V spin = hn::Load(d, center.spin + at);
        spun_value[k] = hn::Mul(spin, by_value[k]);
        spun_slope[k] = hn::Mul(spin, by_slope[k]);
      }
    }
    Recurrence<kSlots, V> p;
    StartAngles(d, cosine, &p);
    const auto add = [&](const V(&weight)[kSlots], T* to) HWY_ATTR {
      V sum = hn::Load(d, to);
      for (int k = 0; k < kSlots; ++k) sum = hn::MulAdd(p.current[k], weight[k], sum);
      hn::Store(sum, d, to);
    };
    const size_t column = (center.tables.ang_order + 1) * lanes;
    T* to = sums;
    for (int n = 0; n <= center.tables.ang_order; ++n, to += lanes) {
      add(by_value, to);
      add(by_slope, to + column);
      if (kWeighted) {
        add(spun_value, to + 2 * column);
        add(spun_slope, to + 3 * column);
      }
      p.Advance();
    }
  }
};

// Computes the changes of unit4 of the neighbors of one center.
template <typename T>
HWY_NOINLINE void NearChanges(const ListedState<T>& state, const typename TripletPart<T>::Center& center,
                              const T* direction, const double* strain, T* tangents4) {
  const T* const from = direction + 3 * int64_t{center.atom};
  for (int32_t k = 0; k < center.num_near; ++k, tangents4 += 4) {
    const int64_t p = center.near + k;
    const T *const u = state.unit4.data() + 4 * p, r = state.r.data()[p];
    const T* const to = direction + 3 * int64_t{state.j.data()[p]};
    T change[3];
    for (int axis = 0; axis < 3; ++axis) {
      change[axis] = to[axis] - from[axis];
      for (int other = 0; strain != nullptr && other < 3; ++other) {
        change[axis] += static_cast<T>(strain[3 * axis + other]) * (r * u[other]);
      }
    }
    const T along = change[0] * u[0] + (change[1] * u[1] + change[2] * u[2]), inverse = 1 / r;
    for (int axis = 0; axis < 3; ++axis) tangents4[axis] = inverse * (change[axis] - along * u[axis]);
    tangents4[3] = state.slope.data()[p] * along;
  }
}

template <bool kWeighted, typename T>
HWY_NOINLINE void AddListedJvp(const ChebyshevTables<T>& tables, const TripletPart<T>& part, ListedState<T>* state,
                               const T* direction, const double* strain, T* tangents) {
  const ListedTag<T> d;
  const size_t lanes = hn::Lanes(d), angular = tables.ang_order + 1, size = angular * (kWeighted ? 4 : 2);
  state->sums.Resize(size * lanes);
  T* const sums = state->sums.data();
  for (const auto& at : part.centers) {
    const ListedCenter<T> center(tables, *state, part, at);
    state->near4.Resize(4 * at.num_near);
    T* const tangents4 = state->near4.data();
    NearChanges(*state, at, direction, strain, tangents4);
    std::fill_n(sums, size * lanes, T(0));
    ForEachVector(d, 0, center.count, ListedTangents<kWeighted, T>{center, tangents4, sums});
    for (int w = 0; w < (kWeighted ? 2 : 1); ++w) {
      const auto total = [&](size_t n) HWY_ATTR {
        return hn::GetLane(hn::SumOfLanes(d, hn::Load(d, sums + (2 * w * angular + n) * lanes)));
      };
      T* const row = tangents + int64_t{at.atom} * tables.num_features + AngularColumn(tables, w);
      // T_n' = 2 n (T_{n-1} + T_{n-3} + ...), where T_0 counts half.
      T before = 0, last = 0;
      row[0] = total(0);
      for (size_t n = 1; n < angular; ++n) {
        const T next = before + (n == 1 ? T(0.5) : T(1)) * total(angular + n - 1);
        row[n] = total(n) + 2 * n * next;
        before = last;
        last = next;
      }
    }
  }
}

// --- Entry points ---

template <typename T>
HWY_INLINE void FeaturesOfList(const ChebyshevTables<T>& tables, ListedState<T>* state, T* features) {
  FinishNear(tables, state);
  if (tables.spins.size() > 1) return AddListedFeatures<true>(tables, state, features);
  AddListedFeatures<false>(tables, state, features);
}

template <typename T>
HWY_INLINE void VjpOfList(const ChebyshevTables<T>& tables, const TripletPart<T>& part, ListedState<T>* state,
                          const T* slopes, T* force, double* strain_gradient) {
  if (tables.spins.size() > 1) return AddListedVjp<true>(tables, part, state, slopes, force, strain_gradient);
  AddListedVjp<false>(tables, part, state, slopes, force, strain_gradient);
}

template <typename T>
HWY_INLINE void JvpOfList(const ChebyshevTables<T>& tables, const TripletPart<T>& part, ListedState<T>* state,
                          const T* direction, const double* strain, T* tangents) {
  if (tables.spins.size() > 1) return AddListedJvp<true>(tables, part, state, direction, strain, tangents);
  AddListedJvp<false>(tables, part, state, direction, strain, tangents);
}

void ListedFeaturesFloat(const ChebyshevTables<float>& tables, ListedState<float>* state, float* features) {
  FeaturesOfList(tables, state, features);
}
void ListedVjpFloat(const ChebyshevTables<float>& tables, const TripletPart<float>& part, ListedState<float>* state,
                    const float* slopes, float* force, double* strain_gradient) {
  VjpOfList(tables, part, state, slopes, force, strain_gradient);
}
void ListedJvpFloat(const ChebyshevTables<float>& tables, const TripletPart<float>& part, ListedState<float>* state,
                    const float* direction, const double* strain, float* tangents) {
  JvpOfList(tables, part, state, direction, strain, tangents);
}
void ListedFeaturesDouble(const ChebyshevTables<double>& tables, ListedState<double>* state, double* features) {
  FeaturesOfList(tables, state, features);
}
void ListedVjpDouble(const ChebyshevTables<double>& tables, const TripletPart<double>& part, ListedState<double>* state,
                     const double* slopes, double* force, double* strain_gradient) {
  VjpOfList(tables, part, state, slopes, force, strain_gradient);
}
void ListedJvpDouble(const ChebyshevTables<double>& tables, const TripletPart<double>& part, ListedState<double>* state,
                     const double* direction, const double* strain, double* tangents) {
  JvpOfList(tables, part, state, direction, strain, tangents);
}

}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace rutile {
namespace {

HWY_EXPORT(ListedFeaturesFloat);
HWY_EXPORT(ListedFeaturesDouble);
HWY_EXPORT(ListedVjpFloat);
HWY_EXPORT(ListedVjpDouble);
HWY_EXPORT(ListedJvpFloat);
HWY_EXPORT(ListedJvpDouble);

}  // namespace

template <>
void ListedFeatures(const ChebyshevTables<float>& tables, const StructureGeometry& geometry, ListedState<float>* state,
                    float* features) {
  PlaceTriplets(tables, geometry, state);
  HWY_DYNAMIC_DISPATCH(ListedFeaturesFloat)(tables, state, features);
}

template <>
void ListedVjp(const ChebyshevTables<float>& tables, ListedState<float>* state, const float* slopes,
               absl::Span<const uint8_t> sampled, float* force, double* strain_gradient) {
  HWY_DYNAMIC_DISPATCH(ListedVjpFloat)(tables, SelectTriplets(sampled, state), state, slopes, force, strain_gradient);
}

template <>
void ListedJvp(const ChebyshevTables<float>& tables, ListedState<float>* state, const float* direction,
               absl::Span<const uint8_t> sampled, const double* strain, float* tangents) {
  HWY_DYNAMIC_DISPATCH(ListedJvpFloat)(tables, SelectTriplets(sampled, state), state, direction, strain, tangents);
}

template <>
void ListedFeatures(const ChebyshevTables<double>& tables, const StructureGeometry& geometry,
                    ListedState<double>* state, double* features) {
  PlaceTriplets(tables, geometry, state);
  HWY_DYNAMIC_DISPATCH(ListedFeaturesDouble)(tables, state, features);
}

template <>
void ListedVjp(const ChebyshevTables<double>& tables, ListedState<double>* state, const double* slopes,
               absl::Span<const uint8_t> sampled, double* force, double* strain_gradient) {
  HWY_DYNAMIC_DISPATCH(ListedVjpDouble)(tables, SelectTriplets(sampled, state), state, slopes, force, strain_gradient);
}

template <>
void ListedJvp(const ChebyshevTables<double>& tables, ListedState<double>* state, const double* direction,
               absl::Span<const uint8_t> sampled, const double* strain, double* tangents) {
  HWY_DYNAMIC_DISPATCH(ListedJvpDouble)(tables, SelectTriplets(sampled, state), state, direction, strain, tangents);
}

}  // namespace rutile

#endif  // HWY_ONCE
