// Statistics of bn0 and bn1: sums over each image, then over images.
//
// bn1's follow from the means and covariances of patches, as in lib/kge/layers/conve/conv_passes.h, so that no pass
// over maps is needed for them. Means come before deviations everywhere: no digits cancel.

#ifndef RUTILE_LIB_KGE_GPU_BODIES_CONVE_STATISTICS_BODIES_INL_H_
#define RUTILE_LIB_KGE_GPU_BODIES_CONVE_STATISTICS_BODIES_INL_H_

#include <cstdint>

#include "lib/gpu/block.h"
#include "lib/gpu/device_function.h"
#include "lib/kge/gpu/bodies/block_sums-inl.h"
#include "lib/kge/gpu/conve_view-inl.h"

namespace rutile {

// Copies running statistics. For each i in [0, 1 + C + d).
template <typename T>
struct RunningStatisticsBody {
  static constexpr int kThreads = 256;
  ConveView<T> view;

  RUTILE_DEVICE void operator()(int64_t i) const {
    const KgeStepShape& shape = view.shape;
    if (i == 0) {
      if (shape.has_input_norm) Copy(view.layout.bn0, 1, shape.bn0_mean, shape.bn0_variance, 0);
    } else if (i <= shape.channels) {
      Copy(view.layout.bn1, shape.channels, shape.bn1_mean, shape.bn1_variance, i - 1);
    } else {
      Copy(view.layout.bn2, shape.dim, shape.bn2_mean, shape.bn2_variance, i - 1 - shape.channels);
    }
  }
  RUTILE_DEVICE void Copy(int64_t at, int64_t count, int64_t mean, int64_t variance, int64_t c) const {
    view.statistics[at + c] = static_cast<double>(view.parameters[mean + c]);
    view.statistics[at + count + c] = static_cast<double>(view.parameters[variance + c]);
  }
};

// Sets of_example [B, 2] to the mean of each raw image, and the sum of its squared deviations from it. A block for each
// example.
template <typename T>
struct ImageMomentsBody {
  static constexpr int kThreads = 128;
  ConveView<T> view;
  double* of_example;

  static int64_t SharedBytes(const ConvSizes& conv) {
    return conv.image * static_cast<int64_t>(sizeof(T)) + kSplits * static_cast<int64_t>(sizeof(double));
  }
  RUTILE_DEVICE void operator()(const Block& block) const {
    double* const sums = static_cast<double*>(block.shared);
    T* const raw = reinterpret_cast<T*>(sums + kSplits);
    const int n = view.conv.image;
    for (int i = block.thread; i < n; i += block.threads) raw[i] = view.RawPixel(block.index, i);
    BlockSums(block, 1, kSplits, sums, [&](int, int split) {
      double sum = 0;
      for (int i = split; i < n; i += kSplits) sum += static_cast<double>(raw[i]);
      return sum;
    });
    const double mean = sums[0] / n;
    BlockSums(block, 1, kSplits, sums, [&](int, int split) {
      double sum = 0;
      for (int i = split; i < n; i += kSplits) {
        const double y = static_cast<double>(raw[i]) - mean;
        sum += y * y;
      }
      return sum;
    });
    if (block.thread != 0) return;
    of_example[2 * block.index] = mean;
    of_example[2 * block.index + 1] = sums[0];
  }

 private:
  static constexpr int kSplits = 128;
};

// Sets the statistics of bn0 from those of the examples. One block.
template <typename T>
struct InputNormBody {
  static constexpr int kThreads = 256;
  ConveView<T> view;
  const double* of_example;

  static int64_t SharedBytes() { return kMaxBlockSums * static_cast<int64_t>(sizeof(double)); }
  RUTILE_DEVICE void operator()(const Block& block) const {
    double* const sums = static_cast<double*>(block.shared);
    const int64_t size = view.size;
    const int splits = static_cast<int>(size < kThreads ? size : kThreads);
    const auto n = static_cast<double>(view.conv.image);
    BlockSums(block, 1, splits, sums, [&](int, int split) {
      double sum = 0;
      for (int64_t e = split; e < size; e += splits) sum += of_example[2 * e];
      return sum;
    });
    const double mean = sums[0] / static_cast<double>(size);
    BlockSums(block, 1, splits, sums, [&](int, int split) {
      double sum = 0;
      for (int64_t e = split; e < size; e += splits) {
        const double y = of_example[2 * e] - mean;
        sum += of_example[2 * e + 1] + n * y * y;
      }
      return sum;
    });
    if (block.thread != 0) return;
    view.statistics[view.layout.bn0] = mean;
    view.statistics[view.layout.bn0 + 1] = sums[0] / (n * static_cast<double>(size));
  }
};

// Products of two taps k <= l are numbered k K - k (k - 1) / 2 + l - k.
RUTILE_DEVICE inline void TapsOfProduct(int i, int taps, int* k, int* l) {
  *k = 0;
  while (i >= taps - *k) i -= taps - (*k)++;
  *l = *k + i;
}
inline int64_t NumPatchMoments(const ConvSizes& conv) {
  return conv.taps + static_cast<int64_t>(conv.taps) * (conv.taps + 1) / 2;
}

// Sets of_example [B, NumPatchMoments] to the means [K] over positions of each image's patches, and to the sums of
// products of their deviations. A block for each example.
template <typename T>
struct PatchMomentsBody {
  static constexpr int kThreads = 256;
  ConveView<T> view;
  double* of_example;
  int64_t stride;  // NumPatchMoments

  static int64_t SharedBytes(const ConvSizes& conv) {
    return static_cast<int64_t>(sizeof(double)) * kMaxBlockSums + static_cast<int64_t>(sizeof(T)) * conv.image;
  }
  RUTILE_DEVICE void operator()(const Block& block) const {
    double* const sums = static_cast<double*>(block.shared);
    T* const image = reinterpret_cast<T*>(sums + kMaxBlockSums);
    const ConvSizes& conv = view.conv;
    double* const mean = of_example + block.index * stride;
    double* const products = mean + conv.taps;
    view.LoadImage(block, block.index, image);
    ForItems(block, conv.taps, sums, mean, 1.0 / conv.positions, [&](int k) { return Tap{image + conv.OffsetOf(k)}; });
    block.Sync();  // the means are there
    ForItems(block, static_cast<int>(stride - conv.taps), sums, products, 1, [&](int i) {
      int k, l;
      TapsOfProduct(i, conv.taps, &k, &l);
      return Product{image + conv.OffsetOf(k), image + conv.OffsetOf(l), mean[k], mean[l]};
    });
  }

 private:
  struct Tap {
    const T* x;
    RUTILE_DEVICE double operator()(int p) const { return static_cast<double>(x[p]); }
  };
  struct Product {
    const T *x, *y;
    double x_mean, y_mean;
    RUTILE_DEVICE double operator()(int p) const {
      return (static_cast<double>(x[p]) - x_mean) * (static_cast<double>(y[p]) - y_mean);
    }
  };
  // Sets to[i] to factor times the sum over all first pixels p of patches of term_of(i)(p).
  template <typename TermOf>
  RUTILE_DEVICE void ForItems(const Block& block, int items, double* sums, double* to, double factor,
                              const TermOf& term_of) const {
    const ConvSizes& conv = view.conv;
    for (int first = 0; first < items; first += kItems) {
      const int count = items - first < kItems ? items - first : kItems;
      const int splits = SplitsOf(count, conv.map_height);
      BlockSums(block, count, splits, sums, [&](int i, int split) {
        const auto term = term_of(first + i);
        double sum = 0;
        for (int y = split; y < conv.map_height; y += splits) {
          for (int x = 0; x < conv.map_width; ++x) sum += term(y * conv.width + x);
        }
        return sum;
      });
      for (int i = block.thread; i < count; i += block.threads) to[first + i] = factor * sums[i];
    }
  }
  static constexpr int kItems = 512;
};

// Sets the batch's statistics of patches from those of the examples, and those of bn1 from them. One block.
template <typename T>
struct MapNormBody {
  static constexpr int kThreads = 1024;
  ConveView<T> view;
  const double* of_example;
  int64_t stride;
  PatchStatistics patches;

  static int64_t SharedBytes() { return kMaxBlockSums * static_cast<int64_t>(sizeof(double)); }
  RUTILE_DEVICE void operator()(const Block& block) const {
    double* const sums = static_cast<double*>(block.shared);
    const int64_t size = view.size;
    const int taps = view.conv.taps, positions = view.conv.positions, channels = view.conv.channels;
    ForItems(
        block, taps, size, sums,
        [&](int k, int split, int splits) {
          double sum = 0;
          for (int64_t e = split; e < size; e += splits) sum += of_example[e * stride + k];
          return sum;
        },
        [&](int k, double sum) { patches.mean[k] = sum / static_cast<double>(size); });
    block.Sync();
    ForItems(
        block, static_cast<int>(stride - taps), size, sums,
        [&](int i, int split, int splits) {
          int k, l;
          TapsOfProduct(i, taps, &k, &l);
          double sum = 0;
          for (int64_t e = split; e < size; e += splits) {
            const double* const moments = of_example + e * stride;
            sum += moments[taps + i] + positions * ((moments[k] - patches.mean[k]) * (moments[l] - patches.mean[l]));
          }
          return sum;
        },
        [&](int i, double sum) {
          int k, l;
          TapsOfProduct(i, taps, &k, &l);
          sum /= static_cast<double>(size) * positions;
          patches.covariance[k * taps + l] = patches.covariance[l * taps + k] = sum;
        });
    block.Sync();
    const T* const weight = view.parameters + view.shape.conv_weight;
    double* const mean = view.statistics + view.layout.bn1;
    ForItems(
        block, channels, taps, sums,
        [&](int c, int split, int splits) {
          double sum = 0;
          for (int k = split; k < taps; k += splits) sum += static_cast<double>(weight[c * taps + k]) * patches.mean[k];
          return sum;
        },
        [&](int c, double sum) { mean[c] = view.ConvBias(c) + sum; });
    ForItems(
        block, channels, taps, sums,
        [&](int c, int split, int splits) {
          double sum = 0;
          for (int k = split; k < taps; k += splits) {
            double row = 0;
            for (int l = 0; l < taps; ++l) {
              row += static_cast<double>(weight[c * taps + l]) * patches.covariance[k * taps + l];
            }
            sum += static_cast<double>(weight[c * taps + k]) * row;
          }
          return sum;
        },
        [&](int c, double sum) { mean[channels + c] = sum < 0 ? 0 : sum; });
  }

 private:
  // Calls store(i, the sum of part(i, s, splits) over s) for each item.
  template <typename Part, typename Store>
  RUTILE_DEVICE static void ForItems(const Block& block, int items, int64_t terms, double* sums, const Part& part,
                                     const Store& store) {
    for (int first = 0; first < items; first += kItems) {
      const int count = items - first < kItems ? items - first : kItems;
      const int splits = SplitsOf(count, terms < kMaxSplits ? terms : kMaxSplits);
      BlockSums(block, count, splits, sums, [&](int i, int split) { return part(first + i, split, splits); });
      for (int i = block.thread; i < count; i += block.threads) store(first + i, sums[i]);
    }
  }
  static constexpr int kItems = 512, kMaxSplits = 64;
};

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_GPU_BODIES_CONVE_STATISTICS_BODIES_INL_H_
