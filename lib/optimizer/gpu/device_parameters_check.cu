// Compares the steps of a GPU with the same code on the host, bit by bit, and measures them. Built by hand, from the
// root:
//   nvcc -std=c++17 -O3 -arch=sm_90 -I. lib/optimizer/gpu/device_parameters_check.cu -o parameters_check
//   ./parameters_check
// Exits with 1 if anything differs or the GPU fails.

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "lib/gpu/cuda_backend-inl.h"
#include "lib/gpu/host_backend-inl.h"
#include "lib/optimizer/gpu/device_parameters-inl.h"

namespace rutile {
namespace {

constexpr int64_t kSize = 1000003, kLarge = 20000000;
constexpr int kRuns = 50;

// Long and short ranges, with gaps.
std::vector<DeviceRange> Ranges() {
  std::vector<DeviceRange> ranges = {{1, 0, 900001, true}};
  int64_t begin = 900100, at = 900001;
  for (int64_t size = 1; size < 300; size += 7) {
    ranges.push_back({begin, at, size, size % 2 == 0});
    begin += size + 3, at += size;
  }
  return ranges;
}

// Fifteen steps of all kinds on parameters, state and an average. Returns all of them, with the norms.
template <typename T, typename Backend>
std::vector<T> Run(Backend* backend, std::string* error) {
  DeviceParametersOn<T, Backend> device(backend, kSize);
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  std::vector<std::vector<T>> arrays(5, std::vector<T>(kSize, T{0}));  // parameters, three of state, average
  for (T& value : arrays[0]) value = static_cast<T>(normal(random));
  std::vector<T> gradient(kSize), result;
  const std::vector<DeviceRange> ranges = Ranges();
  void* const state[] = {arrays[1].data(), arrays[2].data(), arrays[3].data()};
  for (int s = 0; s < 15; ++s) {
    for (T& value : gradient) value = static_cast<T>(normal(random));
    device.Begin(arrays[0].data());
    backend->Upload(device.gradient(), gradient.data(), kSize * sizeof(T));
    double norm = 0;
    device.Combine(0.37, &norm);
    result.push_back(static_cast<T>(norm));
    if (s % 3 == 1) device.ClipByNorm(norm, norm / 3);
    if (s % 3 == 2) device.ClipByValue(0.2);
    switch (s / 3) {
      case 0: {
        AdamStep step;
        step.keep = 0.99, step.l2 = 0.1, step.beta1 = 0.9, step.beta2 = 0.999, step.epsilon = 1e-8;
        step.step_size = 0.03, step.root_correction2 = 0.4;
        device.Adam(step, ranges, state[0], state[1], state[2]);
        break;
      }
      case 1: {
        SgdStep step;
        step.l2 = 0.1, step.momentum = 0.9, step.gain = 0.7, step.nesterov = s % 2 == 0, step.learning_rate = 0.03;
        device.Sgd(step, ranges, state[0]);
        break;
      }
      case 2: {
        RmspropStep step;
        step.l2 = 0.1, step.alpha = 0.9, step.epsilon = 1e-6, step.momentum = 0.5, step.learning_rate = 0.03;
        device.Rmsprop(step, ranges, state[1], state[0], state[2]);
        break;
      }
      case 3: {
        AdagradStep step;
        step.l2 = 0.1, step.epsilon = 1e-6, step.step_size = 0.03;
        device.Adagrad(step, ranges, state[1]);
        break;
      }
      default: {
        ScheduleFreeStep step;
        step.beta2 = 0.99, step.epsilon = 1e-8, step.decay = 0.1, step.root_correction2 = 0.5, step.share = 0.3;
        step.y_rate = 0.01, step.learning_rate = 0.03;
        device.ScheduleFree(step, s == 12, ranges, state[1], state[0]);
      }
    }
    device.UpdateAverage(s == 0 ? 1 : 0.125, arrays[4].data());
  }
  *error = device.Gather();
  for (const std::vector<T>& array : arrays) result.insert(result.end(), array.begin(), array.end());
  return result;
}

template <typename T>
bool Compare(const char* type) {
  HostBackend host;
  CudaBackend gpu(0), again(0);
  std::string error;
  const std::vector<T> expected = Run<T>(&host, &error), actual = Run<T>(&gpu, &error);
  if (!error.empty()) {
    std::printf("%s: %s\n", type, error.c_str());
    return false;
  }
  const std::vector<T> repeated = Run<T>(&again, &error);
  int64_t different = 0, changed = 0;
  double largest = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    changed += std::memcmp(&actual[i], &repeated[i], sizeof(T)) != 0;
    if (std::isfinite(expected[i]) && std::memcmp(&actual[i], &expected[i], sizeof(T)) == 0) continue;
    ++different;
    largest = std::max(largest, std::abs(static_cast<double>(actual[i]) - static_cast<double>(expected[i])));
  }
  std::printf("%s: of %zu numbers %lld differ from the host's, by %g at most; %lld differ in a repeated run\n", type,
              expected.size(), static_cast<long long>(different), largest, static_cast<long long>(changed));
  return different == 0 && changed == 0;
}

template <typename Work>
double Microseconds(CudaBackend* gpu, const Work& work) {
  char wait;
  void* const memory = gpu->Allocate(1);
  std::vector<double> times;
  for (int i = 0; i < kRuns; ++i) {
    gpu->Download(&wait, memory, 1);
    const auto begin = std::chrono::steady_clock::now();
    work();
    gpu->Download(&wait, memory, 1);
    times.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
  }
  gpu->Free(memory);
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void Measure() {
  CudaBackend gpu(0);
  DeviceParametersOn<float, CudaBackend> device(&gpu, kLarge);
  std::vector<float> arrays[4];
  for (std::vector<float>& array : arrays) array.assign(kLarge, 0.5f);
  device.Begin(arrays[0].data());
  device.ClearGradient();
  AdamStep step;
  step.beta1 = 0.9, step.beta2 = 0.999, step.epsilon = 1e-8, step.step_size = 1e-3;
  double norm = 0;
  const double of_norm = Microseconds(&gpu, [&] { device.Combine(1, &norm); });
  const double of_adam = Microseconds(&gpu, [&] {
    device.Adam(step, {{0, 0, kLarge, true}}, arrays[1].data(), arrays[2].data(), nullptr);
  });
  const double of_average = Microseconds(&gpu, [&] { device.UpdateAverage(0.1, arrays[3].data()); });
  const double of_nothing = Microseconds(&gpu, [] {});
  const double gigabytes = kLarge * 4e-9;
  std::printf(
      "fp32, %lld parameters, medians of %d: norm %.0f us (%.0f GB/s), Adam %.0f us (%.0f GB/s), average %.0f us "
      "(%.0f GB/s); waiting alone %.0f us\n",
      static_cast<long long>(kLarge), kRuns, of_norm, gigabytes / of_norm * 1e6, of_adam, 7 * gigabytes / of_adam * 1e6,
      of_average, 3 * gigabytes / of_average * 1e6, of_nothing);
}

}  // namespace
}  // namespace rutile

int main() {
  const std::string why = rutile::WhyNoCudaDevice(0);
  if (!why.empty()) {
    std::printf("%s\n", why.c_str());
    return 1;
  }
  const bool same = rutile::Compare<float>("fp32") & rutile::Compare<double>("fp64");
  rutile::Measure();
  return same ? 0 : 1;
}
