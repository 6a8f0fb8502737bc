#include "lib/network/kernels/gemm_epilogue.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/base/round_up.h"
#include "lib/machine/aligned_buffer.h"
#include "lib/network/network_shape.h"
#include "lib/testing/for_each_target.h"

namespace rutile {
namespace {

// Computes f, f' and f'' as the formulas read.
struct Derivatives {
  double f, slope, curvature;
};

Derivatives At(Activation activation, double z) {
  const double t = std::tanh(2 * z / 3), steep = 1.7159 * 2 / 3, s = 1 / (1 + std::exp(-z));
  switch (activation) {
    case Activation::kLinear:
      return {z, 1, 0};
    case Activation::kTanh: {
      const double y = std::tanh(z);
      return {y, 1 - y * y, -2 * y * (1 - y * y)};
    }
    case Activation::kSigmoid:
      return {s, s * (1 - s), s * (1 - s) * (1 - 2 * s)};
    case Activation::kMtanh:
      return {1.7159 * t, steep * (1 - t * t), -4.0 / 3 * t * steep * (1 - t * t)};
    case Activation::kTwist:
      return {1.7159 * t + 0.1 * z, steep * (1 - t * t) + 0.1, -4.0 / 3 * t * steep * (1 - t * t)};
    case Activation::kSilu:
      return {z * s, s + z * s * (1 - s), s * (1 - s) * (2 + z * (1 - 2 * s))};
  }
  return {};
}

template <typename T>
struct Matrix {
  Matrix(int64_t size, const char* name) : data(size) {
    RandomStream random(1, name);
    for (int64_t i = 0; i < size; ++i) data[i] = static_cast<T>(random.Normal());
  }
  T* get() { return data.data(); }
  const T* get() const { return data.data(); }
  T& operator[](int64_t i) { return data[i]; }

  AlignedBuffer<T> data;
};

// Runs all functions on one layer, one after another, and compares each with its formula.
template <typename T>
void CheckLayer(Activation activation, int64_t rows, int64_t width) {
  SCOPED_TRACE(absl::StrCat(kActivationNames.Name(activation), " ", rows, " x ", width));
  const double tolerance = sizeof(T) == 4 ? 3e-6 : 1e-14;  // for numbers of about 1
  constexpr int64_t kLine = 64 / sizeof(T);
  const int64_t stride = RoundUp(width, kLine), size = rows * stride;
  const bool keeps = KeepsSlopes(activation);
  Matrix<T> values(size, "a"), slopes(size, "s"), deltas(size, "u"), curvatures(size, "c"), tangent(size, "t"),
      mu(size, "m"), product(size, "p");
  const Matrix<T> bias_memory(1024, "b"), weights_memory(1024, "w"), scales_memory(1024, "e");
  const T *bias = bias_memory.get() + 1, *weights = weights_memory.get() + 1, *scales = scales_memory.get() + 1;
  const GemmEpilogue<T> layer = {activation,   rows,
                                 width,        stride,
                                 values.get(), keeps ? slopes.get() : nullptr,
                                 deltas.get(), keeps ? curvatures.get() : nullptr};
  const auto for_all = [&](const auto& check) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t i = 0; i < width; ++i) check(r, i, r * stride + i);
    }
  };
  std::vector<Derivatives> exact(size);
  std::vector<double> u(size), delta(size), adot(size), mu_before(size);
  for_all([&](int64_t, int64_t i, int64_t at) { exact[at] = At(activation, double{values[at]} + bias[i]); });

  ActivateLayer(layer, bias);
  for_all([&](int64_t, int64_t, int64_t at) {
    ASSERT_NEAR(values[at], exact[at].f, tolerance);
    if (!keeps) return;
    ASSERT_NEAR(slopes[at], exact[at].slope, tolerance);
    ASSERT_NEAR(curvatures[at], exact[at].curvature, tolerance);
  });
  for_all([&](int64_t, int64_t, int64_t at) { u[at] = deltas[at]; });
  SlopesToDeltas(layer);
  for_all([&](int64_t, int64_t, int64_t at) {
    delta[at] = exact[at].slope * u[at];
    ASSERT_NEAR(deltas[at], delta[at], 4 * tolerance);
    if (!keeps) return;
    ASSERT_NEAR(curvatures[at], exact[at].curvature * u[at], 4 * tolerance);
  });
  for_all([&](int64_t, int64_t, int64_t at) { adot[at] = tangent[at]; });
  TangentsOfLayer(layer, tangent.get(), mu.get());
  for_all([&](int64_t, int64_t, int64_t at) {
    ASSERT_NEAR(tangent[at], exact[at].slope * adot[at], 4 * tolerance);
    ASSERT_NEAR(mu[at], exact[at].curvature * u[at] * adot[at], 16 * tolerance);
    mu_before[at] = mu[at];
  });
  AddReversed(layer, static_cast<const T*>(product.get()), mu.get());
  for_all([&](int64_t, int64_t, int64_t at) {
    ASSERT_NEAR(mu[at], mu_before[at] + exact[at].slope * product[at], 16 * tolerance);
    mu_before[at] = mu[at];
  });
  ScaledDeltas(layer, scales, /*add=*/true, mu.get());
  for_all([&](int64_t r, int64_t, int64_t at) {
    ASSERT_NEAR(mu[at], mu_before[at] + scales[r] * delta[at], 16 * tolerance);
  });
  ScaledDeltas(layer, scales, /*add=*/false, mu.get());
  for_all([&](int64_t r, int64_t, int64_t at) { ASSERT_NEAR(mu[at], scales[r] * delta[at], 16 * tolerance); });
  for (const T* const of_rows : {scales, static_cast<const T*>(nullptr)}) {
    OutputSlopesToDeltas(layer, of_rows, weights);
    for_all([&](int64_t r, int64_t i, int64_t at) {
      ASSERT_NEAR(deltas[at], exact[at].slope * (of_rows ? of_rows[r] : 1) * weights[i], 8 * tolerance);
    });
    std::vector<T> sums(width + 2, T(2));
    AddColumnSums(static_cast<const T*>(values.get()), rows, width, stride, of_rows, sums.data() + 1);
    for (int64_t i = 0; i < width; ++i) {
      double sum = 2, sizes = 2;
      for (int64_t r = 0; r < rows; ++r) {
        const double term = (of_rows ? of_rows[r] : 1) * double{values[r * stride + i]};
        sum += term, sizes += std::abs(term);
      }
      ASSERT_NEAR(sums[1 + i], sum, tolerance * sizes);
    }
    EXPECT_EQ(sums.front(), T(2));
    EXPECT_EQ(sums.back(), T(2));
  }
  std::vector<T> dots(rows + 1, T(2));
  RowDots(static_cast<const T*>(values.get()), rows, width, stride, weights, bias[0], dots.data());
  for (int64_t r = 0; r < rows; ++r) {
    double sum = bias[0], sizes = std::abs(sum);
    for (int64_t i = 0; i < width; ++i) {
      const double term = double{weights[i]} * values[r * stride + i];
      sum += term, sizes += std::abs(term);
    }
    ASSERT_NEAR(dots[r], sum, tolerance * sizes);
  }
  EXPECT_EQ(dots.back(), T(2));
}

TEST(GemmEpilogueTest, AgreesWithTheFormulasOnEveryTarget) {
  ForEachTarget([] {
    for (const Activation activation : {Activation::kLinear, Activation::kTanh, Activation::kSigmoid,
                                        Activation::kMtanh, Activation::kTwist, Activation::kSilu}) {
      // Widths below, at and above whole vectors and strips of four vectors.
      for (const int64_t width : {1, 2, 7, 8, 15, 16, 17, 63, 64, 65, 131}) {
        CheckLayer<float>(activation, 5, width);
        CheckLayer<double>(activation, 5, width);
      }
      CheckLayer<float>(activation, 1, 33);
      CheckLayer<double>(activation, 0, 33);
    }
  });
}

}  // namespace
}  // namespace rutile
