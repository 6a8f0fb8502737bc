// Keeps parameters by a backend of lib/gpu.

#ifndef RUTILE_LIB_OPTIMIZER_GPU_DEVICE_PARAMETERS_INL_H_
#define RUTILE_LIB_OPTIMIZER_GPU_DEVICE_PARAMETERS_INL_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/gpu/device_array-inl.h"
#include "lib/optimizer/gpu/device_parameters.h"
#include "lib/optimizer/gpu/norm_bodies-inl.h"
#include "lib/optimizer/gpu/optimizer_bodies-inl.h"

namespace rutile {

// T is float or double.
template <typename T, typename Backend>
class DeviceParametersOn final : public DeviceParameters {
 public:
  // Takes the device's memory for `size` parameters and their gradient. The backend must outlive this; kernels that
  // share it may use parameters() and gradient(). Its error() says if the memory was not there.
  DeviceParametersOn(Backend* backend, int64_t size)
      : backend_(backend), parameters_(backend), gradient_(backend), partial_sums_(backend) {
    parameters_.Resize(size);
    gradient_.Resize(size);
  }

  // [P] in the device's memory, always in the same place. The parameters are there after Begin; the gradient is
  // uninitialized until it is written or cleared.
  T* parameters() { return parameters_.data(); }
  const T* parameters() const { return parameters_.data(); }
  T* gradient() { return gradient_.data(); }

  int64_t size() const override { return parameters_.size(); }
  int value_bytes() const override { return sizeof(T); }

  std::string Begin(void* parameters) override {
    if (host_ != parameters) {
      host_ = static_cast<T*>(parameters);
      if (Ready()) backend_->Upload(parameters_.data(), host_, size() * sizeof(T));
    }
    return backend_->error();
  }

  std::string ClearGradient() override {
    if (Ready()) gradient_.Clear();
    return backend_->error();
  }

  std::string FetchGradient(void* gradient) override {
    if (Ready()) backend_->Download(gradient, gradient_.data(), size() * sizeof(T));
    return backend_->error();
  }

  std::string Combine(double weight, double* norm) override {
    scaled_ = {gradient_.data(), static_cast<T>(weight)};
    double squares = 0;
    if (weight == 0) {
      ClearGradient();
    } else if (size() > 0) {
      constexpr int64_t kChunk = SquaresBody<T>::kChunk;
      const int64_t blocks = (size() + kChunk - 1) / kChunk;
      partial_sums_.Resize(blocks + 1);
      if (Ready()) {
        double* const sums = partial_sums_.data();
        backend_->ForEachBlock(blocks, SumLanes::kSharedBytes,
                               SquaresBody<T>{gradient_.data(), scaled_.weight, size(), sums});
        backend_->ForEachBlock(1, SumLanes::kSharedBytes, SumBody{sums, blocks, sums + blocks});
        backend_->Download(&squares, sums + blocks, sizeof(double));
      }
    }
    *norm = std::sqrt(squares);
    return backend_->error();
  }

  void ClipByNorm(double norm, double limit) override {
    if (limit > 0 && norm > limit) scaled_.factor = static_cast<T>(limit / norm);
  }
  void ClipByValue(double limit) override { scaled_.limit = static_cast<T>(limit > 0 ? limit : 0); }

  std::string Adam(const AdamStep& step, const std::vector<DeviceRange>& ranges, void* m, void* v, void* h) override {
    return Step(ranges, {m, v, h}, [&](const std::vector<T*>& state) {
      return AdamElement<T>(step, scaled_, parameters_.data(), state[0], state[1], state[2]);
    });
  }

  std::string Sgd(const SgdStep& step, const std::vector<DeviceRange>& ranges, void* b) override {
    return Step(ranges, {b}, [&](const std::vector<T*>& state) {
      return SgdElement<T>(step, scaled_, parameters_.data(), state[0]);
    });
  }

  std::string Rmsprop(const RmspropStep& step, const std::vector<DeviceRange>& ranges, void* v, void* m,
                      void* b) override {
    return Step(ranges, {v, m, b}, [&](const std::vector<T*>& state) {
      return RmspropElement<T>(step, scaled_, parameters_.data(), state[0], state[1], state[2]);
    });
  }

  std::string Adagrad(const AdagradStep& step, const std::vector<DeviceRange>& ranges, void* s) override {
    return Step(ranges, {s}, [&](const std::vector<T*>& state) {
      return AdagradElement<T>(step, scaled_, parameters_.data(), state[0]);
    });
  }

  std::string ScheduleFree(const ScheduleFreeStep& step, bool first, const std::vector<DeviceRange>& ranges, void* v,
                           void* z) override {
    return Step(ranges, {v, z}, [&](const std::vector<T*>& state) {
      return ScheduleFreeElement<T>(step, first, scaled_, parameters_.data(), state[0], state[1]);
    });
  }

  std::string UpdateAverage(double share, void* average) override {
    T* const copy = CopyOf(average, size());
    if (Ready()) backend_->ForEach(size(), AverageBody<T>{static_cast<T>(share), parameters_.data(), copy});
    return backend_->error();
  }

  std::string CopyBuffer(const void* parameters, int64_t begin, int64_t size) override {
    if (Ready()) {
      backend_->Upload(parameters_.data() + begin, static_cast<const T*>(parameters) + begin, size * sizeof(T));
    }
    return backend_->error();
  }

  std::string Gather() override {
    if (Ready() && host_ != nullptr) backend_->Download(host_, parameters_.data(), size() * sizeof(T));
    for (const Copy& copy : copies_) {
      if (Ready()) backend_->Download(copy.host, copy.values.data(), copy.values.size() * sizeof(T));
    }
    return backend_->error();
  }

  void Forget() override {
    host_ = nullptr;
    copies_.clear();
  }

 private:
  // The device's copy of an array of the host.
  struct Copy {
    T* host;
    DeviceArray<T, Backend> values;
  };
  // Ranges, and the same in pieces on the device. An optimizer always has the same ranges, so there are few tables.
  struct Table {
    std::vector<DeviceRange> ranges;
    DeviceArray<DeviceRange, Backend> chunks;
  };

  bool Ready() const { return backend_->error().empty(); }

  // Returns the copy of the host's array [size], which is made when it is asked for first; null for null.
  T* CopyOf(void* host, int64_t size) {
    if (host == nullptr) return nullptr;
    for (Copy& copy : copies_) {
      if (copy.host == host) return copy.values.data();
    }
    copies_.push_back({static_cast<T*>(host), DeviceArray<T, Backend>(backend_)});
    if (Ready()) copies_.back().values.Upload(copies_.back().host, size);
    return copies_.back().values.data();
  }

  const DeviceArray<DeviceRange, Backend>& ChunksOf(const std::vector<DeviceRange>& ranges) {
    for (const Table& table : tables_) {
      if (table.ranges == ranges) return table.chunks;
    }
    constexpr int64_t kChunk = 2048;
    std::vector<DeviceRange> chunks;
    for (const DeviceRange& range : ranges) {
      for (int64_t from = 0; from < range.size; from += kChunk) {
        chunks.push_back({range.begin + from, range.at + from, std::min(kChunk, range.size - from), range.decays});
      }
    }
    tables_.push_back({ranges, DeviceArray<DeviceRange, Backend>(backend_)});
    if (Ready()) tables_.back().chunks.Upload(chunks);
    return tables_.back().chunks;
  }

  // Steps the elements of the ranges with `make_element(state)`, where `state` is the device's copies of the host's.
  template <typename MakeElement>
  std::string Step(const std::vector<DeviceRange>& ranges, const std::vector<void*>& host_state,
                   const MakeElement& make_element) {
    int64_t size = 0;
    for (const DeviceRange& range : ranges) size += range.size;
    if (size == 0) return backend_->error();
    const DeviceArray<DeviceRange, Backend>& chunks = ChunksOf(ranges);
    std::vector<T*> state;
    for (void* const host : host_state) state.push_back(CopyOf(host, size));
    if (!Ready()) return backend_->error();
    const auto element = make_element(state);
    backend_->ForEachBlock(chunks.size(), 0, StepBody<std::remove_const_t<decltype(element)>>{chunks.data(), element});
    return backend_->error();
  }

  Backend* const backend_;
  T* host_ = nullptr;  // the parameters on the host; null: the device does not have them
  DeviceArray<T, Backend> parameters_, gradient_;
  DeviceArray<double, Backend> partial_sums_;  // of squares, and their sum
  ScaledGradient<T> scaled_ = {};
  std::vector<Copy> copies_;
  std::vector<Table> tables_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_GPU_DEVICE_PARAMETERS_INL_H_
