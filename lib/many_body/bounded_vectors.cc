#include "lib/many_body/bounded_vectors.h"

#include <cmath>

namespace rutile {
namespace {

// The x, y and z of one vector, whose places are `channels` apart.
template <typename T>
struct Vector {
  T x, y, z;
  Vector(const T* from, int64_t channels) : x(from[0]), y(from[channels]), z(from[2 * channels]) {}
  T Dot(const Vector& other) const { return x * other.x + y * other.y + z * other.z; }
};

}  // namespace

template <typename T>
void BoundVectors(const VectorsOfAtoms& sizes, WithTangent<const T> moments, WithTangent<T> bounded) {
  const int64_t channels = sizes.channels;
  for (int64_t i = 0; i < sizes.num_atoms; ++i) {
    for (int64_t k = 0; k < channels; ++k) {
      const int64_t in = i * sizes.stride + k, out = 3 * i * channels + k;
      const Vector<T> a(moments.value + in, channels);
      const T f = 1 / std::sqrt(1 + a.Dot(a));
      bounded.value[out] = f * a.x;
      bounded.value[out + channels] = f * a.y;
      bounded.value[out + 2 * channels] = f * a.z;
      if (moments.dot == nullptr) continue;
      const Vector<T> dot(moments.dot + in, channels);
      const T f_dot = -f * f * f * a.Dot(dot);
      bounded.dot[out] = f * dot.x + f_dot * a.x;
      bounded.dot[out + channels] = f * dot.y + f_dot * a.y;
      bounded.dot[out + 2 * channels] = f * dot.z + f_dot * a.z;
    }
  }
}

template <typename T>
void BoundVectorSlopes(const VectorsOfAtoms& sizes, WithTangent<const T> moments, WithTangent<const T> received,
                       WithTangent<T> slopes) {
  const int64_t channels = sizes.channels;
  for (int64_t i = 0; i < sizes.num_atoms; ++i) {
    for (int64_t k = 0; k < channels; ++k) {
      const int64_t in = i * sizes.stride + k, out = 3 * i * channels + k;
      const Vector<T> a(moments.value + in, channels), bar(received.value + out, channels);
      const T f = 1 / std::sqrt(1 + a.Dot(a)), cube = f * f * f, along = a.Dot(bar), factor = -cube * along;
      slopes.value[out] = f * bar.x + factor * a.x;
      slopes.value[out + channels] = f * bar.y + factor * a.y;
      slopes.value[out + 2 * channels] = f * bar.z + factor * a.z;
      if (moments.dot == nullptr) continue;
      const Vector<T> dot(moments.dot + in, channels), bar_dot(received.dot + out, channels);
      const T change = a.Dot(dot), f_dot = -cube * change;
      const T factor_dot = 3 * cube * f * f * change * along - cube * (dot.Dot(bar) + a.Dot(bar_dot));
      slopes.dot[out] = f_dot * bar.x + f * bar_dot.x + factor_dot * a.x + factor * dot.x;
      slopes.dot[out + channels] = f_dot * bar.y + f * bar_dot.y + factor_dot * a.y + factor * dot.y;
      slopes.dot[out + 2 * channels] = f_dot * bar.z + f * bar_dot.z + factor_dot * a.z + factor * dot.z;
    }
  }
}

template void BoundVectors(const VectorsOfAtoms&, WithTangent<const float>, WithTangent<float>);
template void BoundVectors(const VectorsOfAtoms&, WithTangent<const double>, WithTangent<double>);
template void BoundVectorSlopes(const VectorsOfAtoms&, WithTangent<const float>, WithTangent<const float>,
                                WithTangent<float>);
template void BoundVectorSlopes(const VectorsOfAtoms&, WithTangent<const double>, WithTangent<const double>,
                                WithTangent<double>);

}  // namespace rutile
