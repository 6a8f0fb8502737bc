// What all kernels of ConvE's layers read: sizes, parameters, a batch, its dropout masks and the statistics of norms.
// Images are not stored: they are computed from the rows of embeddings where they are needed.

#ifndef RUTILE_LIB_KGE_GPU_CONVE_VIEW_INL_H_
#define RUTILE_LIB_KGE_GPU_CONVE_VIEW_INL_H_

#include <cmath>
#include <cstdint>

#include "lib/gpu/block.h"
#include "lib/gpu/device_function.h"
#include "lib/kge/gpu/bodies/dropout_bodies-inl.h"
#include "lib/kge/gpu/kge_step_shape.h"

namespace rutile {

// Where the statistics of norms are in an array of doubles: for each norm the means of its channels, then the variances
// (over n) that normalize. A batch's are its own, in evaluation they are copies of the running ones. Those of bn0 are
// unspecified if the model does not have it.
struct ConveStatisticsLayout {
  explicit ConveStatisticsLayout(const KgeStepShape& shape)
      : bn1(2), bn2(2 + 2 * shape.channels), size(2 + 2 * shape.channels + 2 * shape.dim) {}
  int64_t bn0 = 0, bn1, bn2, size;
};

// Dropout of one layer; a null key drops nothing.
template <typename T>
struct ConveMask {
  const uint64_t* key = nullptr;  // [B]
  DropoutRate<T> rate = {};

  // Returns the factor of element k of example e.
  RUTILE_DEVICE T At(int64_t e, int64_t k) const { return key == nullptr ? T(1) : DropoutScale(key[e], rate, k); }
};

// Divides by a number that the compiler does not know, in fewer instructions than /. n >= 0 and n divisor < 2^32.
struct Division {
  uint64_t factor;
  explicit Division(int64_t divisor) : factor(((uint64_t{1} << 32) + divisor - 1) / divisor) {}
  RUTILE_DEVICE int operator()(int n) const {
    return static_cast<int>((static_cast<uint64_t>(static_cast<uint32_t>(n)) * factor) >> 32);
  }
};

// Sizes of the convolution, as KgeStepShape has them. In gradients a map lies in a frame of zeros, so that each pixel
// has all taps.
struct ConvSizes {
  int image, width, kernel_height, kernel_width, taps, map_height, map_width, positions, channels;
  int frame_width, frame_size;
  Division by_width, by_map_width, by_frame_width, by_frame_size;

  explicit ConvSizes(const KgeStepShape& shape)
      : image(static_cast<int>(2 * shape.dim)),
        width(static_cast<int>(shape.image_width())),
        kernel_height(static_cast<int>(shape.kernel_height)),
        kernel_width(static_cast<int>(shape.kernel_width)),
        taps(kernel_height * kernel_width),
        map_height(static_cast<int>(shape.map_height())),
        map_width(static_cast<int>(shape.map_width())),
        positions(map_height * map_width),
        channels(static_cast<int>(shape.channels)),
        frame_width(map_width + 2 * (kernel_width - 1)),
        frame_size(frame_width * (map_height + 2 * (kernel_height - 1))),
        by_width(width),
        by_map_width(map_width),
        by_frame_width(frame_width),
        by_frame_size(frame_size) {}
  // Returns the offset of tap k from the first pixel of its patch.
  RUTILE_DEVICE int OffsetOf(int k) const { return k / kernel_width * width + k % kernel_width; }
};

// One channel of a norm: y = (x - mean) gain + shift, gain = weight inverse, inverse = 1 / sqrt(variance + epsilon).
struct NormChannel {
  double mean, inverse, gain, shift;
};

// The same in the precision of activations, as BatchNorm (lib/kge/layers/batch_norm.h) applies it.
template <typename T>
struct NormLine {
  T mean, gain, shift;
  RUTILE_DEVICE T operator()(T x) const { return (x - mean) * gain + shift; }
};

template <typename T>
struct ConveView {
  KgeStepShape shape;
  ConvSizes conv;
  ConveStatisticsLayout layout;
  int64_t size;  // B
  bool training;
  const T* parameters;
  const int32_t *head, *relation;
  ConveMask<T> input, channels, output;
  double* statistics;  // ConveStatisticsLayout

  ConveView(const KgeStepShape& the_shape, const T* the_parameters, const KgeDeviceBatch& batch, double* the_statistics)
      : shape(the_shape),
        conv(the_shape),
        layout(the_shape),
        size(batch.size),
        training(batch.training),
        parameters(the_parameters),
        head(batch.head),
        relation(batch.relation),
        statistics(the_statistics) {
    const auto mask = [&](KgeDropout layer, ConveMask<T>* to) {
      const double rate = shape.rate[layer];
      if (training && rate > 0) *to = {batch.mask_key[layer], MakeDropoutRate<T>(rate)};
    };
    mask(kDropInput, &input);
    mask(kDropFeatureMap, &channels);
    mask(kDropOutput, &output);
  }

  // Returns channel c of a norm with `count` channels whose statistics and parameters are at these offsets.
  RUTILE_DEVICE NormChannel NormOf(int64_t at, int64_t count, int64_t weight, int64_t bias, int64_t c) const {
    NormChannel norm;
    norm.mean = statistics[at + c];
    norm.inverse = 1 / sqrt(statistics[at + count + c] + shape.norm_epsilon);
    norm.gain = norm.inverse * (weight < 0 ? 1 : static_cast<double>(parameters[weight + c]));
    norm.shift = bias < 0 ? 0 : static_cast<double>(parameters[bias + c]);
    return norm;
  }
  RUTILE_DEVICE NormChannel Bn0() const { return NormOf(layout.bn0, 1, shape.bn0_weight, shape.bn0_bias, 0); }
  RUTILE_DEVICE NormChannel Bn1(int64_t c) const {
    return NormOf(layout.bn1, shape.channels, shape.bn1_weight, shape.bn1_bias, c);
  }
  RUTILE_DEVICE NormChannel Bn2(int64_t j) const {
    return NormOf(layout.bn2, shape.dim, shape.bn2_weight, shape.bn2_bias, j);
  }
  RUTILE_DEVICE static NormLine<T> LineOf(const NormChannel& norm) {
    return {static_cast<T>(norm.mean), static_cast<T>(norm.gain), static_cast<T>(norm.shift)};
  }
  RUTILE_DEVICE double ConvBias(int64_t c) const {
    return shape.conv_bias < 0 ? 0 : static_cast<double>(parameters[shape.conv_bias + c]);
  }

  // Sets *index to where in its row of embeddings pixel i of an image comes from. Returns true if that is the
  // relation's row, else it is the head's.
  RUTILE_DEVICE bool RowOfPixel(int i, int* index) const {
    const int d = static_cast<int>(shape.dim), w = static_cast<int>(shape.embedding_width);
    if (!shape.stacked_in_width) {
      *index = i < d ? i : i - d;
      return i >= d;
    }
    const int y = conv.by_width(i), x = i - y * conv.width;
    *index = y * w + (x < w ? x : x - w);
    return x >= w;
  }
  // Returns pixel i of example e as bn0 gets it.
  RUTILE_DEVICE T RawPixel(int64_t e, int i) const {
    int index;
    const bool of_relation = RowOfPixel(i, &index);
    const int64_t row = of_relation ? shape.relation + relation[e] * shape.dim : shape.entity + head[e] * shape.dim;
    const T x = parameters[row + index];
    return shape.drops_before_norm ? x * input.At(e, i) : x;
  }
  // Returns what the convolution gets from this raw pixel. norm: LineOf(Bn0()) if the model has bn0.
  RUTILE_DEVICE T PixelOf(T raw, const NormLine<T>& norm, int64_t e, int i) const {
    if (shape.has_input_norm) raw = norm(raw);
    return shape.drops_before_norm ? raw : raw * input.At(e, i);
  }
  RUTILE_DEVICE NormLine<T> InputNorm() const {
    return shape.has_input_norm ? LineOf(Bn0()) : NormLine<T>{T(0), T(1), T(0)};
  }
  // The threads of a block set image [2 d] to the image of example e. The caller syncs.
  RUTILE_DEVICE void LoadImage(const Block& block, int64_t e, T* image) const {
    const NormLine<T> norm = InputNorm();
    for (int i = block.thread; i < conv.image; i += block.threads) image[i] = PixelOf(RawPixel(e, i), norm, e, i);
  }

  // The threads of a block set weight [count, K] to those of channels from `first` on times bn1's gain, and bias
  // [count], unless it is null, to what is to be added. The caller syncs.
  RUTILE_DEVICE void LoadConv(const Block& block, int first, int count, T* weight, T* bias) const {
    const T* const from = parameters + shape.conv_weight + static_cast<int64_t>(first) * conv.taps;
    for (int i = block.thread; i < count * conv.taps; i += block.threads) {
      weight[i] = static_cast<T>(static_cast<double>(from[i]) * Bn1(first + i / conv.taps).gain);
    }
    for (int c = block.thread; bias != nullptr && c < count; c += block.threads) {
      const NormChannel norm = Bn1(first + c);
      bias[c] = static_cast<T>((ConvBias(first + c) - norm.mean) * norm.gain + norm.shift);
    }
  }
};

// The patches' statistics of a batch, from which those of bn1 follow (lib/kge/layers/conve/conv_passes.h).
struct PatchStatistics {
  double* mean;        // [K]
  double* covariance;  // [K, K]
};

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_GPU_CONVE_VIEW_INL_H_
