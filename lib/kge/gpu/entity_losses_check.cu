// Compares products and losses of a GPU with those of the host, and measures them. Built by hand, from the root:
//   nvcc -std=c++17 -O3 -arch=sm_90 -I. lib/kge/gpu/entity_losses_check.cu -o entity_losses_check &&
//   ./entity_losses_check
// Exits with 1 if numbers differ or the GPU fails. "entity_losses_check plans" measures plans of products that are not
// taken, too.

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "lib/gpu/cuda_backend-inl.h"
#include "lib/gpu/host_backend-inl.h"
#include "lib/kge/gpu/entity_losses-inl.h"
#include "lib/matrix/gpu/device_products-inl.h"
#include "lib/matrix/gpu/device_rounding.h"

namespace rutile {
namespace {

constexpr int64_t kEntities = 14541, kDim = 200, kFeatures = 10368;  // FB15k-237, ConvE

template <typename T>
const char* Name(FactorRounding rounding) {
  if (rounding != FactorRounding::kNone) return rounding == FactorRounding::kTwoParts ? "split" : "bf16";
  return sizeof(T) == 4 ? "fp32" : "fp64";
}

// Sets a rounding of DeviceProducts or DeviceEntityLosses, of which those of double have none.
template <typename T, typename Products>
void SetRounding(FactorRounding rounding, Products* products) {
  if constexpr (sizeof(T) == 4) products->SetRounding(rounding);
}

template <typename T>
std::vector<T> Values(int64_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> values(n);
  for (T& x : values) x = static_cast<T>(static_cast<double>(random() >> 11) * 0x1p-52 - 1);
  return values;
}

// Returns the milliseconds of a call, of which several wait in the GPU's queue.
template <typename Work>
double Milliseconds(const Work& work) {
  constexpr int kCalls = 20, kRuns = 5;
  double best = std::numeric_limits<double>::infinity();
  for (int run = 0; run <= kRuns; ++run) {
    const auto start = std::chrono::steady_clock::now();
    const int calls = run == 0 ? 1 : kCalls;  // the first run loads kernels
    for (int i = 0; i < calls; ++i) work();
    cudaDeviceSynchronize();
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    if (run > 0) best = std::min(best, time.count() / calls);
  }
  return best;
}

// Prints the largest difference in terms of the tolerance; returns 1 if it is above that.
template <typename T>
int Compare(const std::string& what, const std::vector<T>& actual, const std::vector<T>& expected, double tolerance) {
  double worst = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double difference = std::abs(static_cast<double>(actual[i]) - static_cast<double>(expected[i]));
    const double share = difference / (tolerance * (1 + std::abs(static_cast<double>(expected[i]))));
    if (!(share <= worst)) worst = share;  // NaN stays
  }
  if (worst <= 1 && actual.size() == expected.size()) return 0;
  std::fprintf(stderr, "%s: the largest difference is %.3g of the tolerance\n", what.c_str(), worst);
  return 1;
}

struct Shape {
  const char* name;
  int64_t m, n, k;
  bool a_transposed, b_transposed;
};

template <typename T, typename Backend>
std::vector<T> Product(Backend* backend, FactorRounding rounding, const Shape& shape, int64_t gap, bool add,
                       const ProductPlan* plan) {
  const auto& [name, m, n, k, a_transposed, b_transposed] = shape;
  const int64_t a_stride = (a_transposed ? m : k) + gap, b_stride = (b_transposed ? k : n) + gap;
  DeviceArray<T, Backend> a(backend), b(backend), c(backend);
  a.Upload(Values<T>((a_transposed ? k : m) * a_stride, 1));
  b.Upload(Values<T>((b_transposed ? n : k) * b_stride, 2));
  c.Upload(add ? Values<T>(m * (n + gap), 3) : std::vector<T>(m * (n + gap)));
  DeviceProducts<T, Backend> products(backend);
  SetRounding<T>(rounding, &products);
  products.MultiplyBy(plan != nullptr ? *plan : products.Plan(m, n, k), {a.data(), a_stride, a_transposed},
                      {b.data(), b_stride, b_transposed}, m, n, k, c.data(), n + gap, add);
  std::vector<T> result;
  c.Download(&result);
  return result;
}

// Awkward sizes, all transpositions, aligned and not, both tiles, with and without parts.
template <typename T>
int CheckProducts(CudaBackend* cuda, FactorRounding rounding) {
  HostBackend host;
  int wrong = 0, checked = 0;
  constexpr int64_t kSizes[][3] = {{1, 1, 1},    {7, 63, 9},     {64, 65, 200}, {129, 200, 33},
                                   {200, 7, 64}, {131, 260, 70}, {5, 9, 5003},  {3, 5, 0}};
  for (const auto& [m, n, k] : kSizes) {
    for (int bits = 0; bits < 8; ++bits) {
      for (const int64_t gap : {0, 1, 3}) {
        for (const bool large : {false, true}) {
          for (const int64_t k_of_split : {int64_t{0}, int64_t{16}}) {
            if (k_of_split > 0 && (k <= k_of_split || k > 1000)) continue;
            if (k > 1000 && large && rounding != FactorRounding::kNone) continue;  // takes the host too long
            const ProductPlan plan = {large, k_of_split > 0 ? (k + 15) / 16 : 1, k_of_split > 0 ? 16 : k + 8 - k % 8};
            const Shape shape = {"", m, n, k, (bits & 1) != 0, (bits & 2) != 0};
            const bool add = (bits & 4) != 0;
            const auto actual = Product<T>(cuda, rounding, shape, gap, add, &plan);
            if (!cuda->error().empty()) return 1;
            const auto expected = Product<T>(&host, rounding, shape, gap, add, &plan);
            const std::string what = std::string(Name<T>(rounding)) + " product " + std::to_string(m) + " x " +
                                     std::to_string(n) + " x " + std::to_string(k) + ", case " + std::to_string(bits) +
                                     ", gap " + std::to_string(gap) + (large ? ", large tiles" : ", small tiles");
            wrong += Compare(what, actual, expected, (sizeof(T) == 4 ? 1e-6 : 2e-15) * std::sqrt(k + 1.0));
            ++checked;
          }
        }
      }
    }
  }
  std::printf("%s products: %d of %d differ\n", Name<T>(rounding), wrong, checked);
  return wrong;
}

// Rows of factors with numbers that are not finite are those of the host: equal, or NaN.
int CheckNotFinite(CudaBackend* cuda, FactorRounding rounding) {
  HostBackend host;
  constexpr int64_t kSize = 40;
  int wrong = 0;
  for (const uint32_t bits :
       {0x7f800000u, 0xff800000u, 0x7fc00000u, 0x7fffffffu, 0xffffffffu, 0x7f800001u, 0x7f7fffffu}) {
    std::vector<float> values = Values<float>(kSize * kSize, 1);
    values[5 * kSize + 3] = FloatOf(bits);
    const auto multiply = [&](auto* backend) {
      using Backend = std::decay_t<decltype(*backend)>;
      DeviceArray<float, Backend> a(backend), b(backend), c(backend);
      a.Upload(values);
      b.Upload(Values<float>(kSize * kSize, 2));
      c.Resize(kSize * kSize);
      DeviceProducts<float, Backend> products(backend);
      products.SetRounding(rounding);
      products.Multiply({a.data(), kSize, false}, {b.data(), kSize, false}, kSize, kSize, kSize, c.data(), kSize,
                        /*add=*/false);
      std::vector<float> result;
      c.Download(&result);
      return result;
    };
    const auto actual = multiply(cuda), expected = multiply(&host);
    for (size_t i = 0; i < expected.size() && i < actual.size(); ++i) {
      const bool same = std::isfinite(expected[i])
                            ? std::abs(actual[i] - expected[i]) <= 1e-5f * (1 + std::abs(expected[i]))
                        : std::isnan(expected[i]) ? std::isnan(actual[i])
                                                  : actual[i] == expected[i];
      if (same) continue;
      std::fprintf(stderr, "%s with %#x: %zu is %g, the host's %g\n", Name<float>(rounding), bits, i,
                   static_cast<double>(actual[i]), static_cast<double>(expected[i]));
      ++wrong;
      break;
    }
  }
  return wrong;
}

// Compares some numbers of a large product with sums in double, and two runs with each other.
template <typename T>
int CheckLarge(CudaBackend* cuda, FactorRounding rounding, const Shape& shape) {
  const auto& [name, m, n, k, a_transposed, b_transposed] = shape;
  const auto c = Product<T>(cuda, rounding, shape, /*gap=*/0, /*add=*/false, nullptr);
  if (!cuda->error().empty()) return 1;
  int wrong = 0;
  if (c != Product<T>(cuda, rounding, shape, /*gap=*/0, /*add=*/false, nullptr)) {
    std::fprintf(stderr, "%s %s: a repeated product differs\n", Name<T>(rounding), name);
    ++wrong;
  }
  auto a = Values<T>(m * k, 1), b = Values<T>(n * k, 2);
  for (auto* const factor : {&a, &b}) {
    if (rounding != FactorRounding::kBf16) break;
    for (T& x : *factor) x = RoundToBf16(static_cast<float>(x));
  }
  const DeviceFactor<T> left = {a.data(), a_transposed ? m : k, a_transposed};
  const DeviceFactor<T> right = {b.data(), b_transposed ? k : n, b_transposed};
  std::vector<T> actual, expected;
  for (int64_t i = 0; i < 200; ++i) {
    const int64_t row = i * 7919 % m, column = i * 104729 % n;
    double sum = 0;
    for (int64_t l = 0; l < k; ++l) {
      sum += static_cast<double>(left.At(row, l)) * static_cast<double>(right.At(l, column));
    }
    actual.push_back(c[row * n + column]);
    expected.push_back(static_cast<T>(sum));
  }
  return wrong + Compare(std::string(Name<T>(rounding)) + " " + name, actual, expected,
                         (sizeof(T) == 4 ? 1e-6 : 2e-15) * std::sqrt(static_cast<double>(k)));
}

template <typename T>
void MeasureProduct(CudaBackend* cuda, FactorRounding rounding, const Shape& shape, bool plans) {
  const int64_t m = shape.m, n = shape.n, k = shape.k;
  DeviceArray<T, CudaBackend> a(cuda), b(cuda), c(cuda);
  a.Upload(Values<T>(m * k, 1));
  b.Upload(Values<T>(n * k, 2));
  c.Resize(m * n);
  DeviceProducts<T, CudaBackend> products(cuda);
  SetRounding<T>(rounding, &products);
  const auto measure = [&](const ProductPlan& plan, const char* remark) {
    const double ms = Milliseconds([&] {
      products.MultiplyBy(plan, {a.data(), shape.a_transposed ? m : k, shape.a_transposed},
                          {b.data(), shape.b_transposed ? k : n, shape.b_transposed}, m, n, k, c.data(), n,
                          /*add=*/false);
    });
    const double tflop = 2e-9 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) / ms;
    std::printf("%-5s %-8s %5lld x %5lld x %5lld  %s tiles, %3lld parts  %8.4f ms %6.2f Tflop/s%s\n", Name<T>(rounding),
                shape.name, static_cast<long long>(m), static_cast<long long>(n), static_cast<long long>(k),
                plan.large ? "large" : "small", static_cast<long long>(plan.splits), ms, tflop, remark);
  };
  const ProductPlan taken = products.Plan(m, n, k);
  measure(taken, "");
  for (const bool large : {true, false}) {
    for (int64_t splits = 1; plans && splits <= 128; splits = splits < 8 ? splits + 1 : splits * 3 / 2) {
      ProductPlan plan = {large, splits, ((k + splits - 1) / splits + 31) / 32 * 32};
      plan.splits = (k + plan.k_of_split - 1) / plan.k_of_split;
      if (plan.splits != splits || splits * m * n > int64_t{1} << 24) continue;
      measure(plan, "  (not taken)");
    }
  }
}

// What the losses of a batch are computed from, and their results.
template <typename T, typename Backend>
struct Batch {
  const int64_t num_entities, dim;
  const bool softmax;
  DeviceArray<int64_t, Backend> offset;
  DeviceArray<int32_t, Backend> positive;
  DeviceArray<double, Backend> base, extra, weight, losses;
  DeviceArray<T, Backend> v, entities, bias, d_v, d_entities, d_bias;
  DeviceArray<uint64_t, Backend> keys;
  DeviceLabels labels;
  DeviceEntityArrays<T> arrays;

  Batch(Backend* b, int64_t size, int64_t num_entities, int64_t dim, bool softmax, double candidate_rate)
      : num_entities(num_entities),
        dim(dim),
        softmax(softmax),
        offset(b),
        positive(b),
        base(b),
        extra(b),
        weight(b),
        losses(b),
        v(b),
        entities(b),
        bias(b),
        d_v(b),
        d_entities(b),
        d_bias(b),
        keys(b) {
    constexpr int64_t kTails = 5;
    std::vector<int64_t> offsets = {0};
    std::vector<int32_t> tails;
    for (int64_t q = 0; q < size; ++q) {
      for (int64_t t = 0; t < kTails; ++t) tails.push_back(static_cast<int32_t>((t * num_entities + q) / kTails));
      offsets.push_back(static_cast<int64_t>(tails.size()));
    }
    offset.Upload(offsets);
    positive.Upload(tails);
    const double n = static_cast<double>(num_entities);
    base.Upload(std::vector<double>(size, 0.1 / n));
    extra.Upload(std::vector<double>(size, 0.9 / (softmax ? kTails : 1)));
    weight.Upload(Values<double>(size, 4));
    v.Upload(Values<T>(size * dim, 5));
    entities.Upload(Values<T>(num_entities * dim, 6));
    bias.Upload(Values<T>(num_entities, 7));
    losses.Resize(size);
    d_v.Resize(size * dim);
    d_entities.Resize(num_entities * dim);
    d_bias.Resize(num_entities);
    keys.Resize(num_entities);
    b->ForEach(num_entities, CandidateKeyBody(8, keys.data()));
    labels = {size, offset.data(), positive.data(), base.data(), extra.data(), weight.data()};
    arrays.v = v.data();
    arrays.entities = entities.data();
    arrays.bias = bias.data();
    arrays.d_v = d_v.data();
    arrays.d_entities = d_entities.data();
    arrays.d_bias = d_bias.data();
    arrays.add = false;
    arrays.candidate_rate = candidate_rate;
    arrays.candidate_key = keys.data();
  }
  void Compute(DeviceEntityLosses<T, Backend>* entity_losses) {
    entity_losses->AddLosses(labels, num_entities, dim, softmax, 1.0 / static_cast<double>(num_entities), arrays,
                             losses.data());
  }
};

// A score that is rounded differently may round its gradient to the other of two numbers of bfloat16.
template <typename T>
int CheckLosses(CudaBackend* cuda, FactorRounding rounding) {
  HostBackend host;
  int wrong = 0;
  for (const bool softmax : {false, true}) {
    for (const double rate : {0.0, 0.3}) {
      for (const int64_t block : {100, 1531}) {
        Batch<T, CudaBackend> actual(cuda, 37, 1531, 51, softmax, rate);
        Batch<T, HostBackend> expected(&host, 37, 1531, 51, softmax, rate);
        DeviceEntityLosses<T, CudaBackend> on_cuda(cuda, block * 37 * static_cast<int64_t>(sizeof(T)));
        DeviceEntityLosses<T, HostBackend> on_host(&host, block * 37 * static_cast<int64_t>(sizeof(T)));
        SetRounding<T>(rounding, &on_cuda);
        SetRounding<T>(rounding, &on_host);
        actual.Compute(&on_cuda);
        expected.Compute(&on_host);
        const auto compare = [&](const char* what, const auto& array, const auto& other) {
          auto x = Values<std::decay_t<decltype(*array.data())>>(0, 0), y = x;
          array.Download(&x);
          other.Download(&y);
          const std::string name = std::string(Name<T>(rounding)) + (softmax ? " softmax " : " binary ") + what +
                                   ", blocks of " + std::to_string(block) + ", dropout " + std::to_string(rate);
          wrong += Compare(name, x, y, rounding == FactorRounding::kBf16 ? 1e-3 : sizeof(T) == 4 ? 2e-5 : 1e-13);
        };
        compare("losses", actual.losses, expected.losses);
        compare("d_v", actual.d_v, expected.d_v);
        compare("d_entities", actual.d_entities, expected.d_entities);
        compare("d_bias", actual.d_bias, expected.d_bias);
        if (!cuda->error().empty()) return 1;
      }
    }
  }
  std::printf("%s losses: %d of 32 arrays differ\n", Name<T>(rounding), wrong);
  return wrong;
}

template <typename T>
void MeasureLosses(CudaBackend* cuda, FactorRounding rounding, int64_t size, int64_t dim) {
  for (const bool softmax : {false, true}) {
    for (const double rate : {0.0, 0.3}) {
      if (rate > 0 && dim != kDim) continue;
      Batch<T, CudaBackend> batch(cuda, size, kEntities, dim, softmax, rate);
      DeviceEntityLosses<T, CudaBackend> losses(cuda);
      SetRounding<T>(rounding, &losses);
      const double ms = Milliseconds([&] { batch.Compute(&losses); });
      // Two blocks are scored three times with softmax, in which two of four products are scores.
      std::printf(
          "%-5s %s%s, %lld queries, %lld entities, dim %lld, with gradients  %8.4f ms, %.2f Tflop/s of three"
          " products\n",
          Name<T>(rounding), softmax ? "softmax" : "binary", rate > 0 ? " with candidate dropout" : "",
          static_cast<long long>(size), static_cast<long long>(kEntities), static_cast<long long>(dim), ms,
          6e-9 * static_cast<double>(size) * static_cast<double>(kEntities * dim) / ms);
    }
  }
}

template <typename T>
int CheckAll(CudaBackend* cuda, FactorRounding rounding, bool plans) {
  int wrong = CheckProducts<T>(cuda, rounding) + CheckLosses<T>(cuda, rounding);
  for (const int64_t size : {128, 1024}) {
    const Shape shapes[] = {
        {"scores", size, kEntities, kDim, false, true},   {"d_v", size, kDim, kEntities, false, false},
        {"d_table", kEntities, kDim, size, true, false},  {"fc", size, kDim, kFeatures, false, true},
        {"d_input", size, kFeatures, kDim, false, false}, {"d_fc", kDim, kFeatures, size, true, false},
    };
    for (const Shape& shape : shapes) {
      if (wrong == 0) wrong += CheckLarge<T>(cuda, rounding, shape);
      if (!cuda->error().empty()) return 1;
      MeasureProduct<T>(cuda, rounding, shape, plans);
    }
    MeasureLosses<T>(cuda, rounding, size, kDim);
  }
  if (sizeof(T) == 4) MeasureLosses<T>(cuda, rounding, 1000, 2000);
  return wrong;
}

int Main(int argc, char** argv) {
  const std::string why = WhyNoCudaDevice(0);
  if (!why.empty()) {
    std::fprintf(stderr, "%s\n", why.c_str());
    return 1;
  }
  cudaDeviceProp properties;
  if (cudaGetDeviceProperties(&properties, 0) == cudaSuccess) std::printf("%s\n", properties.name);
  const bool plans = argc > 1 && std::strcmp(argv[1], "plans") == 0;
  CudaBackend cuda(0);
  int wrong = CheckAll<double>(&cuda, FactorRounding::kNone, plans);
  for (const auto rounding : {FactorRounding::kNone, FactorRounding::kTwoParts, FactorRounding::kBf16}) {
    wrong += CheckNotFinite(&cuda, rounding) + CheckAll<float>(&cuda, rounding, plans);
  }
  if (!cuda.error().empty()) std::fprintf(stderr, "the GPU: %s\n", cuda.error().c_str());
  return wrong > 0 || !cuda.error().empty() ? 1 : 0;
}

}  // namespace
}  // namespace rutile

int main(int argc, char** argv) { return rutile::Main(argc, argv); }
