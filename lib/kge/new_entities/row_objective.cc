#include "lib/kge/new_entities/row_objective.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "lib/base/logging.h"
#include "lib/kge/model/kge_labels.h"

namespace rutile {
RowExamples MakeRowExamples(const KgeShape& shape, const KnownTails& known, const KeyWeights& weights,
                            absl::Span<const Triple> triples, int32_t id, int64_t num_relations,
                            bool inverse_relations) {
  const KgeOptions& options = shape.options;
  const int64_t num = shape.num_entities;
  const bool keys = IsKeyLoss(options.loss);
  std::map<int32_t, std::vector<int32_t>> tails;  // by relation
  RowExamples examples;
  const auto add_tail = [&](int32_t head, int32_t relation) {
    const int64_t num_known = static_cast<int64_t>(known.Tails(head, relation).size());
    const int64_t num_true = keys ? num_known + 1 : 1;
    const SmoothedLabels labels = SmoothLabels(options, num + 1, num_true);
    // The new triple weighs 1. With KvsAll labels are shares of the weights, and the query counts their mean.
    const double mean = options.loss == KgeLoss::kKvsAll
                            ? (weights.Sum(head, relation, num_known) + 1) / static_cast<double>(num_true)
                            : 1;
    examples.tail_heads.push_back(head);
    examples.tail_relations.push_back(relation);
    examples.tail_labels.push_back(labels.base + labels.extra / mean);
    examples.tail_counts.push_back(mean);
  };
  for (const Triple& t : triples) {
    const auto inverse = static_cast<int32_t>(t.relation + num_relations);
    if (t.head == id) {
      tails[t.relation].push_back(t.tail);
      if (inverse_relations) add_tail(t.tail, inverse);
    } else {
      CHECK_EQ(t.tail, id);
      add_tail(t.head, t.relation);
      if (inverse_relations) tails[inverse].push_back(t.head);
    }
  }
  for (const auto& [relation, all] : tails) {
    const auto add_query = [&, relation = relation](std::vector<int32_t> some) {
      const SmoothedLabels labels = SmoothLabels(options, num, static_cast<int64_t>(some.size()));
      examples.relations.push_back(relation);
      examples.queries.push_back({labels, std::move(some)});
    };
    if (keys) {
      add_query(all);
    } else {
      for (const int32_t tail : all) add_query({tail});
    }
  }
  return examples;
}

RowObjective::RowObjective(const RowExamples& examples, const KgeShape& shape, const KgeScorer& scorer,
                           const RowPrior& prior, const OtherQueries& others, RowQueries* queries, TableLoss* table)
    : examples_(examples),
      shape_(shape),
      prior_(prior),
      others_(others),
      queries_(queries),
      table_(table),
      tail_v_(KnownHidden(scorer, examples.tail_heads, examples.tail_relations)),
      v_(examples.queries.size() * shape.dim()),
      d_v_(v_.size()) {
  if (IsSoftmaxLoss(shape.options.loss)) tail_log_sums_ = table_->LogSums(tail_v_);
  // A key that has x among its tails is one example of a loss over keys, and stands in the examples already.
  other_weights_ = others.weights();
  for (size_t q = 0; IsKeyLoss(shape.options.loss) && q < examples.tail_heads.size(); ++q) {
    const int64_t found = others.Find(examples.tail_heads[q], examples.tail_relations[q]);
    if (found >= 0) other_weights_[found] = 0;
  }
}

double RowObjective::AddQueries(absl::Span<const double> x, absl::Span<double> d_y) {
  if (examples_.queries.empty()) return 0;
  queries_->Forward(x, examples_.relations, absl::MakeSpan(v_));
  const double loss = table_->Evaluate(examples_.queries, v_, absl::MakeSpan(d_v_));
  queries_->AddGradient(examples_.relations, d_v_, d_y.subspan(0, shape_.dim()));
  return loss;
}

double RowObjective::AddTails(absl::Span<const double> y, absl::Span<double> d_y) const {
  const int64_t dim = shape_.dim();
  double loss = 0;
  for (size_t q = 0; q < examples_.tail_labels.size(); ++q) {
    const double* const v = tail_v_.data() + q * dim;
    double score = prior_.size() > dim ? y[dim] : 0.0;
    for (int64_t k = 0; k < dim; ++k) score += v[k] * y[k];
    // log(Z + e^s) = log Z + log(1 + e^(s - log Z)); a binary loss has 1 in place of Z.
    const double log_sum = tail_log_sums_.empty() ? 0.0 : tail_log_sums_[q];
    const double above = score - log_sum, label = examples_.tail_labels[q];
    const double count = examples_.tail_counts[q];
    loss += count * (log_sum + std::max(above, 0.0) + std::log1p(std::exp(-std::abs(above))) - label * score);
    const double slope = count * (1 / (1 + std::exp(-above)) - label);
    for (int64_t k = 0; k < dim; ++k) d_y[k] += slope * v[k];
    if (prior_.size() > dim) d_y[dim] += slope;
  }
  return loss;
}

double RowObjective::operator()(absl::Span<const double> z, absl::Span<double> gradient) {
  const std::vector<double> y = prior_.FromStandard(z);
  std::vector<double> d_y(y.size(), 0.0);
  double value = AddQueries(absl::MakeConstSpan(y).subspan(0, shape_.dim()), absl::MakeSpan(d_y));
  value += AddTails(y, absl::MakeSpan(d_y));
  value += others_.Add(other_weights_, y, absl::MakeSpan(d_y));
  const std::vector<double> d_z = prior_.ToStandard(d_y);
  for (size_t k = 0; k < z.size(); ++k) {
    value += kPriorWeight * z[k] * z[k] / 2;
    gradient[k] = d_z[k] + kPriorWeight * z[k];
  }
  return value;
}

}  // namespace rutile
