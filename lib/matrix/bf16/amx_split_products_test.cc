#include "lib/matrix/bf16/amx_split_products.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "lib/base/random.h"
#include "lib/machine/aligned_buffer.h"

namespace rutile {
namespace {

std::vector<float> Normals(int64_t n, const std::string& name) {
  RandomStream random(1, name);
  std::vector<float> values(n);
  for (float& x : values) x = static_cast<float>(random.Normal());
  return values;
}

// Sizes below, at and above tiles, groups of steps, and rows at a time.
TEST(AmxSplitProductsTest, AgreesWithSumsInDoublePrecision) {
  if (!AmxSplitProducts::IsPossible()) GTEST_SKIP() << "no AMX";
  const int64_t sizes[][3] = {{1, 1, 1}, {15, 33, 17}, {16, 256, 32}, {33, 257, 100}, {513, 31, 16}, {3, 786, 47}};
  AlignedBuffer<uint32_t> memory;
  for (const auto& [rows, depth, n] : sizes) {
    const int64_t a_stride = depth + 3, b_stride = depth + 1, out_stride = n + 2;
    std::vector<float> a = Normals(rows * a_stride, "a"), b = Normals(n * b_stride, "b");
    std::vector<float> out(rows * out_stride, 2.0f);
    const AmxSplitProducts products(b.data(), n, depth, b_stride);
    products.Add(a.data(), rows, a_stride, out.data(), out_stride, &memory);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = 2, sizes_sum = 2;
        for (int64_t l = 0; l < depth; ++l) {
          const double term = static_cast<double>(a[i * a_stride + l]) * b[j * b_stride + l];
          sum += term;
          sizes_sum += std::abs(term);
        }
        ASSERT_NEAR(out[i * out_stride + j], sum, std::ldexp(3, -18) * sizes_sum) << rows << " " << depth << " " << n;
      }
      for (int64_t j = n; j < out_stride; ++j) ASSERT_EQ(out[i * out_stride + j], 2.0f);
    }
    // Multiplies the last row alone, and beside a row with NaN.
    a[0] = rows == 1 ? a[0] : std::numeric_limits<float>::quiet_NaN();
    std::vector<float> again(rows * out_stride, 2.0f), alone(n, 2.0f);
    products.Add(a.data(), rows, a_stride, again.data(), out_stride, &memory);
    products.Add(a.data() + (rows - 1) * a_stride, 1, a_stride, alone.data(), n, &memory);
    for (int64_t j = 0; j < n; ++j) {
      EXPECT_EQ(again[(rows - 1) * out_stride + j], out[(rows - 1) * out_stride + j]);
      EXPECT_EQ(alone[j], out[(rows - 1) * out_stride + j]);
    }
  }
}

}  // namespace
}  // namespace rutile
