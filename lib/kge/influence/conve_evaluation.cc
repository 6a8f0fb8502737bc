#include "lib/kge/influence/conve_evaluation.h"

#include <algorithm>
#include <type_traits>

#include "lib/base/logging.h"
#include "lib/base/round_up.h"
#include "lib/kge/layers/conve/conv_example_passes.h"
#include "lib/kge/layers/conve/conve_image.h"
#include "lib/kge/layers/workspace.h"
#include "lib/matrix/factor_rounding.h"

namespace rutile {
namespace {

// Examples that a thread computes at a time.
constexpr int64_t kPiece = 16;
// Examples that a thread computes at a time with AMX. Their sums over positions and gradients of images, 1.5 MB with
// 200 dimensions, move between caches, and weights are read again for each piece.
constexpr int64_t kAmxPiece = 512;
// Channels whose gradients are in memory at once: a multiple of kChannels, on which passes work well, with at most
// kGroup numbers for each example unless kChannels have more.
constexpr int64_t kChannels = 8;
constexpr int64_t kGroup = 3200;
// With fewer dimensions than this, skipping zeros in fc's products takes longer than multiplying them.
constexpr int64_t kSparseDim = 64;

}  // namespace

template <typename T>
ConveEvaluation<T>::ConveEvaluation(const KgeShape& shape, const T* parameters, bool bf16, ThreadPool* pool)
    : shape_(shape),
      at_(shape.offsets()),
      columns_(shape),
      conv_(ConvShapeOf(shape)),
      parameters_(parameters),
      pool_(pool),
      bf16_(bf16),
      is_dense_(!bf16 && shape.dim() < kSparseDim),
      group_channels_(std::max<int64_t>(kGroup / conv_.map_size() / kChannels, 1) * kChannels),
      // Scratch memory is whole cache lines for a pass and the sums of a piece.
      scratch_size_(RoundUp(ConvScratchSize(conv_) + kPiece * conv_.channels * (conv_.taps() + 1), 16)),
      bn0_(2 * shape.dim(), 1),
      bn1_(conv_.channels, conv_.channels),
      bn2_(shape.dim(), shape.dim()),
      products_(bf16 ? FactorRounding::kBf16 : FactorRounding::kNone, pool) {
  products_.SetRounding(bf16);
  Take<T>(&scratch_, NumWorkers(pool) * scratch_size_);
  FoldNorms();
  const int64_t d = shape.dim(), features = shape.num_features(), group = group_channels_ * conv_.map_size();
  const T* const fc = parameters + at_.fc_weight;
  if (is_dense_) return;
  fc_tiles_ = Tensor::Zeros(DTypeOf<T>(), {SparseTilesSize<T>(d, features)});
  PackSparseTiles<T>(fc, d, features, features, fc_tiles_.mutable_values<T>().data());
  if (bf16) {
    if constexpr (std::is_same_v<T, float>) {
      if (!AmxConveFits(conv_)) return;
      amx_forward_.emplace(conv_, weight_.data(), bias_.data(), fc, d);
      amx_backward_.emplace(conv_, weight_.data(), fc, d);
      amx_memory_.resize(NumWorkers(pool));
    }
    return;
  }
  const int64_t width = SparsePanelColumns<T>();
  group_size_ = NumPieces(group, width) * width * d;
  fc_panels_ = Tensor::Zeros(DTypeOf<T>(), {NumPieces(features, group) * group_size_});
  for (int64_t first = 0; first < features; first += group) {
    PackSparsePanels<T>(fc + first, d, std::min(group, features - first), features,
                        fc_panels_.mutable_values<T>().data() + first / group * group_size_);
  }
}

template <typename T>
void ConveEvaluation<T>::FoldNorms() {
  const T* const p = parameters_;
  if (shape_.has_input_norm()) {
    bn0_.UseRunning(p + at_.bn0_mean, p + at_.bn0_variance, ParameterAt(p, at_.bn0_weight),
                    ParameterAt(p, at_.bn0_bias));
  }
  bn1_.UseRunning(p + at_.bn1_mean, p + at_.bn1_variance, ParameterAt(p, at_.bn1_weight), ParameterAt(p, at_.bn1_bias));
  bn2_.UseRunning(p + at_.bn2_mean, p + at_.bn2_variance, ParameterAt(p, at_.bn2_weight), ParameterAt(p, at_.bn2_bias));
  const int64_t taps = conv_.taps();
  for (int64_t c = 0; c < conv_.channels; ++c) {
    for (int64_t k = 0; k < taps; ++k) {
      weight_.push_back(static_cast<T>(static_cast<double>(p[at_.conv_weight + c * taps + k]) * bn1_.gain()[c]));
    }
    const double bias = at_.conv_bias < 0 ? 0 : static_cast<double>(p[at_.conv_bias + c]);
    gain_.push_back(static_cast<T>(bn1_.gain()[c]));
    tap_gain_.insert(tap_gain_.end(), taps, gain_.back());
    inverse_.push_back(static_cast<T>(bn1_.inverse()[c]));
    center_.push_back(static_cast<T>(bias - bn1_.mean()[c]));
    bias_.push_back(static_cast<T>((bias - bn1_.mean()[c]) * bn1_.gain()[c] + bn1_.shift()[c]));
  }
}

template <typename T>
void ConveEvaluation<T>::StackImages(absl::Span<const int32_t> head, absl::Span<const int32_t> relation) {
  const int64_t d = shape_.dim(), size = static_cast<int64_t>(head.size());
  raw_ = Take<T>(&raw_memory_, size * 2 * d);
  for (int64_t e = 0; e < size; ++e) {
    const T* const h = parameters_ + at_.entity + head[e] * d;
    const T* const r = parameters_ + at_.relation + relation[e] * d;
    T* const image = raw_ + e * 2 * d;
    ForRowsOfImage(shape_, [&](bool of_relation, int64_t to, int64_t from, int64_t n) {
      std::copy_n((of_relation ? r : h) + from, n, image + to);
    });
  }
  images_ = raw_;
  if (!shape_.has_input_norm()) return;
  images_ = Take<T>(&image_memory_, size * 2 * d);
  bn0_.Forward(raw_, size, images_);
}

template <typename T>
void ConveEvaluation<T>::Forward(absl::Span<const int32_t> head, absl::Span<const int32_t> relation, T* maps, T* v) {
  const int64_t size = static_cast<int64_t>(head.size()), d = shape_.dim(), features = shape_.num_features();
  StackImages(head, relation);
  ForPieces(pool_, size, kPiece, [&](int64_t begin, int64_t end, int worker) {
    ConvForward<T>(conv_, end - begin, images_ + begin * 2 * d, weight_.data(), bias_.data(), /*scales=*/nullptr,
                   Scratch(worker), maps + begin * features);
  });
  const int64_t padded = is_dense_ ? d : SparseColumns<T>(d);
  T* const sums = Take<T>(&sum_memory_, size * padded);
  if (is_dense_) {
    const MatrixView<T> weight = {parameters_ + at_.fc_weight, d, features, features};
    products_.Multiply({maps, size, features, features}, weight.Transposed(), /*add=*/false, sums, d);
    return FinishForward(sums, size, d, v);
  }
  // A row's bits do not depend on the division into pieces. Each piece reads all weights.
  ForPieces(pool_, size, NumPieces(size, NumWorkers(pool_)), [&](int64_t begin, int64_t end, int) {
    MultiplySparse<T>(maps + begin * features, end - begin, features, features, fc_tiles_.values<T>().data(), d,
                      sums + begin * padded);
  });
  FinishForward(sums, size, padded, v);
}

template <typename T>
void ConveEvaluation<T>::SetTestMaps(const T* maps, int64_t rows) {
  CHECK(HasForwardWithoutMaps());
  if constexpr (std::is_same_v<T, float>) amx_forward_->SetMapRows(maps, rows);
}

template <typename T>
void ConveEvaluation<T>::ForwardWithoutMaps(absl::Span<const int32_t> head, absl::Span<const int32_t> relation, T* v,
                                            T* squares, T* products) {
  CHECK(HasForwardWithoutMaps());
  const int64_t size = static_cast<int64_t>(head.size()), d = shape_.dim(), words = AmxMapWords(conv_);
  StackImages(head, relation);
  T* const sums = Take<T>(&sum_memory_, size * d);
  if (static_cast<int64_t>(positive_.size()) < size * words) positive_.resize(size * words);
  if constexpr (std::is_same_v<T, float>) {
    const int64_t num_maps = amx_forward_->num_map_rows();
    ForPieces(pool_, size, NumPieces(size, NumWorkers(pool_)), [&](int64_t begin, int64_t end, int worker) {
      amx_forward_->Run(images_ + begin * 2 * d, end - begin,
                        {sums + begin * d, products == nullptr ? nullptr : products + begin * num_maps,
                         positive_.data() + begin * words, squares == nullptr ? nullptr : squares + begin},
                        &amx_memory_[worker]);
    });
  }
  FinishForward(sums, size, d, v);
}

template <typename T>
void ConveEvaluation<T>::FinishForward(const T* sums, int64_t size, int64_t padded, T* v) {
  const int64_t d = shape_.dim();
  fc_ = Take<T>(&fc_memory_, size * d);
  const T* const bias = parameters_ + at_.fc_bias;
  for (int64_t e = 0; e < size; ++e) {
    for (int64_t j = 0; j < d; ++j) fc_[e * d + j] = sums[e * padded + j] + bias[j];
  }
  bn2_.Forward(fc_, size, v);
  for (int64_t i = 0; i < size * d; ++i) v[i] = v[i] < 0 ? T(0) : v[i];  // NaN stays NaN
}

template <typename T>
void ConveEvaluation<T>::Backward(absl::Span<const int32_t> key, const T* maps, const T* v, const T* d_v,
                                  const ConveGradients<T>& gradients) {
  const int64_t size = static_cast<int64_t>(key.size()), d = shape_.dim(), q = columns_.size;
  std::vector<T> gain(d), inverse(d), mean(d);
  for (int64_t j = 0; j < d; ++j) {
    gain[j] = static_cast<T>(bn2_.gain()[j]);
    inverse[j] = static_cast<T>(bn2_.inverse()[j]);
    mean[j] = static_cast<T>(bn2_.mean()[j]);
  }
  ForPieces(pool_, size, kPiece, [&](int64_t begin, int64_t end, int) {
    for (int64_t e = begin; e < end; ++e) {
      const T *const fc = fc_ + key[e] * d, *const hidden = v + key[e] * d, *const dv = d_v + e * d;
      T* const d_fc = gradients.d_fc + e * d;
      T* const d_weight = columns_.bn2_weight < 0 ? nullptr : gradients.small + e * q + columns_.bn2_weight;
      T* const d_bias = columns_.bn2_bias < 0 ? nullptr : gradients.small + e * q + columns_.bn2_bias;
      // These loops are separate, so that the compiler vectorizes them.
      for (int64_t j = 0; j < d; ++j) d_fc[j] = hidden[j] > 0 ? dv[j] : T(0);
      for (int64_t j = 0; d_weight != nullptr && j < d; ++j) d_weight[j] = d_fc[j] * ((fc[j] - mean[j]) * inverse[j]);
      if (d_bias != nullptr) std::copy_n(d_fc, d, d_bias);
      for (int64_t j = 0; j < d; ++j) d_fc[j] *= gain[j];
    }
  });
  if (gradients.d_head == nullptr) return;
  d_images_ = Take<T>(&d_image_memory_, size * 2 * d);
  if (maps == nullptr) {
    BackwardOnAmx(key, gradients);
    return BackwardImages(key, gradients);
  }
  std::fill_n(d_images_, size * 2 * d, T(0));
  if (!bf16_ && !is_dense_) {
    slopes_.Clear();
    for (int64_t e = 0, end = 0; e < size; e = end) {
      while (end < size && key[end] == key[e]) ++end;
      slopes_.Add(v + key[e] * d, gradients.d_fc + e * d, end - e, d, d);
    }
  }
  for (int64_t first = 0; first < conv_.channels; first += group_channels_) {
    BackwardChannels(key, maps, first, gradients);
  }
  BackwardImages(key, gradients);
}

template <typename T>
void ConveEvaluation<T>::BackwardFc(int64_t first, int64_t channels, int64_t size, const T* d_fc, int64_t stride,
                                    T* d_maps) {
  const int64_t d = shape_.dim(), positions = conv_.map_size(), features = shape_.num_features();
  if (bf16_ || is_dense_) {
    const T* const weight = parameters_ + at_.fc_weight + first * positions;
    return products_.Multiply({d_fc, size, d, d}, {weight, d, channels * positions, features}, /*add=*/false, d_maps,
                              stride);
  }
  const int64_t panels = stride / SparsePanelColumns<T>();
  const T* const weights = fc_panels_.values<T>().data() + first / group_channels_ * group_size_;
  ForPieces(pool_, panels, NumPieces(panels, NumWorkers(pool_)), [&](int64_t begin, int64_t end, int) {
    MultiplySparseRows<T>(slopes_, weights, d, begin, end, d_maps, stride);
  });
}

template <typename T>
void ConveEvaluation<T>::BackwardChannels(absl::Span<const int32_t> key, const T* maps, int64_t first,
                                          const ConveGradients<T>& gradients) {
  const int64_t size = static_cast<int64_t>(key.size()), d = shape_.dim(), taps = conv_.taps();
  const int64_t positions = conv_.map_size(), channels = std::min(group_channels_, conv_.channels - first);
  const int64_t width = SparsePanelColumns<T>(), stride = NumPieces(channels * positions, width) * width;
  T* const d_maps = Take<T>(&d_map_memory_, size * stride);
  BackwardFc(first, channels, size, gradients.d_fc, stride, d_maps);
  ConvShape some = conv_;
  some.channels = channels;
  ForPieces(pool_, size, kPiece, [&](int64_t begin, int64_t end, int worker) {
    T* const weight_sums = Scratch(worker) + ConvScratchSize(conv_);
    T* const sums = weight_sums + kPiece * channels * taps;
    ConvBackwardEach<T>(some, end - begin, key.data() + begin, images_, weight_.data() + first * taps,
                        maps + first * positions, shape_.num_features(), d_maps + begin * stride, stride,
                        Scratch(worker), weight_sums, sums, d_images_ + begin * 2 * d);
    for (int64_t e = begin; e < end; ++e) {
      AddSmallGradients(first, channels, weight_sums + (e - begin) * channels * taps, sums + (e - begin) * channels,
                        gradients.small + e * columns_.size);
    }
  });
}

template <typename T>
void ConveEvaluation<T>::BackwardOnAmx(absl::Span<const int32_t> key, const ConveGradients<T>& gradients) {
  CHECK(amx_backward_.has_value());
  const int64_t size = static_cast<int64_t>(key.size()), d = shape_.dim(), numbers = conv_.channels * conv_.taps();
  T* const sums = Take<T>(&sum_memory_, size * (numbers + conv_.channels));
  const int64_t grain = std::min(kAmxPiece, NumPieces(size, NumWorkers(pool_)));
  ForPieces(pool_, size, grain, [&](int64_t begin, int64_t end, int worker) {
    T* const weight_sums = sums + begin * (numbers + conv_.channels);
    T* const map_sums = weight_sums + (end - begin) * numbers;
    if constexpr (std::is_same_v<T, float>) {
      amx_backward_->Run({begin, end, key.data(), images_, positive_.data(), gradients.d_fc},
                         {weight_sums, map_sums, d_images_ + begin * 2 * d}, &amx_memory_[worker]);
    }
    for (int64_t e = begin; e < end; ++e) {
      AddSmallGradients(0, conv_.channels, weight_sums + (e - begin) * numbers, map_sums + (e - begin) * conv_.channels,
                        gradients.small + e * columns_.size);
    }
  });
}

// With z = sum_k w_k x_k + bias, sums of dy x_k and of dy determine all gradients.
template <typename T>
void ConveEvaluation<T>::AddSmallGradients(int64_t first, int64_t channels, T* weight_sums, const T* sums,
                                           T* small) const {
  const int64_t taps = conv_.taps();
  T* const d_weight = small + columns_.conv_weight + first * taps;
  const T* const gains = tap_gain_.data() + first * taps;
  const T* const weights = parameters_ + at_.conv_weight + first * taps;
  // These loops have no sums, so that the compiler vectorizes them.
  for (int64_t i = 0; i < channels * taps; ++i) d_weight[i] = gains[i] * weight_sums[i];
  for (int64_t i = 0; i < channels * taps; ++i) weight_sums[i] *= weights[i];
  for (int64_t k = 0; k < channels; ++k, weight_sums += taps) {
    const int64_t c = first + k;
    const T gain = gain_[c], dy = sums[k];
    T dy_z = center_[c] * dy;
    for (int64_t t = 0; t < taps; ++t) dy_z += weight_sums[t];
    if (columns_.conv_bias >= 0) small[columns_.conv_bias + c] = gain * dy;
    if (columns_.bn1_weight >= 0) small[columns_.bn1_weight + c] = dy_z * inverse_[c];
    if (columns_.bn1_bias >= 0) small[columns_.bn1_bias + c] = dy;
  }
}

// Sums are in fp64, in separate lanes so that the compiler vectorizes them.
template <typename T>
void ConveEvaluation<T>::BackwardInputNorm(const T* x, T* small, T* d_image) const {
  constexpr int kLanes = 8;
  double sums[kLanes] = {}, products[kLanes] = {};
  const int64_t n = 2 * shape_.dim();
  const double mean = bn0_.mean()[0];
  int64_t i = 0;
  const auto add = [&](int lane, int64_t at) {
    const double slope = static_cast<double>(d_image[at]);
    sums[lane] += slope;
    products[lane] += slope * (static_cast<double>(x[at]) - mean);
  };
  for (; i + kLanes <= n; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) add(l, i + l);
  }
  for (; i < n; ++i) add(0, i);
  for (int l = 1; l < kLanes; ++l) {
    sums[0] += sums[l];
    products[0] += products[l];
  }
  small[columns_.bn0_weight] = static_cast<T>(products[0] * bn0_.inverse()[0]);
  small[columns_.bn0_bias] = static_cast<T>(sums[0]);
  const T gain = static_cast<T>(bn0_.gain()[0]);
  for (int64_t k = 0; k < n; ++k) d_image[k] *= gain;
}

template <typename T>
void ConveEvaluation<T>::BackwardImages(absl::Span<const int32_t> key, const ConveGradients<T>& gradients) {
  const int64_t d = shape_.dim();
  ForPieces(pool_, static_cast<int64_t>(key.size()), kPiece, [&](int64_t begin, int64_t end, int) {
    for (int64_t e = begin; e < end; ++e) {
      T* const image = d_images_ + e * 2 * d;
      if (shape_.has_input_norm()) BackwardInputNorm(raw_ + key[e] * 2 * d, gradients.small + e * columns_.size, image);
      T *const head = gradients.d_head + e * d, *const relation = gradients.d_relation + e * d;
      ForRowsOfImage(shape_, [&](bool of_relation, int64_t from, int64_t to, int64_t count) {
        std::copy_n(image + from, count, (of_relation ? relation : head) + to);
      });
    }
  });
}

template class ConveEvaluation<float>;
template class ConveEvaluation<double>;

}  // namespace rutile
