#include "lib/ranking/scores/rounded_sweep.h"

#include <algorithm>

#include "lib/base/logging.h"
#include "lib/base/round_up.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

// Number of queries that a thread takes at a time; fewer if there are more threads than pieces.
constexpr int64_t kLeastQueries = 32, kMostQueries = 128;

int64_t QueriesPerPiece(int64_t queries, int threads) {
  return std::clamp(RoundUp(CeilDivide(queries, threads), kLeastQueries), kLeastQueries, kMostQueries);
}

}  // namespace

bool RoundedSweepIsFast() {
  static const bool fast = Bf16Forms().front() == Bf16Form::kAmx;
  return fast;
}

RoundedSweep::RoundedSweep(const ScoreTable<float>& table, absl::Span<const float> hidden, Bf16Form form,
                           ThreadPool* pool)
    : table_(table),
      hidden_(hidden),
      pool_(pool),
      num_queries_(static_cast<int64_t>(hidden.size()) / table.dim),
      queries_per_piece_(QueriesPerPiece(num_queries_, pool->num_threads())),
      hidden_factors_((num_queries_ + queries_per_piece_ - 1) / queries_per_piece_),
      entity_factors_((std::min(kEntities, table.num) + kBlock - 1) / kBlock),
      bounds_(num_queries_),
      bias_(std::min(kEntities, table.num)),
      rounded_(bias_.size()),
      rest_(bias_.size()) {
  const int64_t dim = table_.dim;
  CHECK(dim > 0 && static_cast<int64_t>(hidden.size()) == num_queries_ * dim) << hidden.size() << " numbers of " << dim;
  CHECK(static_cast<int64_t>(table.entity.size()) == table.num * dim) << table.entity.size() << " vs. " << table.num;
  CHECK(table.bias.empty() || static_cast<int64_t>(table.bias.size()) == table.num) << table.bias.size();
  for (int i = 0; i < pool->num_threads(); ++i) {
    workers_.push_back({PreparedProducts<float>(form), {}});
    workers_.back().products.SetRounding(true);
  }
  pool_->For(num_queries_, queries_per_piece_, [&](int64_t begin, int64_t end, int worker) {
    const float* const rows = hidden_.data() + begin * dim;
    workers_[worker].products.Prepare({rows, end - begin, dim, dim}, FactorSide::kLeft,
                                      &hidden_factors_[begin / queries_per_piece_]);
    std::vector<float> rounded(end - begin), rest(end - begin);
    RowNorms(rows, end - begin, dim, rounded.data(), rest.data());
    for (int64_t q = begin; q < end; ++q) bounds_[q] = MakeQueryBound(rounded[q - begin], rest[q - begin], dim);
  });
}

void RoundedSweep::PrepareBlock(int64_t block, int64_t first, int64_t last, const PreparedProducts<float>& products) {
  const int64_t dim = table_.dim, at = block * kBlock;
  const float* const rows = table_.entity.data() + first * dim;
  const MatrixView<float> entities = {rows, last - first, dim, dim};
  products.Prepare(entities.Transposed(), FactorSide::kRight, &entity_factors_[block]);
  RowNorms(rows, last - first, dim, rounded_.data() + at, rest_.data() + at);
  for (int64_t k = first; k < last; ++k) bias_[at + k - first] = table_.Bias(k);
}

void RoundedSweep::Visit(int64_t begin,
                         const std::function<void(int64_t q, const RoundedScores& scores, int worker)>& visit) {
  const int64_t end = std::min(begin + kEntities, table_.num);
  if (num_queries_ == 0 || end <= begin) return;
  const ProfileScope scope(Stage::kRoundedScores);
  scope.Add(Counter::kExamples, begin == 0 ? num_queries_ : 0);
  scope.Add(Counter::kFlop, 2 * num_queries_ * (end - begin) * table_.dim);
  scope.Add(Counter::kBytes, (end - begin) * table_.dim * static_cast<int64_t>(sizeof(float)));
  const int64_t blocks = (end - begin + kBlock - 1) / kBlock;
  pool_->For(blocks, 1, [&](int64_t block, int64_t, int worker) {
    const int64_t first = begin + block * kBlock;
    PrepareBlock(block, first, std::min(first + kBlock, end), workers_[worker].products);
  });
  pool_->For(num_queries_, queries_per_piece_, [&](int64_t first, int64_t last, int id) {
    Worker& worker = workers_[id];
    worker.scores.resize(queries_per_piece_ * kBlock);
    RoundedScores here;
    for (here.first = begin; here.first < end; here.first += kBlock) {
      const int64_t at = here.first - begin;
      here.block = {std::min(kBlock, end - here.first),
                    table_.dim,
                    table_.entity.data() + here.first * table_.dim,
                    bias_.data() + at,
                    rounded_.data() + at,
                    rest_.data() + at};
      worker.products.Multiply(hidden_factors_[first / queries_per_piece_], entity_factors_[at / kBlock],
                               /*add=*/false, worker.scores.data(), kBlock);
      for (int64_t q = first; q < last; ++q) {
        here.scores = worker.scores.data() + (q - first) * kBlock;
        here.bound = bounds_[q];
        visit(q, here, id);
      }
    }
  });
}

}  // namespace rutile
