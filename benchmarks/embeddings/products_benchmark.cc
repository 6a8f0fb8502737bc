// Measures matrix products of a ConvE step (batch 128, embedding 200): our own in fp32, fp64 and in each form of bf16
// that the machine has, and BLAS. One thread; "flop/s" is the result, beside the most that registers can do.
//
// Blocks are those of FB15k-237's 14541 entities, 512 at a time, one after another as in a step: the table and its
// gradient, 12 MB each, are not in the second-level cache. fc has 9728 features.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/base/random.h"
#include "lib/matrix/bf16/bf16_products.h"
#include "lib/matrix/dense_products.h"
#include "lib/matrix/matrix_view.h"
#include "lib/profile/fma_peak.h"
// This header comes last; lib/base/logging.h says why.
#include "lib/base/logging.h"

namespace rutile {
namespace {

constexpr int64_t kBatch = 128, kDim = 200, kFeatures = 9728, kEntities = 14541, kBlock = 512;

template <typename T>
std::vector<T> Values(int64_t n) {
  RandomStream random(1, "benchmark", n);
  std::vector<T> values(n);
  for (T& x : values) x = static_cast<T>(random.Uniform() - 0.5);
  return values;
}

template <typename T>
struct Arrays {
  std::vector<T> v = Values<T>(kBatch * kDim), scores = Values<T>(kBatch * kBlock), table = Values<T>(kEntities * kDim),
                 d_table = table, d_v = v, maps = Values<T>(kBatch * kFeatures), d_maps = maps,
                 fc = Values<T>(kDim * kFeatures), d_fc = fc;
};

template <typename T>
MatrixView<T> Matrix(const std::vector<T>& values, int64_t rows, int64_t columns) {
  return {values.data(), rows, columns, columns};
}

// Runs all products of one kind in a step: multiply(a, b, add, out, stride).
template <typename T, typename Multiply>
void AllOf(const std::string& product, Arrays<T>* x, const Multiply& multiply) {
  const MatrixView<T> v = Matrix(x->v, kBatch, kDim), maps = Matrix(x->maps, kBatch, kFeatures),
                      fc = Matrix(x->fc, kDim, kFeatures);
  if (product == "fc") return multiply(maps, fc.Transposed(), false, x->d_v.data(), kDim);
  if (product == "d_fc") return multiply(v.Transposed(), maps, true, x->d_fc.data(), kFeatures);
  if (product == "d_maps") return multiply(v, fc, false, x->d_maps.data(), kFeatures);
  for (int64_t k = 0; k < kEntities; k += kBlock) {
    const int64_t n = std::min(kBlock, kEntities - k);
    const MatrixView<T> table = Matrix(x->table, kEntities, kDim).Rows(k, k + n);
    const MatrixView<T> scores = {x->scores.data(), kBatch, n, n};
    if (product == "scores") multiply(v, table.Transposed(), false, x->scores.data(), n);
    if (product == "d_table") multiply(scores.Transposed(), v, true, x->d_table.data() + k * kDim, kDim);
    if (product == "d_v") multiply(scores, table, k > 0, x->d_v.data(), kDim);
  }
}

template <typename T, typename Multiply>
void Run(benchmark::State& state, const std::string& product, const Multiply& multiply) {
  at::set_num_threads(1);
  static Arrays<T> arrays;
  double flops = 0;
  for (auto _ : state) {
    AllOf(product, &arrays, [&](const MatrixView<T>& a, const MatrixView<T>& b, bool add, T* out, int64_t stride) {
      multiply(a, b, add, out, stride);
      flops += 2.0 * static_cast<double>(a.height() * a.width() * b.width());
    });
  }
  state.counters["flop/s"] = benchmark::Counter(flops, benchmark::Counter::kIsRate);
}

template <typename T>
at::Tensor View(T* data, int64_t rows, int64_t columns, int64_t stride) {
  return at::from_blob(data, {rows, columns}, {stride, 1}, c10::CppTypeToScalarType<T>::value);
}
template <typename T>
at::Tensor View(const MatrixView<T>& m) {
  const at::Tensor view = View(const_cast<T*>(m.data), m.rows, m.columns, m.stride);
  return m.transposed ? view.t() : view;
}

template <typename T>
void Blas(const MatrixView<T>& a, const MatrixView<T>& b, bool add, T* out, int64_t stride) {
  at::Tensor result = View(out, a.height(), b.width(), stride);
  if (add) {
    at::addmm_out(result, result, View(a), View(b));
  } else {
    at::mm_out(result, View(a), View(b));
  }
}

void BM_FmaPeak(benchmark::State& state) {
  double flops = 0;
  for (auto _ : state) flops += RunFmaFloat(1000000);
  state.counters["flop/s"] = benchmark::Counter(flops, benchmark::Counter::kIsRate);
}
BENCHMARK(BM_FmaPeak)->Unit(benchmark::kMicrosecond);

// Benchmarks are registered before main, since the forms depend on the machine.
const bool registered = [] {
  for (const std::string product : {"scores", "d_table", "d_v", "fc", "d_fc", "d_maps"}) {
    for (const Bf16Form form : Bf16Forms()) {
      if (form == Bf16Form::kPortable) continue;
      for (int parts = 1; parts <= kMostBf16Parts; ++parts) {
        if (parts > 1 && form != Bf16Form::kAmx) continue;
        const absl::string_view name = parts == 1 ? "" : parts == 2 ? "_two_parts" : "_three_parts";
        benchmark::RegisterBenchmark(absl::StrCat("BM_Product/", product, "/", Bf16FormName(form), name).c_str(),
                                     [=](benchmark::State& state) {
                                       Bf16Products products(form, parts);
                                       Run<float>(state, product,
                                                  [&](const auto&... arguments) { products.Multiply(arguments...); });
                                     })
            ->Unit(benchmark::kMicrosecond);
      }
    }
    benchmark::RegisterBenchmark(absl::StrCat("BM_Product/", product, "/fp32").c_str(), [=](benchmark::State& state) {
      Run<float>(state, product, MultiplyDense<float>);
    })->Unit(benchmark::kMicrosecond);
    benchmark::RegisterBenchmark(absl::StrCat("BM_Product/", product, "/fp32_BLAS").c_str(),
                                 [=](benchmark::State& state) { Run<float>(state, product, Blas<float>); })
        ->Unit(benchmark::kMicrosecond);
    benchmark::RegisterBenchmark(absl::StrCat("BM_Product/", product, "/fp64").c_str(), [=](benchmark::State& state) {
      Run<double>(state, product, MultiplyDense<double>);
    })->Unit(benchmark::kMicrosecond);
    benchmark::RegisterBenchmark(absl::StrCat("BM_Product/", product, "/fp64_BLAS").c_str(),
                                 [=](benchmark::State& state) { Run<double>(state, product, Blas<double>); })
        ->Unit(benchmark::kMicrosecond);
  }
  return true;
}();

}  // namespace
}  // namespace rutile
