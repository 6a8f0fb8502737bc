#include "lib/kge/training/model_scorer.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "lib/base/logging.h"
#include "lib/base/round_up.h"
#include "lib/kge/layers/conve/conv_passes.h"
#include "lib/kge/layers/kge_batch.h"
#include "lib/kge/layers/product_query.h"
#include "lib/kge/layers/tucker_layers.h"
#include "lib/kge/training/scores/distance_scores.h"
#include "lib/machine/parallel_for.h"
#include "lib/ranking/scores/score_kernel.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

// The linear function y = gain x + shift.
struct Line {
  double gain = 1, shift = 0;
};

template <typename T>
class Model {
 public:
  Model(const KgeShape& shape, const Tensor& parameters, int num_threads)
      : shape_(shape), at_(shape.offsets()), parameters_(parameters), p_(parameters.values<T>()), pool_(num_threads) {
    CHECK(parameters.num_elements() == at_.size) << parameters.num_elements() << " vs. " << at_.size;
    if (shape_.is_tucker()) tucker_.emplace(shape_, &pool_);
    if (!shape_.is_conve()) return;
    FoldNorms();
    scratch_.resize(num_threads);
    for (Scratch& scratch : scratch_) scratch.conv = Tensor::Zeros(DTypeOf<T>(), {ConvScratchSize(conv_)});  // aligned
  }

  void Hidden(absl::Span<const int32_t> heads, absl::Span<const int32_t> relations, T* hidden) {
    const ProfileScope scope(Stage::kForward);
    const auto queries = static_cast<int64_t>(heads.size());
    scope.Add(Counter::kExamples, queries);
    if (shape_.is_conve()) {
      const int64_t taps = shape_.options.kernel_height * shape_.options.kernel_width;
      scope.Add(Counter::kFlop, 2 * queries * shape_.num_features() * (taps + shape_.dim()));
    }
    if (shape_.is_conve()) return Conve(heads, relations, hidden);
    if (tucker_) {
      KgeBatch batch;
      batch.head = heads;
      batch.relation = relations;
      batch.training = false;
      return tucker_->Forward(p_.data(), batch, hidden);
    }
    for (size_t q = 0; q < heads.size(); ++q, hidden += shape_.dim()) {
      ProductQuery(shape_, Entity(heads[q]), Relation(relations[q]), hidden);
    }
  }

 private:
  struct Scratch {
    std::vector<T> images, maps, sums;
    Tensor conv;
  };

  const T* Entity(int32_t id) const { return p_.data() + at_.entity + id * shape_.dim(); }
  const T* Relation(int32_t id) const { return p_.data() + at_.relation + id * shape_.relation_dim(); }

  // Returns the linear function of element i of a norm whose parameters begin at these offsets; weight -1: not affine.
  Line Norm(int64_t weight, int64_t bias, int64_t mean, int64_t variance, int64_t i) const {
    const double deviation = std::sqrt(static_cast<double>(p_[variance + i]) + kBatchNormEpsilon);
    const double gain = (weight < 0 ? 1.0 : static_cast<double>(p_[weight + i])) / deviation;
    return {gain, (bias < 0 ? 0.0 : static_cast<double>(p_[bias + i])) - gain * p_[mean + i]};
  }

  void FoldNorms() {
    conv_.image_height = shape_.image_height();
    conv_.image_width = shape_.image_width();
    conv_.kernel_height = shape_.options.kernel_height;
    conv_.kernel_width = shape_.options.kernel_width;
    conv_.channels = shape_.options.output_channels;
    if (shape_.has_input_norm()) input_ = Norm(at_.bn0_weight, at_.bn0_bias, at_.bn0_mean, at_.bn0_variance, 0);
    const int64_t channels = shape_.options.output_channels;
    const int64_t taps = shape_.options.kernel_height * shape_.options.kernel_width;
    for (int64_t c = 0; c < channels; ++c) {
      const Line norm = Norm(at_.bn1_weight, at_.bn1_bias, at_.bn1_mean, at_.bn1_variance, c);
      for (int64_t k = 0; k < taps; ++k) {
        conv_weight_.push_back(static_cast<T>(norm.gain * p_[at_.conv_weight + c * taps + k]));
      }
      const double bias = at_.conv_bias < 0 ? 0.0 : static_cast<double>(p_[at_.conv_bias + c]);
      conv_bias_.push_back(static_cast<T>(norm.gain * bias + norm.shift));
    }
    const int64_t features = shape_.num_features();
    std::vector<T> weight;
    weight.reserve(shape_.dim() * features);
    for (int64_t o = 0; o < shape_.dim(); ++o) {
      const Line norm = Norm(at_.bn2_weight, at_.bn2_bias, at_.bn2_mean, at_.bn2_variance, o);
      for (int64_t f = 0; f < features; ++f) {
        weight.push_back(static_cast<T>(norm.gain * p_[at_.fc_weight + o * features + f]));
      }
      fc_bias_.push_back(static_cast<T>(norm.gain * p_[at_.fc_bias + o] + norm.shift));
    }
    const int64_t width = PanelWidth<T>();
    fc_bias_.resize(RoundUp(shape_.dim(), width));
    fc_panels_.resize(fc_bias_.size() * features);
    PackPanels(weight.data(), shape_.dim(), features, fc_panels_.data());
  }

  // Computes the stacked image of a query, after bn0.
  void Stack(const T* head, const T* relation, T* image) const {
    const int64_t height = shape_.options.embedding_height, width = shape_.options.embedding_width;
    const int64_t stride = shape_.image_width();
    T* const second = image + (shape_.stacked_in_width() ? width : height * stride);
    const T gain = static_cast<T>(input_.gain), shift = static_cast<T>(input_.shift);
    for (int64_t y = 0; y < height; ++y) {
      for (int64_t x = 0; x < width; ++x) {
        image[y * stride + x] = gain * head[y * width + x] + shift;
        second[y * stride + x] = gain * relation[y * width + x] + shift;
      }
    }
  }

  // Computes a tile of queries at a time, whose maps stay in the second-level cache.
  void Conve(absl::Span<const int32_t> heads, absl::Span<const int32_t> relations, T* hidden) {
    const int64_t features = shape_.num_features(), dim = shape_.dim(), tile = TileQueries<T>();
    const int64_t padded = static_cast<int64_t>(fc_bias_.size());
    pool_.For(static_cast<int64_t>(heads.size()), tile, [&](int64_t begin, int64_t end, int worker) {
      Scratch& scratch = scratch_[worker];
      scratch.images.resize(tile * conv_.image_size());
      scratch.maps.resize(tile * features);
      scratch.sums.resize(tile * padded);
      const int64_t count = end - begin;
      for (int64_t q = 0; q < count; ++q) {
        Stack(Entity(heads[begin + q]), Relation(relations[begin + q]), &scratch.images[q * conv_.image_size()]);
      }
      ConvForward<T>(conv_, count, scratch.images.data(), conv_weight_.data(), conv_bias_.data(), /*scales=*/nullptr,
                     scratch.conv.template mutable_values<T>().data(), scratch.maps.data());
      ScoreTile<T>(scratch.maps.data(), static_cast<int>(count), features, fc_panels_.data(), padded / PanelWidth<T>(),
                   fc_bias_.data(), scratch.sums.data(), padded);
      for (int64_t q = 0; q < count; ++q) {
        const T* const sum = &scratch.sums[q * padded];
        T* const out = hidden + (begin + q) * dim;
        for (int64_t o = 0; o < dim; ++o) out[o] = sum[o] < 0 ? T{0} : sum[o];  // NaN stays NaN
      }
    });
  }

  const KgeShape shape_;
  const KgeShape::Offsets at_;
  const Tensor parameters_;
  const absl::Span<const T> p_;
  ThreadPool pool_;
  std::optional<TuckerLayers<T>> tucker_;
  Line input_;
  ConvShape conv_;
  // Weights with the norms folded in; fc is stored as panels of its outputs (score_kernel.h), with its bias padded
  // likewise.
  std::vector<T> conv_weight_, conv_bias_, fc_panels_, fc_bias_;
  std::vector<Scratch> scratch_;  // one for each thread
};

template <typename T>
KgeScorer ScorerOf(const KgeShape& shape, const Tensor& parameters, int num_threads) {
  const KgeShape::Offsets at = shape.offsets();
  KgeScorer scorer;
  scorer.entities = parameters.Slice(at.entity, {shape.num_entities, shape.dim()});
  if (at.entity_bias >= 0) scorer.bias = parameters.Slice(at.entity_bias, {shape.num_entities});
  scorer.form = ScoreFormOf(shape.options);
  scorer.num_relations = shape.num_relations;
  const auto model = std::make_shared<Model<T>>(shape, parameters, num_threads);
  scorer.hidden = [model](absl::Span<const int32_t> heads, absl::Span<const int32_t> relations, Tensor* hidden) {
    model->Hidden(heads, relations, hidden->mutable_values<T>().data());
    return absl::OkStatus();
  };
  return scorer;
}

}  // namespace

KgeScorer MakeScorer(const KgeShape& shape, const Tensor& parameters, int num_threads) {
  return parameters.dtype() == DType::kF64 ? ScorerOf<double>(shape, parameters, num_threads)
                                           : ScorerOf<float>(shape, parameters, num_threads);
}

}  // namespace rutile
