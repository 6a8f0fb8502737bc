#include "lib/kge/influence/gradient_factors.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "lib/base/logging.h"
#include "lib/kge/influence/penalty_factors.h"
#include "lib/kge/layers/kge_batch.h"
#include "lib/kge/layers/product_query.h"
#include "lib/kge/layers/tucker_layers.h"
#include "lib/kge/layers/workspace.h"
#include "lib/kge/model/kge_labels.h"
#include "lib/kge/training/scores/blocked_loss.h"
#include "lib/kge/training/scores/query_weights.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/matrix/matrix_view.h"
#include "lib/matrix/row_dot.h"

namespace rutile {
namespace {

// Examples that a thread computes at a time.
constexpr int64_t kPiece = 16;

KgeShape WithLoss(KgeShape shape, KgeInfluenceLoss loss) {
  switch (loss) {
    case KgeInfluenceLoss::kTriple:
      break;
    case KgeInfluenceLoss::kOneToN:
      shape.options.loss = KgeLoss::kOneToN;
      break;
    case KgeInfluenceLoss::kOneOfN:
      shape.options.loss = KgeLoss::kOneOfN;
      break;
    case KgeInfluenceLoss::kCrossEntropy:
      shape.options.loss = KgeLoss::kOneVsAll;
      break;
    case KgeInfluenceLoss::kKvsAll:
      shape.options.loss = KgeLoss::kKvsAll;
      break;
  }
  return shape;
}

// Labels of the examples, and what their losses are multiplied by.
struct ExampleLabels {
  std::vector<double> base, extra, weight, tail_weight;
};

ExampleLabels LabelsOf(const KgeShape& shape, const KgeFactorInput& input) {
  const auto size = static_cast<int64_t>(input.triples.size());
  KgeBatch batch;
  batch.positive_offset = input.positive_offset;
  batch.positive_weight = input.positive_weight;
  batch.is_false = input.is_false;
  ExampleLabels labels;
  labels.tail_weight = input.positive_weight;
  for (int64_t e = 0; e < size; ++e) {
    const int64_t begin = input.positive_offset[e], end = input.positive_offset[e + 1];
    // The one tail of a false triple has the whole label, as in EntityScores.
    const SmoothedLabels of_one =
        batch.IsFalse(e) ? SmoothedLabels() : SmoothLabels(shape.options, shape.num_entities, end - begin);
    labels.base.push_back(of_one.base);
    labels.extra.push_back(of_one.extra);
    labels.weight.push_back(QueryCount(shape.options, batch, e));
    const double unit = TailUnit(shape.options, batch, e);
    for (int64_t k = begin; k < end && !labels.tail_weight.empty(); ++k) labels.tail_weight[k] *= unit;
  }
  return labels;
}

// Returns d softplus(-s) / ds = sigmoid(s) - 1, computed without a difference.
double TripleSlope(double score) {
  const double e = std::exp(-std::abs(score));
  return score > 0 ? -e / (1 + e) : -1 / (1 + e);
}

}  // namespace

KgeFactorInput ExampleOf(const KgeFactorInput& input, int64_t e) {
  KgeFactorInput one;
  one.triples = {input.triples[e]};
  if (!input.weight.empty()) one.weight = {input.weight[e]};
  if (!input.is_false.empty()) one.is_false = {input.is_false[e]};
  if (input.positive_offset.size() != input.triples.size() + 1) return one;  // a loss without labels
  const int64_t begin = input.positive_offset[e], end = input.positive_offset[e + 1];
  one.positive.assign(input.positive.begin() + begin, input.positive.begin() + end);
  one.positive_offset.push_back(end - begin);
  if (!input.positive_weight.empty()) {
    one.positive_weight.assign(input.positive_weight.begin() + begin, input.positive_weight.begin() + end);
  }
  return one;
}

template <typename T>
GradientFactorizer<T>::GradientFactorizer(const KgeShape& shape, const T* parameters,
                                          const KgeInfluenceOptions& options, double loss_scale, ThreadPool* pool)
    : shape_(WithLoss(shape, options.loss)),
      at_(shape.offsets()),
      columns_(shape),
      parameters_(parameters),
      loss_(options.loss),
      loss_scale_(loss_scale),
      pool_(pool),
      products_(options.bf16 ? FactorRounding::kBf16 : FactorRounding::kNone, pool) {
  if (shape_.is_conve()) conve_.emplace(shape_, parameters, options.bf16, pool);
  products_.SetRounding(options.bf16);
}

template <typename T>
void GradientFactorizer<T>::FindKeys(const KgeFactorInput& input, GradientFactors<T>* factors) const {
  factors->size = static_cast<int64_t>(input.triples.size());
  factors->head.clear();
  factors->relation.clear();
  factors->tail.clear();
  factors->key.clear();
  factors->key_head.clear();
  factors->key_relation.clear();
  for (const Triple& triple : input.triples) {
    if (factors->key_head.empty() || factors->key_head.back() != triple.head ||
        factors->key_relation.back() != triple.relation) {
      factors->key_head.push_back(triple.head);
      factors->key_relation.push_back(triple.relation);
    }
    factors->key.push_back(static_cast<int32_t>(factors->key_head.size()) - 1);
    factors->head.push_back(triple.head);
    factors->relation.push_back(triple.relation);
    factors->tail.push_back(triple.tail);
  }
  factors->keys = static_cast<int64_t>(factors->key_head.size());
}

template <typename T>
void GradientFactorizer<T>::FillHidden(bool maps, GradientFactors<T>* factors) {
  const int64_t d = shape_.dim();
  T* v = Take<T>(&factors->v_memory, factors->keys * d);
  factors->v = v;
  if (shape_.is_conve() && !maps && CanSkipMaps()) {
    T* const squares = Take<T>(&factors->map_square_memory, factors->keys);
    T* const products = Take<T>(&factors->map_product_memory, factors->keys * conve_->num_test_maps());
    factors->map_squares = squares;
    factors->map_products = products;
    return conve_->ForwardWithoutMaps(factors->key_head, factors->key_relation, v, squares, products);
  }
  if (shape_.is_conve()) {
    T* const all = Take<T>(&factors->map_memory, factors->keys * shape_.num_features());
    factors->maps = all;
    return conve_->Forward(factors->key_head, factors->key_relation, all, v);
  }
  if (shape_.is_tucker()) {
    const int64_t width = shape_.num_features();
    T* const all = Take<T>(&factors->map_memory, factors->keys * width);
    factors->maps = all;
    for (int64_t k = 0; k < factors->keys; ++k) {
      TuckerFeatures(shape_, Entity(factors->key_head[k]), Relation(factors->key_relation[k]), all + k * width);
    }
    const MatrixView<T> core = {parameters_ + at_.fc_weight, d, width, width};
    return products_.Multiply({all, factors->keys, width, width}, core.Transposed(), /*add=*/false, v, d);
  }
  for (int64_t k = 0; k < factors->keys; ++k, v += d) {
    ProductQuery(shape_, Entity(factors->key_head[k]), Relation(factors->key_relation[k]), v);
  }
}

template <typename T>
T* GradientFactorizer<T>::FillErrors(const KgeFactorInput& input, const KgeTarget& target,
                                     GradientFactors<T>* factors) {
  if (IsOverEntities(loss_, target.quantity)) return FillEntityErrors(input, target, factors);
  const bool score = target.quantity == KgeQuantity::kScore;
  const int64_t d = shape_.dim();
  T* const error = Take<T>(&factors->error_memory, factors->size);
  T* const d_v = Take<T>(&factors->d_v_memory, factors->size * d);
  factors->error = error;
  const T* const bias = at_.entity_bias < 0 ? nullptr : parameters_ + at_.entity_bias;
  for (int64_t e = 0; e < factors->size; ++e) {
    const T* const tail = Entity(factors->tail[e]);
    error[e] = 1;
    if (!score) {
      const T x = RowDot(factors->v + factors->key[e] * d, tail, d) + (bias == nullptr ? 0 : bias[factors->tail[e]]);
      const bool is_false = !input.is_false.empty() && input.is_false[e] != 0;
      const double slope = is_false ? -TripleSlope(-static_cast<double>(x)) : TripleSlope(static_cast<double>(x));
      error[e] = static_cast<T>(loss_scale_ * (input.weight.empty() ? 1 : input.weight[e]) * slope);
    }
    for (int64_t j = 0; j < d; ++j) d_v[e * d + j] = error[e] * tail[j];
  }
  return d_v;
}

template <typename T>
void GradientFactorizer<T>::FillErrorsByTriple(const KgeFactorInput& input, int64_t e, T* errors) const {
  const int64_t n = shape_.num_entities, count = input.positive_offset[e + 1] - input.positive_offset[e];
  const SmoothedLabels with = SmoothLabels(shape_.options, n, count);
  const SmoothedLabels without = SmoothLabels(shape_.options, n, count - 1);
  const double scale = loss_scale_ / (IsSoftmaxLoss(shape_.options.loss) ? 1 : static_cast<double>(n));
  std::fill_n(errors, n, static_cast<T>(scale * (without.base - with.base)));
  for (int64_t i = input.positive_offset[e]; i < input.positive_offset[e + 1]; ++i) {
    const int32_t tail = input.positive[i];
    const double other = tail == input.triples[e].tail ? without.base : without.base + without.extra;
    errors[tail] = static_cast<T>(scale * (other - with.base - with.extra));
  }
}

template <typename T>
void GradientFactorizer<T>::FillMarginErrors(const KgeFactorInput& input, int64_t e, T* errors) const {
  const int64_t n = shape_.num_entities;
  const T lowest = -std::numeric_limits<T>::infinity();
  errors[input.triples[e].tail] = lowest;
  for (int64_t i = input.positive_offset[e]; i < input.positive_offset[e + 1]; ++i) errors[input.positive[i]] = lowest;
  const T top = *std::max_element(errors, errors + n);
  double sum = 0;
  for (int64_t c = 0; c < n; ++c) {
    errors[c] = top == lowest ? 0 : std::exp(errors[c] - top);
    sum += static_cast<double>(errors[c]);
  }
  for (int64_t c = 0; c < n && sum > 0; ++c) errors[c] = static_cast<T>(-static_cast<double>(errors[c]) / sum);
  errors[input.triples[e].tail] = 1;
}

template <typename T>
T* GradientFactorizer<T>::FillEntityErrors(const KgeFactorInput& input, const KgeTarget& target,
                                           GradientFactors<T>* factors) {
  const int64_t d = shape_.dim(), n = shape_.num_entities, size = factors->size;
  if (target.quantity == KgeQuantity::kDifference) {
    T* const errors = Take<T>(&factors->error_memory, size * n);
    T* const d_v = Take<T>(&factors->d_v_memory, size * d);
    factors->errors = errors;
    std::fill_n(errors, size * n, T(0));
    for (int64_t e = 0; e < size; ++e) {
      errors[e * n + factors->tail[e]] += 1;
      errors[e * n + target.rival] -= 1;
      for (int64_t k = 0; k < d; ++k) d_v[e * d + k] = Entity(factors->tail[e])[k] - Entity(target.rival)[k];
    }
    return d_v;
  }
  CHECK_EQ(static_cast<int64_t>(input.positive_offset.size()), size + 1);
  const T* queries = factors->v;
  if (factors->keys != size) {
    T* const rows = Take<T>(&query_memory_, size * d);
    for (int64_t e = 0; e < size; ++e) std::copy_n(factors->v + factors->key[e] * d, d, rows + e * d);
    queries = rows;
  }
  T* const errors = Take<T>(&factors->error_memory, size * n);
  factors->errors = errors;
  const MatrixView<T> table = {parameters_ + at_.entity, n, d, d};
  products_.Multiply({queries, size, d, d}, table.Transposed(), /*add=*/false, errors, n);
  const ExampleLabels all = LabelsOf(shape_, input);
  const absl::Span<const uint8_t> is_false = input.is_false;
  std::vector<double> losses(size, 0);
  ForPieces(pool_, size, kPiece, [&](int64_t begin, int64_t end, int) {
    const int64_t count = end - begin;
    if (target.quantity == KgeQuantity::kMargin) {
      for (int64_t e = begin; e < end; ++e) {
        for (int64_t c = 0; at_.entity_bias >= 0 && c < n; ++c) errors[e * n + c] += parameters_[at_.entity_bias + c];
        FillMarginErrors(input, e, errors + e * n);
      }
      return;
    }
    const BlockLabels labels = {absl::MakeConstSpan(input.positive_offset).subspan(begin, count + 1),
                                input.positive,
                                absl::MakeConstSpan(all.base).subspan(begin, count),
                                absl::MakeConstSpan(all.extra).subspan(begin, count),
                                all.tail_weight,
                                absl::MakeConstSpan(all.weight).subspan(begin, count),
                                is_false.empty() ? is_false : is_false.subspan(begin, count)};
    ScoreBlock<T> block;
    block.scores = errors + begin * n;
    block.stride = block.n = n;
    if (at_.entity_bias >= 0) block.bias = parameters_ + at_.entity_bias;
    if (!IsSoftmaxLoss(shape_.options.loss)) {
      BinaryCrossEntropy(labels, loss_scale_ / static_cast<double>(n), block,
                         absl::MakeSpan(losses).subspan(begin, count));
      return;
    }
    std::vector<SoftmaxState> states(count);
    SoftmaxSums(labels, block, absl::MakeSpan(states));
    SoftmaxGradients(labels, absl::MakeConstSpan(states), block);
    for (int64_t i = 0; i < count; ++i) {
      double of_query = loss_scale_ * all.weight[begin + i];
      if (labels.IsFalse(i)) of_query *= FalseAnswer(states[i].Loss()).slope;
      if (of_query == 1) continue;
      const T scale = static_cast<T>(of_query);
      for (int64_t k = 0; k < n; ++k) block.scores[i * n + k] *= scale;
    }
  });
  for (int64_t e = 0; target.by_triple && e < size; ++e) {
    const auto first = input.positive.begin() + input.positive_offset[e];
    const auto last = input.positive.begin() + input.positive_offset[e + 1];
    if (last - first < 2 || !std::binary_search(first, last, input.triples[e].tail)) continue;
    FillErrorsByTriple(input, e, errors + e * n);
  }
  T* const d_v = Take<T>(&factors->d_v_memory, size * d);
  products_.Multiply({errors, size, n, n}, table, /*add=*/false, d_v, d);
  return d_v;
}

template <typename T>
void GradientFactorizer<T>::BackwardProducts(const T* d_v, GradientFactors<T>* factors) {
  const int64_t d = shape_.dim(), of_relation = shape_.relation_dim();
  T* d_h = Take<T>(&factors->d_head_memory, factors->size * d);
  T* d_r = Take<T>(&factors->d_relation_memory, factors->size * of_relation);
  factors->d_head = d_h;
  factors->d_relation = d_r;
  std::fill_n(d_h, factors->size * d, T(0));
  std::fill_n(d_r, factors->size * of_relation, T(0));
  if (shape_.is_tucker()) {
    const int64_t width = shape_.num_features();
    T* const slopes = Take<T>(&feature_slopes_, factors->size * width);
    const MatrixView<T> core = {parameters_ + at_.fc_weight, d, width, width};
    products_.Multiply({d_v, factors->size, d, d}, core, /*add=*/false, slopes, width);
    for (int64_t e = 0; e < factors->size; ++e) {
      AddTuckerFeatureGradients(shape_, Entity(factors->head[e]), Relation(factors->relation[e]), slopes + e * width,
                                d_h + e * d, d_r + e * of_relation);
    }
    return;
  }
  for (int64_t e = 0; e < factors->size; ++e, d_v += d, d_h += d, d_r += of_relation) {
    AddProductGradients(shape_, Entity(factors->head[e]), Relation(factors->relation[e]), d_v, d_h, d_r);
  }
}

template <typename T>
void GradientFactorizer<T>::Factorize(const KgeFactorInput& input, const KgePartPlan& plan, const KgeTarget& target,
                                      bool maps, GradientFactors<T>* factors) {
  Clear(factors);
  FindKeys(input, factors);
  FillHidden(maps, factors);
  FillSlopes(FillErrors(input, target, factors), plan, factors);
  if (target.penalized) AddPenaltyFactors(shape_, parameters_, input, loss_scale_, factors);
}

template <typename T>
void GradientFactorizer<T>::FillQueries(const KgeFactorInput& input, GradientFactors<T>* factors) {
  Clear(factors);
  FindKeys(input, factors);
  FillHidden(/*maps=*/true, factors);
}

template <typename T>
void GradientFactorizer<T>::Clear(GradientFactors<T>* factors) {
  factors->maps = factors->d_fc = factors->small = factors->d_head = factors->d_relation = nullptr;
  factors->error = factors->errors = factors->d_tail = nullptr;
  factors->short_maps = factors->short_errors = factors->map_squares = factors->map_products = nullptr;
}

template <typename T>
void GradientFactorizer<T>::FillSlopes(const T* d_v, const KgePartPlan& plan, GradientFactors<T>* factors) {
  if (!shape_.is_conve()) {
    if (shape_.is_tucker()) factors->d_fc = d_v;
    if (plan.below_fc) BackwardProducts(d_v, factors);
    return;
  }
  if (!plan.below_fc && !plan.at_fc) return;
  const int64_t size = factors->size, d = shape_.dim();
  ConveGradients<T> gradients;
  gradients.d_fc = Take<T>(&factors->d_fc_memory, size * d);
  gradients.small = Take<T>(&factors->small_memory, size * columns_.size);
  if (plan.below_fc) {
    gradients.d_head = Take<T>(&factors->d_head_memory, size * d);
    gradients.d_relation = Take<T>(&factors->d_relation_memory, size * d);
  }
  conve_->Backward(factors->key, factors->maps, factors->v, d_v, gradients);
  factors->d_fc = gradients.d_fc;
  factors->small = gradients.small;
  factors->d_head = gradients.d_head;
  factors->d_relation = gradients.d_relation;
}

template class GradientFactorizer<float>;
template class GradientFactorizer<double>;

}  // namespace rutile
