// Compares filtered ranks of many queries among all entities by blocks that are scored and counted in registers and
// caches with LibTorch as people write it (a product for a batch of queries, known tails masked, comparisons and sums),
// in one process and on one thread. Arguments: queries, entities, dimensions. FB15k-237's test set has 40932 queries of
// 22850 distinct (head, relation); WN18RR's 6268 of 5716, ROBOKOP's users have 32 dimensions. Items are queries.

#include "lib/base/logging.h"

// Keeps the line above first.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "lib/base/random.h"
#include "lib/machine/parallel_for.h"
#include "lib/ranking/rank_counts.h"
#include "lib/ranking/scores/score_kernel.h"
#include "lib/ranking/scores/score_sweep.h"

namespace rutile {
namespace {

constexpr int kKnown = 40;  // known tails of a query, about FB15k-237's mean

struct Data {
  Data(int64_t num_queries, int64_t num, int64_t dim) {
    at::manual_seed(1);
    hidden = at::relu(at::randn({num_queries, dim}));
    entities = at::randn({num, dim}) * 0.1;
    bias = at::randn({num}) * 0.1;
    RandomStream stream(1, "known");
    known.resize(num_queries);
    targets.resize(num_queries);
    for (int64_t q = 0; q < num_queries; ++q) {
      // Each query has 1.8 targets on average, as in FB15k-237.
      for (uint64_t t = 1 + (stream.Uniform() < 0.8 ? 1 : 0); t > 0; --t) {
        targets[q].push_back(static_cast<int32_t>(stream.Below(num)));
      }
      known[q] = targets[q];
      while (known[q].size() < kKnown) known[q].push_back(static_cast<int32_t>(stream.Below(num)));
      std::sort(known[q].begin(), known[q].end());
      known[q].erase(std::unique(known[q].begin(), known[q].end()), known[q].end());
    }
    for (int64_t q = 0; q < num_queries; ++q) queries.push_back({targets[q], known[q]});
  }

  at::Tensor hidden, entities, bias;
  std::vector<std::vector<int32_t>> targets, known;
  std::vector<RankingQuery> queries;
};

double MeanRank(const std::vector<Rank>& ranks) {
  double sum = 0;
  for (const Rank& rank : ranks) sum += rank.realistic();
  return sum / static_cast<double>(ranks.size());
}

absl::Span<const float> Values(const at::Tensor& tensor) {
  return absl::MakeConstSpan(tensor.data_ptr<float>(), tensor.numel());
}

ScoreTable<float> TableOf(const Data& data) {
  ScoreTable<float> table;
  table.entity = Values(data.entities);
  table.bias = Values(data.bias);
  table.num = data.entities.size(0);
  table.dim = data.entities.size(1);
  return table;
}

void SetCounters(double mean_rank, benchmark::State* state) {
  state->counters["mean_rank"] = mean_rank;
  state->counters["GFLOP/s"] = benchmark::Counter(
      2e-9 * static_cast<double>(state->iterations() * state->range(0) * state->range(1) * state->range(2)),
      benchmark::Counter::kIsRate);
  state->SetItemsProcessed(state->iterations() * state->range(0));
}

void BM_RankTargets(benchmark::State& state) {
  const Data data(state.range(0), state.range(1), state.range(2));
  const ScoreTable<float> table = TableOf(data);
  ThreadPool pool(1);
  double mean = 0;
  for (auto _ : state) mean = MeanRank(CountRanks<float>(table, Values(data.hidden), data.queries, &pool));
  SetCounters(mean, &state);
}

// Measures exact scores alone, without scores of rounded factors.
void BM_RankTargetsExact(benchmark::State& state) {
  const Data data(state.range(0), state.range(1), state.range(2));
  const ScoreTable<float> table = TableOf(data);
  const absl::Span<const float> hidden = Values(data.hidden);
  ThreadPool pool(1);
  double mean = 0;
  for (auto _ : state) {
    std::vector<float> target_score;
    for (size_t q = 0; q < data.queries.size(); ++q) {
      for (const int32_t target : data.queries[q].targets) {
        target_score.push_back(ScoreOne(hidden.data() + q * table.dim, table.entity.data() + target * table.dim,
                                        table.dim, table.Bias(target)));
      }
    }
    RankCounter<float> counter(hidden, table.dim, data.queries, std::move(target_score));
    counter.set_rounding(std::nullopt);
    counter.Add(table, 0, &pool);
    mean = MeanRank(counter.Finish().all);
  }
  SetCounters(mean, &state);
}

// Ranks in batches of 128 distinct queries, every target of a query by itself, as vectorized evaluations do.
void BM_Masked(benchmark::State& state) {
  at::set_num_threads(1);
  at::NoGradGuard no_grad;
  const Data data(state.range(0), state.range(1), state.range(2));
  constexpr int64_t kBatch = 128;
  double mean = 0;
  for (auto _ : state) {
    double sum = 0;
    int64_t count = 0;
    for (int64_t first = 0; first < state.range(0); first += kBatch) {
      const int64_t rows = std::min<int64_t>(kBatch, state.range(0) - first);
      std::vector<int64_t> row_of, target, known_row, known;
      for (int64_t r = 0; r < rows; ++r) {
        for (const int32_t t : data.targets[first + r]) {
          for (const int32_t e : data.known[first + r]) {
            known_row.push_back(static_cast<int64_t>(row_of.size()));
            known.push_back(e);
          }
          row_of.push_back(r);
          target.push_back(t);
        }
      }
      const at::Tensor which = at::tensor(row_of), t = at::tensor(target);
      at::Tensor scores = at::addmm(data.bias, data.hidden.narrow(0, first, rows), data.entities.t()).index({which});
      const at::Tensor own = scores.gather(1, t.unsqueeze(1));
      scores.index_put_({at::tensor(known_row), at::tensor(known)}, at::scalar_tensor(-INFINITY));
      scores.scatter_(1, t.unsqueeze(1), own);
      const at::Tensor greater = (scores > own).sum(1), as_high = (scores >= own).sum(1);
      sum += 0.5 * (greater + as_high + 1).sum().item<double>();
      count += t.numel();
    }
    mean = sum / static_cast<double>(count);
  }
  state.counters["mean_rank"] = mean;
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

// Measures the product alone, which every method that uses BLAS needs.
void BM_ProductAlone(benchmark::State& state) {
  at::set_num_threads(1);
  at::NoGradGuard no_grad;
  const Data data(state.range(0), state.range(1), state.range(2));
  const int64_t batch = std::min<int64_t>(512, state.range(0));
  at::Tensor scores = at::empty({batch, state.range(1)});
  for (auto _ : state) {
    for (int64_t first = 0; first + batch <= state.range(0); first += batch) {
      at::mm_out(scores, data.hidden.narrow(0, first, batch), data.entities.t());
    }
  }
  state.counters["GFLOP/s"] = benchmark::Counter(
      2e-9 *
          static_cast<double>(state.iterations() * (state.range(0) / batch * batch) * state.range(1) * state.range(2)),
      benchmark::Counter::kIsRate);
  state.SetItemsProcessed(state.iterations() * (state.range(0) / batch * batch));
}

#define SIZES \
  ->Args({22850, 14541, 200})->Args({4096, 40943, 200})->Args({4096, 14541, 32})->Unit(benchmark::kMillisecond)
BENCHMARK(BM_RankTargets) SIZES->Args({256, 1000000, 64});
BENCHMARK(BM_RankTargetsExact) SIZES;
BENCHMARK(BM_ProductAlone) SIZES;
BENCHMARK(BM_Masked) SIZES;

}  // namespace
}  // namespace rutile
