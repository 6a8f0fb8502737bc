#include "lib/kge/training/kge_reference.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/base/logging.h"
#include "lib/kge/layers/dropout.h"
#include "lib/kge/model/kge_labels.h"
#include "lib/kge/training/scores/query_weights.h"
#include "lib/task/precision.h"
#include "lib/tensorfile/tensorfile_torch.h"

namespace rutile {
namespace {

at::ScalarType ProductType(const at::Tensor& parameters, Precision precision) {
  if (!IsMixed(precision)) return parameters.scalar_type();
  return precision == Precision::kBf16Mixed ? at::kBFloat16 : at::kHalf;
}

// The parameters by name. They are split once, since the gradient of one split is one copy, while that of each narrow()
// is an array of all parameters.
class Parts {
 public:
  Parts(const KgeShape& shape, const at::Tensor& parameters) : slices_(shape.Slices()) {
    CHECK_EQ(parameters.numel(), shape.offsets().size);
    std::vector<int64_t> sizes;
    for (const ParameterSlice& slice : slices_) {
      sizes.push_back(slice.num_elements());
    }
    parts_ = parameters.split_with_sizes(sizes);
  }

  // Returns an undefined tensor if the model does not have the parameter.
  at::Tensor operator[](absl::string_view name) const {
    for (size_t s = 0; s < slices_.size(); ++s) {
      if (slices_[s].name == name) return parts_[s].view(slices_[s].shape);
    }
    return at::Tensor();
  }

 private:
  const std::vector<ParameterSlice> slices_;
  std::vector<at::Tensor> parts_;
};

// Copies a tensor of HostTensorFor to the device.
at::Tensor Sent(const at::Tensor& host, const c10::Device& device) { return host.to(device, /*non_blocking=*/true); }

template <typename T>
at::Tensor Index(absl::Span<const T> values, const at::Tensor& like) {
  const at::Tensor index = HostTensorFor(like.device(), {static_cast<int64_t>(values.size())}, at::kLong);
  std::copy(values.begin(), values.end(), index.data_ptr<int64_t>());
  return Sent(index, like.device());
}

template <typename T>
void FillScales(const KgeShape& shape, const KgeBatch& batch, DropoutLayer layer, double rate,
                const at::Tensor& scales) {
  const int64_t n = scales.size(1);
  for (int64_t b = 0; b < batch.size(); ++b) {
    FillDropout(shape.options.seed, batch.epoch, batch.example[b], layer, rate,
                absl::MakeSpan(scales.data_ptr<T>() + b * n, n));
  }
}

// Returns scales [B, n]; undefined if nothing is dropped.
at::Tensor DropoutScales(const KgeShape& shape, const KgeBatch& batch, DropoutLayer layer, double rate, int64_t n,
                         const at::Tensor& like) {
  if (!batch.training || rate == 0) return at::Tensor();
  const at::Tensor scales = HostTensorFor(like.device(), {batch.size(), n}, like.scalar_type());
  if (like.scalar_type() == at::kFloat) {
    FillScales<float>(shape, batch, layer, rate, scales);
  } else {
    FillScales<double>(shape, batch, layer, rate, scales);
  }
  return Sent(scales, like.device());
}

at::Tensor Drop(const at::Tensor& x, const at::Tensor& scales) {
  if (!scales.defined()) return x;
  return x * (scales.dim() < x.dim() && scales.size(1) == x.size(1) ? scales.view({x.size(0), x.size(1), 1, 1})
                                                                    : scales.view_as(x));
}

// Returns scales [N, d]; undefined if nothing is dropped.
at::Tensor CandidateScales(const KgeShape& shape, const KgeBatch& batch, const at::Tensor& like) {
  const KgeOptions& options = shape.options;
  if (!batch.training || options.candidate_dropout == 0) return at::Tensor();
  const int64_t d = shape.dim();
  const at::Tensor scales = HostTensorFor(like.device(), {shape.num_entities, d}, like.scalar_type());
  const auto fill = [&](auto* values) {
    for (int64_t n = 0; n < shape.num_entities; ++n) {
      FillCandidateDropout(options.seed, batch.epoch, batch.number, n, options.candidate_dropout,
                           absl::MakeSpan(values + n * d, d));
    }
  };
  if (like.scalar_type() == at::kFloat) {
    fill(scales.data_ptr<float>());
  } else {
    fill(scales.data_ptr<double>());
  }
  return Sent(scales, like.device());
}

// ConvE's layers from the embeddings to v.
class Conve {
 public:
  Conve(const KgeShape& shape, const Parts& parts, const KgeBatch& batch, at::ScalarType product_type)
      : shape_(shape), parts_(parts), batch_(batch), product_type_(product_type) {}

  KgeHidden Hidden(const at::Tensor& head, const at::Tensor& relation) {
    const KgeOptions& options = shape_.options;
    const int64_t size = batch_.size(), h = options.embedding_height, w = options.embedding_width;
    at::Tensor x =
        at::cat({head.view({size, 1, h, w}), relation.view({size, 1, h, w})}, shape_.stacked_in_width() ? 3 : 2);
    const bool norm_first = options.variant == ConveVariant::kDettmers;
    const at::Tensor input = Scales(DropoutLayer::kInput, options.input_dropout, 2 * shape_.dim(), x);
    if (norm_first) x = Norm("bn0", x, &hidden_.statistics.bn0);
    x = Drop(x, input);
    if (shape_.has_input_norm() && !norm_first) x = Norm("bn0", x, &hidden_.statistics.bn0);
    const at::Tensor conv_bias = parts_["conv.bias"];
    x = at::conv2d(x.to(product_type_), parts_["conv.weight"].to(product_type_),
                   conv_bias.defined() ? conv_bias.to(product_type_) : at::Tensor())
            .to(head.scalar_type());
    x = at::relu(Norm("bn1", x, &hidden_.statistics.bn1));
    x = Drop(x, Scales(DropoutLayer::kFeatureMap, options.feature_map_dropout, options.output_channels, x));
    x = at::linear(x.flatten(1).to(product_type_), parts_["fc.weight"].to(product_type_),
                   parts_["fc.bias"].to(product_type_))
            .to(head.scalar_type());
    x = Drop(x, Scales(DropoutLayer::kOutput, options.output_dropout, shape_.dim(), x));
    hidden_.v = at::relu(Norm("bn2", x, &hidden_.statistics.bn2));
    return std::move(hidden_);
  }

 private:
  at::Tensor Scales(DropoutLayer layer, double rate, int64_t n, const at::Tensor& like) const {
    return DropoutScales(shape_, batch_, layer, rate, n, like);
  }

  at::Tensor Norm(absl::string_view name, const at::Tensor& x, ReferenceStatistics::Norm* statistics) const {
    const at::Tensor weight = parts_[absl::StrCat(name, ".weight")], bias = parts_[absl::StrCat(name, ".bias")];
    at::Tensor mean = parts_[absl::StrCat(name, ".running_mean")].detach();
    at::Tensor variance = parts_[absl::StrCat(name, ".running_var")].detach();
    // With momentum 1, LibTorch's running statistics become the batch's own.
    if (batch_.training) {
      mean = at::zeros_like(mean);
      variance = at::ones_like(variance);
    }
    const at::Tensor y = at::batch_norm(x, weight, bias, mean, variance, batch_.training, /*momentum=*/1,
                                        kBatchNormEpsilon, /*cudnn_enabled=*/true);
    // The variance over n - 1 of one value is undefined.
    if (batch_.training && x.numel() > x.size(1)) *statistics = {mean, variance};
    return y;
  }

  const KgeShape& shape_;
  const Parts& parts_;
  const KgeBatch& batch_;
  const at::ScalarType product_type_;
  KgeHidden hidden_;
};

}  // namespace

BatchStatistics ReferenceStatistics::Fetch() const {
  BatchStatistics fetched;
  const std::pair<const at::Tensor*, std::vector<double>*> parts[] = {
      {&bn0.mean, &fetched.bn0.mean}, {&bn0.variance, &fetched.bn0.variance},
      {&bn1.mean, &fetched.bn1.mean}, {&bn1.variance, &fetched.bn1.variance},
      {&bn2.mean, &fetched.bn2.mean}, {&bn2.variance, &fetched.bn2.variance}};
  std::vector<at::Tensor> defined;
  for (const auto& [from, to] : parts) {
    if (from->defined()) defined.push_back(*from);
  }
  if (defined.empty()) return fetched;
  const at::Tensor all = ToHost(at::cat(defined)).to(at::kDouble);
  const double* next = all.data_ptr<double>();
  for (const auto& [from, to] : parts) {
    if (!from->defined()) continue;
    to->assign(next, next + from->numel());
    next += from->numel();
  }
  return fetched;
}

namespace {

// v of the models without layers, of rows of heads [B, d] and of relations [B, D]. core [d, D, d] is TuckER's.
at::Tensor ProductV(KgeModel model, const at::Tensor& head, const at::Tensor& relation, const at::Tensor& core) {
  const int64_t size = head.size(0), d = head.size(1);
  const std::vector<at::Tensor> h = head.chunk(2, 1);
  switch (model) {
    case KgeModel::kConvE:
      break;
    case KgeModel::kDistMult:
      return head * relation;
    case KgeModel::kComplEx: {
      const std::vector<at::Tensor> r = relation.chunk(2, 1);
      return at::cat({h[0] * r[0] - h[1] * r[1], h[0] * r[1] + h[1] * r[0]}, 1);
    }
    case KgeModel::kRescal:
      return at::bmm(head.unsqueeze(1), relation.view({size, d, d})).squeeze(1);
    case KgeModel::kCp:
      return at::cat({at::zeros_like(h[0]), h[0] * relation}, 1);
    case KgeModel::kSimple: {
      const std::vector<at::Tensor> r = relation.chunk(2, 1);
      return 0.5 * at::cat({h[1] * r[1], h[0] * r[0]}, 1);
    }
    case KgeModel::kTransE:
      return head + relation;
    case KgeModel::kRotatE: {
      const at::Tensor re = at::cos(relation), im = at::sin(relation);
      return at::cat({h[0] * re - h[1] * im, h[0] * im + h[1] * re}, 1);
    }
    case KgeModel::kTucker:
      return at::einsum("jki,bk,bi->bj", {core, relation, head});
  }
  LOG(FATAL) << "a model with layers";
}

// The vector q of lib/kge/training/scores/relation_prediction.h, [P, D].
at::Tensor RelationQuery(KgeModel model, const at::Tensor& head, const at::Tensor& tail) {
  const std::vector<at::Tensor> h = head.chunk(2, 1), t = tail.chunk(2, 1);
  switch (model) {
    case KgeModel::kConvE:
      break;
    case KgeModel::kDistMult:
      return head * tail;
    case KgeModel::kComplEx:
      return at::cat({h[0] * t[0] + h[1] * t[1], h[0] * t[1] - h[1] * t[0]}, 1);
    case KgeModel::kRescal:
      return at::bmm(head.unsqueeze(2), tail.unsqueeze(1)).flatten(1);
    case KgeModel::kCp:
      return h[0] * t[1];
    case KgeModel::kSimple:
      return 0.5 * at::cat({h[0] * t[1], h[1] * t[0]}, 1);
    case KgeModel::kTransE:
    case KgeModel::kRotatE:
    case KgeModel::kTucker:
      break;
  }
  LOG(FATAL) << "a model with layers";
}

}  // namespace

namespace {

// Distances [B, N] of queries v [B, d] and rows [N, d]. Distances that are 0 have derivatives of 0.
at::Tensor Distances(const KgeOptions& options, const at::Tensor& v, const at::Tensor& rows) {
  if (options.model == KgeModel::kTransE || options.distance_norm == 2) {
    return at::cdist(v, rows, static_cast<double>(options.distance_norm), /*compute_mode=*/2);  // without products
  }
  const std::vector<at::Tensor> q = v.chunk(2, 1), e = rows.chunk(2, 1);
  std::vector<at::Tensor> of_queries;
  for (int64_t b = 0; b < v.size(0); ++b) {  // a query at a time, whose differences are [N, d / 2]
    of_queries.push_back(at::stack({q[0][b] - e[0], q[1][b] - e[1]}).norm(2, 0).sum(1));
  }
  return at::stack(of_queries);
}

}  // namespace

KgeHidden ReferenceHidden(const KgeShape& shape, const at::Tensor& parameters, const KgeBatch& batch, Precision mixed) {
  const Parts parts(shape, parameters);
  at::Tensor head = parts["entity.weight"].index_select(0, Index(batch.head, parameters));
  at::Tensor relation = parts["relation.weight"].index_select(0, Index(batch.relation, parameters));
  if (shape.is_conve()) return Conve(shape, parts, batch, ProductType(parameters, mixed)).Hidden(head, relation);
  const int64_t d = shape.dim(), of_relation = shape.relation_dim(), both = d + of_relation;
  const KgeOptions& options = shape.options;
  const at::Tensor scales = DropoutScales(shape, batch, DropoutLayer::kInput, options.input_dropout, both, head);
  if (scales.defined()) {
    head = head * scales.narrow(1, 0, d);
    relation = relation * scales.narrow(1, d, of_relation);
  } else {
    head = Drop(head, DropoutScales(shape, batch, DropoutLayer::kHead, options.entity_dropout, d, head));
    relation = Drop(relation,
                    DropoutScales(shape, batch, DropoutLayer::kRelation, options.relation_dropout, of_relation, head));
  }
  return {ProductV(options.model, head, relation, parts["core.weight"]), {}};
}

at::Tensor ReferenceScores(const KgeShape& shape, const at::Tensor& parameters, const KgeBatch& batch,
                           const at::Tensor& v, Precision mixed) {
  const Parts parts(shape, parameters);
  const at::Tensor table = Drop(parts["entity.weight"], CandidateScales(shape, batch, parameters));
  if (IsDistanceModel(shape.options.model)) return -Distances(shape.options, v, table);
  const at::ScalarType type = ProductType(parameters, mixed);
  const at::Tensor bias = parts["entity.bias"];
  const at::Tensor scores = at::matmul(v.to(type), table.to(type).t()).to(parameters.scalar_type());
  return bias.defined() ? scores + bias : scores;
}

namespace {

// Returns the number of true tails of each query, [B].
at::Tensor Counts(const KgeBatch& batch, const at::Tensor& like) {
  const at::Tensor counts = HostTensorFor(like.device(), {batch.size()}, at::kDouble);
  for (int64_t b = 0; b < batch.size(); ++b) {
    counts.data_ptr<double>()[b] = static_cast<double>(batch.positive_offset[b + 1] - batch.positive_offset[b]);
  }
  return Sent(counts, like.device()).to(like.scalar_type());
}

// Returns the labels [B, entities]. Only what differs from a row's base crosses to a GPU, where the rows are made.
at::Tensor Labels(const KgeShape& shape, const at::Tensor& scores, const KgeBatch& batch) {
  const int64_t num_entities = shape.num_entities, count = batch.positive_offset.back() - batch.positive_offset[0];
  const c10::Device device = scores.device();
  const at::Tensor base = HostTensorFor(device, {batch.size(), 1}, at::kDouble);
  const at::Tensor extra = HostTensorFor(device, {count}, at::kDouble);
  const at::Tensor place = HostTensorFor(device, {count}, at::kLong);
  double* next_extra = extra.data_ptr<double>();
  int64_t* next_place = place.data_ptr<int64_t>();
  for (int64_t b = 0; b < batch.size(); ++b) {
    const int64_t begin = batch.positive_offset[b], end = batch.positive_offset[b + 1];
    SmoothedLabels smoothed = SmoothLabels(shape.options, num_entities, end - begin);
    // The answer of a false query has the label of a softmax's only one, and 0 for a binary cross-entropy.
    if (batch.IsFalse(b)) smoothed = {0, IsSoftmaxLoss(shape.options.loss) ? 1.0 : 0.0};
    base.data_ptr<double>()[b] = smoothed.base;
    // With 1-N a term is multiplied by its weight, and the label is not.
    const bool terms = batch.positive_weight.empty() || WeighsTermsAlone(shape.options, batch, b);
    const double unit = TailUnit(shape.options, batch, b);
    for (int64_t k = begin; k < end; ++k) {
      *next_extra++ = terms ? smoothed.extra : smoothed.extra * unit * batch.TailWeight(k);
      *next_place++ = b * num_entities + batch.positive[k];
    }
  }
  at::Tensor labels = Sent(base, device).expand({batch.size(), num_entities}).contiguous();
  // In fp64, so that a label is rounded once, and a positive that is listed twice counts twice.
  labels.view({-1}).index_put_({Sent(place, device)}, Sent(extra, device), /*accumulate=*/true);
  return labels.to(scores.scalar_type());
}

// Returns the weights of the terms of binary cross-entropies [B, entities]: of a false query only its answer counts,
// and with 1-N true tails have weights.
at::Tensor TermWeights(const KgeShape& shape, const at::Tensor& scores, const KgeBatch& batch) {
  const at::Tensor weights = at::ones({batch.size(), shape.num_entities}, at::kDouble);
  double* const all = weights.data_ptr<double>();
  for (int64_t b = 0; b < batch.size(); ++b) {
    double* const row = all + b * shape.num_entities;
    if (batch.IsFalse(b)) std::fill_n(row, shape.num_entities, 0.0);
    for (int64_t k = batch.positive_offset[b]; k < batch.positive_offset[b + 1]; ++k) {
      row[batch.positive[k]] = WeighsTermsAlone(shape.options, batch, b) ? batch.TailWeight(k) : 1;
    }
  }
  return weights.to(scores.device()).to(scores.scalar_type());
}

// Returns what each query's loss is multiplied by, [B].
at::Tensor QueryCounts(const KgeShape& shape, const at::Tensor& scores, const KgeBatch& batch) {
  const at::Tensor counts = at::empty({batch.size()}, at::kDouble);
  for (int64_t b = 0; b < batch.size(); ++b) counts.data_ptr<double>()[b] = QueryCount(shape.options, batch, b);
  return counts.to(scores.device()).to(scores.scalar_type());
}

// Replaces the losses [X] of false answers, one of each row of scores [X, N], by -log(1 - p) = log(1 + e^(x - L)), L
// the logarithm of the sum of e^x over the others. answer, is_false: [X].
at::Tensor WithFalseAnswers(const at::Tensor& losses, const at::Tensor& scores, const at::Tensor& answer,
                            const at::Tensor& is_false) {
  const at::Tensor index = answer.unsqueeze(1);
  const at::Tensor others = scores.scatter(1, index, -std::numeric_limits<double>::infinity()).logsumexp(1);
  return at::where(is_false, at::softplus(scores.gather(1, index).squeeze(1) - others, 1, 1e3), losses);
}

// Returns which queries are false [B], and the first tail of each [B] in `answer`.
at::Tensor FalseQueries(const at::Tensor& like, const KgeBatch& batch, at::Tensor* answer) {
  std::vector<int64_t> is_false, first;
  for (int64_t b = 0; b < batch.size(); ++b) {
    is_false.push_back(batch.IsFalse(b) ? 1 : 0);
    first.push_back(batch.IsFalse(b) ? batch.positive[batch.positive_offset[b]] : 0);
  }
  *answer = Index(absl::MakeConstSpan(first), like);
  return Index(absl::MakeConstSpan(is_false), like) == 1;
}

}  // namespace

at::Tensor ReferenceLosses(const KgeShape& shape, const at::Tensor& scores, const KgeBatch& batch) {
  const bool weighted = !batch.positive_weight.empty();
  const at::Tensor labels = Labels(shape, scores, batch);
  if (!IsSoftmaxLoss(shape.options.loss)) {
    const at::Tensor terms = at::binary_cross_entropy_with_logits(scores, labels, {}, {}, at::Reduction::None);
    if (!weighted && batch.is_false.empty()) return terms.mean(1);
    return (terms * TermWeights(shape, scores, batch)).mean(1) * QueryCounts(shape, scores, batch);
  }
  at::Tensor losses = -(labels * at::log_softmax(scores, 1)).sum(1);
  if (!batch.is_false.empty()) {
    at::Tensor answer;
    const at::Tensor is_false = FalseQueries(scores, batch, &answer);
    losses = WithFalseAnswers(losses, scores, answer, is_false);
  }
  return weighted || GroupsQueries(shape.options) ? losses * QueryCounts(shape, scores, batch) : losses;
}

namespace {

// The triples of a batch, whose queries may have several tails.
struct Triples {
  at::Tensor heads, relations, tails;  // [P]
  at::Tensor query;                    // [P] which query they are of
  at::Tensor counts;                   // [B] how many a query has
  at::Tensor weights;                  // [P]; undefined: all 1
};

Triples TriplesOf(const KgeBatch& batch, const at::Tensor& like) {
  std::vector<int64_t> query;
  for (int64_t q = 0; q < batch.size(); ++q) {
    query.insert(query.end(), batch.positive_offset[q + 1] - batch.positive_offset[q], q);
  }
  Triples triples;
  triples.query = Index(absl::MakeConstSpan(query), like);
  triples.heads = Index(batch.head, like).index_select(0, triples.query);
  triples.relations = Index(batch.relation, like).index_select(0, triples.query);
  triples.tails = Index(batch.positive.subspan(batch.positive_offset[0], query.size()), like);
  triples.counts = Counts(batch, like).clamp_min(1);
  if (batch.positive_weight.empty()) return triples;
  const at::Tensor weights = at::empty({static_cast<int64_t>(query.size())}, at::kDouble);
  std::copy_n(batch.positive_weight.begin() + batch.positive_offset[0], query.size(), weights.data_ptr<double>());
  triples.weights = weights.to(like.device()).to(like.scalar_type());
  return triples;
}

// Returns what each query's triples add, [B], of what each triple adds, [P]: its mean, or its sum with group_queries,
// times weights.
at::Tensor OfQueries(const KgeOptions& options, const Triples& triples, at::Tensor of_triples) {
  if (triples.weights.defined()) of_triples = of_triples * triples.weights;
  const at::Tensor sums =
      at::zeros(triples.counts.sizes(), of_triples.options()).index_add(0, triples.query, of_triples);
  return GroupsQueries(options) ? sums : sums / triples.counts;
}

}  // namespace

at::Tensor ReferencePenalties(const KgeShape& shape, const at::Tensor& parameters, const KgeBatch& batch) {
  const KgeOptions& options = shape.options;
  if (options.regularizer == KgeRegularizer::kNone || !batch.training) return at::Tensor();
  const auto squares = [&](const at::Tensor& rows) {
    if (options.model != KgeModel::kComplEx) return rows.square();
    const std::vector<at::Tensor> x = rows.chunk(2, 1);
    return x[0].square() + x[1].square();
  };
  const auto penalty = [&](const at::Tensor& rows) {
    if (options.regularizer == KgeRegularizer::kF2) return rows.square().sum(1);
    if (options.regularizer == KgeRegularizer::kL3) return rows.abs().pow(3).sum(1);
    return squares(rows).pow(1.5).sum(1);
  };
  const Parts parts(shape, parameters);
  const Triples triples = TriplesOf(batch, parameters);
  const at::Tensor heads = parts["entity.weight"].index_select(0, triples.heads);
  const at::Tensor tails = parts["entity.weight"].index_select(0, triples.tails);
  const at::Tensor relations = parts["relation.weight"].index_select(0, triples.relations);
  at::Tensor of_triples;
  if (options.regularizer == KgeRegularizer::kDura) {
    of_triples = ((squares(heads) + squares(tails)) * (0.5 + 1.5 * squares(relations))).sum(1);
  } else {
    // CP scores a head's first half with a tail's second.
    const bool halves = options.model == KgeModel::kCp;
    of_triples = penalty(halves ? heads.chunk(2, 1)[0] : heads) + penalty(relations) +
                 penalty(halves ? tails.chunk(2, 1)[1] : tails);
  }
  return options.regularization * OfQueries(options, triples, of_triples);
}

at::Tensor ReferenceRelationLosses(const KgeShape& shape, const at::Tensor& parameters, const KgeBatch& batch,
                                   Precision mixed) {
  const KgeOptions& options = shape.options;
  if (options.relation_prediction == 0 || shape.is_conve() || !batch.training) return at::Tensor();
  const Parts parts(shape, parameters);
  const Triples triples = TriplesOf(batch, parameters);
  const at::Tensor heads = parts["entity.weight"].index_select(0, triples.heads);
  const at::Tensor tails = parts["entity.weight"].index_select(0, triples.tails);
  const at::Tensor q = RelationQuery(options.model, heads, tails);
  const at::ScalarType type = ProductType(parameters, mixed);
  const at::Tensor scores = at::matmul(q.to(type), parts["relation.weight"].to(type).t()).to(parameters.scalar_type());
  at::Tensor losses = -at::log_softmax(scores, 1).gather(1, triples.relations.unsqueeze(1)).squeeze(1);
  if (!batch.is_false.empty()) {
    at::Tensor tail;
    const at::Tensor is_false = FalseQueries(scores, batch, &tail).index_select(0, triples.query);
    losses = WithFalseAnswers(losses, scores, triples.relations, is_false);
  }
  return options.relation_prediction * OfQueries(options, triples, losses);
}

}  // namespace rutile
