#include "lib/kge/layers/conve/amx_conve_forward.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "lib/base/random.h"
#include "lib/kge/layers/conve/conv_passes.h"
#include "lib/kge/layers/conve/conv_shape.h"
#include "lib/machine/aligned_buffer.h"

namespace rutile {
namespace {

std::vector<float> Normals(int64_t n, const std::string& name) {
  RandomStream random(1, name);
  std::vector<float> values(n);
  for (float& x : values) x = static_cast<float>(random.Normal());
  return values;
}

struct Case {
  ConvShape conv;
  int64_t outputs, map_rows, examples;
};

// Sizes are below, at and above words of channels, groups of steps, tiles of examples and of outputs.
const Case kCases[] = {
    {{3, 3, 3, 3, 1}, 1, 0, 1},    {{8, 8, 3, 3, 32}, 32, 100, 17},  {{5, 9, 2, 3, 33}, 33, 5, 33},
    {{9, 22, 3, 3, 70}, 7, 16, 3}, {{40, 10, 3, 3, 32}, 200, 17, 5}, {{4, 20, 1, 15, 5}, 40, 33, 401},
    {{7, 4, 5, 3, 31}, 16, 1, 16},
};

class AmxConveForwardTest : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!AmxConveFits(GetParam().conv)) GTEST_SKIP() << "no AMX";
  }
};
INSTANTIATE_TEST_SUITE_P(Sizes, AmxConveForwardTest, ::testing::ValuesIn(kCases));

struct Outcome {
  std::vector<float> sums, products, squares;
  std::vector<uint32_t> positive;
};

Outcome RunLayers(const AmxConveForward& layers, const Case& sizes, const float* images, int64_t examples) {
  Outcome out;
  out.sums.resize(examples * sizes.outputs);
  out.products.resize(examples * sizes.map_rows);
  out.squares.resize(examples);
  out.positive.resize(examples * AmxMapWords(sizes.conv));
  AlignedBuffer<uint32_t> memory;
  layers.Run(
      images, examples,
      {out.sums.data(), sizes.map_rows == 0 ? nullptr : out.products.data(), out.positive.data(), out.squares.data()},
      &memory);
  return out;
}

TEST_P(AmxConveForwardTest, AgreesWithSumsInDoublePrecision) {
  const Case& sizes = GetParam();
  const ConvShape& conv = sizes.conv;
  const int64_t positions = conv.map_size(), features = conv.channels * positions;
  const std::vector<float> images = Normals(sizes.examples * conv.image_size(), "images");
  const std::vector<float> weight = Normals(conv.channels * conv.taps(), "weight"), bias = Normals(conv.channels, "b");
  const std::vector<float> fc = Normals(sizes.outputs * features, "fc"),
                           map_rows = Normals(sizes.map_rows * features, "map_rows");
  AmxConveForward layers(conv, weight.data(), bias.data(), fc.data(), sizes.outputs);
  layers.SetMapRows(map_rows.data(), sizes.map_rows);
  const Outcome out = RunLayers(layers, sizes, images.data(), sizes.examples);
  std::vector<float> map(features);
  AlignedBuffer<float> scratch(ConvScratchSize(conv));
  for (int64_t e = 0; e<sizes.examples; e += sizes.examples> 100 ? 37 : 1) {
    ConvForward<float>(conv, 1, images.data() + e * conv.image_size(), weight.data(), bias.data(), nullptr,
                       scratch.data(), map.data());
    double square = 0;
    for (int64_t i = 0; i < features; ++i) {
      square += static_cast<double>(map[i]) * map[i];
      const int64_t c = i / positions;
      const uint32_t word = out.positive[e * AmxMapWords(conv) + c / kAmxChannels * positions + i % positions];
      ASSERT_EQ(word >> (c % kAmxChannels) & 1, map[i] > 0 ? 1 : 0);
    }
    EXPECT_NEAR(out.squares[e], square, 1e-6 * square * std::sqrt(features));
    // Errors of factors are independent, so that the error is far below their sum.
    const auto expect = [&](float found, const float* row, double error) {
      double sum = 0, size = 0;
      for (int64_t i = 0; i < features; ++i) {
        sum += static_cast<double>(map[i]) * row[i];
        size += static_cast<double>(map[i]) * row[i] * map[i] * row[i];
      }
      ASSERT_NEAR(found, sum, error * std::sqrt(size) + 1e-30);
    };
    for (int64_t j = 0; j < sizes.outputs; ++j) {
      expect(out.sums[e * sizes.outputs + j], fc.data() + j * features, std::ldexp(8, -18));
    }
    for (int64_t t = 0; t < sizes.map_rows; ++t) {
      expect(out.products[e * sizes.map_rows + t], map_rows.data() + t * features, std::ldexp(4, -8));
    }
  }
}

TEST_P(AmxConveForwardTest, AnExampleHasTheSameBitsAlone) {
  const Case& sizes = GetParam();
  const int64_t features = sizes.conv.channels * sizes.conv.map_size(), image = sizes.conv.image_size();
  const std::vector<float> weight = Normals(sizes.conv.channels * sizes.conv.taps(), "weight");
  const std::vector<float> bias = Normals(sizes.conv.channels, "b"), fc = Normals(sizes.outputs * features, "fc");
  const std::vector<float> map_rows = Normals(sizes.map_rows * features, "map_rows");
  AmxConveForward layers(sizes.conv, weight.data(), bias.data(), fc.data(), sizes.outputs);
  layers.SetMapRows(map_rows.data(), sizes.map_rows);
  std::vector<float> images = Normals(sizes.examples * image, "images");
  // A NaN in an example does not change the others.
  const int64_t last = sizes.examples - 1;
  if (last > 0) images[0] = std::numeric_limits<float>::quiet_NaN();
  const Outcome together = RunLayers(layers, sizes, images.data(), sizes.examples);
  const Outcome alone = RunLayers(layers, sizes, images.data() + last * image, 1);
  for (int64_t j = 0; j < sizes.outputs; ++j) EXPECT_EQ(together.sums[last * sizes.outputs + j], alone.sums[j]);
  for (int64_t t = 0; t < sizes.map_rows; ++t) {
    EXPECT_EQ(together.products[last * sizes.map_rows + t], alone.products[t]);
  }
  EXPECT_EQ(together.squares[last], alone.squares[0]);
}

TEST(AmxConveForwardDeathTest, RefusesLargeKernels) {
  const ConvShape conv = {8, 8, 4, 4, 3};
  EXPECT_FALSE(AmxConveFits(conv));
  const std::vector<float> numbers(3 * 25 * 2);
  EXPECT_DEATH(AmxConveForward(conv, numbers.data(), numbers.data(), numbers.data(), 2), "AmxConveFits");
}

}  // namespace
}  // namespace rutile
