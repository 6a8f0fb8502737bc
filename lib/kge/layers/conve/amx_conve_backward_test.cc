#include "lib/kge/layers/conve/amx_conve_backward.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "lib/base/random.h"
#include "lib/kge/layers/conve/amx_conve_forward.h"
#include "lib/kge/layers/conve/conv_shape.h"
#include "lib/machine/aligned_buffer.h"

namespace rutile {
namespace {

struct Case {
  ConvShape conv;
  int64_t inputs, examples;
};

// Sizes are below, at and above words of channels, groups of rows, windows of columns, tiles of examples and steps of
// inputs.
const Case kCases[] = {
    {{3, 3, 3, 3, 1}, 1, 1},     {{8, 8, 3, 3, 32}, 32, 33},  {{5, 9, 2, 3, 33}, 33, 17}, {{9, 22, 3, 3, 70}, 7, 3},
    {{40, 10, 3, 3, 32}, 65, 5}, {{4, 20, 1, 15, 5}, 40, 70}, {{7, 4, 5, 3, 31}, 31, 32}, {{3, 80, 2, 2, 9}, 5, 4},
};

std::vector<float> Normals(int64_t n, const std::string& name) {
  RandomStream random(1, name);
  std::vector<float> values(n);
  for (float& x : values) x = static_cast<float>(random.Normal());
  return values;
}

// Most keys have three examples.
struct Problem {
  explicit Problem(const Case& all_sizes) : sizes(all_sizes) {
    const ConvShape& conv = sizes.conv;
    for (int64_t e = 0; e < sizes.examples; ++e) key.push_back(static_cast<int32_t>(e / 3));
    images = Normals((key.back() + 1) * conv.image_size(), "images");
    weight = Normals(conv.channels * conv.taps(), "weight");
    fc = Normals(sizes.inputs * conv.channels * conv.map_size(), "fc");
    slopes = Normals(sizes.examples * sizes.inputs, "slopes");
    RandomStream random(1, "positive");
    for (int64_t i = 0; i < (key.back() + 1) * AmxMapWords(conv); ++i) {
      positive.push_back(static_cast<uint32_t>(random.Next()));
    }
  }

  const Case sizes;
  std::vector<int32_t> key;
  std::vector<float> images, weight, fc, slopes;
  std::vector<uint32_t> positive;
};

struct Outcome {
  std::vector<float> weight_sums, sums, d_images;
};

Outcome RunLayers(const Problem& problem, int64_t begin, int64_t end) {
  const ConvShape& conv = problem.sizes.conv;
  Outcome out;
  out.weight_sums.resize((end - begin) * conv.channels * conv.taps());
  out.sums.resize((end - begin) * conv.channels);
  out.d_images.resize((end - begin) * conv.image_size(), 7.0f);
  AlignedBuffer<uint32_t> memory;
  const AmxConveBackward layers(conv, problem.weight.data(), problem.fc.data(), problem.sizes.inputs);
  layers.Run({begin, end, problem.key.data(), problem.images.data(), problem.positive.data(), problem.slopes.data()},
             {out.weight_sums.data(), out.sums.data(), out.d_images.data()}, &memory);
  return out;
}

class AmxConveBackwardTest : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!AmxConveFits(GetParam().conv)) GTEST_SKIP() << "no AMX";
  }
};
INSTANTIATE_TEST_SUITE_P(Sizes, AmxConveBackwardTest, ::testing::ValuesIn(kCases));

// A sum and the sum of squares of its terms' sizes, since errors of factors are independent.
struct Sum {
  double sum = 0, squares = 0;
  void Add(double term, double size) { sum += term, squares += size * size; }
  double Size() const { return std::sqrt(squares); }
  // Four factors, each rounded by 2^-9 at most.
  void Expect(float found) const { ASSERT_NEAR(found, sum, std::ldexp(8, -9) * Size() + 1e-30); }
};

TEST_P(AmxConveBackwardTest, AgreesWithSumsInDoublePrecision) {
  const Problem problem(GetParam());
  const ConvShape& conv = problem.sizes.conv;
  const int64_t positions = conv.map_size(), width = conv.map_width(), taps = conv.taps(), image = conv.image_size();
  const Outcome out = RunLayers(problem, 0, problem.sizes.examples);
  std::vector<double> dy(conv.channels * positions), size(dy.size());
  for (int64_t e = 0; e<problem.sizes.examples; e += problem.sizes.examples> 10 ? 5 : 1) {
    const float* const x = problem.images.data() + problem.key[e] * image;
    for (int64_t c = 0; c < conv.channels; ++c) {
      for (int64_t p = 0; p < positions; ++p) {
        const uint32_t word = problem.positive[problem.key[e] * AmxMapWords(conv) + c / kAmxChannels * positions + p];
        Sum sum;
        for (int64_t j = 0; j < problem.sizes.inputs; ++j) {
          const double term = static_cast<double>(problem.slopes[e * problem.sizes.inputs + j]) *
                              problem.fc[(j * conv.channels + c) * positions + p];
          sum.Add(term, term);
        }
        const bool on = (word >> (c % kAmxChannels) & 1) != 0;
        dy[c * positions + p] = on ? sum.sum : 0;
        size[c * positions + p] = on ? sum.Size() : 0;
      }
    }
    std::vector<Sum> d_image(image);
    for (int64_t c = 0; c < conv.channels; ++c) {
      Sum all;
      for (int64_t i = c * positions; i < (c + 1) * positions; ++i) all.Add(dy[i], size[i]);
      all.Expect(out.sums[e * conv.channels + c]);
      for (int64_t k = 0; k < taps; ++k) {
        Sum sum;
        for (int64_t p = 0; p < positions; ++p) {
          const int64_t q = (p / width + k / conv.kernel_width) * conv.image_width + p % width + k % conv.kernel_width;
          const int64_t i = c * positions + p;
          const double w = problem.weight[c * taps + k];
          sum.Add(dy[i] * x[q], size[i] * x[q]);
          d_image[q].Add(dy[i] * w, size[i] * w);
        }
        sum.Expect(out.weight_sums[(e * conv.channels + c) * taps + k]);
      }
    }
    for (int64_t q = 0; q < image; ++q) d_image[q].Expect(out.d_images[e * image + q]);
  }
}

TEST_P(AmxConveBackwardTest, ExamplesHaveTheSameBitsInAnyCompany) {
  Problem problem(GetParam());
  const ConvShape& conv = problem.sizes.conv;
  const int64_t end = problem.sizes.examples, begin = end / 2, rows = end - begin;
  // An infinity in an example does not change the others.
  if (begin > 0) problem.slopes[0] = std::numeric_limits<float>::infinity();
  const Outcome all = RunLayers(problem, 0, end), some = RunLayers(problem, begin, end);
  const auto expect_same = [&](const std::vector<float>& a, const std::vector<float>& b, int64_t n) {
    for (int64_t i = 0; i < rows * n; ++i) ASSERT_EQ(a[begin * n + i], b[i]) << i;
  };
  expect_same(all.weight_sums, some.weight_sums, conv.channels * conv.taps());
  expect_same(all.sums, some.sums, conv.channels);
  expect_same(all.d_images, some.d_images, conv.image_size());
}

}  // namespace
}  // namespace rutile
