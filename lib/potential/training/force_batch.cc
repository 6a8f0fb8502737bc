#include "lib/potential/training/force_batch.h"

#include <algorithm>
#include <cstring>

#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/potential/data/geometry.h"
#include "lib/structure/cell.h"
#include "lib/task/batch_memory.h"

namespace rutile {
namespace {

template <typename T>
absl::Span<const T> Values(const NamedTensors& batch, absl::string_view name, int64_t count) {
  return batch.At(name).values<T>().subspan(0, count);
}

// Copies the features of structure s, of either type, as T.
template <typename T>
void CopyFeatures(const FeatureSource& features, int64_t s, T* out) {
  if (features.dtype() == DType::kF64) {
    const absl::Span<const double> rows = features.features<double>(s);
    std::copy(rows.begin(), rows.end(), out);
  } else {
    const absl::Span<const float> rows = features.features<float>(s);
    std::copy(rows.begin(), rows.end(), out);
  }
}

// Appends pairs structure by structure to tensors of a batch, which grow as needed.
class PairAppender {
 public:
  PairAppender(NamedTensors* batch, int64_t num_atoms, int64_t num_pairs)
      : batch_(batch), offset_(ReuseRows<int64_t>(batch, "pair_offset", {num_atoms + 1})) {
    offset_[0] = 0;
    Reserve(num_pairs);
  }

  // first_atom: the index of the structure's first atom in the batch. num_atoms: gives the number of atoms, which then
  // have no pairs, when `pairs` is empty.
  void Append(const PairView& pairs, int64_t first_atom, int64_t num_atoms) {
    const int64_t count = pairs.num_pairs();
    if (size_ + count > capacity_) Grow(size_ + count);
    const int64_t from = count == 0 ? 0 : pairs.offset[0];
    const auto move = static_cast<int32_t>(first_atom - pairs.first_atom);
    for (int64_t p = 0; p < count; ++p) j_[size_ + p] = pairs.j[from + p] + move;
    if (count > 0) std::memcpy(shift_ + 3 * size_, pairs.shift + 3 * from, 3 * count * sizeof(int16_t));
    for (int64_t i = 0; i < num_atoms; ++i) {
      offset_[first_atom + i + 1] = size_ + (count == 0 ? 0 : pairs.offset[i + 1] - from);
    }
    size_ += count;
  }

 private:
  void Reserve(int64_t n) {
    j_ = ReuseRows<int32_t>(batch_, "pair_j", {n});
    shift_ = ReuseRows<int16_t>(batch_, "pair_shift", {n, 3});
    capacity_ = std::min(batch_->At("pair_j").dim(0), batch_->At("pair_shift").dim(0));
  }

  // Grows the tensors for pairs that are found now and could not be counted in advance.
  void Grow(int64_t n) {
    const Tensor j = batch_->At("pair_j"), shift = batch_->At("pair_shift");
    Reserve(n + n / 2);
    std::memcpy(j_, j.data(), size_ * sizeof(int32_t));
    std::memcpy(shift_, shift.data(), 3 * size_ * sizeof(int16_t));
  }

  NamedTensors* const batch_;
  int64_t* const offset_;
  int32_t* j_ = nullptr;
  int16_t* shift_ = nullptr;
  int64_t size_ = 0, capacity_ = 0;
};

}  // namespace

template <typename T>
ForceBatch<T>::ForceBatch(const NamedTensors& batch, const AtomicData& data) : data_(data) {
  const int64_t b = batch.At("target").num_elements();
  atom_offset = Values<int64_t>(batch, "atom_offset", b + 1);
  const int64_t a = atom_offset[b];
  example = Values<int64_t>(batch, "example", b);
  species = Values<uint8_t>(batch, "species", a);
  has_energy = Values<bool>(batch, "has_energy", b);
  target = Values<double>(batch, "target", b);
  weight = Values<double>(batch, "weight", b);
  has_geometry = Values<bool>(batch, "has_geometry", b);
  volume = Values<double>(batch, "volume", b);
  if (batch.Has("pair_offset")) {
    position = Values<double>(batch, "position", 3 * a);
    cell = Values<double>(batch, "cell", 9 * b);
    force = Values<double>(batch, "force", 3 * a);
    pair_offset = Values<int64_t>(batch, "pair_offset", a + 1);
    pair_j = Values<int32_t>(batch, "pair_j", pair_offset[a]);
    pair_shift = Values<int16_t>(batch, "pair_shift", 3 * pair_offset[a]);
  }
  if (batch.Has("triplet_offset")) {
    triplet_offset = Values<int64_t>(batch, "triplet_offset", a + 1);
    triplet_a = Values<uint16_t>(batch, "triplet_a", triplet_offset[a]);
    triplet_b = Values<uint16_t>(batch, "triplet_b", triplet_offset[a]);
  }
  force_sampled = Values<bool>(batch, "force_sampled", a);
  num_sampled = Values<int64_t>(batch, "num_sampled", b);
  sampled_share = batch.At("sampled_share").values<double>()[0];
  has_stress = Values<bool>(batch, "has_stress", b);
  stress = Values<double>(batch, "stress", 9 * b);
  if (batch.Has("feature")) feature = batch.At("feature").values<T>();
}

template <typename T>
StructureGeometry ForceBatch<T>::geometry(int64_t s) const {
  const int64_t first = atom_offset[s], n = num_atoms(s);
  StructureGeometry geometry;
  geometry.species = species.subspan(first, n);
  if (pair_offset.empty()) {
    geometry.position = data_.position(example[s]);
    geometry.cell = data_.cell(example[s]);
    geometry.pairs = data_.pairs(example[s]);
    if (data_.has_triplets()) geometry.triplets = data_.triplets(example[s]);
    return geometry;
  }
  geometry.position = position.subspan(3 * first, 3 * n);
  std::copy_n(cell.data() + 9 * s, 9, geometry.cell.begin());
  geometry.pairs = {pair_offset.subspan(first, n + 1), pair_j.data(), pair_shift.data(), static_cast<int32_t>(first)};
  if (!triplet_offset.empty()) {
    geometry.triplets = {triplet_offset.subspan(first, n + 1), triplet_a.data(), triplet_b.data()};
  }
  return geometry;
}

template <typename T>
absl::Span<const double> ForceBatch<T>::forces(int64_t s) const {
  return pair_offset.empty() ? data_.force(example[s]) : force.subspan(3 * atom_offset[s], 3 * num_atoms(s));
}

DeviceForceBatch::DeviceForceBatch(const NamedTensors& batch)
    : example(batch.At("example").values<int64_t>()),
      num_sampled(batch.At("num_sampled").values<int64_t>()),
      sampled_share(batch.At("sampled_share").values<double>()[0]) {
  if (batch.Has("force_sampled")) force_sampled = batch.At("force_sampled").values<bool>().data();
}

void ForceBatchMaker::MakeForDevice(absl::Span<const int64_t> examples, NamedTensors* batch) const {
  const auto b = static_cast<int64_t>(examples.size());
  std::copy(examples.begin(), examples.end(), Reuse<int64_t>(batch, "example", {b}));
  int64_t* const num_sampled = Reuse<int64_t>(batch, "num_sampled", {b});
  for (int64_t e = 0; e < b; ++e) num_sampled[e] = sampler_ == nullptr ? 0 : sampler_->num_sampled(examples[e]);
  *Reuse<double>(batch, "sampled_share", {1}) = sampler_ == nullptr ? 1 : sampler_->share();
  if (sampler_ == nullptr || !sampler_->takes_parts()) return;
  int64_t a = 0;
  for (const int64_t s : examples) a += data_.num_atoms(s);
  bool* force_sampled = ReuseRows<bool>(batch, "force_sampled", {a});
  for (int64_t e = 0; e < b; ++e) {
    const int64_t n = data_.num_atoms(examples[e]);
    const absl::Span<const uint8_t> sampled = sampler_->sampled(examples[e]);
    if (sampled.empty()) {
      std::fill_n(force_sampled, n, num_sampled[e] > 0);
    } else {
      for (int64_t i = 0; i < n; ++i) force_sampled[i] = sampled[i] != 0;
    }
    force_sampled += n;
  }
}

template <typename T>
absl::Status ForceBatchMaker::Make(absl::Span<const int64_t> examples, NamedTensors* batch) const {
  MakeForDevice(examples, batch);
  return AddData<T>(batch);
}

template <typename T>
absl::StatusOr<NamedTensors> ForceBatchMaker::Complete(const NamedTensors& batch) const {
  NamedTensors complete = batch;
  if (!complete.Has("target")) RETURN_IF_ERROR(AddData<T>(&complete));
  return complete;
}

template <typename T>
absl::Status ForceBatchMaker::AddData(NamedTensors* batch) const {
  const DeviceForceBatch given(*batch);
  const int64_t b = given.num_structures(), f = model_.shape().num_features;
  int64_t a = 0;
  bool any_feature = false;
  int64_t* const atom_offset = Reuse<int64_t>(batch, "atom_offset", {b + 1});
  bool* const has_geometry = Reuse<bool>(batch, "has_geometry", {b});
  bool* const has_stress = Reuse<bool>(batch, "has_stress", {b});
  atom_offset[0] = 0;
  for (int64_t e = 0; e < b; ++e) {
    const int64_t s = given.example[e];
    a += data_.num_atoms(s);
    atom_offset[e + 1] = a;
    has_stress[e] = StressCounts(s);
    has_geometry[e] = !features_.cached() || given.num_sampled[e] > 0 || has_stress[e];
    any_feature = any_feature || !has_geometry[e];
  }
  uint8_t* const species = ReuseRows<uint8_t>(batch, "species", {a});
  bool* const has_energy = Reuse<bool>(batch, "has_energy", {b});
  double* const target = Reuse<double>(batch, "target", {b});
  double* const weight = Reuse<double>(batch, "weight", {b});
  double* const volume = Reuse<double>(batch, "volume", {b});
  const bool by_structure = sampler_ == nullptr || !sampler_->takes_parts();
  bool* const force_sampled = by_structure ? ReuseRows<bool>(batch, "force_sampled", {a}) : nullptr;
  double* const stress = Reuse<double>(batch, "stress", {b, 3, 3});
  T* const feature = any_feature || batch->Has("feature") ? ReuseRows<T>(batch, "feature", {a, f}) : nullptr;
  for (int64_t e = 0; e < b; ++e) {
    const int64_t s = given.example[e], first = atom_offset[e], n = data_.num_atoms(s);
    has_energy[e] = data_.has_energy(s);
    target[e] = has_energy[e] ? model_.targets()[s] : 0;  // NaN would survive a weight of 0
    weight[e] = data_.weight(s);
    std::memcpy(species + first, data_.species(s).data(), n);
    if (by_structure) std::fill_n(force_sampled + first, n, given.num_sampled[e] > 0);
    if (has_stress[e]) {
      std::memcpy(stress + 9 * e, data_.stress(s).data(), 9 * sizeof(double));
    } else {
      std::fill_n(stress + 9 * e, 9, 0.0);
    }
    if (!has_geometry[e]) {
      CopyFeatures(features_, s, feature + first * f);
      volume[e] = 0;
      continue;
    }
    volume[e] = CellVolume(data_.cell(s));
  }
  return CopiesGeometry() ? AddGeometry(batch) : absl::OkStatus();
}

absl::Status ForceBatchMaker::AddGeometry(NamedTensors* batch) const {
  const absl::Span<const int64_t> example = batch->At("example").values<int64_t>();
  const absl::Span<const int64_t> atom_offset = batch->At("atom_offset").values<int64_t>();
  const absl::Span<const bool> has_geometry = batch->At("has_geometry").values<bool>();
  const absl::Span<const int64_t> num_sampled = batch->At("num_sampled").values<int64_t>();
  const auto b = static_cast<int64_t>(example.size()), a = atom_offset[b];
  data_.Prefetch(example);
  int64_t pairs = 0, triplets = 0;
  for (int64_t e = 0; e < b; ++e) {
    if (!has_geometry[e] || !data_.has_pairs()) continue;
    pairs += data_.pairs(example[e]).num_pairs();
    if (!data_.has_triplets()) continue;
    const absl::Span<const int64_t> offset = data_.triplets(example[e]).offset;
    triplets += offset.back() - offset.front();
  }
  double* const position = ReuseRows<double>(batch, "position", {a, 3});
  double* const cell = Reuse<double>(batch, "cell", {b, 3, 3});
  double* const force = ReuseRows<double>(batch, "force", {a, 3});
  PairAppender pair_appender(batch, a, pairs);
  int64_t *triplet_offset = nullptr, num_triplets = 0;
  uint16_t *triplet_a = nullptr, *triplet_b = nullptr;
  if (data_.has_triplets()) {
    triplet_offset = ReuseRows<int64_t>(batch, "triplet_offset", {a + 1});
    triplet_offset[0] = 0;
    triplet_a = ReuseRows<uint16_t>(batch, "triplet_a", {triplets});
    triplet_b = ReuseRows<uint16_t>(batch, "triplet_b", {triplets});
  }
  thread_local PairMemory memory;  // one for each loader thread
  for (int64_t e = 0; e < b; ++e) {
    const int64_t first = atom_offset[e], n = atom_offset[e + 1] - first;
    if (num_sampled[e] > 0) {
      std::memcpy(force + 3 * first, data_.force(example[e]).data(), 3 * n * sizeof(double));
    } else {
      std::fill_n(force + 3 * first, 3 * n, 0.0);
    }
    if (!has_geometry[e]) {
      std::fill_n(position + 3 * first, 3 * n, 0.0);
      std::fill_n(cell + 9 * e, 9, 0.0);
      pair_appender.Append({}, first, n);
      if (triplet_offset != nullptr) std::fill_n(triplet_offset + first + 1, n, num_triplets);
      continue;
    }
    ASSIGN_OR_RETURN(const StructureGeometry geometry, GeometryOf(data_, example[e], &memory));
    std::memcpy(position + 3 * first, geometry.position.data(), 3 * n * sizeof(double));
    std::copy(geometry.cell.begin(), geometry.cell.end(), cell + 9 * e);
    pair_appender.Append(geometry.pairs, first, n);
    if (triplet_offset == nullptr) continue;
    const TripletView& view = geometry.triplets;
    const int64_t from = view.offset[0], count = view.offset[n] - from;
    std::memcpy(triplet_a + num_triplets, view.a + from, count * sizeof(uint16_t));
    std::memcpy(triplet_b + num_triplets, view.b + from, count * sizeof(uint16_t));
    for (int64_t i = 0; i < n; ++i) triplet_offset[first + i + 1] = num_triplets + view.offset[i + 1] - from;
    num_triplets += count;
  }
  return absl::OkStatus();
}

NamedTensors ForceBatchMaker::WithGeometry(const NamedTensors& batch) const {
  NamedTensors whole = batch;
  if (!whole.Has("pair_offset")) {
    const absl::Status status = AddGeometry(&whole);
    CHECK(status.ok()) << status;  // only finding or reading pairs can fail, and these are in memory
  }
  return whole;
}

template struct ForceBatch<float>;
template struct ForceBatch<double>;
template absl::Status ForceBatchMaker::Make<float>(absl::Span<const int64_t>, NamedTensors*) const;
template absl::Status ForceBatchMaker::Make<double>(absl::Span<const int64_t>, NamedTensors*) const;
template absl::StatusOr<NamedTensors> ForceBatchMaker::Complete<float>(const NamedTensors&) const;
template absl::StatusOr<NamedTensors> ForceBatchMaker::Complete<double>(const NamedTensors&) const;

}  // namespace rutile
