// Compares matrix products of a wide layer (values, slopes and gradients of weights for a block of atoms) by weights
// that were prepared beforehand (lib/matrix/prepared_products.h) with products that prepare nothing.
//
// Arguments: atoms of the block, width. One thread. "flop/s" counts two operations for each product of numbers.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <vector>

#include "lib/base/random.h"
#include "lib/matrix/bf16/bf16_products.h"
#include "lib/matrix/dense_products.h"
#include "lib/matrix/matrix_view.h"
#include "lib/matrix/prepared_products.h"

namespace rutile {
namespace {

template <typename T>
struct Layer {
  Layer(int64_t atoms, int64_t width)
      : atoms(atoms), width(width), z(atoms * width), d(z.size()), out(z.size()), w(width * width), g(w.size()) {
    RandomStream random(1, "benchmark");
    for (std::vector<T>* values : {&z, &d, &w}) {
      for (T& x : *values) x = static_cast<T>(random.Normal());
    }
  }
  MatrixView<T> values() const { return {z.data(), atoms, width, width}; }
  MatrixView<T> slopes() const { return {d.data(), atoms, width, width}; }
  MatrixView<T> weights() const { return {w.data(), width, width, width}; }

  int64_t atoms, width;
  std::vector<T> z, d, out, w, g;
};

void Report(benchmark::State& state) {
  state.counters["flop/s"] = benchmark::Counter(2.0 * state.range(0) * state.range(1) * state.range(1),
                                                benchmark::Counter::kIsIterationInvariantRate);
}

enum Product { kValues, kSlopes, kGradients };

template <typename T, Product kProduct>
void BM_Dense(benchmark::State& state) {
  Layer<T> l(state.range(0), state.range(1));
  for (auto _ : state) {
    if (kProduct == kValues) MultiplyDense(l.values(), l.weights().Transposed(), false, l.out.data(), l.width);
    if (kProduct == kSlopes) MultiplyDense(l.slopes(), l.weights(), false, l.out.data(), l.width);
    if (kProduct == kGradients) MultiplyDense(l.slopes().Transposed(), l.values(), true, l.g.data(), l.width);
    benchmark::ClobberMemory();
  }
  Report(state);
}

// Runs prepared products. kPack: the atoms' factors are prepared in each turn, too. form: the instructions to use.
template <Product kProduct, bool kRounding, bool kPack>
void RunPrepared(benchmark::State& state, Bf16Form form) {
  Layer<float> l(state.range(0), state.range(1));
  PreparedProducts<float> products(form);
  products.SetRounding(kRounding);
  PreparedFactor<float> left, right;
  const auto prepare_left = [&] {
    products.Prepare(kProduct == kValues   ? l.values()
                     : kProduct == kSlopes ? l.slopes()
                                           : l.slopes().Transposed(),
                     FactorSide::kLeft, &left);
  };
  const auto prepare_right = [&] {
    products.Prepare(kProduct == kValues   ? l.weights().Transposed()
                     : kProduct == kSlopes ? l.weights()
                                           : l.values(),
                     FactorSide::kRight, &right);
  };
  prepare_left();
  prepare_right();
  for (auto _ : state) {
    if (kPack) prepare_left();
    if (kPack && kProduct == kGradients) prepare_right();
    products.Multiply(left, right, kProduct == kGradients, kProduct == kGradients ? l.g.data() : l.out.data(), l.width);
    benchmark::ClobberMemory();
  }
  Report(state);
}

template <Product kProduct, bool kRounding, bool kPack>
void BM_Prepared(benchmark::State& state) {
  RunPrepared<kProduct, kRounding, kPack>(state, Bf16Forms().front());
}

// Measures a machine that has AVX512-BF16 but no AMX.
template <Product kProduct, bool kRounding>
void BM_WithoutTiles(benchmark::State& state) {
  const std::vector<Bf16Form> forms = Bf16Forms();
  if (std::find(forms.begin(), forms.end(), Bf16Form::kAvx512) == forms.end()) {
    return state.SkipWithError("the processor has no AVX512-BF16");
  }
  RunPrepared<kProduct, kRounding, true>(state, Bf16Form::kAvx512);
}

void Sizes(benchmark::internal::Benchmark* b) {
  for (const int atoms : {128, 256, 448}) {
    for (const int width : {64, 200, 512, 1024}) b->Args({atoms, width});
  }
}

BENCHMARK_TEMPLATE(BM_Dense, double, kValues)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_Dense, double, kGradients)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_Dense, float, kValues)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_Dense, float, kSlopes)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_Dense, float, kGradients)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_Prepared, kValues, false, false)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_Prepared, kValues, false, true)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_Prepared, kSlopes, false, true)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_Prepared, kGradients, false, true)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_Prepared, kValues, true, false)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_Prepared, kValues, true, true)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_Prepared, kSlopes, true, true)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_Prepared, kGradients, true, true)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_WithoutTiles, kValues, false)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_WithoutTiles, kValues, true)->Apply(Sizes);

}  // namespace
}  // namespace rutile
