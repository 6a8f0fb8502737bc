#include "lib/potential/training/structure_worker.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "lib/descriptor/descriptor_factory.h"
#include "lib/many_body/atom_kernel_factory.h"

namespace rutile {
namespace {

// Products for the sampled atoms alone pay off where at most one atom in kFewSampled is sampled and atoms have many
// neighbors, since the sampled atoms' neighbors must be selected first.
constexpr int64_t kFewSampled = 6, kManyNeighbors = 64;

// Prefetches the first bytes of a structure, which were last used an epoch ago; the processor's own prefetching finds
// the rest.
void Fetch(const StructureGeometry& geometry) {
  static constexpr int64_t kMost = 4096, kLine = 64;
  const auto fetch = [](const void* data, int64_t bytes) {
    for (int64_t at = 0; at < std::min(bytes, kMost); at += kLine) {
      __builtin_prefetch(static_cast<const char*>(data) + at);
    }
  };
  const PairView& pairs = geometry.pairs;
  const int64_t count = pairs.num_pairs();
  fetch(geometry.position.data(), geometry.position.size() * sizeof(double));
  fetch(pairs.offset.data(), pairs.offset.size() * sizeof(int64_t));
  if (count == 0) return;
  fetch(pairs.j + pairs.offset[0], count * sizeof(int32_t));
  fetch(pairs.shift + 3 * pairs.offset[0], 3 * count * sizeof(int16_t));
}

}  // namespace

template <typename T>
ForceContext<T>::ForceContext(const AtomisticModel& model, const LossOptions& loss, AngularMethod method)
    : model(model),
      loss(loss),
      energy_loss(loss.kind, loss.energy_delta),
      force_loss(loss.kind, loss.force_delta),
      stress_loss(loss.kind, loss.stress_delta),
      num_features(model.shape().num_features),
      num_species(model.shape().num_species),
      derivatives(MakeDescriptorDerivatives<T>(model.descriptor(), method)),
      descriptor_cost(model.descriptor(), method, sizeof(T), derivatives->cutoff()),
      network_cost(model.shape()),
      mean(model.feature_scaling().mean.begin(), model.feature_scaling().mean.end()),
      scale(model.feature_scaling().scale.begin(), model.feature_scaling().scale.end()) {
  for (const double each : model.feature_scaling().scale) {
    energy_slope.push_back(static_cast<T>(each / model.energy_scaling().scale));
  }
}

template <typename T>
StructureWorker<T>::StructureWorker(const ForceContext<T>& formulas, GeometryCache<T>* cache)
    : formulas_(formulas),
      cache_(cache),
      kernel_(MakeAtomKernel<T>(formulas.model.shape())),
      messages_(MakeStructureMessages<T>(formulas.model.descriptor(), formulas.model.shape(),
                                         formulas.model.feature_scaling())) {
  kernel_->SetMessageSums(messages_.get());
}

template <typename T>
StructureWorker<T>::~StructureWorker() = default;

template <typename T>
void StructureWorker<T>::PlaceAtoms(const ForceBatch<T>& batch, absl::Span<const int64_t> structures) {
  places_.clear();
  species_offset_.assign(formulas_.num_species + 1, 0);
  int64_t atoms = 0;
  for (const int64_t s : structures) {
    places_.push_back({s, batch.atom_offset[s], batch.num_atoms(s), 0, nullptr});
    atoms += places_.back().atoms;
    for (const uint8_t species : batch.species.subspan(places_.back().first, places_.back().atoms)) {
      ++species_offset_[species + 1];
    }
  }
  for (int i = 0; i < formulas_.num_species; ++i) species_offset_[i + 1] += species_offset_[i];
  std::array<int64_t, 256> next;
  std::copy(species_offset_.begin(), species_offset_.end() - 1, next.begin());
  structure_.resize(atoms);
  x_.resize(atoms * formulas_.num_features);
  row_.resize(atoms);
  int32_t* row = row_.data();
  for (size_t k = 0; k < places_.size(); ++k) {
    places_[k].row = row;
    for (const uint8_t species : batch.species.subspan(places_[k].first, places_[k].atoms)) {
      structure_[next[species]] = static_cast<int32_t>(k);
      *row++ = static_cast<int32_t>(next[species]++);
    }
  }
  network_sums_.resize(places_.size());
  slopes_.resize(places_.size());
}

template <typename T>
void StructureWorker<T>::CountNetworks(const ProfileScope& scope, int64_t flop_of_atom) const {
  if (!scope.is_on()) return;
  const auto atoms = static_cast<int64_t>(structure_.size());
  scope.Add(Counter::kAtoms, atoms);
  scope.Add(Counter::kFlop, atoms * flop_of_atom);
}

template <typename T>
void StructureWorker<T>::CountDescriptor(const ProfileScope& scope, const Place& place,
                                         int64_t (DescriptorCost::*part)(int64_t, int64_t) const) const {
  if (!scope.is_on()) return;
  scope.Add(Counter::kAtoms, place.atoms);
  scope.Add(Counter::kPairs, place.pairs);
  scope.Add(Counter::kFlop, (formulas_.descriptor_cost.*part)(place.atoms, place.pairs));
}

template <typename T>
void StructureWorker<T>::StandardizeAtoms(const ForceBatch<T>& batch, const Place& place, const T* features) {
  const int f = formulas_.num_features;
  for (int64_t i = 0; i < place.atoms; ++i, features += f) {
    const int species = batch.species[place.first + i];
    const T *const mean = &formulas_.mean[species * f], *const scale = &formulas_.scale[species * f];
    T* const out = &x_[int64_t{place.row[i]} * f];
    for (int k = 0; k < f; ++k) out[k] = (features[k] - mean[k]) * scale[k];
  }
}

template <typename T>
bool StructureWorker<T>::ResumeFeatures(const ForceBatch<T>& batch, State* state, const Place& place) {
  const auto* const entry = cache_->Find(batch.example[place.s]);
  if (entry == nullptr) return false;
  formulas_.derivatives->Restore(*entry->snapshot, state);
  const int f = formulas_.num_features;
  for (int64_t i = 0; i < place.atoms; ++i) std::copy_n(&entry->x[i * f], f, &x_[int64_t{place.row[i]} * f]);
  return true;
}

template <typename T>
void StructureWorker<T>::KeepFeatures(const ForceBatch<T>& batch, const State& state, const Place& place) {
  auto entry = std::make_unique<typename GeometryCache<T>::Entry>();
  entry->snapshot = formulas_.derivatives->TakeSnapshot(state);
  if (entry->snapshot == nullptr) return;
  const int f = formulas_.num_features;
  entry->x.resize(place.atoms * f);
  for (int64_t i = 0; i < place.atoms; ++i) std::copy_n(&x_[int64_t{place.row[i]} * f], f, &entry->x[i * f]);
  cache_->Put(batch.example[place.s], std::move(entry));
}

template <typename T>
void StructureWorker<T>::ComputeFeatures(const ForceBatch<T>& batch, bool keep, const ProfileScope& scope, State* state,
                                         Place* place) {
  const int f = formulas_.num_features;
  if (!batch.has_geometry[place->s]) return StandardizeAtoms(batch, *place, batch.feature.data() + place->first * f);
  const StructureGeometry geometry = batch.geometry(place->s);
  place->pairs = geometry.pairs.num_pairs();
  if (keep && ResumeFeatures(batch, state, *place)) return;
  features_.resize(place->atoms * f);
  formulas_.derivatives->Features(geometry, state, absl::MakeSpan(features_));
  StandardizeAtoms(batch, *place, features_.data());
  CountDescriptor(scope, *place, &DescriptorCost::Features);
  if (keep && cache_->has_room()) KeepFeatures(batch, *state, *place);
}

template <typename T>
void StructureWorker<T>::ComputeAllFeatures(const ForceBatch<T>& batch, bool keep_states) {
  const ProfileScope scope(Stage::kDescriptor);
  const bool keep = keep_states && cache_ != nullptr;
  if (messages_ != nullptr) messages_->Clear();
  for (size_t k = 0; k < places_.size(); ++k) {
    if (k + 1 < places_.size()) {
      const int64_t next = places_[k + 1].s;
      const bool kept = keep && cache_->Find(batch.example[next]) != nullptr;
      if (batch.has_geometry[next] && !kept) Fetch(batch.geometry(next));
    }
    State* const state = states_[keep_states ? k : 0].get();
    ComputeFeatures(batch, keep, scope, state, &places_[k]);
    if (messages_ != nullptr) messages_->Add({state, places_[k].row, places_[k].atoms, places_[k].atoms});
  }
}

template <typename T>
void StructureWorker<T>::ComputeEnergies(const ForceBatch<T>& batch, absl::Span<StructureSums> sums) {
  const EnergyScaling& scaling = formulas_.model.energy_scaling();
  for (size_t k = 0; k < places_.size(); ++k) {
    const int64_t s = places_[k].s;
    const auto n = static_cast<double>(places_[k].atoms);
    sums[s] = StructureSums();
    if (!batch.has_energy[s]) {
      sums[s].energy_error = std::numeric_limits<double>::quiet_NaN();
      slopes_[k] = 0;
      continue;
    }
    const double error = network_sums_[k] / (scaling.scale * n) + scaling.shift - batch.target[s];
    sums[s].energy_error = error;
    sums[s].energy_count = batch.weight[s];
    sums[s].energy_loss = batch.weight[s] * formulas_.energy_loss.Value(error);
    sums[s].errors.energy.Add(error);
    slopes_[k] = batch.weight[s] * formulas_.energy_loss.Slope(error) / (scaling.scale * n);
  }
}

template <typename T>
void StructureWorker<T>::StoreTangents(const ForceBatch<T>& batch, const Place& place, const T* tangents, T sign,
                                       std::vector<T>* out) const {
  const int f = formulas_.num_features;
  for (int64_t i = 0; i < place.atoms; ++i) {
    T* const to = out->data() + int64_t{place.row[i]} * f;
    if (tangents == nullptr) {
      std::fill_n(to, f, T(0));
      continue;
    }
    const T* const slope = &formulas_.energy_slope[batch.species[place.first + i] * f];
    for (int k = 0; k < f; ++k) to[k] = sign * tangents[k] * slope[k];
    tangents += f;
  }
}

template <typename T>
void StructureWorker<T>::AddForceErrors(const ForceBatch<T>& batch, const Place& place, StructureSums* sums) {
  const double weight = batch.weight[place.s];
  const absl::Span<const double> reference = batch.forces(place.s);
  double sum = 0;
  for (int64_t i = 0; i < place.atoms; ++i) {
    const bool counts = batch.force_sampled[place.first + i];
    for (int64_t c = 3 * i; c < 3 * i + 3; ++c) {
      double slope = 0;
      if (counts) {
        const double error = static_cast<double>(force_[c]) - reference[c];
        sum += formulas_.force_loss.Value(error);
        slope = weight * formulas_.force_loss.Slope(error);
        sums->errors.force.Add(error);
      }
      direction_[c] = static_cast<T>(slope);
    }
  }
  sums->force_loss = weight * sum;
  sums->force_count = weight * 3 * static_cast<double>(batch.num_sampled[place.s]);
}

template <typename T>
std::array<double, 9> StructureWorker<T>::AddStressErrors(const ForceBatch<T>& batch, const Place& place,
                                                          const double* strain_gradient, StructureSums* sums) const {
  const double weight = batch.weight[place.s], volume = batch.volume[place.s];
  const double* const reference = batch.stress.data() + 9 * place.s;
  double along[3][3], sum = 0;
  for (int a = 0; a < 3; ++a) {
    for (int b = 0; b < 3; ++b) {
      const double predicted = 0.5 * (strain_gradient[3 * a + b] + strain_gradient[3 * b + a]) / volume;
      const double error = predicted - reference[3 * a + b];
      sum += formulas_.stress_loss.Value(error);
      along[a][b] = weight * formulas_.stress_loss.Slope(error) / volume;
      sums->errors.stress.Add(error);
    }
  }
  sums->stress_loss = weight * sum;
  sums->stress_count = weight * 9;
  // The result is symmetric as the predicted stress is, even if the reference stress is not.
  std::array<double, 9> symmetric;
  for (int a = 0; a < 3; ++a) {
    for (int b = 0; b < 3; ++b) symmetric[3 * a + b] = 0.5 * (along[a][b] + along[b][a]);
  }
  return symmetric;
}

template <typename T>
void StructureWorker<T>::ComputeForces(const ForceBatch<T>& batch, int k, bool train, StructureSums* sums) {
  const Place& place = places_[k];
  State* const state = states_[k].get();
  const int64_t first = place.first, n = place.atoms;
  const int f = formulas_.num_features;
  const LossOptions& loss = formulas_.loss;
  const bool stress = loss.stress_weight > 0 && batch.has_stress[place.s];
  const bool force = loss.force_weight > 0 && batch.num_sampled[place.s] > 0;
  features_.resize(n * f);
  force_.resize(3 * n);
  direction_.resize(3 * n);
  for (int64_t i = 0; i < n; ++i) {
    const T* const gradient = &gradient_[int64_t{place.row[i]} * f];
    const T* const slope = &formulas_.energy_slope[batch.species[first + i] * f];
    for (int k = 0; k < f; ++k) features_[i * f + k] = gradient[k] * slope[k];
  }
  // The strain gradient needs every pair, so a structure with a stress takes all atoms.
  absl::Span<const uint8_t> sampled;
  if (!stress && messages_ == nullptr && kFewSampled * batch.num_sampled[place.s] <= n &&
      place.pairs >= kManyNeighbors * n) {
    sampled = {reinterpret_cast<const uint8_t*>(batch.force_sampled.data() + first), static_cast<size_t>(n)};
  }
  double strain_gradient[9];
  const double per_energy = 1 / formulas_.model.energy_scaling().scale;
  const DescriptorDerivatives<T>& derivatives = *formulas_.derivatives;
  {
    const ProfileScope scope(Stage::kVjp);
    CountDescriptor(scope, place, &DescriptorCost::Vjp);
    derivatives.Vjp(state, features_, sampled, absl::MakeSpan(force_), stress ? strain_gradient : nullptr);
    if (messages_ != nullptr) {
      messages_->AddForces(k, per_energy, absl::MakeSpan(force_), stress ? strain_gradient : nullptr);
    }
  }
  if (force) {
    AddForceErrors(batch, place, sums);
    if (train) {
      const ProfileScope scope(Stage::kJvp);
      CountDescriptor(scope, place, &DescriptorCost::Jvp);
      derivatives.Jvp(state, direction_, sampled, nullptr, absl::MakeSpan(features_));
      StoreTangents(batch, place, features_.data(), T(-1), &force_tangent_);
      // Forces are minus the derivative by positions, so that their direction changes its sign.
      if (messages_ != nullptr) messages_->SetDirection(k, direction_, -per_energy);
    }
  } else if (train && loss.force_weight > 0) {
    StoreTangents(batch, place, nullptr, T(0), &force_tangent_);
  }
  if (stress) {
    const std::array<double, 9> strain = AddStressErrors(batch, place, strain_gradient, sums);
    if (train) {
      std::fill(direction_.begin(), direction_.end(), T(0));
      const ProfileScope scope(Stage::kJvp);
      CountDescriptor(scope, place, &DescriptorCost::Jvp);
      derivatives.Jvp(state, direction_, {}, strain.data(), absl::MakeSpan(features_));
      StoreTangents(batch, place, features_.data(), T(1), &stress_tangent_);
      if (messages_ != nullptr) messages_->SetStrain(k, strain.data(), per_energy);
    }
  } else if (train && loss.stress_weight > 0) {
    StoreTangents(batch, place, nullptr, T(0), &stress_tangent_);
  }
}

template <typename T>
void StructureWorker<T>::Run(absl::Span<const T> parameters, const ForceBatch<T>& batch,
                             absl::Span<const int64_t> structures, const TermGradients<T>* gradients,
                             absl::Span<StructureSums> sums) {
  if (structures.empty()) return;
  const bool forces = NeedsForces(formulas_.loss, batch, structures[0]), train = gradients != nullptr;
  PlaceAtoms(batch, structures);
  const bool keep_states = forces || messages_ != nullptr;
  const size_t num_states = keep_states ? structures.size() : 1;
  while (states_.size() < num_states) states_.push_back(formulas_.derivatives->MakeState());
  ComputeAllFeatures(batch, keep_states);
  const AtomRows<T> rows = Rows();
  const absl::Span<double> network_sums = absl::MakeSpan(network_sums_);
  const NetworkCost& cost = formulas_.network_cost;
  if (!forces) {
    const ProfileScope scope(Stage::kNetwork);
    CountNetworks(scope, cost.forward + (train ? cost.backward : 0));
    if (!train) {
      kernel_->Evaluate(parameters, rows, network_sums);
      return ComputeEnergies(batch, sums);
    }
    kernel_->Forward(parameters, rows, network_sums);
    ComputeEnergies(batch, sums);
    return kernel_->Backward(parameters, rows, slopes_, gradients->energy);
  }
  gradient_.resize(x_.size());
  const bool force_term = train && formulas_.loss.force_weight > 0;
  const bool stress_term = train && formulas_.loss.stress_weight > 0;
  {
    const ProfileScope scope(Stage::kNetwork);
    CountNetworks(scope, cost.forward + cost.input_gradients + (train ? cost.backward : 0));
    kernel_->ForwardWithInputGradients(parameters, rows, network_sums, absl::MakeSpan(gradient_));
    ComputeEnergies(batch, sums);
    if (train) kernel_->AddEnergyGradients(parameters, rows, slopes_, gradients->energy);
  }
  if (force_term) force_tangent_.resize(x_.size());
  if (stress_term) stress_tangent_.resize(x_.size());
  for (size_t k = 0; k < places_.size(); ++k) {
    ComputeForces(batch, static_cast<int>(k), train, &sums[places_[k].s]);
  }
  if (!force_term && !stress_term) return;
  const ProfileScope scope(Stage::kTangents);
  CountNetworks(scope, (force_term + stress_term) * cost.tangent_gradients);
  if (force_term) {
    if (messages_ != nullptr) messages_->MoveAtoms();
    kernel_->AddTangentGradients(parameters, rows, force_tangent_, gradients->force);
  }
  if (stress_term) {
    if (messages_ != nullptr) messages_->StrainCells();
    kernel_->AddTangentGradients(parameters, rows, stress_tangent_, gradients->stress);
  }
}

template struct ForceContext<float>;
template struct ForceContext<double>;
template class StructureWorker<float>;
template class StructureWorker<double>;

}  // namespace rutile
