// Measures what influence costs beside the products: sums over checkpoints and parts, normalization, and the k largest
// of each test, over a stream of training examples. The rival is what one would write first: a score at a time, a heap
// for each test. Arguments: tests, terms (checkpoints x parts), k. Items are pairs of a training example and a test.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "lib/base/logging.h"
#include "lib/base/random.h"
#include "lib/influence/score_sums.h"
#include "lib/influence/top_scores.h"
#include "lib/influence/tracin_options.h"

namespace rutile {
namespace {

constexpr int64_t kTrain = 272115;  // training triples of FB15k-237
constexpr int64_t kTile = 512;
constexpr int kTiles = 16;  // different tiles, used in turn

// Tiles of products, [B, H] for each term, and scales.
struct Stream {
  Stream(int64_t tests, int64_t terms) {
    RandomStream stream(1, "influence benchmark");
    products.resize(kTiles * terms);
    for (std::vector<double>& product : products) {
      product.resize(kTile * tests);
      for (double& value : product) value = stream.Uniform(-1, 1);
    }
    train_scale.assign(kTile, 0.5);
    test_scale.assign(tests, 0.25);
  }
  std::vector<std::vector<double>> products;
  std::vector<double> train_scale, test_scale;
};

std::vector<ScoreTerm> Terms(const Stream& stream, int64_t tile, int64_t terms, bool cosine) {
  std::vector<ScoreTerm> result;
  for (int64_t t = 0; t < terms; ++t) {
    result.push_back({stream.products[(tile % kTiles) * terms + t].data(), 0.001,
                      cosine ? stream.train_scale.data() : nullptr, cosine ? stream.test_scale.data() : nullptr});
  }
  return result;
}

template <bool kCosine>
void BM_TopScores(benchmark::State& state) {
  const int64_t tests = state.range(0), terms = state.range(1), k = state.range(2);
  const Stream stream(tests, terms);
  for (auto _ : state) {
    std::vector<TopScores> lists(tests, TopScores(InfluenceRanking::kBoth, k, 0));
    const std::function<double(int64_t)> no_part = [](int64_t) { return 0.0; };
    std::vector<ScoreBounds> bounds(tests, {lists[0].low(), lists[0].high()});
    for (int64_t first = 0; first < kTrain; first += kTile) {
      const int64_t n = std::min(kTile, kTrain - first);
      FindScores(Terms(stream, first / kTile, terms, kCosine), n, tests, 0, tests, absl::MakeSpan(bounds),
                 [&](int64_t b, int64_t h, double score) {
                   lists[h].Add(score, first + b, no_part);
                   bounds[h] = {lists[h].low(), lists[h].high()};
                   return true;
                 });
    }
    std::vector<int64_t> train;
    std::vector<double> score, part;
    for (TopScores& list : lists) list.AppendSorted(&train, &score, &part);
    benchmark::DoNotOptimize(train.data());
    CHECK_EQ(train.size(), 2 * k * tests);
  }
  state.SetItemsProcessed(state.iterations() * kTrain * tests);
}

template <bool kCosine>
void BM_HeapForEachScore(benchmark::State& state) {
  const int64_t tests = state.range(0), terms = state.range(1), k = state.range(2);
  const Stream stream(tests, terms);
  for (auto _ : state) {
    using Entry = std::pair<double, int64_t>;
    std::vector<std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>>> high(tests);
    std::vector<std::priority_queue<Entry>> low(tests);
    for (int64_t first = 0; first < kTrain; first += kTile) {
      const int64_t n = std::min(kTile, kTrain - first);
      const std::vector<ScoreTerm> all = Terms(stream, first / kTile, terms, kCosine);
      for (int64_t b = 0; b < n; ++b) {
        for (int64_t h = 0; h < tests; ++h) {
          double score = 0;
          for (const ScoreTerm& term : all) score += term.At(tests, b, h);
          high[h].emplace(score, first + b);
          if (static_cast<int64_t>(high[h].size()) > k) high[h].pop();
          low[h].emplace(score, first + b);
          if (static_cast<int64_t>(low[h].size()) > k) low[h].pop();
        }
      }
    }
    benchmark::DoNotOptimize(high[0].top());
    benchmark::DoNotOptimize(low[0].top());
  }
  state.SetItemsProcessed(state.iterations() * kTrain * tests);
}

// There are 1, 100 or 1000 tests, and one checkpoint or ten.
void Sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->Args({1, 1, 10})->Args({100, 1, 10})->Args({100, 10, 10})->Args({1000, 1, 10})->Args({100, 1, 1000});
  benchmark->Unit(benchmark::kMillisecond);
}
BENCHMARK_TEMPLATE(BM_TopScores, false)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_TopScores, true)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_HeapForEachScore, false)->Args({1, 1, 10})->Args({100, 1, 10})->Unit(benchmark::kMillisecond);
BENCHMARK_TEMPLATE(BM_HeapForEachScore, true)->Args({100, 1, 10})->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace rutile
