// From the gradients of images that ConveMapSlopesBody leaves to those of the rows of embeddings: bn1's terms, input
// dropout and bn0.

#ifndef RUTILE_LIB_KGE_GPU_BODIES_CONVE_IMAGE_SLOPE_BODIES_INL_H_
#define RUTILE_LIB_KGE_GPU_BODIES_CONVE_IMAGE_SLOPE_BODIES_INL_H_

#include <cstdint>

#include "lib/gpu/block.h"
#include "lib/gpu/device_function.h"
#include "lib/kge/gpu/bodies/block_sums-inl.h"
#include "lib/kge/gpu/bodies/conve_map_bodies-inl.h"
#include "lib/kge/gpu/conve_view-inl.h"

namespace rutile {

// Gradients of each example's rows.
template <typename T>
struct RowSlopes {
  T *heads, *relations;  // [B, d]

  RUTILE_DEVICE void Store(const ConveView<T>& view, int64_t e, int i, T slope) const {
    int index;
    const bool of_relation = view.RowOfPixel(i, &index);
    (of_relation ? relations : heads)[e * view.shape.dim + index] = slope;
  }
};

// Adds up the groups' gradients of images and subtracts bn1's terms. Without bn0 the result is stored in rows. With it
// the first group's images become the gradients after bn0, and of_example [B, 2] their sums and those of their products
// with raw - mean. A block for each example.
template <typename T, typename Kernel>
struct ImageSlopesBody {
  static constexpr int kThreads = 256;
  ConveView<T> view;
  int groups;
  const T* matrix;  // MapCorrectionBody
  T* d_images;      // [groups, B, 2 d]
  double* of_example;
  RowSlopes<T> rows;

  static int64_t SharedBytes(const ConvSizes& conv) {
    return static_cast<int64_t>(sizeof(double)) * 2 * kSplits + static_cast<int64_t>(sizeof(T)) * 3 * conv.image;
  }
  RUTILE_DEVICE void operator()(const Block& block) const {
    const ConvSizes& conv = view.conv;
    const int64_t e = block.index;
    double* const sums = static_cast<double*>(block.shared);
    T* const raw = reinterpret_cast<T*>(sums + 2 * kSplits);
    T *const image = raw + conv.image, *const d_image = image + conv.image;
    const NormLine<T> norm = view.InputNorm();
    for (int i = block.thread; i < conv.image; i += block.threads) {
      raw[i] = view.RawPixel(e, i);
      image[i] = view.PixelOf(raw[i], norm, e, i);
    }
    block.Sync();
    for (int i = block.thread; i < conv.image; i += block.threads) {
      T slope = 0;
      for (int g = 0; g < groups; ++g) slope += d_images[(g * view.size + e) * conv.image + i];
      if (view.training) slope -= Correction(image, i);
      if (!view.shape.drops_before_norm || !view.shape.has_input_norm) slope *= view.input.At(e, i);
      if (!view.shape.has_input_norm) {
        rows.Store(view, e, i, slope);
        continue;
      }
      d_image[i] = slope;
      d_images[e * conv.image + i] = slope;
    }
    if (!view.shape.has_input_norm) return;
    const double mean = view.Bn0().mean;
    BlockSums(block, 2, kSplits, sums, [&](int item, int split) {
      double sum = 0;
      for (int i = split; i < conv.image; i += kSplits) {
        sum += static_cast<double>(d_image[i]) * (item == 0 ? 1 : static_cast<double>(raw[i]) - mean);
      }
      return sum;
    });
    for (int item = block.thread; item < 2; item += block.threads) of_example[2 * e + item] = sums[item];
  }

 private:
  // Returns the sum of bn1's terms of all positions that have this pixel in their patch.
  RUTILE_DEVICE T Correction(const T* image, int i) const {
    const ConvSizes& conv = view.conv;
    const int height = Kernel::Height(conv), width = Kernel::Width(conv), taps = height * width;
    const T* const constant = matrix + taps * taps;
    const int y = conv.by_width(i), x = i - y * conv.width;
    T sum = 0;
    RUTILE_UNROLL
    for (int ky = 0; ky < height; ++ky) {
      if (y < ky || y - ky >= conv.map_height) continue;
      RUTILE_UNROLL
      for (int kx = 0; kx < width; ++kx) {
        if (x < kx || x - kx >= conv.map_width) continue;
        const int k = ky * width + kx;
        const T* const patch = image + (y - ky) * conv.width + x - kx;
        const T* const row = matrix + k * taps;
        T term = constant[k];
        RUTILE_UNROLL
        for (int ly = 0; ly < height; ++ly) {
          RUTILE_UNROLL
          for (int lx = 0; lx < width; ++lx) term += row[ly * width + lx] * patch[ly * conv.width + lx];
        }
        sum += term;
      }
    }
    return sum;
  }
  static constexpr int kSplits = 128;
};

// Adds up these sums over examples, into totals [2], and adds the gradients of bn0. One block.
template <typename T>
struct InputNormGradientBody {
  static constexpr int kThreads = 256;
  ConveView<T> view;
  const double* of_example;  // [B, 2]
  double* totals;
  T* gradient;

  static int64_t SharedBytes() { return kMaxBlockSums * static_cast<int64_t>(sizeof(double)); }
  RUTILE_DEVICE void operator()(const Block& block) const {
    double* const sums = static_cast<double*>(block.shared);
    const int splits = static_cast<int>(view.size < kThreads ? view.size : kThreads);
    BlockSums(block, 2, splits, sums, [&](int item, int split) {
      double sum = 0;
      for (int64_t e = split; e < view.size; e += splits) sum += of_example[2 * e + item];
      return sum;
    });
    if (block.thread != 0) return;
    totals[0] = sums[0];
    totals[1] = sums[1] * view.Bn0().inverse;
    if (view.shape.bn0_weight >= 0) gradient[view.shape.bn0_weight] += static_cast<T>(totals[1]);
    if (view.shape.bn0_bias >= 0) gradient[view.shape.bn0_bias] += static_cast<T>(totals[0]);
  }
};

// Takes the gradients after bn0 through it, and stores them in rows. For each i of B 2 d.
template <typename T>
struct InputNormSlopesBody {
  static constexpr int kThreads = 256;
  ConveView<T> view;
  const double* totals;
  const T* d_images;
  RowSlopes<T> rows;

  RUTILE_DEVICE void operator()(int64_t i) const {
    const int64_t e = i / view.conv.image;
    const int pixel = static_cast<int>(i - e * view.conv.image);
    const NormChannel norm = view.Bn0();
    T slope = d_images[i];
    if (view.training) {
      const double n = static_cast<double>(view.size) * view.conv.image;
      const T constant = static_cast<T>(totals[0] / n), of_x = static_cast<T>(totals[1] / n * norm.inverse);
      slope = slope - constant - (view.RawPixel(e, pixel) - static_cast<T>(norm.mean)) * of_x;
    }
    slope *= static_cast<T>(norm.gain);
    if (view.shape.drops_before_norm) slope *= view.input.At(e, pixel);
    rows.Store(view, e, pixel, slope);
  }
};

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_GPU_BODIES_CONVE_IMAGE_SLOPE_BODIES_INL_H_
