#include "lib/kge/new_entities/other_queries.h"

#include <algorithm>
#include <cmath>

#include "lib/base/logging.h"
#include "lib/kge/model/kge_labels.h"
#include "lib/matrix/row_dot.h"

namespace rutile {
namespace {

constexpr int64_t kPiece = 256;  // queries whose gradients are added up before those of other pieces

}  // namespace

std::vector<double> KnownHidden(const KgeScorer& scorer, const std::vector<int32_t>& heads,
                                const std::vector<int32_t>& relations) {
  const auto fill = [&](auto number) {
    std::vector<decltype(number)> hidden(heads.size() * scorer.dim());
    CHECK(FillHidden<decltype(number)>(scorer, heads, relations, absl::MakeSpan(hidden)).ok());
    return std::vector<double>(hidden.begin(), hidden.end());
  };
  return scorer.entities.dtype() == DType::kF64 ? fill(0.0) : fill(0.0F);
}

OtherQueries::OtherQueries(const KgeShape& shape, const KnownTails& known, const KeyWeights& weights,
                           const KgeScorer& scorer, TableLoss* table, ThreadPool* pool, int64_t most)
    : dim_(shape.dim()), pool_(pool) {
  const KgeOptions& options = shape.options;
  const bool keys = IsKeyLoss(options.loss);
  const int64_t every = std::max<int64_t>(1, (known.num_keys() + most - 1) / most);
  std::vector<int32_t> heads, relations;
  for (int64_t key = 0; key < known.num_keys(); key += every) {
    const auto num_true = static_cast<int64_t>(known.tails(key).size());
    index_[{known.head(key), known.relation(key)}] = static_cast<int64_t>(heads.size());
    heads.push_back(known.head(key));
    relations.push_back(known.relation(key));
    labels_.push_back(SmoothLabels(options, shape.num_entities + 1, keys ? num_true : 1).base);
    const double sum = weights.Sum(known.head(key), known.relation(key), num_true);
    const double count = options.loss == KgeLoss::kOneToN ? (sum > 0 ? 1 : 0)
                         : keys                           ? sum / static_cast<double>(num_true)
                                                          : sum;
    weights_.push_back(static_cast<double>(every) * count);
  }
  v_ = KnownHidden(scorer, heads, relations);
  log_sums_ = IsSoftmaxLoss(options.loss) ? table->LogSums(v_) : std::vector<double>(heads.size(), 0.0);
}

int64_t OtherQueries::Find(int32_t head, int32_t relation) const {
  const auto found = index_.find({head, relation});
  return found == index_.end() ? -1 : found->second;
}

double OtherQueries::Add(absl::Span<const double> weights, absl::Span<const double> y, absl::Span<double> d_y) const {
  const auto size = static_cast<int64_t>(weights_.size()), width = static_cast<int64_t>(y.size());
  CHECK_EQ(static_cast<int64_t>(weights.size()), size);
  const int64_t pieces = (size + kPiece - 1) / kPiece;
  std::vector<double> losses(pieces, 0.0), slopes(pieces * width, 0.0);
  pool_->For(size, kPiece, [&](int64_t begin, int64_t end, int) {
    double* const slope_sum = slopes.data() + begin / kPiece * width;
    for (int64_t q = begin; q < end; ++q) {
      const double* const v = v_.data() + q * dim_;
      const double score = RowDot<double>(v, y.data(), dim_) + (width > dim_ ? y[dim_] : 0.0);
      // log(Z + e^s) - log Z = log(1 + e^(s - log Z))
      const double above = score - log_sums_[q];
      losses[begin / kPiece] +=
          weights[q] * (std::max(above, 0.0) + std::log1p(std::exp(-std::abs(above))) - labels_[q] * score);
      const double slope = weights[q] * (1 / (1 + std::exp(-above)) - labels_[q]);
      for (int64_t k = 0; k < dim_; ++k) slope_sum[k] += slope * v[k];
      if (width > dim_) slope_sum[dim_] += slope;
    }
  });
  double loss = 0;
  for (int64_t piece = 0; piece < pieces; ++piece) {
    loss += losses[piece];
    for (int64_t k = 0; k < width; ++k) d_y[k] += slopes[piece * width + k];
  }
  return loss;
}

}  // namespace rutile
