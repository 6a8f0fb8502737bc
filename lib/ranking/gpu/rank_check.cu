// Compares the counts of a GPU with a plain loop of the host, and measures them. Built by hand, from the root:
//   nvcc -std=c++17 -O3 -arch=sm_90 -I. lib/ranking/gpu/rank_check.cu -o rank_check && ./rank_check
// Exits with 1 if counts differ or the GPU fails. FP32 of FB15k-237's size by default; rank_check [f64] [Q N DIM PEAK],
// where PEAK is the GPU's in TFLOP/s.

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "lib/gpu/cuda_backend-inl.h"
#include "lib/ranking/gpu/counting_device-inl.h"

namespace rutile {
namespace {

constexpr int kRuns = 10, kChecked = 200, kKnownOfQuery = 20;

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

// Measures work in another stream than that of the events, which is why both are recorded while the GPU is idle.
template <typename Work>
double Milliseconds(const Work& work) {
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  cudaDeviceSynchronize();
  cudaEventRecord(begin);
  cudaEventSynchronize(begin);
  work();
  cudaDeviceSynchronize();
  cudaEventRecord(end);
  cudaEventSynchronize(end);
  float milliseconds = 0;
  cudaEventElapsedTime(&milliseconds, begin, end);
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return milliseconds;
}

template <typename T>
struct Case {
  int64_t num_queries, num, dim;
  std::vector<T> query, entity, bias;
  std::vector<int64_t> offset, known_offset;
  std::vector<int32_t> target, known;

  Case(int64_t q, int64_t n, int64_t d) : num_queries(q), num(n), dim(d) {
    std::mt19937_64 random(1);
    std::uniform_real_distribution<T> uniform(-1, 1);
    const auto fill = [&](std::vector<T>* values, int64_t count) {
      values->resize(count);
      for (T& value : *values) value = uniform(random);
    };
    fill(&query, q * d);
    fill(&entity, n * d);
    fill(&bias, n);
    // Equal rows, which tie, and rows that are not numbers.
    for (int64_t e = 16; e < n; e += 16) {
      std::copy_n(entity.begin() + e % 97 % n * d, d, entity.begin() + e * d);
      bias[e] = bias[e % 97 % n];
    }
    for (int64_t e = 5; e < n; e += 1001) entity[e * d + d / 2] = std::nan("");
    offset.push_back(0);
    known_offset.push_back(0);
    const int64_t of_query = std::min<int64_t>(kKnownOfQuery, n);
    for (int64_t i = 0; i < q; ++i) {
      target.push_back(static_cast<int32_t>(i % 8 == 0 ? i / 8 * 16 % n : random() % n));
      offset.push_back(i + 1);
      for (int64_t k = 0; k < of_query; ++k) known.push_back(static_cast<int32_t>((i * 31 + k * (n / of_query)) % n));
      known_offset.push_back(static_cast<int64_t>(known.size()));
    }
  }

  T Score(int64_t q, int64_t e) const {
    T sum = 0;
    for (int64_t k = 0; k < dim; ++k) sum = MultiplyAdd(query[q * dim + k], entity[e * dim + k], sum);
    return sum + bias[e];
  }
};

template <typename T>
int Check(const Case<T>& c, double peak) {
  CudaBackend backend(0);
  DeviceCountsOn<T, CudaBackend> counts(&backend);
  std::vector<T> scores;
  std::vector<int64_t> greater, equal;
  const std::vector<T> poison(c.query.size(), static_cast<T>(std::nan("")));
  std::vector<int64_t> first_greater, first_equal;
  std::vector<double> upload, target, all, known, whole;
  for (int run = 0; run <= kRuns; ++run) {
    // What a run leaves is of no use to the next one: scores that are NaN, which nothing is compared with.
    counts.SetEntities(c.entity.data(), c.bias.data(), 0, c.num, c.dim);
    counts.SetQueries(poison.data(), c.num_queries, c.offset.data());
    counts.ScoreTargets(c.target.data());
    const auto start = std::chrono::steady_clock::now();
    const double a = Milliseconds([&] {
      counts.SetEntities(c.entity.data(), c.bias.data(), 0, c.num, c.dim);
      counts.SetQueries(c.query.data(), c.num_queries, c.offset.data());
    });
    const double b = Milliseconds([&] { counts.ScoreTargets(c.target.data()); });
    const double d = Milliseconds([&] { counts.CountAll(); });
    const double e = Milliseconds([&] { counts.SubtractKnown(c.known_offset.data(), c.known.data()); });
    counts.Read(&scores, &greater, &equal);
    if (!backend.error().empty()) {
      std::fprintf(stderr, "the GPU: %s\n", backend.error().c_str());
      return 1;
    }
    const double f = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    if (run == 0) {  // the first run loads kernels
      first_greater = greater;
      first_equal = equal;
      continue;
    }
    if (greater != first_greater || equal != first_equal) {
      std::fprintf(stderr, "run %d counts otherwise than the first\n", run);
      return 1;
    }
    upload.push_back(a);
    target.push_back(b);
    all.push_back(d);
    known.push_back(e);
    whole.push_back(f);
  }

  int64_t wrong = 0, ties = 0;
  for (int64_t i = 0; i < kChecked; ++i) {
    const int64_t q = i * c.num_queries / kChecked;
    if (i > 0 && q == (i - 1) * c.num_queries / kChecked) continue;
    std::vector<bool> left_out(c.num);
    for (int64_t k = c.known_offset[q]; k < c.known_offset[q + 1]; ++k) left_out[c.known[k]] = true;
    const T own = c.Score(q, c.target[q]);
    int64_t above = 0, same = 0;
    for (int64_t e = 0; e < c.num; ++e) {
      if (left_out[e]) continue;
      const T score = c.Score(q, e);
      above += score > own ? 1 : 0;
      same += score == own ? 1 : 0;
    }
    const bool same_bits = std::memcmp(&own, &scores[q], sizeof(T)) == 0 || (std::isnan(own) && std::isnan(scores[q]));
    ties += same > 1 ? 1 : 0;
    if (above == greater[q] && same == equal[q] && same_bits) continue;
    if (++wrong <= 10) {
      std::fprintf(stderr, "query %lld: greater %lld vs. %lld, equal %lld vs. %lld, score %.17g vs. %.17g\n",
                   static_cast<long long>(q), static_cast<long long>(greater[q]), static_cast<long long>(above),
                   static_cast<long long>(equal[q]), static_cast<long long>(same), static_cast<double>(scores[q]),
                   static_cast<double>(own));
    }
  }
  const double flop =
      2.0 * static_cast<double>(c.num_queries) * static_cast<double>(c.num) * static_cast<double>(c.dim);
  const double rate = flop / Median(all) / 1e6;
  std::printf("fp%d, %lld queries, %lld entities, dim %lld: %lld of 200 queries differ, %lld have ties\n",
              static_cast<int>(8 * sizeof(T)), static_cast<long long>(c.num_queries), static_cast<long long>(c.num),
              static_cast<long long>(c.dim), static_cast<long long>(wrong), static_cast<long long>(ties));
  std::printf("count: median %.3f ms of %d, %.0f GFLOP/s, %.1f%% of %.0f TFLOP/s\n", Median(all), kRuns, rate,
              rate / peak / 10, peak);
  std::printf("upload and packing %.3f ms, targets %.3f ms, known entities %.3f ms, all with download %.3f ms\n",
              Median(upload), Median(target), Median(known), Median(whole));
  return wrong > 0 ? 1 : 0;
}

int Main(int argc, char** argv) {
  int at = 1;
  const bool f64 = argc > 1 && std::string(argv[1]) == "f64";
  if (f64) ++at;
  const int64_t q = argc > at ? std::atoll(argv[at]) : 40932, n = argc > at + 1 ? std::atoll(argv[at + 1]) : 14541;
  const int64_t dim = argc > at + 2 ? std::atoll(argv[at + 2]) : 200;
  const double peak = argc > at + 3 ? std::atof(argv[at + 3]) : f64 ? 34 : 67;
  return f64 ? Check(Case<double>(q, n, dim), peak) : Check(Case<float>(q, n, dim), peak);
}

}  // namespace
}  // namespace rutile

int main(int argc, char** argv) { return rutile::Main(argc, argv); }
