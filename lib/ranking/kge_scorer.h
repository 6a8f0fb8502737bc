// What ranking and prediction need of a knowledge-graph embedding model: hidden vectors of queries, and rows of
// entities.

#ifndef RUTILE_LIB_RANKING_KGE_SCORER_H_
#define RUTILE_LIB_RANKING_KGE_SCORER_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/ranking/scores/score_form.h"
#include "lib/ranking/scores/score_sweep.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// A model's scores. The score of a tail is <v(head, relation), entity's row> + entity's bias, or their distance
// (score_form.h); all F32 or all F64.
struct KgeScorer {
  Tensor entities;  // [N, d]
  Tensor bias;      // [N], or [0] without biases
  ScoreForm form = ScoreForm::kDot;
  // Number of relations that queries can name: the graph's R, or 2 R with inverses.
  int64_t num_relations = 0;
  // Writes v of Q queries into hidden [Q, d], of the entities' type, with running statistics and without dropout. Ids
  // must be in range. Called by one thread at a time; memory of the model may grow with Q, which is at most
  // kMaxHiddenQueries.
  std::function<absl::Status(absl::Span<const int32_t> heads, absl::Span<const int32_t> relations, Tensor* hidden)>
      hidden;
  // Set where scores of different queries (head, relation) have different scales, so that they do not compare heads:
  // makes the scorer by which heads of (?, relation, tail) are compared, <its v(head), its row of the tail>. It has
  // rows for all entities; the relations that its `hidden` is given do not matter. Errors: those of `hidden`.
  std::function<absl::StatusOr<KgeScorer>(int32_t relation)> heads_of;

  int64_t num_entities() const { return entities.dim(0); }
  int64_t dim() const { return entities.dim(1); }
};

constexpr int64_t kMaxHiddenQueries = 512;

// Returns the entities as a table to sweep over. T is the scorer's type.
template <typename T>
ScoreTable<T> EntityTable(const KgeScorer& scorer) {
  ScoreTable<T> table;
  table.entity = scorer.entities.values<T>();
  if (scorer.bias.num_elements() > 0) table.bias = scorer.bias.values<T>();
  table.num = scorer.num_entities();
  table.dim = scorer.dim();
  table.form = scorer.form;
  return table;
}

// Computes hidden vectors of any number of queries, kMaxHiddenQueries at a time. hidden: [heads.size() * d].
template <typename T>
absl::Status FillHidden(const KgeScorer& scorer, absl::Span<const int32_t> heads, absl::Span<const int32_t> relations,
                        absl::Span<T> hidden) {
  const int64_t dim = scorer.dim();
  Tensor part;
  for (size_t first = 0; first < heads.size(); first += kMaxHiddenQueries) {
    const absl::Span<const int32_t> some = heads.subspan(first, kMaxHiddenQueries);
    const std::vector<int64_t> shape = {static_cast<int64_t>(some.size()), dim};
    if (!part.Reuse(DTypeOf<T>(), shape)) part = Tensor::Zeros(DTypeOf<T>(), shape);
    absl::Status status = scorer.hidden(some, relations.subspan(first, kMaxHiddenQueries), &part);
    if (!status.ok()) return status;
    const absl::Span<const T> values = part.values<T>();
    std::copy(values.begin(), values.end(), hidden.begin() + first * dim);
  }
  return absl::OkStatus();
}

}  // namespace rutile

#endif  // RUTILE_LIB_RANKING_KGE_SCORER_H_
