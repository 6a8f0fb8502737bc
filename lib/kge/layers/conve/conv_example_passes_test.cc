// Compares ConvBackwardEach with ConvBackward of one example at a time.

#include "lib/kge/layers/conve/conv_example_passes.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/kge/layers/conve/conv_passes.h"
#include "lib/testing/for_each_target.h"

namespace rutile {
namespace {

// Maps are below, at and above vectors, images wider than one; channels and taps exceed a tile and leave a remainder;
// one kernel is as large as the image.
const ConvShape kShapes[] = {{1, 1, 1, 1, 1},   {3, 4, 2, 3, 2},   {8, 8, 3, 3, 32}, {6, 5, 3, 2, 9},
                             {40, 10, 3, 3, 5}, {5, 20, 1, 5, 11}, {7, 3, 7, 3, 4},  {4, 37, 2, 2, 3},
                             {9, 9, 5, 5, 8},   {10, 40, 3, 3, 8}, {11, 9, 3, 3, 12}};
// Some examples share an image, and one image has no example.
const std::vector<int32_t> kKeys = {0, 2, 2, 2, 3, 0};
constexpr int64_t kImages = 4;

template <typename T>
std::vector<T> Values(int64_t n, const char* purpose) {
  RandomStream stream(1, purpose, n);
  std::vector<T> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(static_cast<T>(stream.Normal()));
  return values;
}

template <typename T>
T* Aligned(std::vector<T>* memory) {
  const auto address = reinterpret_cast<uintptr_t>(memory->data());
  return memory->data() + (64 - address % 64) % 64 / sizeof(T);
}

template <typename T>
void ExpectNear(const T* actual, const std::vector<T>& expected, double tolerance) {
  for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(actual[i], expected[i], tolerance) << i;
}

template <typename T>
void ExpectSumsOfExamples(const ConvShape& shape, double epsilon) {
  // Maps lie in longer rows.
  const int64_t size = static_cast<int64_t>(kKeys.size()), of_maps = shape.channels * shape.map_size();
  const int64_t stride = of_maps + 5, image = shape.image_size(), weights = shape.channels * shape.taps();
  const std::vector<T> images = Values<T>(kImages * image, "images"), weight = Values<T>(weights, "weight");
  const std::vector<T> maps = Values<T>(kImages * stride, "maps"), d_maps = Values<T>(size * of_maps, "d_maps");
  std::vector<T> memory(ConvScratchSize(shape) + 64);
  std::vector<T> weight_sums(size * weights), sums(size * shape.channels), d_images = Values<T>(size * image, "before");
  const std::vector<T> before = d_images;
  ConvBackwardEach(shape, size, kKeys.data(), images.data(), weight.data(), maps.data(), stride, d_maps.data(), of_maps,
                   Aligned(&memory), weight_sums.data(), sums.data(), d_images.data());
  const double tolerance = 30 * epsilon * std::sqrt(static_cast<double>(of_maps + 10));
  for (int64_t e = 0; e < size; ++e) {
    SCOPED_TRACE(e);
    std::vector<T> of_weight(weights), of_channels(shape.channels), of_image(image);
    ConvBackward<T>(shape, 1, images.data() + kKeys[e] * image, weight.data(), nullptr, maps.data() + kKeys[e] * stride,
                    d_maps.data() + e * of_maps, Aligned(&memory), of_weight.data(), of_channels.data(),
                    of_image.data());
    for (int64_t i = 0; i < image; ++i) of_image[i] += before[e * image + i];
    ExpectNear(weight_sums.data() + e * weights, of_weight, tolerance);
    ExpectNear(sums.data() + e * shape.channels, of_channels, tolerance);
    ExpectNear(d_images.data() + e * image, of_image, tolerance);
  }
}

TEST(ConvBackwardEachTest, GivesTheSumsOfEachExample) {
  ForEachTarget([] {
    for (const ConvShape& shape : kShapes) {
      SCOPED_TRACE(absl::StrCat(shape.image_height, " x ", shape.image_width, " by ", shape.kernel_height, " x ",
                                shape.kernel_width, ", ", shape.channels, " channels"));
      ExpectSumsOfExamples<float>(shape, 1.2e-7);
      ExpectSumsOfExamples<double>(shape, 2.3e-16);
    }
  });
}

}  // namespace
}  // namespace rutile
