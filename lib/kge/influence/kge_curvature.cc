#include "lib/kge/influence/kge_curvature.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "lib/base/interrupt.h"
#include "lib/base/logging.h"
#include "lib/base/random.h"
#include "lib/base/status_macros.h"
#include "lib/kge/influence/kge_part_plan.h"
#include "lib/kge/influence/penalty_factors.h"
#include "lib/kge/layers/workspace.h"
#include "lib/kge/training/scores/embedding_penalty.h"
#include "lib/matrix/cholesky.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/matrix/matrix_products.h"
#include "lib/matrix/matrix_view.h"

namespace rutile {
namespace {

// Backward passes, and numbers of maps and of gradients of relations, that are in memory at once.
constexpr int64_t kMostRows = 2048;
constexpr int64_t kMostNumbers = int64_t{4} << 20;
// Scores of probes that are in memory at once, and weights of their queries.
constexpr int64_t kMostScores = int64_t{16} << 20;

// Adds weight x x^T to the lower triangle of a matrix [n, n].
void AddSquare(double weight, const double* x, int64_t n, double* to) {
  for (int64_t i = 0; i < n; ++i) {
    const double factor = weight * x[i];
    if (factor == 0) continue;
    double* const row = to + i * n;
    for (int64_t j = 0; j <= i; ++j) row[j] += factor * x[j];
  }
}

template <typename T>
void Widen(const T* from, int64_t n, std::vector<double>* to) {
  to->assign(from, from + n);
}

double Trace(const double* matrix, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += matrix[i * (n + 1)];
  return sum;
}

KgePartPlan PlanOfAll(const KgeShape& shape) {
  const std::vector<ParameterSlice> slices = shape.Slices();
  ProductPart all;
  for (size_t s = 0; s < slices.size(); ++s) {
    if (!slices[s].buffer) all.slices.push_back(static_cast<int>(s));
  }
  return KgePartPlan(shape, {all});
}

}  // namespace

struct KgeCurvature::Query {
  Triple first;                // the first of its triples
  std::vector<int32_t> tails;  // of all of them
  std::vector<double> v;       // [d]
  std::vector<double> weight;  // [N] the diagonal of W_q
  // W_q is the sum over e of y y^T with y = root[e] (unit vector e - mean); mean may be empty: 0.
  std::vector<double> root, mean;
  std::vector<double> head_slopes;  // the number at the head of each y, or of each random combination of them

  void FillWeights(KgeInfluenceLoss loss, std::vector<double> scores);
  template <typename T>
  void FillSlopes(const T* table, int64_t d, T* d_v);
  template <typename T>
  void FillProbes(int probes, uint64_t seed, int64_t number, T* rows);
};

KgeCurvature::KgeCurvature(const KgeShape& shape, const KgeCurvatureOptions& options)
    : shape_(shape), at_(shape.offsets()), probes_(options.probes) {
  const int64_t d = shape.dim();
  entity_ = {at_.entity, shape.num_entities, d, {}};
  relation_ = {at_.relation, shape.num_relations, shape.relation_dim(), {}};
  for (const ParameterSlice& slice : shape.Slices()) num_parameters_ += slice.buffer ? 0 : slice.num_elements();
  if (!shape.is_conve()) return;
  fc_bias_ = {at_.fc_bias, 1, d, {}};
  slopes_ = {at_.fc_weight, 1, d, {}};
  maps_ = {at_.fc_weight, 1, shape.num_features(), {}};
  for (const SmallColumns::Tensor& tensor : SmallColumns(shape).tensors) {
    small_.push_back({tensor.offset, 1, tensor.end - tensor.begin, {}});
  }
}

absl::Status KgeCurvature::Allocate(int64_t limit) {
  std::vector<Block*> blocks = {&entity_, &relation_, &fc_bias_, &maps_, &slopes_};
  for (Block& block : small_) blocks.push_back(&block);
  double bytes = 0;
  for (const Block* block : blocks) bytes += 8.0 * static_cast<double>(block->count) * std::pow(block->dim, 2);
  if (limit > 0 && bytes > static_cast<double>(limit)) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the curvature takes ", static_cast<int64_t>(bytes / 1e6), " MB (", entity_.dim, " x ", entity_.dim,
        " numbers for each of ", entity_.count, " entities, ", relation_.dim, " x ", relation_.dim, " for each of ",
        relation_.count, " relations", maps_.dim > 0 ? absl::StrCat(", ", maps_.dim, " x ", maps_.dim, " for fc") : "",
        "), and ", limit / 1000000, " MB are allowed: allow more, or use no curvature"));
  }
  for (Block* block : blocks) block->matrix.assign(block->count * block->dim * block->dim, 0.0);
  rest_.assign(shape_.num_entities, 0.0);
  rest_tail_.assign(shape_.dim() * shape_.dim(), 0.0);
  if (shape_.has_entity_bias()) bias_.assign(shape_.num_entities, 0.0);
  return absl::OkStatus();
}

void KgeCurvature::AddTails(const std::vector<Query>& queries, double least_weight, ThreadPool* pool) {
  const int64_t n = shape_.num_entities, d = shape_.dim();
  std::vector<double> least(queries.size());
  for (size_t q = 0; q < queries.size(); ++q) {
    double sum = 0;
    for (const double w : queries[q].weight) sum += w;
    least[q] = least_weight * sum / static_cast<double>(n);
    double light = 0;
    for (int64_t e = 0; e < n; ++e) {
      const double w = queries[q].weight[e];
      light += w < least[q] && e != queries[q].first.head ? w : 0;
    }
    AddSquare(light, queries[q].v.data(), d, rest_tail_.data());
    rest_sum_ += light;
  }
  // The sum of v v^T over many queries is a product of matrices.
  std::vector<MatrixProducts<double>> products;
  for (int w = 0; w < NumWorkers(pool); ++w) products.emplace_back(FactorRounding::kNone);
  ForPieces(pool, n, NumPieces(n, 4 * NumWorkers(pool)), [&](int64_t begin, int64_t end, int worker) {
    std::vector<double> rows, weighted;
    for (int64_t e = begin; e < end; ++e) {
      rows.clear();
      weighted.clear();
      for (size_t q = 0; q < queries.size(); ++q) {
        const double w = queries[q].weight[e];
        if (!bias_.empty()) bias_[e] += w;
        if (e == queries[q].first.head) continue;
        if (w < least[q]) {
          rest_[e] += w;
        } else if (w > 0) {
          rows.insert(rows.end(), queries[q].v.begin(), queries[q].v.end());
          for (const double x : queries[q].v) weighted.push_back(w * x);
        }
      }
      const auto count = static_cast<int64_t>(rows.size()) / d;
      if (count == 0) continue;
      const MatrixView<double> left = {weighted.data(), count, d, d};
      products[worker].Multiply(left.Transposed(), {rows.data(), count, d, d}, /*add=*/true, entity_.At(e), d);
    }
  });
}

template <typename T>
void KgeCurvature::AddSlopes(const std::vector<Query>& queries, const GradientFactors<T>& factors, ThreadPool* pool) {
  const int64_t d = shape_.dim(), of_relation = shape_.relation_dim(), features = maps_.dim;
  const SmallColumns columns(shape_);
  std::vector<double> x;
  int64_t row = 0;
  for (size_t q = 0; q < queries.size(); ++q) {
    const Query& query = queries[q];
    double* const of_head = entity_.At(query.first.head);
    double* const of_rows = relation_.At(query.first.relation);
    double slope_square = 0;
    for (const double head_slope : query.head_slopes) {
      // What the head's row does as a head and as a tail in one square: of random combinations, sums of squares and of
      // products would fit together on average alone, and leave a block that is not positive.
      Widen(factors.d_head + row * d, d, &x);
      for (int64_t k = 0; head_slope != 0 && k < d; ++k) x[k] += head_slope * query.v[k];
      AddSquare(1, x.data(), d, of_head);
      Widen(factors.d_relation + row * of_relation, of_relation, &x);
      AddSquare(1, x.data(), of_relation, of_rows);
      if (shape_.is_conve()) {
        Widen(factors.d_fc + row * d, d, &x);
        AddSquare(1, x.data(), d, slopes_.At(0));
        for (const double slope : x) slope_square += slope * slope;
        for (size_t s = 0; s < small_.size(); ++s) {
          Widen(factors.small + row * columns.size + columns.tensors[s].begin, small_[s].dim, &x);
          AddSquare(1, x.data(), small_[s].dim, small_[s].At(0));
        }
      }
      ++row;
    }
    if (!shape_.is_conve()) continue;
    Widen(factors.maps + static_cast<int64_t>(q) * features, features, &x);
    slope_sum_ += slope_square;
    ForPieces(pool, features, NumPieces(features, 4 * NumWorkers(pool)), [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        const double factor = slope_square * x[i];
        double* const to = maps_.At(0) + i * features;
        for (int64_t j = 0; factor != 0 && j <= i; ++j) to[j] += factor * x[j];
      }
    });
  }
}

// Fills the curvature of a query's loss by its scores. scores: [N], which are overwritten.
void KgeCurvature::Query::FillWeights(KgeInfluenceLoss loss, std::vector<double> scores) {
  const auto n = static_cast<int64_t>(scores.size());
  weight.assign(n, 0);
  root.assign(n, 0);
  const double count = NeedsKnownTails(loss) ? 1 : static_cast<double>(tails.size());
  if (loss == KgeInfluenceLoss::kCrossEntropy || loss == KgeInfluenceLoss::kKvsAll) {
    const double top = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (double& score : scores) sum += score = std::exp(score - top);
    for (int64_t e = 0; e < n; ++e) {
      scores[e] /= sum;
      weight[e] = count * scores[e] * (1 - scores[e]);
      root[e] = std::sqrt(count * scores[e]);
    }
    mean = std::move(scores);
    return;
  }
  const auto slope = [&](int64_t e) {
    const double x = std::exp(-std::abs(scores[e]));
    return x / ((1 + x) * (1 + x));  // of the sigmoid
  };
  if (loss == KgeInfluenceLoss::kTriple) {
    for (const int32_t t : tails) weight[t] += slope(t);
  } else {
    for (int64_t e = 0; e < n; ++e) weight[e] = count * slope(e) / static_cast<double>(n);
  }
  for (int64_t e = 0; e < n; ++e) root[e] = std::sqrt(weight[e]);
}

// Overwrites d_v [N, d] with slopes by v whose squares sum to E^T W_q E, and the head's slopes.
template <typename T>
void KgeCurvature::Query::FillSlopes(const T* table, int64_t d, T* d_v) {
  std::vector<double> center(d, 0.0);
  for (size_t e = 0; e < mean.size(); ++e) {
    for (int64_t k = 0; k < d; ++k) center[k] += mean[e] * static_cast<double>(table[e * d + k]);
  }
  head_slopes.clear();
  for (size_t e = 0; e < root.size(); ++e) {
    for (int64_t k = 0; k < d; ++k) {
      d_v[e * d + k] = static_cast<T>(root[e] * (static_cast<double>(table[e * d + k]) - center[k]));
    }
    const double of_head = static_cast<int32_t>(e) == first.head ? 1 : 0;
    head_slopes.push_back(root[e] * (of_head - (mean.empty() ? 0 : mean[first.head])));
  }
}

// Overwrites rows [probes, N] with random combinations of the y of W_q, whose squares sum to it on average, and the
// head's slopes. number: of the query, for the signs.
template <typename T>
void KgeCurvature::Query::FillProbes(int probes, uint64_t seed, int64_t number, T* rows) {
  const auto n = static_cast<int64_t>(root.size());
  const double scale = 1 / std::sqrt(probes);
  std::vector<double> row(n);
  head_slopes.clear();
  for (int b = 0; b < probes; ++b, rows += n) {
    RandomStream random(seed, "curvature", number, b);
    uint64_t bits = 0;
    double sum = 0;
    for (int64_t e = 0; e < n; ++e) {
      if (e % 64 == 0) bits = random.Next();
      row[e] = (bits >> (e % 64) & 1) != 0 ? scale * root[e] : -scale * root[e];
      sum += row[e];
    }
    for (int64_t e = 0; e < n; ++e) {
      if (!mean.empty()) row[e] -= sum * mean[e];
      rows[e] = static_cast<T>(row[e]);
    }
    head_slopes.push_back(row[first.head]);
  }
}

template <typename T>
absl::Status KgeCurvature::AddQueries(const T* parameters, const KgeInfluenceOptions& options, ThreadPool* pool) {
  const KgeCurvatureOptions& own = *options.curvature;
  const int64_t n = shape_.num_entities, d = shape_.dim(), rows_of_query = probes_ > 0 ? probes_ : n;
  std::vector<Triple> triples = own.examples;
  std::sort(triples.begin(), triples.end());
  const KgePartPlan plan = PlanOfAll(shape_);
  GradientFactorizer<T> factorizer(shape_, parameters, options, /*loss_scale=*/1, pool);
  GradientFactors<T> factors;
  MatrixProducts<T> products(FactorRounding::kNone, pool);
  Tensor score_memory, probe_memory;
  const T* const table = parameters + at_.entity;
  const T* const bias = at_.entity_bias < 0 ? nullptr : parameters + at_.entity_bias;
  const int64_t widest = std::max(shape_.is_conve() ? shape_.num_features() : 1, shape_.relation_dim());
  const int64_t most_rows = std::min({kMostRows, kMostNumbers / widest, probes_ > 0 ? kMostScores / n : kMostRows});
  size_t next = 0;
  while (next < triples.size()) {
    RETURN_IF_ERROR(CheckInterrupt());
    // The queries of a chunk, each as often as it has backward passes: they share the forward pass.
    std::vector<Query> queries;
    KgeFactorInput input;
    while (next < triples.size() &&
           (queries.empty() || static_cast<int64_t>(input.triples.size()) + rows_of_query <= most_rows)) {
      Query& query = queries.emplace_back();
      query.first = triples[next];
      for (; next < triples.size() && triples[next].head == query.first.head &&
             triples[next].relation == query.first.relation;
           ++next) {
        query.tails.push_back(triples[next].tail);
      }
      input.triples.insert(input.triples.end(), rows_of_query, query.first);
    }
    factorizer.FillQueries(input, &factors);
    const auto size = static_cast<int64_t>(queries.size());
    std::vector<T> d_v(size * rows_of_query * d);
    T* const scores = Take<T>(&score_memory, size * n);
    const MatrixView<T> entities = {table, n, d, d};
    products.Multiply({factors.v, size, d, d}, entities.Transposed(), /*add=*/false, scores, n);
    T* const probes = probes_ > 0 ? Take<T>(&probe_memory, size * probes_ * n) : nullptr;
    ForPieces(pool, size, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t q = begin; q < end; ++q) {
        Query& query = queries[q];
        Widen(factors.v + q * d, d, &query.v);
        std::vector<double> own_scores(scores + q * n, scores + (q + 1) * n);
        for (int64_t e = 0; bias != nullptr && e < n; ++e) own_scores[e] += static_cast<double>(bias[e]);
        query.FillWeights(options.loss, std::move(own_scores));
        if (probes_ > 0) {
          query.FillProbes(probes_, own.seed, num_queries_ + q, probes + q * probes_ * n);
        } else {
          query.FillSlopes(table, d, d_v.data() + q * n * d);
        }
      }
    });
    if (probes_ > 0) products.Multiply({probes, size * probes_, n, n}, entities, /*add=*/false, d_v.data(), d);
    num_queries_ += size;
    AddTails(queries, own.least_weight, pool);
    factorizer.FillSlopes(d_v.data(), plan, &factors);
    AddSlopes(queries, factors, pool);
  }
  num_examples_ = NeedsKnownTails(options.loss) ? num_queries_ : static_cast<int64_t>(triples.size());
  return absl::OkStatus();
}

// Adds the curvature of the regularizer: of each row as often as examples have it.
template <typename T>
void KgeCurvature::AddPenalties(const T* parameters, absl::Span<const Triple> examples) {
  std::vector<int64_t> heads(entity_.count, 0), tails(entity_.count, 0), relations(relation_.count, 0);
  for (const Triple& triple : examples) {
    ++heads[triple.head];
    ++tails[triple.tail];
    ++relations[triple.relation];
  }
  const KgeOptions& options = shape_.options;
  const int64_t d = shape_.dim(), part = d / PenalizedRowsOfEntity(options), offset = d - part;
  std::vector<double> x;
  const auto add = [&](int64_t count, int64_t n, const T* row, int64_t stride, double* matrix) {
    if (count == 0) return;
    Widen(row, n, &x);
    AddPenaltyCurvature(options, static_cast<double>(count) * options.regularization, x, stride, matrix);
  };
  for (int64_t e = 0; e < entity_.count; ++e) {
    const T* const row = parameters + at_.entity + e * d;
    add(heads[e], part, row, d, entity_.At(e));
    add(tails[e], part, row + offset, d, entity_.At(e) + offset * (d + 1));
  }
  for (int64_t r = 0; r < relation_.count; ++r) {
    add(relations[r], relation_.dim, parameters + at_.relation + r * relation_.dim, relation_.dim, relation_.At(r));
  }
}

absl::Status KgeCurvature::Damp(const KgeCurvatureOptions& options, ThreadPool* pool) {
  const int64_t d = shape_.dim();
  for (int64_t e = 0; rest_sum_ > 0 && e < shape_.num_entities; ++e) {
    double* const matrix = entity_.At(e);
    for (int64_t i = 0; i < d * d; ++i) matrix[i] += rest_[e] / rest_sum_ * rest_tail_[i];
  }
  if (shape_.is_conve()) {
    for (double& x : maps_.matrix) x /= slope_sum_ > 0 ? slope_sum_ : 1;
    fc_bias_.matrix = slopes_.matrix;
  }
  double trace = shape_.is_conve() ? Trace(maps_.At(0), maps_.dim) * Trace(slopes_.At(0), d) : 0;
  for (const double x : bias_) trace += x;
  std::vector<Block*> blocks = {&entity_, &relation_};
  if (shape_.is_conve()) blocks.push_back(&fc_bias_);
  for (Block& block : small_) blocks.push_back(&block);
  for (Block* block : blocks) {
    for (int64_t i = 0; i < block->count; ++i) trace += Trace(block->At(i), block->dim);
  }
  const double n = static_cast<double>(num_examples_), by_trace = options.trace_damping * trace / num_parameters_;
  const auto damping = [&](int64_t p) { return options.damping.empty() ? by_trace : n * options.damping[p]; };
  mean_curvature_ = trace / n / static_cast<double>(num_parameters_);
  for (const ParameterSlice& slice : shape_.Slices()) {
    for (int64_t p = slice.offset; !slice.buffer && p < slice.offset + slice.num_elements(); ++p) {
      mean_damping_ += damping(p) / n / static_cast<double>(num_parameters_);
    }
  }
  std::atomic<bool> is_positive(std::isfinite(trace));
  for (Block* block : blocks) {
    const int64_t dim = block->dim;
    ForPieces(pool, block->count, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t k = 0; k < dim; ++k) {
          block->At(i)[k * (dim + 1)] += damping(block->offset + i * dim + k);
        }
        if (InterruptSignal() != 0 || !FactorCholeskyUntilInterrupted(dim, block->At(i))) is_positive = false;
      }
    });
  }
  for (int64_t e = 0; e < static_cast<int64_t>(bias_.size()); ++e) bias_[e] += damping(at_.entity_bias + e);
  if (shape_.is_conve()) {
    const int64_t features = maps_.dim;
    double mean = 0;
    for (int64_t p = 0; p < d * features; ++p) mean += damping(at_.fc_weight + p) / static_cast<double>(d * features);
    const double of_slopes = Trace(slopes_.At(0), d) / static_cast<double>(d);
    const double of_maps = Trace(maps_.At(0), features) / static_cast<double>(features);
    const double share = of_slopes > 0 && of_maps > 0 ? std::sqrt(of_maps / of_slopes) : 1;
    for (int64_t k = 0; k < d; ++k) slopes_.At(0)[k * (d + 1)] += std::sqrt(mean) / share;
    for (int64_t k = 0; k < features; ++k) maps_.At(0)[k * (features + 1)] += std::sqrt(mean) * share;
    if (!FactorCholeskyUntilInterrupted(d, slopes_.At(0), pool) ||
        !FactorCholeskyUntilInterrupted(features, maps_.At(0), pool)) {
      is_positive = false;
    }
  }
  RETURN_IF_ERROR(CheckInterrupt());
  if (is_positive) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the curvature of the loss with a mean damping of ", mean_damping_,
                   " is not positive: the parameters may not be finite, or more damping is needed"));
}

template <typename T>
absl::StatusOr<std::unique_ptr<KgeCurvature>> KgeCurvature::Make(const KgeShape& shape, const T* parameters,
                                                                 const KgeInfluenceOptions& options, ThreadPool* pool) {
  CHECK(options.curvature.has_value());
  const KgeCurvatureOptions& own = *options.curvature;
  if (own.examples.empty()) return absl::InvalidArgumentError("no training triples, of which a curvature could be");
  if (!own.damping.empty()) CHECK_EQ(static_cast<int64_t>(own.damping.size()), shape.offsets().size);
  std::unique_ptr<KgeCurvature> result(new KgeCurvature(shape, own));
  RETURN_IF_ERROR(result->Allocate(own.memory_limit));
  RETURN_IF_ERROR(result->AddQueries(parameters, options, pool));
  if (options.penalized) result->AddPenalties(parameters, own.examples);
  RETURN_IF_ERROR(result->Damp(own, pool));
  return result;
}

void KgeCurvature::Solve(double* x, int64_t columns, ThreadPool* pool) const {
  std::vector<const Block*> blocks = {&entity_, &relation_};
  if (shape_.is_conve()) blocks.push_back(&fc_bias_);
  for (const Block& block : small_) blocks.push_back(&block);
  for (const Block* block : blocks) {
    const int64_t dim = block->dim;
    ForPieces(pool, block->count, NumPieces(block->count, 4 * NumWorkers(pool)), [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        double* const rows = x + (block->offset + i * dim) * columns;
        if (std::all_of(rows, rows + dim * columns, [](double y) { return y == 0; })) continue;
        SolveLower(dim, block->At(i), dim, columns, rows);
        SolveLowerTransposed(dim, block->At(i), dim, columns, rows);
      }
    });
  }
  for (int64_t e = 0; e < static_cast<int64_t>(bias_.size()); ++e) {
    for (int64_t c = 0; c < columns; ++c) x[(at_.entity_bias + e) * columns + c] /= bias_[e];
  }
  for (const ParameterSlice& slice : shape_.Slices()) {
    if (slice.buffer) std::fill_n(x + slice.offset * columns, slice.num_elements() * columns, 0.0);
  }
  if (!shape_.is_conve()) return;
  const int64_t d = shape_.dim(), features = maps_.dim;
  double* const fc = x + at_.fc_weight * columns;  // [d, F, columns]
  SolveLower(d, slopes_.At(0), d, features * columns, fc, pool);
  SolveLowerTransposed(d, slopes_.At(0), d, features * columns, fc, pool);
  std::vector<double> transposed(d * features * columns);  // [F, d, columns]
  for (int64_t i = 0; i < d; ++i) {
    for (int64_t j = 0; j < features; ++j) {
      std::copy_n(fc + (i * features + j) * columns, columns, transposed.data() + (j * d + i) * columns);
    }
  }
  SolveLower(features, maps_.At(0), features, d * columns, transposed.data(), pool);
  SolveLowerTransposed(features, maps_.At(0), features, d * columns, transposed.data(), pool);
  for (int64_t i = 0; i < d; ++i) {
    for (int64_t j = 0; j < features; ++j) {
      std::copy_n(transposed.data() + (j * d + i) * columns, columns, fc + (i * features + j) * columns);
    }
  }
}

std::string KgeCurvature::Describe() const {
  return absl::StrCat("curvature of ", num_examples_, " examples (", num_queries_, " queries, ",
                      probes_ == 0 ? "all scores" : absl::StrCat(probes_, " probes of scores"), "): ", num_parameters_,
                      " parameters in blocks, mean of the diagonal ", mean_curvature_, ", mean damping ",
                      mean_damping_);
}

template absl::StatusOr<std::unique_ptr<KgeCurvature>> KgeCurvature::Make(const KgeShape&, const float*,
                                                                          const KgeInfluenceOptions&, ThreadPool*);
template absl::StatusOr<std::unique_ptr<KgeCurvature>> KgeCurvature::Make(const KgeShape&, const double*,
                                                                          const KgeInfluenceOptions&, ThreadPool*);

}  // namespace rutile
