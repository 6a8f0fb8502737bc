#include "lib/potential/force_kernel.h"

#include <algorithm>
#include <array>
#include <functional>

#include "lib/base/logging.h"
#include "lib/descriptor/descriptor_factory.h"

namespace rutile {
namespace {

// Structures handled together hold about so many pairs: their sorted neighbours stay in the cache, and memory does not
// grow with the batch.
constexpr int64_t kChunkPairs = 1 << 18;

// Products for some atoms alone pay where those are one in so many or fewer and neighbours are many, since theirs must
// be picked out first.
constexpr int64_t kFewSampled = 6, kManyNeighbors = 64;

}  // namespace

template <typename T>
ForceKernel<T>::ForceKernel(const AtomisticModel& model, const LossOptions& loss, AngularMethod method,
                            ThreadPool* pool)
    : model_(model),
      loss_(loss),
      energy_loss_(loss.kind, loss.energy_delta),
      force_loss_(loss.kind, loss.force_delta),
      stress_loss_(loss.kind, loss.stress_delta),
      num_features_(model.shape().num_features),
      num_species_(model.shape().num_species),
      derivatives_(MakeDescriptorDerivatives<T>(model.descriptor(), method)),
      pool_(pool),
      plain_(model.shape(), pool),
      full_(model.shape(), pool),
      workers_(pool == nullptr ? 1 : pool->num_threads()) {
  const FeatureScaling& scaling = model.feature_scaling();
  mean_.assign(scaling.mean.begin(), scaling.mean.end());
  scale_.assign(scaling.scale.begin(), scaling.scale.end());
  for (const double scale : scaling.scale)
    energy_slope_.push_back(static_cast<T>(scale / model.energy_scaling().scale));
  for (Worker& worker : workers_) worker.state = derivatives_->MakeState();
}

template <typename T>
ForceKernel<T>::~ForceKernel() = default;

template <typename T>
template <typename Body>
void ForceKernel<T>::ForEach(int64_t n, const Body& body) {
  if (pool_ == nullptr || n < 2) {
    for (int64_t i = 0; i < n; ++i) body(i, 0);
    return;
  }
  const auto run = [&body](int64_t begin, int64_t end, int worker) {
    for (int64_t i = begin; i < end; ++i) body(i, worker);
  };
  pool_->For(n, 1, std::ref(run));  // one pointer is captured: std::function stores it without allocating
}

template <typename T>
bool ForceKernel<T>::NeedsForces(const ForceBatch<T>& batch, int64_t s) const {
  return (loss_.force_weight > 0 && batch.num_sampled[s] > 0) || (loss_.stress_weight > 0 && batch.has_stress[s]);
}

template <typename T>
void ForceKernel<T>::Partition(const ForceBatch<T>& batch, int64_t begin, int64_t end) {
  full_structures_.clear();
  for (Rows* rows : {&plain_, &full_}) rows->species_offset.assign(num_species_ + 1, 0);
  for (int64_t s = begin; s < end; ++s) {
    slot_[s] = -1;
    if (NeedsForces(batch, s)) {
      slot_[s] = static_cast<int32_t>(full_structures_.size());
      full_structures_.push_back(s);
    }
    std::vector<int64_t>& count = slot_[s] < 0 ? plain_.species_offset : full_.species_offset;
    for (int64_t a = batch.atom_offset[s]; a < batch.atom_offset[s + 1]; ++a) ++count[batch.species[a] + 1];
  }
  while (states_.size() < full_structures_.size()) states_.push_back(derivatives_->MakeState());
  for (Rows* rows : {&plain_, &full_}) {
    for (int i = 0; i < num_species_; ++i) rows->species_offset[i + 1] += rows->species_offset[i];
    rows->structure.resize(rows->size());
    rows->x.resize(rows->size() * num_features_);
  }
  full_.gradient.resize(full_.x.size());
  std::array<int64_t, 256> next_plain, next_full;
  std::copy(plain_.species_offset.begin(), plain_.species_offset.end() - 1, next_plain.begin());
  std::copy(full_.species_offset.begin(), full_.species_offset.end() - 1, next_full.begin());
  for (int64_t s = begin; s < end; ++s) {
    std::array<int64_t, 256>& next = slot_[s] < 0 ? next_plain : next_full;
    Rows& rows = slot_[s] < 0 ? plain_ : full_;
    for (int64_t a = batch.atom_offset[s]; a < batch.atom_offset[s + 1]; ++a) {
      const int64_t row = next[batch.species[a]]++;
      row_[a] = static_cast<int32_t>(row);
      rows.structure[row] = static_cast<int32_t>(s);
    }
  }
}

template <typename T>
void ForceKernel<T>::StandardiseAtoms(const ForceBatch<T>& batch, int64_t s, const T* features) {
  T* const x = slot_[s] < 0 ? plain_.x.data() : full_.x.data();
  const int f = num_features_;
  for (int64_t a = batch.atom_offset[s]; a < batch.atom_offset[s + 1]; ++a, features += f) {
    const T* const mean = &mean_[batch.species[a] * f];
    const T* const scale = &scale_[batch.species[a] * f];
    T* const out = x + int64_t{row_[a]} * f;
    for (int k = 0; k < f; ++k) out[k] = (features[k] - mean[k]) * scale[k];
  }
}

template <typename T>
void ForceKernel<T>::ComputeFeatures(const ForceBatch<T>& batch, int64_t s, int worker) {
  const int64_t n = batch.num_atoms(s);
  if (!batch.has_geometry[s]) {
    StandardiseAtoms(batch, s, batch.feature.data() + batch.atom_offset[s] * num_features_);
    return;
  }
  Worker& w = workers_[worker];
  w.features.resize(n * num_features_);
  auto* const state = slot_[s] < 0 ? w.state.get() : states_[slot_[s]].get();
  derivatives_->Features(batch.geometry(s), state, absl::MakeSpan(w.features));
  StandardiseAtoms(batch, s, w.features.data());
}

template <typename T>
void ForceKernel<T>::StoreTangents(const ForceBatch<T>& batch, int64_t s, absl::Span<const T> tangents, T sign,
                                   std::vector<T>* out) const {
  const int f = num_features_;
  const T* from = tangents.data();
  for (int64_t a = batch.atom_offset[s]; a < batch.atom_offset[s + 1]; ++a) {
    const T* const slope = &energy_slope_[batch.species[a] * f];
    T* const to = out->data() + int64_t{row_[a]} * f;
    if (from == nullptr) {
      std::fill_n(to, f, T(0));
      continue;
    }
    for (int k = 0; k < f; ++k) to[k] = sign * from[k] * slope[k];
    from += f;
  }
}

template <typename T>
void ForceKernel<T>::ComputeForces(const ForceBatch<T>& batch, int64_t s, int worker, bool gradients) {
  Worker& w = workers_[worker];
  Parts& parts = parts_[s];
  const int64_t first = batch.atom_offset[s], n = batch.num_atoms(s);
  const int f = num_features_;
  const bool stress = loss_.stress_weight > 0 && batch.has_stress[s];
  const bool force = loss_.force_weight > 0 && batch.num_sampled[s] > 0;
  auto* const state = states_[slot_[s]].get();
  w.features.resize(n * f);
  w.slopes.resize(n * f);
  w.force.resize(3 * n);
  w.direction.resize(3 * n);
  for (int64_t i = 0; i < n; ++i) {
    const T* const gradient = &full_.gradient[int64_t{row_[first + i]} * f];
    const T* const slope = &energy_slope_[batch.species[first + i] * f];
    for (int k = 0; k < f; ++k) w.slopes[i * f + k] = gradient[k] * slope[k];
  }
  // The strain needs every pair, so a structure with a stress takes all atoms.
  absl::Span<const uint8_t> sampled;
  const int64_t pairs = batch.pair_offset[first + n] - batch.pair_offset[first];
  if (!stress && kFewSampled * batch.num_sampled[s] <= n && pairs >= kManyNeighbors * n) {
    sampled = {reinterpret_cast<const uint8_t*>(batch.force_sampled.data() + first), static_cast<size_t>(n)};
  }
  double strain[9];
  derivatives_->Vjp(state, w.slopes, sampled, absl::MakeSpan(w.force), stress ? strain : nullptr);

  const double weight = batch.weight[s];
  if (force) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) {
      const bool counts = batch.force_sampled[first + i];
      for (int64_t c = 3 * i; c < 3 * i + 3; ++c) {
        double slope = 0;
        if (counts) {
          const double error = static_cast<double>(w.force[c]) - batch.force[3 * first + c];
          sum += force_loss_.Value(error);
          slope = weight * force_loss_.Slope(error);
          parts.errors.force.Add(error);
        }
        w.direction[c] = static_cast<T>(slope);
      }
    }
    parts.force_loss = weight * sum;
    parts.force_count = weight * 3 * static_cast<double>(batch.num_sampled[s]);
    if (gradients) {
      derivatives_->Jvp(state, w.direction, sampled, nullptr, absl::MakeSpan(w.features));
      StoreTangents(batch, s, w.features, T(-1), &full_.force_tangent);
    }
  } else if (gradients && loss_.force_weight > 0) {
    StoreTangents(batch, s, {}, T(0), &full_.force_tangent);
  }
  if (stress) {
    double along[9], sum = 0;
    for (int a = 0; a < 3; ++a) {
      for (int b = 0; b < 3; ++b) {
        const double predicted = 0.5 * (strain[3 * a + b] + strain[3 * b + a]) / batch.volume[s];
        const double error = predicted - batch.stress[9 * s + 3 * a + b];
        sum += stress_loss_.Value(error);
        along[3 * a + b] = weight * stress_loss_.Slope(error) / batch.volume[s];
        parts.errors.stress.Add(error);
      }
    }
    parts.stress_loss = weight * sum;
    parts.stress_count = weight * 9;
    if (gradients) {
      // d loss / d strain gradient is symmetric as the predicted stress is, also where the reference is not.
      double symmetric[9];
      for (int a = 0; a < 3; ++a) {
        for (int b = 0; b < 3; ++b) symmetric[3 * a + b] = 0.5 * (along[3 * a + b] + along[3 * b + a]);
      }
      std::fill(w.direction.begin(), w.direction.end(), T(0));
      derivatives_->Jvp(state, w.direction, {}, symmetric, absl::MakeSpan(w.features));
      StoreTangents(batch, s, w.features, T(1), &full_.stress_tangent);
    }
  } else if (gradients && loss_.stress_weight > 0) {
    StoreTangents(batch, s, {}, T(0), &full_.stress_tangent);
  }
}

template <typename T>
void ForceKernel<T>::ComputeEnergies(const ForceBatch<T>& batch, int64_t begin, int64_t end) {
  const EnergyScaling& scaling = model_.energy_scaling();
  for (int64_t s = begin; s < end; ++s) {
    const auto n = static_cast<double>(batch.num_atoms(s));
    const double error = network_sums_[s] / (scaling.scale * n) + scaling.shift - batch.target[s];
    parts_[s].energy_loss = batch.weight[s] * energy_loss_.Value(error);
    parts_[s].errors.energy.Add(error);
    energy_errors_[s] = error;
    slopes_[s] = batch.weight[s] * energy_loss_.Slope(error) / (scaling.scale * n);
  }
}

template <typename T>
void ForceKernel<T>::RunChunk(absl::Span<const T> parameters, const ForceBatch<T>& batch, int64_t begin, int64_t end,
                              absl::Span<Tensor> gradients) {
  Partition(batch, begin, end);
  ForEach(end - begin, [&](int64_t k, int worker) { ComputeFeatures(batch, begin + k, worker); });
  // Each kernel overwrites the sums of all structures, 0 for those it has no atoms of.
  const bool any_plain = plain_.size() > 0, any_full = full_.size() > 0, train = !gradients.empty();
  if (any_full) {
    full_.kernel.ForwardWithInputGradients(parameters, full_.View(), absl::MakeSpan(network_sums_),
                                           absl::MakeSpan(full_.gradient));
  }
  if (any_plain) {
    plain_sums_.resize(network_sums_.size());
    if (train) {
      plain_.kernel.Forward(parameters, plain_.View(), absl::MakeSpan(plain_sums_));
    } else {
      plain_.kernel.Evaluate(parameters, plain_.View(), absl::MakeSpan(plain_sums_));
    }
    for (int64_t s = begin; s < end; ++s) {
      if (slot_[s] < 0) network_sums_[s] = plain_sums_[s];
    }
  }
  ComputeEnergies(batch, begin, end);
  if (train && any_plain) {
    plain_.kernel.Backward(parameters, plain_.View(), slopes_, gradients[0].mutable_values<T>());
  }
  if (!any_full) return;
  if (train) {
    full_.kernel.AddEnergyGradients(parameters, full_.View(), slopes_, gradients[0].mutable_values<T>());
    if (loss_.force_weight > 0) full_.force_tangent.resize(full_.x.size());
    if (loss_.stress_weight > 0) full_.stress_tangent.resize(full_.x.size());
  }
  ForEach(full_structures_.size(),
          [&](int64_t k, int worker) { ComputeForces(batch, full_structures_[k], worker, train); });
  if (!train) return;
  int term = 1;
  if (loss_.force_weight > 0) {
    full_.kernel.AddTangentGradients(parameters, full_.View(), full_.force_tangent,
                                     gradients[term++].mutable_values<T>());
  }
  if (loss_.stress_weight > 0) {
    full_.kernel.AddTangentGradients(parameters, full_.View(), full_.stress_tangent,
                                     gradients[term].mutable_values<T>());
  }
}

template <typename T>
void ForceKernel<T>::Run(absl::Span<const T> parameters, const ForceBatch<T>& batch, absl::Span<Tensor> gradients,
                         TermSums* sums, BatchErrors* errors) {
  const int64_t b = batch.num_structures();
  slot_.resize(b);
  row_.resize(batch.species.size());
  network_sums_.assign(b, 0.0);
  slopes_.assign(b, 0.0);
  energy_errors_.assign(b, 0.0);
  parts_.assign(b, Parts());
  for (int64_t begin = 0; begin < b;) {
    int64_t end = begin;
    const int64_t first = batch.pair_offset[batch.atom_offset[begin]];
    do {
      ++end;
    } while (end < b && batch.pair_offset[batch.atom_offset[end + 1]] - first <= kChunkPairs);
    RunChunk(parameters, batch, begin, end, gradients);
    begin = end;
  }
  const double count_scale = ForceCountScale(loss_, batch);
  for (int64_t s = 0; s < b; ++s) {
    const Parts& parts = parts_[s];
    sums->sum[0] += parts.energy_loss;
    sums->count[0] += batch.weight[s];
    int term = 1;
    if (loss_.force_weight > 0) {
      sums->sum[term] += parts.force_loss;
      sums->count[term++] += parts.force_count * count_scale;
    }
    if (loss_.stress_weight > 0) {
      sums->sum[term] += parts.stress_loss;
      sums->count[term] += parts.stress_count;
    }
    if (errors == nullptr) continue;
    errors->energy.Add(parts.errors.energy);
    errors->force.Add(parts.errors.force);
    errors->stress.Add(parts.errors.stress);
  }
}

template <typename T>
double ForceCountScale(const LossOptions& loss, const ForceBatch<T>& batch) {
  if (!loss.force_scale_unbiased || batch.num_labelled == 0) return 1;
  double sampled = 0;
  for (const int64_t n : batch.num_sampled) sampled += static_cast<double>(n);
  return sampled / batch.num_labelled;
}

template double ForceCountScale(const LossOptions&, const ForceBatch<float>&);
template double ForceCountScale(const LossOptions&, const ForceBatch<double>&);
template class ForceKernel<float>;
template class ForceKernel<double>;

}  // namespace rutile
