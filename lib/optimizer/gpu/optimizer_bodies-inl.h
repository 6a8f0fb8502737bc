// Bodies of optimizer steps: what they do with one element. The operations and their rounding are those of
// lib/optimizer/optimizer_kernel.cc where the CPU has fused multiply-adds.

#ifndef RUTILE_LIB_OPTIMIZER_GPU_OPTIMIZER_BODIES_INL_H_
#define RUTILE_LIB_OPTIMIZER_GPU_OPTIMIZER_BODIES_INL_H_

#include <cmath>
#include <cstdint>

#include "lib/gpu/block.h"
#include "lib/gpu/device_function.h"
#include "lib/optimizer/gpu/device_parameters.h"
#include "lib/optimizer/optimizer_steps.h"

namespace rutile {

// Returns a b + c, rounded once.
RUTILE_DEVICE inline float FusedMultiplyAdd(float a, float b, float c) { return fmaf(a, b, c); }
RUTILE_DEVICE inline double FusedMultiplyAdd(double a, double b, double c) { return fma(a, b, c); }

// The gradient, which is combined and clipped as it is read.
template <typename T>
struct ScaledGradient {
  const T* values;  // as the task's kernels have left it
  T weight = 1;     // of the loss's term
  T factor = 1;     // of clipping by norm
  T limit = 0;      // of clipping by value; 0: none
  T scale = 1;      // of the step

  RUTILE_DEVICE T operator[](int64_t i) const {
    T g = values[i] * weight;
    g *= factor;
    if (limit > 0) g = g < -limit ? -limit : limit < g ? limit : g;
    return scale * g;
  }
};

template <typename T>
struct AdamElement {
  AdamElement(const AdamStep& step, ScaledGradient<T> gradient, T* p, T* m, T* v, T* h)
      : g(gradient),
        keep(static_cast<T>(step.keep)),
        l2(static_cast<T>(step.l2)),
        beta1(static_cast<T>(step.beta1)),
        beta2(static_cast<T>(step.beta2)),
        rest1(static_cast<T>(1 - step.beta1)),
        rest2(static_cast<T>(1 - step.beta2)),
        root(static_cast<T>(step.root_correction2)),
        epsilon(static_cast<T>(step.epsilon)),
        step_size(static_cast<T>(step.step_size)),
        p(p),
        m(m),
        v(v),
        h(h) {
    g.scale = static_cast<T>(step.scale);
  }

  RUTILE_DEVICE void operator()(int64_t i, int64_t j, bool decays) const {
    const T parameter = decays ? p[i] * keep : p[i];
    const T gradient = decays ? FusedMultiplyAdd(l2, parameter, g[i]) : g[i];
    const T first = FusedMultiplyAdd(beta1, m[j], rest1 * gradient);
    const T second = FusedMultiplyAdd(beta2, v[j], rest2 * gradient * gradient);
    T divisor = second;
    if (h != nullptr) h[j] = divisor = second > h[j] ? second : h[j];
    m[j] = first;
    v[j] = second;
    p[i] = FusedMultiplyAdd(-step_size, first / (std::sqrt(divisor) / root + epsilon), parameter);
  }

  ScaledGradient<T> g;
  T keep, l2, beta1, beta2, rest1, rest2, root, epsilon, step_size;
  T *p, *m, *v, *h;  // h may be null
};

template <typename T>
struct SgdElement {
  SgdElement(const SgdStep& step, ScaledGradient<T> gradient, T* p, T* b)
      : g(gradient),
        l2(static_cast<T>(step.l2)),
        momentum(static_cast<T>(step.momentum)),
        gain(static_cast<T>(step.gain)),
        rate(static_cast<T>(step.learning_rate)),
        nesterov(step.nesterov),
        p(p),
        b(b) {
    g.scale = static_cast<T>(step.scale);
  }

  RUTILE_DEVICE void operator()(int64_t i, int64_t j, bool decays) const {
    T direction = decays ? FusedMultiplyAdd(l2, p[i], g[i]) : g[i];
    if (b != nullptr) {
      const T buffer = b[j] = FusedMultiplyAdd(momentum, b[j], gain * direction);
      direction = nesterov ? FusedMultiplyAdd(momentum, buffer, direction) : buffer;
    }
    p[i] = FusedMultiplyAdd(-rate, direction, p[i]);
  }

  ScaledGradient<T> g;
  T l2, momentum, gain, rate;
  bool nesterov;
  T *p, *b;  // b may be null
};

template <typename T>
struct RmspropElement {
  RmspropElement(const RmspropStep& step, ScaledGradient<T> gradient, T* p, T* v, T* m, T* b)
      : g(gradient),
        l2(static_cast<T>(step.l2)),
        alpha(static_cast<T>(step.alpha)),
        rest(static_cast<T>(1 - step.alpha)),
        epsilon(static_cast<T>(step.epsilon)),
        momentum(static_cast<T>(step.momentum)),
        rate(static_cast<T>(step.learning_rate)),
        p(p),
        v(v),
        m(m),
        b(b) {
    g.scale = static_cast<T>(step.scale);
  }

  RUTILE_DEVICE void operator()(int64_t i, int64_t j, bool decays) const {
    const T gradient = decays ? FusedMultiplyAdd(l2, p[i], g[i]) : g[i];
    T variance = v[j] = FusedMultiplyAdd(alpha, v[j], rest * gradient * gradient);
    if (m != nullptr) {
      const T mean = m[j] = FusedMultiplyAdd(alpha, m[j], rest * gradient);
      variance = FusedMultiplyAdd(-mean, mean, variance);
      if (!(variance > 0)) variance = 0;
    }
    T direction = gradient / (std::sqrt(variance) + epsilon);
    if (b != nullptr) direction = b[j] = FusedMultiplyAdd(momentum, b[j], direction);
    p[i] = FusedMultiplyAdd(-rate, direction, p[i]);
  }

  ScaledGradient<T> g;
  T l2, alpha, rest, epsilon, momentum, rate;
  T *p, *v, *m, *b;  // m and b may be null
};

template <typename T>
struct AdagradElement {
  AdagradElement(const AdagradStep& step, ScaledGradient<T> gradient, T* p, T* s)
      : g(gradient),
        l2(static_cast<T>(step.l2)),
        epsilon(static_cast<T>(step.epsilon)),
        step_size(static_cast<T>(step.step_size)),
        p(p),
        s(s) {
    g.scale = static_cast<T>(step.scale);
  }

  RUTILE_DEVICE void operator()(int64_t i, int64_t j, bool decays) const {
    const T gradient = decays ? FusedMultiplyAdd(l2, p[i], g[i]) : g[i];
    const T sum = s[j] = FusedMultiplyAdd(gradient, gradient, s[j]);
    p[i] = FusedMultiplyAdd(-step_size, gradient / (std::sqrt(sum) + epsilon), p[i]);
  }

  ScaledGradient<T> g;
  T l2, epsilon, step_size;
  T *p, *s;
};

template <typename T>
struct ScheduleFreeElement {
  ScheduleFreeElement(const ScheduleFreeStep& step, bool first, ScaledGradient<T> gradient, T* y, T* v, T* z)
      : g(gradient),
        beta2(static_cast<T>(step.beta2)),
        rest2(static_cast<T>(1 - step.beta2)),
        root(static_cast<T>(step.root_correction2)),
        epsilon(static_cast<T>(step.epsilon)),
        decay(static_cast<T>(step.decay)),
        share(static_cast<T>(step.share)),
        y_rate(static_cast<T>(step.y_rate)),
        z_rate(static_cast<T>(step.learning_rate)),
        first(first),
        y(y),
        v(v),
        z(z) {
    g.scale = static_cast<T>(step.scale);
  }

  RUTILE_DEVICE void operator()(int64_t i, int64_t j, bool decays) const {
    const T gradient = g[i], at = y[i], base = first ? at : z[j];
    const T second = v[j] = FusedMultiplyAdd(beta2, v[j], rest2 * gradient * gradient);
    T direction = gradient / (std::sqrt(second) / root + epsilon);
    if (decays) direction = FusedMultiplyAdd(decay, at, direction);
    y[i] = FusedMultiplyAdd(-y_rate, direction, FusedMultiplyAdd(share, base - at, at));
    z[j] = FusedMultiplyAdd(-z_rate, direction, base);
  }

  ScaledGradient<T> g;
  T beta2, rest2, root, epsilon, decay, share, y_rate, z_rate;
  bool first;
  T *y, *v, *z;
};

// Steps the elements of ranges, which the host has cut into chunks: one launch for all of them, however short they are.
// A block takes a chunk.
template <typename Element>
struct StepBody {
  static constexpr int kThreads = 256;
  const DeviceRange* chunks;
  Element element;

  RUTILE_DEVICE void operator()(const Block& block) const {
    const DeviceRange chunk = chunks[block.index];
    for (int64_t i = block.thread; i < chunk.size; i += block.threads) {
      element(chunk.begin + i, chunk.at + i, chunk.decays);
    }
  }
};

template <typename T>
struct AverageBody {
  static constexpr int kThreads = 256;
  T share;
  const T* p;
  T* average;
  RUTILE_DEVICE void operator()(int64_t i) const {
    average[i] = share == 1 ? p[i] : FusedMultiplyAdd(share, p[i] - average[i], average[i]);
  }
};

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_GPU_OPTIMIZER_BODIES_INL_H_
