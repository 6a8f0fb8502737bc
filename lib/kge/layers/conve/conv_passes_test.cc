#include "lib/kge/layers/conve/conv_passes.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/testing/for_each_target.h"

namespace rutile {
namespace {

// Maps are below, at and above vectors; channels and taps exceed a tile and leave a remainder; one kernel is as large
// as the image.
const ConvShape kShapes[] = {{1, 1, 1, 1, 1},   {3, 4, 2, 3, 2}, {8, 8, 3, 3, 32}, {6, 5, 3, 2, 9}, {40, 10, 3, 3, 5},
                             {5, 20, 1, 5, 11}, {7, 3, 7, 3, 4}, {4, 37, 2, 2, 3}, {9, 9, 5, 5, 8}};
constexpr int64_t kExamples = 3;

std::vector<double> Values(int64_t n, const char* purpose) {
  RandomStream stream(1, purpose, n);
  std::vector<double> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(static_cast<float>(stream.Normal()));
  return values;
}

template <typename T>
struct Problem {
  explicit Problem(const ConvShape& shape)
      : shape(shape),
        images(Of(Values(kExamples * shape.image_size(), "images"))),
        weight(Of(Values(shape.channels * shape.taps(), "weight"))),
        bias(Of(Values(shape.channels, "bias"))),
        scales(Of(Values(kExamples * shape.channels, "scales"))),
        d_maps(Of(Values(kExamples * maps_size(), "d_maps"))),
        scratch(ConvScratchSize(shape) + 64) {
    for (T& scale : scales) scale = scale < 0 ? 0 : T{1.25};
  }
  static std::vector<T> Of(const std::vector<double>& values) { return {values.begin(), values.end()}; }
  int64_t maps_size() const { return shape.channels * shape.map_size(); }
  T* Scratch() {
    const auto address = reinterpret_cast<uintptr_t>(scratch.data());
    return scratch.data() + (64 - address % 64) % 64 / sizeof(T);
  }
  // Returns x_k(p).
  double Patch(int64_t example, int64_t k, int64_t p) const {
    const int64_t y = p / shape.map_width() + k / shape.kernel_width;
    const int64_t x = p % shape.map_width() + k % shape.kernel_width;
    return images[example * shape.image_size() + y * shape.image_width + x];
  }
  int64_t PixelOf(int64_t k, int64_t p) const {
    return (p / shape.map_width() + k / shape.kernel_width) * shape.image_width + p % shape.map_width() +
           k % shape.kernel_width;
  }

  const ConvShape shape;
  std::vector<T> images, weight, bias, scales, d_maps, scratch;
};

template <typename T>
void ExpectNear(const std::vector<T>& actual, const std::vector<double>& expected, double terms) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(actual[i], expected[i], 8 * terms * std::numeric_limits<T>::epsilon()) << i;
  }
}

template <typename T>
class ConvPassesTest : public testing::Test {
 protected:
  template <class Check>
  void ForAll(const Check& check) {
    ForEachTarget([&] {
      for (const ConvShape& shape : kShapes) {
        SCOPED_TRACE(absl::StrCat(shape.image_height, " x ", shape.image_width, " by ", shape.kernel_height, " x ",
                                  shape.kernel_width, ", ", shape.channels, " channels"));
        Problem<T> problem(shape);
        check(&problem);
      }
    });
  }
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(ConvPassesTest, Types);

TYPED_TEST(ConvPassesTest, Moments) {
  using T = TypeParam;
  this->ForAll([](Problem<T>* problem) {
    const int64_t taps = problem->shape.taps();
    std::vector<double> sums(taps, 77), products(taps * taps, 77), some(taps, 0), of_two(taps * taps, 0);
    PatchMoments(problem->shape, kExamples, problem->images.data(), T{0.5}, problem->Scratch(), sums.data(),
                 products.data());
    for (int64_t e = 0; e < kExamples; ++e) {
      for (int64_t p = 0; p < problem->shape.map_size(); ++p) {
        for (int64_t k = 0; k < taps; ++k) {
          some[k] += problem->Patch(e, k, p) - 0.5;
          for (int64_t l = 0; l < taps; ++l) {
            of_two[k * taps + l] += (problem->Patch(e, k, p) - 0.5) * (problem->Patch(e, l, p) - 0.5);
          }
        }
      }
    }
    const double tolerance = 100 * problem->shape.map_size() * std::numeric_limits<T>::epsilon();
    for (int64_t k = 0; k < taps; ++k) EXPECT_NEAR(sums[k], some[k], tolerance);
    for (int64_t k = 0; k < taps * taps; ++k) EXPECT_NEAR(products[k], of_two[k], tolerance);
  });
}

TYPED_TEST(ConvPassesTest, Forward) {
  using T = TypeParam;
  this->ForAll([](Problem<T>* problem) {
    const ConvShape& shape = problem->shape;
    for (const bool scaled : {false, true}) {
      std::vector<T> maps(kExamples * problem->maps_size() + 1, T{77});
      ConvForward(shape, kExamples, problem->images.data(), problem->weight.data(), problem->bias.data(),
                  scaled ? problem->scales.data() : nullptr, problem->Scratch(), maps.data());
      EXPECT_EQ(maps.back(), T{77});
      maps.pop_back();
      std::vector<double> expected;
      for (int64_t e = 0; e < kExamples; ++e) {
        for (int64_t c = 0; c < shape.channels; ++c) {
          for (int64_t p = 0; p < shape.map_size(); ++p) {
            double z = problem->bias[c];
            for (int64_t k = 0; k < shape.taps(); ++k) {
              z += problem->weight[c * shape.taps() + k] * problem->Patch(e, k, p);
            }
            expected.push_back(std::max(z, 0.0) * (scaled ? problem->scales[e * shape.channels + c] : 1));
          }
        }
      }
      ExpectNear(maps, expected, shape.taps());
    }
  });
}

TYPED_TEST(ConvPassesTest, Backward) {
  using T = TypeParam;
  this->ForAll([](Problem<T>* problem) {
    const ConvShape& shape = problem->shape;
    const int64_t taps = shape.taps(), positions = shape.map_size();
    // Half of the maps' elements are 0.
    const std::vector<T> maps = Problem<T>::Of(Values(kExamples * problem->maps_size(), "maps"));
    for (const bool scaled : {false, true}) {
      std::vector<T> weight_sums(shape.channels * taps, T{77}), sums(shape.channels, T{77});
      std::vector<T> d_images(kExamples * shape.image_size(), T{77});
      ConvBackward(shape, kExamples, problem->images.data(), problem->weight.data(),
                   scaled ? problem->scales.data() : nullptr, maps.data(), problem->d_maps.data(), problem->Scratch(),
                   weight_sums.data(), sums.data(), d_images.data());
      std::vector<double> of_weights(weight_sums.size(), 0), of_channels(sums.size(), 0), of_images(d_images.size(), 0);
      for (int64_t e = 0; e < kExamples; ++e) {
        for (int64_t c = 0; c < shape.channels; ++c) {
          for (int64_t p = 0; p < positions; ++p) {
            const int64_t at = (e * shape.channels + c) * positions + p;
            if (maps[at] <= 0) continue;
            const double dy = problem->d_maps[at] * (scaled ? problem->scales[e * shape.channels + c] : 1);
            of_channels[c] += dy;
            for (int64_t k = 0; k < taps; ++k) {
              of_weights[c * taps + k] += dy * problem->Patch(e, k, p);
              of_images[e * shape.image_size() + problem->PixelOf(k, p)] += problem->weight[c * taps + k] * dy;
            }
          }
        }
      }
      ExpectNear(weight_sums, of_weights, 10 * positions);
      ExpectNear(sums, of_channels, 10 * positions);
      ExpectNear(d_images, of_images, 4 * shape.channels * taps);
    }
  });
}

TYPED_TEST(ConvPassesTest, Correction) {
  using T = TypeParam;
  this->ForAll([](Problem<T>* problem) {
    const ConvShape& shape = problem->shape;
    const int64_t taps = shape.taps();
    const std::vector<T> matrix = Problem<T>::Of(Values(taps * taps, "matrix"));
    const std::vector<T> constant = Problem<T>::Of(Values(taps, "constant"));
    std::vector<T> d_images = Problem<T>::Of(Values(kExamples * shape.image_size(), "d_images"));
    std::vector<double> expected(d_images.begin(), d_images.end());
    NormCorrection(shape, kExamples, problem->images.data(), matrix.data(), constant.data(), problem->Scratch(),
                   d_images.data());
    for (int64_t e = 0; e < kExamples; ++e) {
      for (int64_t p = 0; p < shape.map_size(); ++p) {
        for (int64_t k = 0; k < taps; ++k) {
          double u = constant[k];
          for (int64_t l = 0; l < taps; ++l) u += matrix[k * taps + l] * problem->Patch(e, l, p);
          expected[e * shape.image_size() + problem->PixelOf(k, p)] -= u;
        }
      }
    }
    ExpectNear(d_images, expected, 4 * taps * taps);
  });
}

// A NaN in an image is seen in the maps that it is part of: training must notice it.
TYPED_TEST(ConvPassesTest, NaNIsSeen) {
  using T = TypeParam;
  this->ForAll([](Problem<T>* problem) {
    problem->images[0] = std::numeric_limits<T>::quiet_NaN();
    std::vector<T> maps(kExamples * problem->maps_size());
    ConvForward<T>(problem->shape, kExamples, problem->images.data(), problem->weight.data(), problem->bias.data(),
                   nullptr, problem->Scratch(), maps.data());
    EXPECT_TRUE(std::isnan(maps[0]));
  });
}

}  // namespace
}  // namespace rutile
