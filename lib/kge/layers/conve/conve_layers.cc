#include "lib/kge/layers/conve/conve_layers.h"

#include <algorithm>
#include <utility>

#include "lib/base/round_up.h"
#include "lib/kge/layers/conve/conve_image.h"
#include "lib/kge/layers/dropout.h"
#include "lib/kge/layers/workspace.h"
#include "lib/matrix/matrix_view.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

// Examples that a thread takes at a time; each piece has its own sums.
constexpr int64_t kPiece = 16;
// Examples whose gradients of maps are in memory at once.
constexpr int64_t kChunk = 256;

// Multiplies x by the mask, if there is one.
template <typename T>
void Scale(const T* mask, int64_t n, T* x) {
  for (int64_t i = 0; mask != nullptr && i < n; ++i) x[i] *= mask[i];
}

}  // namespace

template <typename T>
ConveLayers<T>::ConveLayers(const KgeShape& shape, ThreadPool* pool, FactorRounding factors)
    : shape_(shape),
      at_(shape.offsets()),
      conv_(ConvShapeOf(shape)),
      own_(conv_),
      pool_(pool),
      // Each thread's scratch memory is whole cache lines.
      scratch_size_(RoundUp(ConvScratchSize(conv_), 16)),
      products_(factors, pool),
      bn0_(2 * shape.dim(), 1),
      bn1_(conv_.channels, conv_.channels),
      bn2_(shape.dim(), shape.dim()) {
  Take<T>(&scratch_, NumWorkers(pool) * scratch_size_);
}

template <typename T>
void ConveLayers<T>::SetBatchSum(BatchSum sum) {
  sum_ = std::move(sum);
  norm_sum_ = nullptr;
  if (sum_) norm_sum_ = [this](absl::Span<double> values) { SumOfAll(values); };
}

template <typename T>
void ConveLayers<T>::SetShard(KgeShard* shard) {
  shard_ = shard;
  own_.channels = shard == nullptr ? conv_.channels : shard->channels().size();
  first_channel_ = shard == nullptr ? 0 : shard->channels().begin;
}

template <typename T>
void ConveLayers<T>::SumOfAll(absl::Span<double> values) {
  if (sum_ && status_.ok()) status_ = sum_(values);
}

template <typename T>
void ConveLayers<T>::DrawMasks(const KgeBatch& batch) {
  masks_ = Masks();
  if (!batch.training) return;
  const KgeOptions& options = shape_.options;
  const auto draw = [&](DropoutLayer layer, double rate, int64_t n, Tensor* memory) -> const T* {
    if (rate == 0) return nullptr;
    T* const masks = Take<T>(memory, batch.size() * n);
    ForPieces(pool_, batch.size(), kPiece, [&](int64_t begin, int64_t end, int) {
      for (int64_t e = begin; e < end; ++e) {
        FillDropout(options.seed, batch.epoch, batch.example[e], layer, rate, absl::MakeSpan(masks + e * n, n));
      }
    });
    return masks;
  };
  masks_.input = draw(DropoutLayer::kInput, options.input_dropout, 2 * shape_.dim(), &input_mask_);
  masks_.channels = draw(DropoutLayer::kFeatureMap, options.feature_map_dropout, conv_.channels, &channel_mask_);
  if (masks_.channels != nullptr && own_.channels < conv_.channels) {
    T* const masks = channel_mask_.mutable_values<T>().data();
    for (int64_t e = 0; e < batch.size(); ++e) {
      std::copy_n(masks + e * conv_.channels + first_channel_, own_.channels, masks + e * own_.channels);
    }
  }
  masks_.output = draw(DropoutLayer::kOutput, options.output_dropout, shape_.dim(), &output_mask_);
}

template <typename T>
void ConveLayers<T>::GatherImages(const T* parameters, const KgeBatch& batch, const BatchRows<T>& rows) {
  const int64_t d = shape_.dim();
  const bool mask_first = shape_.options.variant != ConveVariant::kDettmers;
  raw_ = Take<T>(&raw_memory_, batch.size() * 2 * d);
  ForPieces(pool_, batch.size(), kPiece, [&](int64_t begin, int64_t end, int) {
    for (int64_t e = begin; e < end; ++e) {
      const T* const head = RowOf(rows.heads, e, parameters + at_.entity, batch.head[e], d);
      const T* const relation = RowOf(rows.relations, e, parameters + at_.relation, batch.relation[e], d);
      T* const image = raw_ + e * 2 * d;
      ForRowsOfImage(shape_, [&](bool of_relation, int64_t to, int64_t from, int64_t n) {
        std::copy_n((of_relation ? relation : head) + from, n, image + to);
      });
      if (mask_first) Scale(ParameterAt(masks_.input, masks_.input == nullptr ? -1 : e * 2 * d), 2 * d, image);
    }
  });
}

template <typename T>
void ConveLayers<T>::NormImages(const T* parameters, const KgeBatch& batch) {
  if (!shape_.has_input_norm()) {
    images_ = raw_;
    return;
  }
  const T *const weight = ParameterAt(parameters, at_.bn0_weight), *const bias = ParameterAt(parameters, at_.bn0_bias);
  if (batch.training) {
    bn0_.UseBatch(raw_, batch.size(), weight, bias, norm_sum_);
  } else {
    bn0_.UseRunning(parameters + at_.bn0_mean, parameters + at_.bn0_variance, weight, bias);
  }
  images_ = Take<T>(&image_memory_, batch.size() * 2 * shape_.dim());
  bn0_.Forward(raw_, batch.size(), images_);
  if (shape_.options.variant == ConveVariant::kDettmers) Scale(masks_.input, batch.size() * 2 * shape_.dim(), images_);
}

template <typename T>
void ConveLayers<T>::FindMoments(int64_t size) {
  const int64_t taps = conv_.taps(), image = conv_.image_size(), stride = taps + taps * taps;
  // Products are those of distances from about the mean, so that their differences lose no digits.
  double total[] = {0, static_cast<double>(size * image)};
  for (int64_t i = 0; i < size * image; ++i) total[0] += static_cast<double>(images_[i]);
  SumOfAll(absl::MakeSpan(total));
  const double origin = static_cast<double>(static_cast<T>(total[0] / total[1]));
  piece_moments_.resize(NumPieces(size, kPiece) * stride);
  ForPieces(pool_, size, kPiece, [&](int64_t begin, int64_t end, int worker) {
    double* const sums = piece_moments_.data() + begin / kPiece * stride;
    PatchMoments(conv_, end - begin, images_ + begin * image, static_cast<T>(origin), Scratch(worker), sums,
                 sums + taps);
  });
  std::vector<double> sums(stride, 0);
  for (int64_t piece = 0; piece < NumPieces(size, kPiece); ++piece) {
    for (int64_t k = 0; k < stride; ++k) sums[k] += piece_moments_[piece * stride + k];
  }
  SumOfAll(absl::MakeSpan(sums));
  const double n = moments_.n = total[1] / static_cast<double>(image) * static_cast<double>(conv_.map_size());
  for (double& sum : sums) sum /= n;
  moments_.mean.assign(sums.begin(), sums.begin() + taps);
  moments_.covariance.assign(sums.begin() + taps, sums.end());
  for (int64_t k = 0; k < taps; ++k) {
    for (int64_t l = 0; l < taps; ++l) moments_.covariance[k * taps + l] -= moments_.mean[k] * moments_.mean[l];
  }
  for (double& mean : moments_.mean) mean += origin;
}

template <typename T>
void ConveLayers<T>::NormMaps(const T* parameters, const KgeBatch& batch) {
  const int64_t taps = conv_.taps(), channels = conv_.channels;
  const T *const weight = parameters + at_.conv_weight, *const conv_bias = ParameterAt(parameters, at_.conv_bias);
  const T *const gain = ParameterAt(parameters, at_.bn1_weight), *const shift = ParameterAt(parameters, at_.bn1_bias);
  if (batch.training) {
    FindMoments(batch.size());
    std::vector<double> mean(channels), variance(channels);
    for (int64_t c = 0; c < channels; ++c) {
      const T* const w = weight + c * taps;
      mean[c] = conv_bias == nullptr ? 0 : static_cast<double>(conv_bias[c]);
      for (int64_t k = 0; k < taps; ++k) {
        mean[c] += static_cast<double>(w[k]) * moments_.mean[k];
        for (int64_t l = 0; l < taps; ++l) {
          variance[c] += static_cast<double>(w[k]) * static_cast<double>(w[l]) * moments_.covariance[k * taps + l];
        }
      }
      variance[c] = std::max(variance[c], 0.0);
    }
    bn1_.Use(mean, variance, moments_.n, /*of_batch=*/true, gain, shift);
  } else {
    bn1_.UseRunning(parameters + at_.bn1_mean, parameters + at_.bn1_variance, gain, shift);
  }
  weight_.resize(channels * taps);
  bias_.resize(channels);
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t k = 0; k < taps; ++k) {
      weight_[c * taps + k] = static_cast<T>(static_cast<double>(weight[c * taps + k]) * bn1_.gain()[c]);
    }
    const double bias = conv_bias == nullptr ? 0 : static_cast<double>(conv_bias[c]);
    bias_[c] = static_cast<T>((bias - bn1_.mean()[c]) * bn1_.gain()[c] + bn1_.shift()[c]);
  }
}

template <typename T>
void ConveLayers<T>::MakeImages(const T* parameters, const KgeBatch& batch, const BatchRows<T>& rows) {
  const ProfileScope scope(Stage::kEmbedding);
  DrawMasks(batch);
  GatherImages(parameters, batch, rows);
  NormImages(parameters, batch);
}

template <typename T>
void ConveLayers<T>::MakeMaps(const T* parameters, const KgeBatch& batch) {
  const int64_t size = batch.size(), d = shape_.dim(), features = own_features();
  const ProfileScope scope(Stage::kConv);
  scope.Add(Counter::kFlop, 2 * size * features * conv_.taps());
  NormMaps(parameters, batch);
  maps_ = Take<T>(&map_memory_, size * features);
  if (features == 0) return;
  const T *const weight = weight_.data() + first_channel_ * conv_.taps(), *const bias = bias_.data() + first_channel_;
  ForPieces(pool_, size, kPiece, [&](int64_t begin, int64_t end, int worker) {
    const T* const scales = masks_.channels == nullptr ? nullptr : masks_.channels + begin * own_.channels;
    ConvForward(own_, end - begin, images_ + begin * 2 * d, weight, bias, scales, Scratch(worker),
                maps_ + begin * features);
  });
}

template <typename T>
void ConveLayers<T>::MultiplyMaps(const T* parameters, int64_t size) {
  const int64_t d = shape_.dim(), features = own_features();
  hidden_ = Take<T>(&hidden_memory_, size * d);
  if (features > 0) {
    const MatrixView<T> fc = {parameters + at_.fc_weight + first_feature(), d, features, shape_.num_features()};
    products_.Multiply({maps_, size, features, features}, fc.Transposed(), /*add=*/false, hidden_, d);
  } else {
    std::fill_n(hidden_, size * d, T(0));
  }
  if (shard_ != nullptr) shard_->Sum(&hidden_memory_);
}

template <typename T>
void ConveLayers<T>::Forward(const T* parameters, const KgeBatch& batch, T* v, const BatchRows<T>& rows) {
  const int64_t size = batch.size(), d = shape_.dim();
  products_.SetRounding(batch.training);
  MakeImages(parameters, batch, rows);
  MakeMaps(parameters, batch);
  const ProfileScope scope(Stage::kFc);
  scope.Add(Counter::kFlop, 2 * size * own_features() * d);
  MultiplyMaps(parameters, size);
  const T* const fc_bias = parameters + at_.fc_bias;
  for (int64_t e = 0; e < size; ++e) {
    for (int64_t j = 0; j < d; ++j) hidden_[e * d + j] += fc_bias[j];
  }
  Scale(masks_.output, size * d, hidden_);
  const T *const weight = ParameterAt(parameters, at_.bn2_weight), *const bias = ParameterAt(parameters, at_.bn2_bias);
  if (batch.training) {
    bn2_.UseBatch(hidden_, size, weight, bias, norm_sum_);
  } else {
    bn2_.UseRunning(parameters + at_.bn2_mean, parameters + at_.bn2_variance, weight, bias);
  }
  bn2_.Forward(hidden_, size, v);
  for (int64_t i = 0; i < size * d; ++i) v[i] = v[i] < 0 ? T(0) : v[i];
}

template <typename T>
BatchStatistics ConveLayers<T>::Statistics() const {
  BatchStatistics statistics;
  if (shape_.has_input_norm()) statistics.bn0 = bn0_.Statistics();
  statistics.bn1 = bn1_.Statistics();
  statistics.bn2 = bn2_.Statistics();
  return statistics;
}

template <typename T>
void ConveLayers<T>::Backward(const T* parameters, const KgeBatch& batch, const T* v, const T* d_v, T* gradient,
                              const BatchRowGradients<T>& d_rows, GradientObserver* observer, bool overwrite_fc) {
  const int64_t size = batch.size(), d = shape_.dim();
  T* const d_hidden = Take<T>(&d_hidden_memory_, size * d);
  for (int64_t i = 0; i < size * d; ++i) d_hidden[i] = v[i] > 0 ? d_v[i] : T(0);
  bn2_.Backward(hidden_, d_hidden, size, ParameterAt(gradient, at_.bn2_weight), ParameterAt(gradient, at_.bn2_bias),
                d_hidden, norm_sum_);
  Scale(masks_.output, size * d, d_hidden);
  BackwardMaps(parameters, size, d_hidden, gradient, observer, overwrite_fc);
  {
    const ProfileScope scope(Stage::kConv);
    BackwardConv(parameters, size, gradient);
  }
  const ProfileScope scope(Stage::kEmbedding);
  BackwardImages(batch, gradient, d_rows);
}

template <typename T>
void ConveLayers<T>::BackwardMaps(const T* parameters, int64_t size, const T* d_fc, T* gradient,
                                  GradientObserver* observer, bool overwrite_fc) {
  const int64_t d = shape_.dim(), features = own_features(), all_features = shape_.num_features();
  const int64_t taps = conv_.taps(), channels = own_.channels;
  const ProfileScope fc_scope(Stage::kFc);  // excludes the convolution inside
  fc_scope.Add(Counter::kFlop, 4 * size * features * d);
  for (int64_t j = 0; j < d; ++j) {
    double sum = 0;
    for (int64_t e = 0; e < size; ++e) sum += static_cast<double>(d_fc[e * d + j]);
    gradient[at_.fc_bias + j] += static_cast<T>(sum);
  }
  const MatrixView<T> slopes = {d_fc, size, d, d};
  if (features > 0) {
    products_.Multiply(slopes.Transposed(), {maps_, size, features, features}, /*add=*/!overwrite_fc,
                       gradient + at_.fc_weight + first_feature(), all_features);
  }
  if (observer != nullptr) observer->Finish({at_.fc_weight, at_.size});

  map_sums_.assign(conv_.channels * (taps + 1), 0);
  d_images_ =
      Take<T>(&d_image_memory_, size * 2 * d + (shard_ == nullptr ? 0 : 2 * static_cast<int64_t>(map_sums_.size())));
  const int64_t sums = channels * (taps + 1), pieces = NumPieces(std::min(size, kChunk), kPiece);
  T* const d_maps = Take<T>(&d_map_memory_, std::min(size, kChunk) * features);
  T* const piece_sums = Take<T>(&piece_memory_, pieces * sums);
  if (features == 0) std::fill_n(d_images_, size * 2 * d, T(0));
  for (int64_t first = 0; features > 0 && first < size; first += kChunk) {
    const int64_t here = std::min(kChunk, size - first);
    const MatrixView<T> fc = {parameters + at_.fc_weight + first_feature(), d, features, all_features};
    products_.Multiply({d_fc + first * d, here, d, d}, fc, /*add=*/false, d_maps, features);
    const ProfileScope scope(Stage::kConv);
    scope.Add(Counter::kFlop, 4 * here * features * taps);
    ForPieces(pool_, here, kPiece, [&](int64_t begin, int64_t end, int worker) {
      const int64_t e = first + begin;
      T* const of_piece = piece_sums + begin / kPiece * sums;
      ConvBackward(own_, end - begin, images_ + e * 2 * d, weight_.data() + first_channel_ * taps,
                   masks_.channels == nullptr ? nullptr : masks_.channels + e * channels, maps_ + e * features,
                   d_maps + begin * features, Scratch(worker), of_piece, of_piece + channels * taps,
                   d_images_ + e * 2 * d);
    });
    for (int64_t piece = 0; piece < NumPieces(here, kPiece); ++piece) {
      const T* const of_piece = piece_sums + piece * sums;
      double *const dy_x = map_sums_.data() + first_channel_ * taps, *const dy = map_sums_.data() +
                                                                                 conv_.channels * taps + first_channel_;
      for (int64_t i = 0; i < channels * taps; ++i) dy_x[i] += static_cast<double>(of_piece[i]);
      for (int64_t c = 0; c < channels; ++c) dy[c] += static_cast<double>(of_piece[channels * taps + c]);
    }
  }
  if (shard_ != nullptr) shard_->template Sum<T>(&d_image_memory_, absl::MakeSpan(map_sums_));
}

// Returns channel c's sums of dy and of dy zhat from its sums of dy x_k and of dy. With statistics of the batch all is
// relative to the mean patch, which the norm subtracts from z.
template <typename T>
typename ConveLayers<T>::MapSlopes ConveLayers<T>::SlopesOf(const T* parameters, const std::vector<double>& sums,
                                                            int64_t c) const {
  const int64_t taps = conv_.taps();
  const bool of_batch = bn1_.of_batch();
  const T *const w = parameters + at_.conv_weight + c * taps, *const conv_bias = ParameterAt(parameters, at_.conv_bias);
  const double* const dy_x = sums.data() + c * taps;
  const double dy = sums[conv_.channels * taps + c];
  const double offset = (conv_bias == nullptr ? 0 : static_cast<double>(conv_bias[c])) - bn1_.mean()[c];
  double dy_z = of_batch ? 0 : offset * dy;
  for (int64_t k = 0; k < taps; ++k) {
    dy_z += static_cast<double>(w[k]) * (dy_x[k] - (of_batch ? dy * moments_.mean[k] : 0));
  }
  return {dy, dy_z * bn1_.inverse()[c]};
}

// Computes gradients of conv and bn1 from these sums, as derived in conv_passes.h. Gradients are linear in the sums, so
// each process adds those of its share, while the norm's terms need sums over the whole batch.
template <typename T>
void ConveLayers<T>::BackwardConv(const T* parameters, int64_t size, T* gradient) {
  const int64_t taps = conv_.taps(), channels = conv_.channels;
  const bool of_batch = bn1_.of_batch();
  for (int64_t c = 0; c < channels; ++c) {
    const T* const w = parameters + at_.conv_weight + c * taps;
    const double* const dy_x = map_sums_.data() + c * taps;
    const double gain = bn1_.gain()[c], inverse = bn1_.inverse()[c];
    const MapSlopes slopes = SlopesOf(parameters, map_sums_, c);
    if (at_.bn1_weight >= 0) gradient[at_.bn1_weight + c] += static_cast<T>(slopes.dy_zhat);
    if (at_.bn1_bias >= 0) gradient[at_.bn1_bias + c] += static_cast<T>(slopes.dy);
    if (at_.conv_bias >= 0 && !of_batch) gradient[at_.conv_bias + c] += static_cast<T>(gain * slopes.dy);
    for (int64_t k = 0; k < taps; ++k) {
      double d_weight = dy_x[k];
      if (of_batch) {
        double cov_z = 0;
        for (int64_t l = 0; l < taps; ++l) cov_z += moments_.covariance[k * taps + l] * static_cast<double>(w[l]);
        d_weight -= slopes.dy * moments_.mean[k] + slopes.dy_zhat * inverse * cov_z;
      }
      gradient[at_.conv_weight + c * taps + k] += static_cast<T>(gain * d_weight);
    }
  }
  if (of_batch) SubtractNorm(parameters, size);
}

template <typename T>
void ConveLayers<T>::SubtractNorm(const T* parameters, int64_t size) {
  const int64_t taps = conv_.taps();
  SumOfAll(absl::MakeSpan(map_sums_));
  std::vector<double> matrix(taps * taps, 0), constant(taps, 0);
  for (int64_t c = 0; c < conv_.channels; ++c) {
    const T* const w = parameters + at_.conv_weight + c * taps;
    const double gain = bn1_.gain()[c], inverse = bn1_.inverse()[c];
    const MapSlopes slopes = SlopesOf(parameters, map_sums_, c);
    double mean_z = 0;
    for (int64_t k = 0; k < taps; ++k) mean_z += static_cast<double>(w[k]) * moments_.mean[k];
    for (int64_t k = 0; k < taps; ++k) {
      const double w_gain = static_cast<double>(w[k]) * gain / moments_.n;
      constant[k] += w_gain * (slopes.dy - slopes.dy_zhat * inverse * mean_z);
      for (int64_t l = 0; l < taps; ++l) {
        matrix[k * taps + l] += w_gain * inverse * slopes.dy_zhat * static_cast<double>(w[l]);
      }
    }
  }
  const std::vector<T> of_patches(matrix.begin(), matrix.end()), of_none(constant.begin(), constant.end());
  const int64_t image = conv_.image_size();
  ForPieces(pool_, size, kPiece, [&](int64_t begin, int64_t end, int worker) {
    NormCorrection(conv_, end - begin, images_ + begin * image, of_patches.data(), of_none.data(), Scratch(worker),
                   d_images_ + begin * image);
  });
}

template <typename T>
void ConveLayers<T>::BackwardImages(const KgeBatch& batch, T* gradient, const BatchRowGradients<T>& d_rows) {
  const int64_t d = shape_.dim(), n = batch.size() * 2 * d;
  const bool norm_first = shape_.options.variant == ConveVariant::kDettmers;
  if (norm_first) Scale(masks_.input, n, d_images_);
  if (shape_.has_input_norm()) {
    bn0_.Backward(raw_, d_images_, batch.size(), ParameterAt(gradient, at_.bn0_weight),
                  ParameterAt(gradient, at_.bn0_bias), d_images_, norm_sum_);
  }
  if (!norm_first) Scale(masks_.input, n, d_images_);
  // One thread adds them in order, since two examples may have the same head.
  for (int64_t e = 0; e < batch.size(); ++e) {
    T* const head = RowOf(d_rows.heads, e, gradient + at_.entity, batch.head[e], d);
    T* const relation = RowOf(d_rows.relations, e, gradient + at_.relation, batch.relation[e], d);
    const T* const image = d_images_ + e * 2 * d;
    ForRowsOfImage(shape_, [&](bool of_relation, int64_t from, int64_t to, int64_t count) {
      T* const row = (of_relation ? relation : head) + to;
      for (int64_t j = 0; j < count; ++j) row[j] += image[from + j];
    });
  }
}

template class ConveLayers<float>;
template class ConveLayers<double>;

}  // namespace rutile
