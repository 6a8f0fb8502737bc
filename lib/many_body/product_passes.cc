#include "lib/many_body/product_passes.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/many_body/product_passes.cc"
#include "hwy/foreach_target.h"
// The order matters: foreach_target.h includes this file again for each target.
#include <cmath>

#include "lib/machine/simd.h"
#include "lib/many_body/channel_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// ---- M = sum w I(A)

// Returns the derivative of one product of degree 3 by one component.
template <typename T, int V, bool kDual>
HWY_INLINE Numbers<T, V, kDual> DerivativeOf(const ProductTable<T>& table, const typename ProductTable<T>::Group& group,
                                             WithTangent<const T> a) {
  Numbers<T, V, kDual> sum;
  sum.SetZero();
  for (int t = group.begin; t < group.end; ++t) {
    const typename ProductTable<T>::Term& term = table.terms[t];
    Numbers<T, V, kDual> left, right;
    left.Load(a, term.i);
    right.Load(a, term.j);
    sum.Add(hn::Set(hn::ScalableTag<T>(), term.weight), left, right);
  }
  return sum;
}

template <typename T>
WithTangent<const T> Advanced(WithTangent<const T> a, int64_t by) {
  return {a.value + by, a.dot == nullptr ? nullptr : a.dot + by};
}
template <typename T>
WithTangent<T> Advanced(WithTangent<T> a, int64_t by) {
  return {a.value + by, a.dot == nullptr ? nullptr : a.dot + by};
}

// The factor of the product of degree 2.
template <typename T>
VecOf<T> SquareFactor(int l) {
  return hn::Set(hn::ScalableTag<T>(), static_cast<T>(1 / std::sqrt(2.0 * l + 1)));
}

template <typename T, bool kDual>
struct ProductPass {
  const ProductTable<T>& table;
  int channels;
  const T* w;
  int n;
  WithTangent<const T> all_a;
  WithTangent<T> m;

  template <int V>
  HWY_INLINE void Run(int k) const {
    const int max_l = table.max_l;
    const int64_t size = int64_t{max_l + 1} * (max_l + 1) * channels;
    for (int64_t atom = 0; atom < n; ++atom) {
      const WithTangent<const T> a = Advanced(all_a, atom * size + k);
      const T* weights = w + k;
      VecOf<T> weight[V];
      Numbers<T, V, kDual> sum, value, component;
      LoadVectors<T, V>(weights, weight);
      component.Load(a, 0);
      sum.SetScaled(weight, component);
      for (int l = 0; l <= max_l; ++l) {
        weights += channels;
        LoadVectors<T, V>(weights, weight);
        value.SetZero();
        for (int64_t i = l * l; i < (l + 1) * (l + 1); ++i) {
          component.Load(a, i * channels);
          value.Add(component, component);
        }
        for (int v = 0; v < V; ++v) weight[v] = hn::Mul(weight[v], SquareFactor<T>(l));
        sum.AddScaled(weight, value);
      }
      for (const typename ProductTable<T>::Product& product : table.products) {
        weights += channels;
        LoadVectors<T, V>(weights, weight);
        value.SetZero();
        for (int g = product.begin; g < product.end; ++g) {
          const typename ProductTable<T>::Group& group = table.groups[g];
          if (group.value_scale == 0) continue;
          component.Load(a, group.a);
          value.Add(hn::Set(hn::ScalableTag<T>(), group.value_scale), component,
                    DerivativeOf<T, V, kDual>(table, group, a));
        }
        sum.AddScaled(weight, value);
      }
      sum.Store(m, atom * channels + k);
    }
  }
};

template <typename T>
void Products(const ProductTable<T>& table, int channels, const T* w, int n, WithTangent<const T> a, WithTangent<T> m) {
  if (a.dot == nullptr) {
    ForVectors<T, MostVectors<T>(false)>(channels, ProductPass<T, false>{table, channels, w, n, a, m});
  } else {
    ForVectors<T, MostVectors<T>(true)>(channels, ProductPass<T, true>{table, channels, w, n, a, m});
  }
}

// ---- A_bar = d sum(seed M) / d A, and gradients of w

template <typename T, bool kDual>
struct SlopePass {
  const ProductTable<T>& table;
  int channels;
  const T* w;
  int n;
  WithTangent<const T> all_a, seeds;
  WithTangent<T> all_bar;
  T* w_gradients;

  // Adds seed I or, with tangents, its derivative to the gradient of a weight.
  template <int V>
  HWY_INLINE void AddWeightGradient(const Numbers<T, V, kDual>& seed, const Numbers<T, V, kDual>& value,
                                    int64_t place) const {
    const hn::ScalableTag<T> d;
    if (w_gradients == nullptr) return;
    T* at = w_gradients + place;
    for (int v = 0; v < V; ++v, at += hn::Lanes(d)) {
      const auto sum = hn::Load(d, at);
      if constexpr (kDual) {
        hn::Store(hn::MulAdd(seed.dot[v], value.value[v], hn::MulAdd(seed.value[v], value.dot[v], sum)), d, at);
      } else {
        hn::Store(hn::MulAdd(seed.value[v], value.value[v], sum), d, at);
      }
    }
  }

  template <int V>
  HWY_INLINE void Run(int k) const {
    using Number = Numbers<T, V, kDual>;
    const hn::ScalableTag<T> d;
    const int max_l = table.max_l;
    const int64_t size = int64_t{max_l + 1} * (max_l + 1) * channels;
    for (int64_t atom = 0; atom < n; ++atom) {
      const WithTangent<const T> a = Advanced(all_a, atom * size + k);
      const WithTangent<T> bar = Advanced(all_bar, atom * size + k);
      const WithTangent<const T> so_far = {bar.value, bar.dot};
      int64_t p = k;  // place of the product's weights
      Number seed, factor, value, component, sum;
      VecOf<T> weight[V];
      seed.Load(seeds, atom * channels + k);
      LoadVectors<T, V>(w + p, weight);
      Number first;
      first.SetScaled(weight, seed);
      component.Load(a, 0);
      AddWeightGradient(seed, component, p);
      for (int l = 0; l <= max_l; ++l) {
        p += channels;
        LoadVectors<T, V>(w + p, weight);
        const auto square = SquareFactor<T>(l);
        for (int v = 0; v < V; ++v) weight[v] = hn::Mul(weight[v], hn::Add(square, square));
        factor.SetScaled(weight, seed);
        value.SetZero();
        for (int64_t i = l * l; i < (l + 1) * (l + 1); ++i) {
          component.Load(a, i * channels);
          value.Add(square, component, component);
          sum.SetZero();
          if (l == 0) sum = first;
          sum.Add(factor, component);
          sum.Store(bar, i * channels);
        }
        AddWeightGradient(seed, value, p);
      }
      for (const typename ProductTable<T>::Product& product : table.products) {
        p += channels;
        LoadVectors<T, V>(w + p, weight);
        factor.SetScaled(weight, seed);
        value.SetZero();
        for (int g = product.begin; g < product.end; ++g) {
          const typename ProductTable<T>::Group& group = table.groups[g];
          const Number derivative = DerivativeOf<T, V, kDual>(table, group, a);
          sum.Load(so_far, group.a);
          sum.Add(factor, derivative);
          sum.Store(bar, group.a);
          if (group.value_scale == 0) continue;
          component.Load(a, group.a);
          value.Add(hn::Set(d, group.value_scale), component, derivative);
        }
        AddWeightGradient(seed, value, p);
      }
    }
  }
};

template <typename T>
void Slopes(const ProductTable<T>& table, int channels, const T* w, int n, WithTangent<const T> a,
            WithTangent<const T> seed, WithTangent<T> bar, T* w_gradients) {
  if (a.dot == nullptr) {
    ForVectors<T, MostVectors<T>(false)>(channels,
                                         SlopePass<T, false>{table, channels, w, n, a, seed, bar, w_gradients});
  } else {
    ForVectors<T, MostVectors<T>(true)>(channels, SlopePass<T, true>{table, channels, w, n, a, seed, bar, w_gradients});
  }
}

void ProductsF32(const ProductTable<float>& table, int channels, const float* w, int n, WithTangent<const float> a,
                 WithTangent<float> m) {
  Products(table, channels, w, n, a, m);
}
void ProductsF64(const ProductTable<double>& table, int channels, const double* w, int n, WithTangent<const double> a,
                 WithTangent<double> m) {
  Products(table, channels, w, n, a, m);
}
void SlopesF32(const ProductTable<float>& table, int channels, const float* w, int n, WithTangent<const float> a,
               WithTangent<const float> seed, WithTangent<float> bar, float* w_gradients) {
  Slopes(table, channels, w, n, a, seed, bar, w_gradients);
}
void SlopesF64(const ProductTable<double>& table, int channels, const double* w, int n, WithTangent<const double> a,
               WithTangent<const double> seed, WithTangent<double> bar, double* w_gradients) {
  Slopes(table, channels, w, n, a, seed, bar, w_gradients);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rutile {

HWY_EXPORT(ProductsF32);
HWY_EXPORT(ProductsF64);
HWY_EXPORT(SlopesF32);
HWY_EXPORT(SlopesF64);

void ProductsOfBlock(const ProductTable<float>& table, int channels, const float* w, int n, WithTangent<const float> a,
                     WithTangent<float> m) {
  HWY_DYNAMIC_DISPATCH(ProductsF32)(table, channels, w, n, a, m);
}
void ProductsOfBlock(const ProductTable<double>& table, int channels, const double* w, int n,
                     WithTangent<const double> a, WithTangent<double> m) {
  HWY_DYNAMIC_DISPATCH(ProductsF64)(table, channels, w, n, a, m);
}
void ProductSlopesOfBlock(const ProductTable<float>& table, int channels, const float* w, int n,
                          WithTangent<const float> a, WithTangent<const float> seed, WithTangent<float> bar,
                          float* w_gradients) {
  HWY_DYNAMIC_DISPATCH(SlopesF32)(table, channels, w, n, a, seed, bar, w_gradients);
}
void ProductSlopesOfBlock(const ProductTable<double>& table, int channels, const double* w, int n,
                          WithTangent<const double> a, WithTangent<const double> seed, WithTangent<double> bar,
                          double* w_gradients) {
  HWY_DYNAMIC_DISPATCH(SlopesF64)(table, channels, w, n, a, seed, bar, w_gradients);
}

}  // namespace rutile
#endif  // HWY_ONCE
