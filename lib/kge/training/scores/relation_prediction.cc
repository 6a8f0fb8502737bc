#include "lib/kge/training/scores/relation_prediction.h"

#include <algorithm>

#include "absl/types/span.h"
#include "lib/kge/layers/product_query.h"
#include "lib/kge/layers/workspace.h"
#include "lib/kge/model/kge_labels.h"

namespace rutile {
namespace {

// The shape in which relations are what a query is scored with, and the right one is a triple's own.
KgeShape OverRelations(KgeShape shape) {
  shape.num_entities = shape.num_relations;
  shape.options.embedding_dim = shape.relation_dim();
  shape.options.loss = KgeLoss::kOneVsAll;
  shape.options.group_queries = false;
  shape.options.label_smoothing = 0;
  shape.options.candidate_dropout = 0;
  return shape;
}

}  // namespace

template <typename T>
RelationPrediction<T>::RelationPrediction(const KgeShape& shape, ThreadPool* pool, FactorRounding factors)
    : shape_(shape),
      at_(shape.offsets()),
      triples_(std::min(kTriples, NumPieces(kTriples * shape.dim(), shape.relation_dim()))),
      scores_(OverRelations(shape), pool, factors) {}

template <typename T>
double RelationPrediction<T>::AddLosses(const KgeBatch& batch, const T* parameters, T* gradient) {
  double sum = 0;
  const auto flush = [&] {
    if (!examples_.empty()) sum += AddLosses(examples_, parameters, gradient);
    examples_.clear();
  };
  ForEachPredictedTriple(shape_.options, batch, [&](const PredictedTriple& triple) {
    examples_.push_back(triple);
    if (examples_.size() == triples_) flush();
  });
  flush();
  return sum;
}

template <typename T>
double RelationPrediction<T>::AddLosses(absl::Span<const PredictedTriple> examples, const T* parameters, T* gradient) {
  const int64_t d = shape_.dim(), of_relation = shape_.relation_dim(), n = static_cast<int64_t>(examples.size());
  const T* const table = parameters + at_.entity;
  T* const q = Take<T>(&q_, n * of_relation);
  std::fill_n(q, n * of_relation, T(0));
  T* const row = Take<T>(&row_, d);
  head_.clear(), relation_.clear(), weight_.clear(), is_false_.clear(), offset_.assign(1, 0);
  for (int64_t i = 0; i < n; ++i) {
    head_.push_back(examples[i].head);
    relation_.push_back(examples[i].relation);
    weight_.push_back(examples[i].weight);
    is_false_.push_back(examples[i].is_false ? 1 : 0);
    offset_.push_back(i + 1);
    const T *const h = table + examples[i].head * d, *const t = table + examples[i].tail * d;
    // The score <t, v(h, r)> is linear in r: any row gives its gradient. That of h is not needed.
    std::fill_n(row, d, T(0));
    const T* const any = parameters + at_.relation;
    AddProductGradients(shape_, h, any, t, row, q + i * of_relation);
  }
  KgeBatch batch;
  batch.head = head_;
  batch.relation = relation_;
  batch.positive_offset = offset_;
  batch.positive = relation_;
  batch.is_false = is_false_;
  EntityArrays<T> arrays;
  arrays.v = q;
  arrays.entities = parameters + at_.relation;
  arrays.weights = weight_;
  if (gradient == nullptr) return scores_.AddLosses(batch, arrays);
  arrays.d_entities = gradient + at_.relation;
  arrays.d_v = Take<T>(&d_q_, n * of_relation);
  const double sum = scores_.AddLosses(batch, arrays);
  for (int64_t i = 0; i < n; ++i) {
    const T *const h = table + examples[i].head * d, *const t = table + examples[i].tail * d;
    T* const d_h = gradient + at_.entity + examples[i].head * d;
    T* const d_t = gradient + at_.entity + examples[i].tail * d;
    // <d_q, q(h, t)> is the score of a relation whose row is d_q; what it adds to q is not needed again.
    const T* const d_q = arrays.d_v + i * of_relation;
    AddProductGradients(shape_, h, d_q, t, d_h, q + i * of_relation);
    ProductQuery(shape_, h, d_q, row);
    for (int64_t j = 0; j < d; ++j) d_t[j] += row[j];
  }
  return sum;
}

template class RelationPrediction<float>;
template class RelationPrediction<double>;

}  // namespace rutile
