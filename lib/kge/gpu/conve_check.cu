// Compares ConvE's layers on a GPU with the same layers run by the host, and measures them. Built by hand, from the
// root:
//   nvcc -std=c++17 -O3 -arch=sm_90 -I. lib/kge/gpu/conve_check.cu -o conve_check && ./conve_check
// Exits with 1 if a result differs, or a repeated run gives other bits, or the GPU fails.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "lib/gpu/cuda_backend-inl.h"
#include "lib/gpu/device_array-inl.h"
#include "lib/gpu/host_backend-inl.h"
#include "lib/kge/gpu/conve_layers-inl.h"

namespace rutile {
namespace {

enum Variant { kDettmers, kTiepin, kLibkge };
const char* const kVariants[] = {"dettmers", "tiepin", "libkge"};

KgeStepShape ShapeOf(Variant variant, int64_t height, int64_t width, int64_t kernel_height, int64_t kernel_width,
                     int64_t channels, bool drops) {
  KgeStepShape shape;
  shape.num_entities = 50;
  shape.num_relations = 7;
  shape.dim = height * width;
  shape.conve = true;
  shape.rate[kDropInput] = drops ? 0.2 : 0;
  shape.rate[kDropFeatureMap] = drops ? 0.2 : 0;
  shape.rate[kDropOutput] = drops ? 0.3 : 0;
  shape.embedding_height = height;
  shape.embedding_width = width;
  shape.channels = channels;
  shape.kernel_height = kernel_height;
  shape.kernel_width = kernel_width;
  shape.stacked_in_width = variant == kTiepin;
  shape.has_input_norm = shape.has_affine_norms = variant != kLibkge;
  shape.drops_before_norm = variant != kDettmers;
  shape.norm_epsilon = 1e-5;
  int64_t& at = shape.num_parameters;
  const auto take = [&](int64_t* offset, int64_t size) {
    *offset = at;
    at += size;
  };
  take(&shape.entity, shape.num_entities * shape.dim);
  take(&shape.relation, shape.num_relations * shape.dim);
  const auto take_norm = [&](int64_t size, int64_t* weight, int64_t* bias, int64_t* mean, int64_t* variance) {
    if (shape.has_affine_norms) {
      take(weight, size);
      take(bias, size);
    }
    take(mean, size);
    take(variance, size);
  };
  if (shape.has_input_norm) take_norm(1, &shape.bn0_weight, &shape.bn0_bias, &shape.bn0_mean, &shape.bn0_variance);
  take(&shape.conv_weight, channels * kernel_height * kernel_width);
  if (variant != kDettmers) take(&shape.conv_bias, channels);
  take_norm(channels, &shape.bn1_weight, &shape.bn1_bias, &shape.bn1_mean, &shape.bn1_variance);
  take(&shape.fc_weight, shape.dim * shape.num_features());
  take(&shape.fc_bias, shape.dim);
  take_norm(shape.dim, &shape.bn2_weight, &shape.bn2_bias, &shape.bn2_mean, &shape.bn2_variance);
  return shape;
}

// What a step reads, on the host.
template <typename T>
struct Inputs {
  std::vector<T> parameters, d_v;
  std::vector<int32_t> head, relation;
  std::vector<uint64_t> keys[kNumKgeDropouts];

  Inputs(const KgeStepShape& shape, int64_t size) {
    std::mt19937_64 random(3);
    std::uniform_real_distribution<double> uniform(-1, 1);
    parameters.resize(shape.num_parameters);
    for (T& value : parameters) value = static_cast<T>(0.1 * uniform(random) + 0.05);
    const auto fill = [&](int64_t offset, int64_t n, double least) {
      for (int64_t i = 0; offset >= 0 && i < n; ++i) {
        parameters[offset + i] = static_cast<T>(least + uniform(random) / 4);
      }
    };
    fill(shape.conv_weight, shape.channels * shape.kernel_height * shape.kernel_width, 0);
    for (const int64_t at : {shape.bn0_weight, shape.bn0_variance}) fill(at, 1, 1);
    for (const int64_t at : {shape.bn1_weight, shape.bn1_variance}) fill(at, shape.channels, 1);
    for (const int64_t at : {shape.bn2_weight, shape.bn2_variance}) fill(at, shape.dim, 1);
    d_v.resize(size * shape.dim);
    for (T& value : d_v) value = static_cast<T>(uniform(random));
    for (int64_t e = 0; e < size; ++e) {
      head.push_back(static_cast<int32_t>(random() % shape.num_entities));
      relation.push_back(static_cast<int32_t>(random() % shape.num_relations));
      for (auto& keys_of_layer : keys) keys_of_layer.push_back(random());
    }
  }
};

// The layers with all that they read and write in the memory of a backend.
template <typename T, typename Backend>
class Step {
 public:
  using Layers = DeviceConveLayers<T, Backend>;

  Step(Backend* backend, const KgeStepShape& shape, const Inputs<T>& inputs, bool training)
      : layers(backend, shape),
        parameters(backend),
        d_v(backend),
        v(backend),
        gradient(backend),
        d_heads(backend),
        d_relations(backend),
        head_(backend),
        relation_(backend),
        backend_(backend) {
    const auto size = static_cast<int64_t>(inputs.head.size());
    parameters.Upload(inputs.parameters);
    d_v.Upload(inputs.d_v);
    head_.Upload(inputs.head);
    relation_.Upload(inputs.relation);
    for (const auto& keys : inputs.keys) {
      keys_.emplace_back(backend);
      keys_.back().Upload(keys);
    }
    batch.size = size;
    batch.head = head_.data();
    batch.relation = relation_.data();
    batch.training = training;
    for (int layer = 0; layer < kNumKgeDropouts; ++layer) {
      batch.mask_key[layer] = shape.rate[layer] > 0 ? keys_[layer].data() : nullptr;
    }
    for (auto* rows : {&v, &d_heads, &d_relations}) rows->Resize(size * shape.dim);
    gradient.Resize(shape.num_parameters);
    gradient.Clear();
  }
  void Forward() { layers.Forward(parameters.data(), batch, v.data()); }
  void Backward() {
    layers.Backward(parameters.data(), batch, v.data(), d_v.data(), gradient.data(), d_heads.data(),
                    d_relations.data());
  }
  // Runs both and returns v, d_heads, d_relations, gradient and statistics.
  std::vector<std::vector<T>> Results(const KgeStepShape& shape) {
    gradient.Clear();
    Forward();
    Backward();
    std::vector<std::vector<T>> results(4);
    v.Download(&results[0]);
    d_heads.Download(&results[1]);
    d_relations.Download(&results[2]);
    gradient.Download(&results[3]);
    std::vector<double> statistics(layers.num_statistics());
    backend_->Download(statistics.data(), layers.statistics(), layers.num_statistics() * sizeof(double));
    if (!shape.has_input_norm) statistics[0] = statistics[1] = 0;
    results.emplace_back(statistics.begin(), statistics.end());
    return results;
  }

  Layers layers;
  DeviceArray<T, Backend> parameters, d_v, v, gradient, d_heads, d_relations;
  KgeDeviceBatch batch;

 private:
  DeviceArray<int32_t, Backend> head_, relation_;
  std::vector<DeviceArray<uint64_t, Backend>> keys_;
  Backend* const backend_;
};

// Returns the number of results that differ.
template <typename T>
int Check(CudaBackend* gpu, Variant variant, const KgeStepShape& shape, int64_t size, bool training) {
  const Inputs<T> inputs(shape, size);
  HostBackend host;
  const auto expected = Step<T, HostBackend>(&host, shape, inputs, training).Results(shape);
  Step<T, CudaBackend> step(gpu, shape, inputs, training);
  const auto actual = step.Results(shape), again = step.Results(shape);
  if (!gpu->error().empty()) {
    std::fprintf(stderr, "the GPU: %s\n", gpu->error().c_str());
    return 1;
  }
  // Both round otherwise, since the GPU multiplies and adds at once. Two values of a norm may be close to each other.
  const double tolerance = sizeof(T) == sizeof(double) ? 1e-10 : size == 2 ? 1e-3 : 1e-4;
  const char* const names[] = {"v", "d_heads", "d_relations", "gradient", "statistics"};
  int wrong = 0;
  std::string worst;
  for (int r = 0; r < 5; ++r) {
    double most = 1, difference = 0;
    for (const T x : expected[r]) most = std::max(most, std::abs(static_cast<double>(x)));
    for (size_t i = 0; i < expected[r].size(); ++i) {
      const double here = std::abs(static_cast<double>(actual[r][i]) - static_cast<double>(expected[r][i])) / most;
      if (!(here <= difference)) difference = here;  // NaN, too
    }
    const bool repeats = actual[r] == again[r];
    if (!(difference <= tolerance) || !repeats) {
      ++wrong;
      std::fprintf(stderr, "%s differs by %.3g%s\n", names[r], difference, repeats ? "" : ", and a repeat differs");
    }
    char text[40];
    std::snprintf(text, sizeof text, " %s %.1e", names[r], difference);
    worst += text;
  }
  std::printf("%s fp%d %s %lld x %lld, kernel %lld x %lld, %lld channels, batch %lld, %s:%s\n",
              wrong == 0 ? "same" : "DIFFERS", static_cast<int>(8 * sizeof(T)), kVariants[variant],
              static_cast<long long>(shape.embedding_height), static_cast<long long>(shape.embedding_width),
              static_cast<long long>(shape.kernel_height), static_cast<long long>(shape.kernel_width),
              static_cast<long long>(shape.channels), static_cast<long long>(size),
              training ? "training" : "evaluation", worst.c_str());
  return wrong;
}

// Returns milliseconds of a call of work, the best of three loops.
template <typename Work>
double Milliseconds(CudaBackend* gpu, int runs, const Work& work) {
  double best = 1e30;
  char byte = 0;
  void* const device = gpu->Allocate(1);
  work();
  for (int loop = 0; loop < 3; ++loop) {
    gpu->Download(&byte, device, 1);  // waits
    const auto start = std::chrono::steady_clock::now();
    for (int run = 0; run < runs; ++run) work();
    gpu->Download(&byte, device, 1);
    const std::chrono::duration<double, std::milli> passed = std::chrono::steady_clock::now() - start;
    best = std::min(best, passed.count() / runs);
  }
  gpu->Free(device);
  return best;
}

template <typename T>
void Measure(CudaBackend* gpu, Variant variant, int64_t size) {
  const KgeStepShape shape = ShapeOf(variant, 20, 10, 3, 3, 32, true);
  const Inputs<T> inputs(shape, size);
  Step<T, CudaBackend> step(gpu, shape, inputs, true);
  auto& layers = step.layers;
  step.Forward();
  step.Backward();
  const ConveView<T> view(shape, step.parameters.data(), step.batch, const_cast<double*>(layers.statistics()));
  constexpr int kRuns = 50;
  const double parts[] = {
      Milliseconds(gpu, kRuns, [&] { layers.FindStatistics(view); }),
      Milliseconds(gpu, kRuns, [&] { layers.MakeMaps(view); }),
      Milliseconds(gpu, kRuns, [&] { layers.FinishOutput(view, step.v.data()); }),
      Milliseconds(gpu, kRuns,
                   [&] { layers.BackwardOutput(view, step.v.data(), step.d_v.data(), step.gradient.data()); }),
      Milliseconds(gpu, kRuns, [&] { layers.BackwardMaps(view, step.gradient.data()); }),
      Milliseconds(gpu, kRuns,
                   [&] {
                     layers.BackwardImages(view, step.gradient.data(), {step.d_heads.data(), step.d_relations.data()});
                   }),
  };
  double sum = 0;
  for (const double part : parts) sum += part;
  const double forward = Milliseconds(gpu, 5, [&] { step.Forward(); });
  const double backward = Milliseconds(gpu, 5, [&] { step.Backward(); });
  std::printf(
      "fp%d %s, batch %lld: statistics %.4f, maps %.4f, output %.4f | output back %.4f, maps back %.4f, images "
      "back %.4f ms; all %.4f ms\n",
      static_cast<int>(8 * sizeof(T)), kVariants[variant], static_cast<long long>(size), parts[0], parts[1], parts[2],
      parts[3], parts[4], parts[5], sum);
  std::printf("  with products: forward %.4f, backward %.4f ms; %.1f MiB\n", forward, backward,
              static_cast<double>(layers.device_bytes()) / (1 << 20));
  if (!gpu->error().empty()) std::fprintf(stderr, "the GPU: %s\n", gpu->error().c_str());
}

int Main() {
  const std::string why = WhyNoCudaDevice(0);
  if (!why.empty()) {
    std::fprintf(stderr, "%s\n", why.c_str());
    return 1;
  }
  CudaBackend gpu(0);
  int wrong = 0;
  struct Sizes {
    int64_t height, width, kernel_height, kernel_width, channels, batch;
  };
  const Sizes all[] = {{3, 5, 2, 3, 1, 1},  {3, 5, 1, 1, 3, 2},   {4, 6, 3, 3, 19, 7},  {1, 1, 1, 1, 2, 5},
                       {4, 3, 4, 3, 9, 70}, {5, 4, 3, 3, 4, 300}, {20, 10, 3, 3, 32, 9}};
  for (const Variant variant : {kDettmers, kTiepin, kLibkge}) {
    for (const Sizes& s : all) {
      const KgeStepShape shape =
          ShapeOf(variant, s.height, s.width, s.kernel_height, s.kernel_width, s.channels, s.batch != 7);
      wrong += Check<double>(&gpu, variant, shape, s.batch, true);
      wrong += Check<float>(&gpu, variant, shape, s.batch, true);
    }
    wrong += Check<float>(&gpu, variant, ShapeOf(variant, 20, 10, 3, 3, 32, true), 5, false);
    wrong += Check<double>(&gpu, variant, ShapeOf(variant, 3, 5, 3, 2, 10, true), 33, false);
  }
  for (const int64_t size : {128, 1024}) Measure<float>(&gpu, kDettmers, size);
  Measure<float>(&gpu, kTiepin, 128);
  Measure<float>(&gpu, kLibkge, 128);
  Measure<double>(&gpu, kDettmers, 128);
  if (!gpu.error().empty()) ++wrong;
  std::printf("%s\n", wrong == 0 ? "all the same" : "SOMETHING DIFFERS");
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace rutile

int main() { return rutile::Main(); }
