// Counts scores by a backend of lib/gpu.

#ifndef RUTILE_LIB_RANKING_GPU_COUNTING_DEVICE_INL_H_
#define RUTILE_LIB_RANKING_GPU_COUNTING_DEVICE_INL_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lib/gpu/device_array-inl.h"
#include "lib/ranking/gpu/count_bodies-inl.h"
#include "lib/ranking/gpu/counting_device.h"

namespace rutile {

template <typename T, typename Backend>
class DeviceCountsOn final : public DeviceCounts<T> {
 public:
  explicit DeviceCountsOn(Backend* backend)
      : backend_(backend),
        entities_(backend),
        entity_panels_(backend),
        given_bias_(backend),
        bias_(backend),
        queries_(backend),
        query_panels_(backend),
        scores_(backend),
        offsets_(backend),
        known_offsets_(backend),
        rows_(backend),
        known_(backend),
        counts_(backend) {}

  void SetEntities(const T* rows, const T* bias, int64_t first, int64_t num, int64_t dim) override {
    first_ = first;
    num_ = num;
    dim_ = dim;
    entities_.Upload(rows, num * dim);
    if (bias != nullptr) given_bias_.Upload(bias, num);
    bias_.Resize(Tiles(num, Tile::kEntities) * Tile::kEntities);
    if (!Ready()) return;
    backend_->ForEach(bias_.size(), PadBiasBody<T>{bias == nullptr ? nullptr : given_bias_.data(), num, bias_.data()});
    Pack(entities_, num, Tile::kEntities, &entity_panels_);
  }

  void SetQueries(const T* queries, int64_t num, const int64_t* offsets) override {
    num_queries_ = num;
    queries_.Upload(queries, num * dim_);
    offsets_.Upload(offsets, num + 1);
    scores_.Resize(offsets[num]);
    counts_.Resize(offsets[num]);
    if (!Ready()) return;
    counts_.Clear();
    Pack(queries_, num, Tile::kQueries, &query_panels_);
  }

  void ScoreTargets(const int32_t* row) override {
    rows_.Upload(row, scores_.size());
    if (!Ready()) return;
    backend_->ForEach(scores_.size(), TargetScoreBody<T>{queries_.data(), entities_.data(), bias_.data(), dim_,
                                                         offsets_.data(), num_queries_, rows_.data(), scores_.data()});
  }

  void Count(const int64_t* known_offsets, const int32_t* known) override {
    CountAll();
    SubtractKnown(known_offsets, known);
  }

  void Read(std::vector<T>* scores, std::vector<int64_t>* greater, std::vector<int64_t>* equal) override {
    std::vector<uint64_t> counts;
    scores_.Download(scores);
    counts_.Download(&counts);
    greater->resize(counts.size());
    equal->resize(counts.size());
    for (size_t t = 0; t < counts.size(); ++t) {
      (*greater)[t] = static_cast<int64_t>(counts[t] & 0xffffffff);
      (*equal)[t] = static_cast<int64_t>(counts[t] >> 32);
    }
  }

  std::string error() const override { return backend_->error(); }

  // The two parts of Count, which a program that measures calls by themselves.
  void CountAll() {
    CountBody<T> body;
    body.query_tiles = Tiles(num_queries_, Tile::kQueries);
    body.entity_tiles = Tiles(num_, Tile::kEntities);
    if (!Ready() || scores_.size() == 0) return;
    // Many blocks for each processor, so that all end at about the same time; a long block starts its loads less often.
    const int64_t tiles = body.query_tiles * body.entity_tiles;
    body.tiles_per_block = std::clamp<int64_t>(tiles / (kBlocksPerProcessor * backend_->num_processors()), 1, kTiles);
    static_assert(kTiles <= CountBody<T>::kMostTiles);
    body.queries = query_panels_.data();
    body.entities = entity_panels_.data();
    body.bias = bias_.data();
    body.padded_dim = padded_dim();
    body.offsets = offsets_.data();
    body.num_queries = num_queries_;
    body.scores = scores_.data();
    body.counts = counts_.data();
    backend_->ForEachBlock(body.num_blocks(), sizeof(typename CountBody<T>::Shared), body);
  }

  void SubtractKnown(const int64_t* known_offsets, const int32_t* known) {
    known_offsets_.Upload(known_offsets, num_queries_ + 1);
    known_.Upload(known, known_offsets[num_queries_]);
    if (!Ready()) return;
    KnownBody<T> body;
    body.queries = queries_.data();
    body.entities = entities_.data();
    body.bias = bias_.data();
    body.dim = dim_;
    body.first = first_;
    body.num = num_;
    body.offsets = offsets_.data();
    body.known_offsets = known_offsets_.data();
    body.num_queries = num_queries_;
    body.known = known_.data();
    body.scores = scores_.data();
    body.counts = counts_.data();
    backend_->ForEach(known_.size(), body);
  }

 private:
  using Tile = CountTile<T>;
  static constexpr int64_t kBlocksPerProcessor = 32, kTiles = 4;

  static int64_t Tiles(int64_t n, int64_t width) { return (n + width - 1) / width; }
  int64_t padded_dim() const { return Tiles(dim_, Tile::kSlice) * Tile::kSlice; }
  bool Ready() const { return backend_->error().empty(); }

  void Pack(const DeviceArray<T, Backend>& rows, int64_t num, int width, DeviceArray<T, Backend>* panels) {
    panels->Resize(Tiles(num, width) * width * padded_dim());
    if (!Ready()) return;
    backend_->ForEach(panels->size(), PackBody<T>{rows.data(), num, dim_, padded_dim(), width, panels->data()});
  }

  Backend* const backend_;
  int64_t first_ = 0, num_ = 0, dim_ = 0, num_queries_ = 0;
  DeviceArray<T, Backend> entities_, entity_panels_, given_bias_, bias_, queries_, query_panels_, scores_;
  DeviceArray<int64_t, Backend> offsets_, known_offsets_;
  DeviceArray<int32_t, Backend> rows_, known_;
  DeviceArray<uint64_t, Backend> counts_;
};

template <typename Backend>
class CountingDeviceOn final : public CountingDevice {
 public:
  template <typename... Args>
  explicit CountingDeviceOn(Args&&... args) : backend_(std::forward<Args>(args)...), f32_(&backend_), f64_(&backend_) {}
  DeviceCounts<float>* f32() override { return &f32_; }
  DeviceCounts<double>* f64() override { return &f64_; }
  std::string error() const { return backend_.error(); }

 private:
  Backend backend_;
  DeviceCountsOn<float, Backend> f32_;
  DeviceCountsOn<double, Backend> f64_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_RANKING_GPU_COUNTING_DEVICE_INL_H_
