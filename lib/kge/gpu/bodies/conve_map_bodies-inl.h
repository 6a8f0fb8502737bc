// The convolution with bn1, relu and dropout of channels, forward and backward, as conv_passes.h of lib/kge/layers has
// them:
//
//   maps[e, c, p] = scale[e, c] max(0, weight[c] . patch(e, p) + bias[c])    bn1's gain is multiplied into the weight
//   dy = scale d_map where the map is positive, else 0
//
// A block computes an example and a few channels. Backward gives each example's sums of dy x_k and dy, and the gradient
// of its image for these channels alone, without bn1's terms.

#ifndef RUTILE_LIB_KGE_GPU_BODIES_CONVE_MAP_BODIES_INL_H_
#define RUTILE_LIB_KGE_GPU_BODIES_CONVE_MAP_BODIES_INL_H_

#include <cstdint>

#include "lib/gpu/block.h"
#include "lib/gpu/device_function.h"
#include "lib/kge/gpu/bodies/block_sums-inl.h"
#include "lib/kge/gpu/conve_view-inl.h"

namespace rutile {

// How channels are shared out to blocks.
struct ChannelGroups {
  int size, count;  // channels of a group, all but the last; groups

  RUTILE_DEVICE int SizeOf(int group, int channels) const {
    const int rest = channels - group * size;
    return rest < size ? rest : size;
  }
};
inline ChannelGroups GroupChannels(int channels, int size) { return {size, (channels + size - 1) / size}; }

// The size of kernels, known to the compiler or, if it is 0, at run time.
template <int kHeight, int kWidth>
struct KernelSize {
  static constexpr bool kKnown = kHeight > 0;
  static constexpr int kColumns = kWidth, kTaps = kKnown ? kHeight * kWidth : 1;  // where it is known
  RUTILE_DEVICE static int Height(const ConvSizes& conv) { return kKnown ? kHeight : conv.kernel_height; }
  RUTILE_DEVICE static int Width(const ConvSizes& conv) { return kKnown ? kWidth : conv.kernel_width; }
};

// Computes maps [B, C, P]. Blocks: an example's groups, then those of the next example.
template <typename T, typename Kernel>
struct ConveMapsBody {
  static constexpr int kThreads = 128;
  ConveView<T> view;
  ChannelGroups groups;
  T* maps;

  static int64_t SharedBytes(const ConvSizes& conv, int group_size) {
    return static_cast<int64_t>(sizeof(T)) * (conv.image + static_cast<int64_t>(group_size) * (conv.taps + 2));
  }
  RUTILE_DEVICE void operator()(const Block& block) const {
    const ConvSizes& conv = view.conv;
    const int64_t e = block.index / groups.count;
    const int group = static_cast<int>(block.index % groups.count), first = group * groups.size;
    const int count = groups.SizeOf(group, conv.channels);
    T* const image = static_cast<T*>(block.shared);
    T *const weight = image + conv.image, *const bias = weight + groups.size * conv.taps;
    T* const scale = bias + groups.size;
    view.LoadImage(block, e, image);
    view.LoadConv(block, first, count, weight, bias);
    for (int c = block.thread; c < count; c += block.threads) scale[c] = view.channels.At(e, first + c);
    block.Sync();
    T* const to = maps + (e * conv.channels + first) * conv.positions;
    for (int p = block.thread; p < conv.positions; p += block.threads) {
      const int y = conv.by_map_width(p);
      const T* const x = image + y * conv.width + p - y * conv.map_width;
      if constexpr (Kernel::kKnown) {
        T patch[Kernel::kTaps];
        RUTILE_UNROLL
        for (int k = 0; k < Kernel::kTaps; ++k) {
          patch[k] = x[k / Kernel::Width(conv) * conv.width + k % Kernel::Width(conv)];
        }
        for (int c = 0; c < count; ++c) {
          T z = bias[c];
          RUTILE_UNROLL
          for (int k = 0; k < Kernel::kTaps; ++k) z += weight[c * Kernel::kTaps + k] * patch[k];
          to[c * conv.positions + p] = scale[c] * (z < 0 ? T(0) : z);
        }
      } else {
        for (int c = 0; c < count; ++c) {
          T z = bias[c];
          const T* w = weight + c * conv.taps;
          for (int ky = 0; ky < conv.kernel_height; ++ky, w += conv.kernel_width) {
            for (int kx = 0; kx < conv.kernel_width; ++kx) z += w[kx] * x[ky * conv.width + kx];
          }
          to[c * conv.positions + p] = scale[c] * (z < 0 ? T(0) : z);
        }
      }
    }
  }
};

// Sets sums [B, C, K + 1] to sums over positions of dy x_k, and of dy; and d_images [groups, B, 2 d] to each group's
// sum over c, k of weight[c, k] dy_c(p - k). Blocks as those of ConveMapsBody.
template <typename T, typename Kernel>
struct ConveMapSlopesBody {
  static constexpr int kThreads = 256;
  ConveView<T> view;
  ChannelGroups groups;
  const T *maps, *d_maps;
  double* sums;
  T* d_images;

  static int64_t NumSums(const ConvSizes& conv, int group_size) {
    const int64_t items = static_cast<int64_t>(group_size) * (conv.taps + 1 + conv.kernel_height);
    return items < kMaxBlockSums ? kMaxBlockSums : items;
  }
  static int64_t SharedBytes(const ConvSizes& conv, int group_size) {
    const int64_t numbers = conv.image + static_cast<int64_t>(group_size) * (conv.frame_size + conv.taps + 1);
    return static_cast<int64_t>(sizeof(double)) * NumSums(conv, group_size) + static_cast<int64_t>(sizeof(T)) * numbers;
  }

  RUTILE_DEVICE void operator()(const Block& block) const {
    const ConvSizes& conv = view.conv;
    const int64_t e = block.index / groups.count;
    const int group = static_cast<int>(block.index % groups.count), first = group * groups.size;
    const int count = groups.SizeOf(group, conv.channels);
    const int height = Kernel::Height(conv), width = Kernel::Width(conv), taps = height * width;
    const int items = count * (taps + 1 + height);
    double* const shared_sums = static_cast<double*>(block.shared);
    T* const image = reinterpret_cast<T*>(shared_sums + (items < kMaxBlockSums ? kMaxBlockSums : items));
    T *const weight = image + conv.image, *const scale = weight + count * taps, *const frames = scale + count;

    view.LoadImage(block, e, image);
    view.LoadConv(block, first, count, weight, nullptr);
    for (int c = block.thread; c < count; c += block.threads) scale[c] = view.channels.At(e, first + c);
    block.Sync();
    const int64_t at = (e * conv.channels + first) * conv.positions;
    for (int i = block.thread; i < count * conv.frame_size; i += block.threads) {
      const int c = conv.by_frame_size(i), in_frame = i - c * conv.frame_size, row = conv.by_frame_width(in_frame);
      const int y = row - (height - 1), x = in_frame - row * conv.frame_width - (width - 1);
      T dy = 0;
      if (y >= 0 && y < conv.map_height && x >= 0 && x < conv.map_width) {
        const int64_t from = at + c * conv.positions + y * conv.map_width + x;
        if (maps[from] > 0) dy = scale[c] * d_maps[from];
      }
      frames[i] = dy;
    }
    AddSlopes(block, count, image, frames, shared_sums, sums + (e * conv.channels + first) * (taps + 1));

    T* const d_image = d_images + (group * view.size + e) * conv.image;
    for (int i = block.thread; i < conv.image; i += block.threads) {
      const int y = conv.by_width(i), x = i - y * conv.width;
      // Tap (0, 0) of a pixel's own position; other taps are before it.
      const T* dy = frames + (y + height - 1) * conv.frame_width + x + width - 1;
      const T* w = weight;
      T sum = 0;
      for (int c = 0; c < count; ++c, dy += conv.frame_size, w += taps) {
        RUTILE_UNROLL
        for (int ky = 0; ky < height; ++ky) {
          RUTILE_UNROLL
          for (int kx = 0; kx < width; ++kx) sum += w[ky * width + kx] * dy[-(ky * conv.frame_width + kx)];
        }
      }
      d_image[i] = sum;
    }
  }

 private:
  // Sets `to` [count, K + 1] to the sums over positions of an example.
  RUTILE_DEVICE void AddSlopes(const Block& block, int count, const T* image, const T* frames, double* shared_sums,
                               double* to) const {
    const ConvSizes& conv = view.conv;
    const int height = Kernel::Height(conv), width = Kernel::Width(conv), taps = height * width;
    const T* const first_dy = frames + (height - 1) * conv.frame_width + width - 1;
    if constexpr (Kernel::kKnown) {
      // A thread takes a row of the kernel, for which it reads dy once; the last value is the sum of dy itself.
      constexpr int kWidth = Kernel::kColumns, kValues = kWidth + 1;
      const int items = count * height, splits = SplitsOf(items * kValues, conv.map_height);
      BlockSumsOf<kValues>(block, items, splits, shared_sums, [&](int i, int split, double* values) {
        const int c = i / height, ky = i % height;
        RUTILE_UNROLL
        for (int v = 0; v < kValues; ++v) values[v] = 0;
        for (int y = split; y < conv.map_height; y += splits) {
          const T* const dy = first_dy + c * conv.frame_size + y * conv.frame_width;
          const T* const x = image + (y + ky) * conv.width;
          T of_row[kValues] = {};
          for (int j = 0; j < conv.map_width; ++j) {
            RUTILE_UNROLL
            for (int kx = 0; kx < kWidth; ++kx) of_row[kx] += dy[j] * x[j + kx];
            of_row[kWidth] += dy[j];
          }
          RUTILE_UNROLL
          for (int v = 0; v < kValues; ++v) values[v] += static_cast<double>(of_row[v]);
        }
      });
      for (int i = block.thread; i < count * (taps + 1); i += block.threads) {
        const int c = i / (taps + 1), k = i % (taps + 1), ky = k / width;
        to[i] = shared_sums[k == taps ? c * height * kValues + kWidth : (c * height + ky) * kValues + k - ky * width];
      }
    } else {
      // Item i is tap i % (K + 1) of channel i / (K + 1); the last tap is the sum of dy itself.
      const int items = count * (taps + 1), splits = SplitsOf(items, conv.map_height);
      BlockSums(block, items, splits, shared_sums, [&](int i, int split) {
        const int c = i / (taps + 1), k = i % (taps + 1);
        double sum = 0;
        for (int y = split; y < conv.map_height; y += splits) {
          const T* const dy = first_dy + c * conv.frame_size + y * conv.frame_width;
          const T* const x = image + y * conv.width + conv.OffsetOf(k);
          T of_row = 0;
          for (int j = 0; j < conv.map_width; ++j) of_row += k == taps ? dy[j] : dy[j] * x[j];
          sum += static_cast<double>(of_row);
        }
        return sum;
      });
      for (int i = block.thread; i < items; i += block.threads) to[i] = shared_sums[i];
    }
  }
};

// How the batch's statistics in bn1 change the gradient of a channel, at position p: dz = gain dy - constant - of_patch
// (z - bias).
struct MapSlopes {
  double constant, of_patch;
};

// Adds each channel's gradients of conv and bn1, as ConveLayers::BackwardConv derives them, and sets slopes [C]. A
// block for each channel.
template <typename T>
struct ConvGradientBody {
  static constexpr int kThreads = 512;
  ConveView<T> view;
  PatchStatistics patches;
  const double* of_example;  // [B, C, K + 1]
  MapSlopes* slopes;
  T* gradient;

  static int64_t SharedBytes(const ConvSizes& conv) {
    const int64_t items = conv.taps + 1;
    return (items < kMaxBlockSums ? kMaxBlockSums : items) * static_cast<int64_t>(sizeof(double));
  }
  RUTILE_DEVICE void operator()(const Block& block) const {
    double* const sums = static_cast<double*>(block.shared);
    const KgeStepShape& shape = view.shape;
    const int taps = view.conv.taps, items = taps + 1, channels = view.conv.channels;
    const int64_t c = block.index;
    const int splits = SplitsOf(items, view.size < kMaxSplits ? view.size : kMaxSplits);
    BlockSums(block, items, splits, sums, [&](int i, int split) {
      double sum = 0;
      for (int64_t e = split; e < view.size; e += splits) sum += of_example[(e * channels + c) * items + i];
      return sum;
    });
    const T* const w = view.parameters + shape.conv_weight + c * taps;
    const NormChannel norm = view.Bn1(c);
    // With statistics of the batch all is relative to the mean patch, which the norm subtracts from z.
    const bool of_batch = view.training;
    const double dy = sums[taps];
    double dy_z = of_batch ? 0 : (view.ConvBias(c) - norm.mean) * dy, mean_z = 0;
    for (int k = 0; k < taps; ++k) {
      const double mean = of_batch ? patches.mean[k] : 0;
      dy_z += static_cast<double>(w[k]) * (sums[k] - dy * mean);
      mean_z += static_cast<double>(w[k]) * mean;
    }
    const double dy_zhat = dy_z * norm.inverse;
    if (block.thread == 0) {
      if (shape.bn1_weight >= 0) gradient[shape.bn1_weight + c] += static_cast<T>(dy_zhat);
      if (shape.bn1_bias >= 0) gradient[shape.bn1_bias + c] += static_cast<T>(dy);
      if (shape.conv_bias >= 0 && !of_batch) gradient[shape.conv_bias + c] += static_cast<T>(norm.gain * dy);
      const double n = static_cast<double>(view.size) * view.conv.positions;
      slopes[c] = {norm.gain / n * (dy - dy_zhat * norm.inverse * mean_z), norm.gain / n * norm.inverse * dy_zhat};
    }
    for (int k = block.thread; k < taps; k += block.threads) {
      double d_weight = sums[k];
      if (of_batch) {
        double cov_z = 0;
        for (int l = 0; l < taps; ++l) cov_z += patches.covariance[k * taps + l] * static_cast<double>(w[l]);
        d_weight -= dy * patches.mean[k] + dy_zhat * norm.inverse * cov_z;
      }
      gradient[shape.conv_weight + c * taps + k] += static_cast<T>(norm.gain * d_weight);
    }
  }

 private:
  static constexpr int kMaxSplits = 64;
};

// Sets matrix [K, K] and constant [K] of what bn1 subtracts from the gradient of images: constant[k] + sum_l matrix[k,
// l] x_l(p) at pixel p + k, for all positions p. For each i of K K + K.
template <typename T>
struct MapCorrectionBody {
  static constexpr int kThreads = 64;
  ConveView<T> view;
  const MapSlopes* slopes;
  T* matrix;  // [K, K], then constant [K]

  RUTILE_DEVICE void operator()(int64_t i) const {
    const int taps = view.conv.taps;
    const T* const weight = view.parameters + view.shape.conv_weight;
    const bool is_constant = i >= static_cast<int64_t>(taps) * taps;
    const int k = static_cast<int>(is_constant ? i - static_cast<int64_t>(taps) * taps : i / taps);
    const int l = static_cast<int>(i % taps);
    double sum = 0;
    for (int c = 0; c < view.conv.channels; ++c) {
      const T* const w = weight + c * taps;
      sum += static_cast<double>(w[k]) *
             (is_constant ? slopes[c].constant : slopes[c].of_patch * static_cast<double>(w[l]));
    }
    matrix[i] = static_cast<T>(sum);
  }
};

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_GPU_BODIES_CONVE_MAP_BODIES_INL_H_
