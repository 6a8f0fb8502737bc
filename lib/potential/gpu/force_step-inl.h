// Runs a step of force training by bodies, on any backend.

#ifndef RUTILE_LIB_POTENTIAL_GPU_FORCE_STEP_INL_H_
#define RUTILE_LIB_POTENTIAL_GPU_FORCE_STEP_INL_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/gpu/device_array-inl.h"
#include "lib/gpu/transfer_area-inl.h"
#include "lib/potential/gpu/bodies/descriptor_bodies-inl.h"
#include "lib/potential/gpu/bodies/network_passes-inl.h"
#include "lib/potential/gpu/bodies/step_bodies-inl.h"
#include "lib/potential/gpu/descriptor_tables.h"
#include "lib/potential/gpu/force_step.h"
#include "lib/potential/gpu/pair_slots_builder.h"

namespace rutile {

template <typename T, typename Backend>
class ForceStepOn : public ForceStep<T> {
 public:
  ForceStepOn(const StepModel& model, std::unique_ptr<Backend> backend)
      : model_(model),
        num_features_(model.network.num_features),
        num_species_(model.network.num_species),
        num_parameters_(model.network.num_species * NetworkLayout(model.network).parameters_per_species),
        backend_(std::move(backend)),
        descriptor_(model.descriptor, backend_.get()),
        networks_(model.network, backend_.get()) {
    std::vector<T> numbers;
    for (const double each : model.mean) numbers.push_back(static_cast<T>(each));
    for (const double each : model.scale) numbers.push_back(static_cast<T>(each));
    // dE/dG = energy_slope dx, in eV.
    for (const double each : model.scale) numbers.push_back(static_cast<T>(each / model.energy_scale));
    scalings_.Upload(numbers);
  }

  std::string Load(const std::vector<StepStructure>& structures) override {
    HostPairSlots<T> pairs;
    std::vector<uint8_t> species;
    std::vector<double> force;
    std::vector<int64_t> first_atom;
    loaded_.clear();
    for (const StepStructure& structure : structures) {
      const int64_t atoms = structure.pairs.num_atoms;
      first_atom.push_back(static_cast<int64_t>(species.size()));
      loaded_.push_back({0, static_cast<int32_t>(atoms), model_.loss.stress && structure.stress != nullptr});
      pairs.Add(model_.descriptor, structure.pairs);
      species.insert(species.end(), structure.pairs.species, structure.pairs.species + atoms);
      if (structure.force != nullptr) {
        force.insert(force.end(), structure.force, structure.force + 3 * atoms);
      } else {
        force.resize(force.size() + 3 * atoms, std::numeric_limits<double>::quiet_NaN());
      }
      if (pairs.x.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
        return "the structures have more than 2^31 pairs, the most that are kept on a GPU; train on fewer of them, or "
               "on processors";
      }
    }
    const auto atoms = static_cast<int64_t>(species.size());
    rank_.Upload(RanksInSpecies(species));
    first_atom_.Upload(first_atom);
    UploadLabels(structures);
    pairs_.Upload(pairs);
    species_.Upload(species);
    x_.Resize(atoms * num_features_);
    moments_.Resize(descriptor_.view().num_moments * atoms);
    if (forces()) {
      reference_.Upload(force);
      q_.Resize(atoms * num_features_);
      pair_slope_.Resize(3 * pairs_.num_slots());
      force_.Resize(3 * atoms);
      direction_.Resize(3 * atoms);
      tangents_.Resize((model_.loss.forces + model_.loss.stress) * atoms * num_features_);
    }
    if (!backend_->error().empty()) return backend_->error();
    ComputeFeatures(backend_.get(), descriptor_.view(), pairs_.view(), x_.data(), moments_.data());
    backend_->ForEach(atoms * num_features_,
                      ScaleFeatures<T>{num_features_, species_.data(), mean(), scale(), x_.data()});
    // The moments of a model that learns energies alone are not needed again.
    if (!forces()) moments_.Release();
    return backend_->error();
  }

  void SetFrozen(const std::vector<bool>& species) override { networks_.SetFrozen(species); }

  std::string Run(const T* parameters, const StepBatch& batch, T* gradients, StepResult* results) override {
    const int64_t b = batch.num_structures;
    if (const std::string error = PlaceBatch(batch, parameters); !error.empty()) return error;
    const int64_t num_gradients = gradients == nullptr ? 0 : model_.loss.num_terms() * num_parameters_;
    output_.Clear();
    const int64_t gradient_place = output_.template Place<T>(num_gradients);
    const int64_t result_place = output_.template Place<StepResult>(b);
    if (!output_.Allocate()) return backend_->error();
    result_ = output_.template Device<StepResult>(result_place);
    atom_energy_.Grow(num_atoms_);
    slope_.Grow(b);
    const bool forces_now = num_force_atoms_ > 0;
    const NetworkBatch<T> rows = Rows();
    networks_.Forward(Device<T>(places_.parameters), rows, atom_energy_.data(), forces_now ? q_.data() : nullptr);
    backend_->ForEachBlock(
        b, EnergyErrors<T>::SharedBytes(),
        EnergyErrors<T>{LossOf(model_.loss.energy_delta), model_.energy_scale, model_.energy_shift,
                        Device<int32_t>(places_.structure), Device<int32_t>(places_.offset), row_of_.data(),
                        atom_energy_.data(), target_.data(), energy_weight_.data(), result_, slope_.data()});
    if (forces_now) RunForces(b, gradients != nullptr);
    if (gradients != nullptr) {
      T* next = output_.template Device<T>(gradient_place);
      const auto term = [&](bool there) { return there ? std::exchange(next, next + num_parameters_) : nullptr; };
      const EnergyTerm<T> energy = {slope_.data(), term(true)};
      // No structure of this batch may need forces: then `needs_forces` keeps the old tangents from being read.
      const auto* const needs_forces = Device<uint8_t>(places_.needs_forces);
      const T* const tangents = tangents_.data();
      const TangentTerm<T> force = {tangents, needs_forces, T(1), term(model_.loss.forces)};
      const TangentTerm<T> stress = {tangents + model_.loss.forces * x_.size(), needs_forces, T(1),
                                     term(model_.loss.stress)};
      networks_.Gradients(Device<T>(places_.parameters), rows, energy, force, stress);
    }
    output_.Download();
    if (num_gradients > 0) std::copy_n(output_.template Host<T>(gradient_place), num_gradients, gradients);
    std::copy_n(output_.template Host<StepResult>(result_place), b, results);
    return backend_->error();
  }

  int64_t bytes() const override {
    return static_cast<int64_t>(sizeof(T)) * (x_.size() + moments_.size() + q_.size() + pair_slope_.size() +
                                              force_.size() + direction_.size() + tangents_.size()) +
           pairs_.num_slots() * static_cast<int64_t>(4 * sizeof(T) + 2 * sizeof(int32_t)) +
           reference_.size() * static_cast<int64_t>(sizeof(double));
  }

 private:
  // Where the arrays of a step lie in `area_`.
  struct Places {
    int64_t parameters, structure, offset, force_offset, once_offset, first_row, needs_forces, learns_forces, sampled;
  };

  // What a batch asks of a loaded structure, together as it is read in random order.
  struct LoadedStructure {
    int64_t last_batch;  // number of the last batch in which its forces were needed
    int32_t num_atoms;
    bool has_stress;  // that is learned
  };

  bool forces() const { return model_.loss.forces || model_.loss.stress; }
  const T* mean() const { return scalings_.data(); }
  const T* scale() const { return mean() + model_.mean.size(); }
  const T* energy_slope() const { return scale() + model_.scale.size(); }
  DeviceErrorLoss LossOf(double delta) const { return {model_.loss.huber, delta}; }
  template <typename E>
  const E* Device(int64_t place) {
    return area_.template Device<E>(place);
  }
  NetworkBatch<T> Rows() const {
    return {x_.data(), energy_slope(), row_atom_.data(), row_structure_.data(), species_offset_.data()};
  }

  // Counts the atoms of each species in each structure, and returns the place of each atom among those.
  std::vector<int32_t> RanksInSpecies(const std::vector<uint8_t>& species) {
    std::vector<int32_t> ranks(species.size());
    species_count_.assign(loaded_.size() * num_species_, 0);
    int32_t* count = species_count_.data();
    int64_t i = 0;
    for (const LoadedStructure& loaded : loaded_) {
      for (const int64_t end = i + loaded.num_atoms; i < end; ++i) ranks[i] = count[species[i]]++;
      count += num_species_;
    }
    return ranks;
  }

  void UploadLabels(const std::vector<StepStructure>& structures) {
    std::vector<double> target, weight, energy_weight, volume, stress;
    std::vector<uint8_t> has_stress;
    for (const StepStructure& from : structures) {
      target.push_back(from.has_energy ? from.target : 0);  // NaN would survive a weight of 0
      weight.push_back(from.weight);
      energy_weight.push_back(from.has_energy ? from.weight : 0);
      if (!model_.loss.stress) continue;
      volume.push_back(from.volume);
      has_stress.push_back(from.stress != nullptr);
      if (from.stress != nullptr) {
        stress.insert(stress.end(), from.stress, from.stress + 9);
      } else {
        stress.resize(stress.size() + 9, std::numeric_limits<double>::quiet_NaN());
      }
    }
    target_.Upload(target);
    weight_.Upload(weight);
    energy_weight_.Upload(energy_weight);
    if (!model_.loss.stress) return;
    volume_.Upload(volume);
    reference_stress_.Upload(stress);
    has_stress_.Upload(has_stress);
  }

  // Sends parameters and the list of a batch's structures to the device, which then lists their atoms. Returns "" or
  // what went wrong.
  std::string PlaceBatch(const StepBatch& batch, const T* parameters) {
    const int64_t b = batch.num_structures;
    num_atoms_ = 0;
    for (int64_t s = 0; s < b; ++s) num_atoms_ += loaded_[batch.structure[s]].num_atoms;
    if (num_atoms_ > std::numeric_limits<int32_t>::max()) {
      return "a batch has more than 2^31 atoms; take fewer structures";
    }
    area_.Clear();
    Places& at = places_;
    at.parameters = area_.template Place<T>(num_parameters_);
    at.structure = area_.template Place<int32_t>(b);
    for (int64_t* const place : {&at.offset, &at.force_offset, &at.once_offset}) {
      *place = area_.template Place<int32_t>(b + 1);
    }
    at.first_row = area_.template Place<int32_t>(b * num_species_);
    at.needs_forces = area_.template Place<uint8_t>(b);
    at.learns_forces = area_.template Place<uint8_t>(b);
    const bool samples = model_.loss.forces && batch.sampled != nullptr;
    at.sampled = area_.template Place<uint8_t>(samples ? num_atoms_ : 0);
    if (!area_.Allocate()) return backend_->error();

    const auto host = [this](auto like, int64_t place) { return area_.template Host<decltype(like)>(place); };
    std::copy_n(parameters, num_parameters_, host(T(), at.parameters));
    if (samples) std::copy_n(batch.sampled, num_atoms_, host(uint8_t(), at.sampled));
    int32_t *const structure = host(int32_t(), at.structure), *const offset = host(int32_t(), at.offset),
                   *const force_offset = host(int32_t(), at.force_offset),
                   *const once_offset = host(int32_t(), at.once_offset),
                   *const first_row = host(int32_t(), at.first_row);
    uint8_t *const needs_forces = host(uint8_t(), at.needs_forces), *const learns_forces =
                                                                        host(uint8_t(), at.learns_forces);
    offset[0] = force_offset[0] = once_offset[0] = 0;
    ++batch_number_;
    for (int64_t s = 0; s < b; ++s) {
      const int64_t place = batch.structure[s];
      LoadedStructure& loaded = loaded_[place];
      structure[s] = static_cast<int32_t>(place);
      learns_forces[s] = model_.loss.forces && batch.learns_forces[s] != 0;
      needs_forces[s] = learns_forces[s] != 0 || loaded.has_stress;
      const bool is_first = needs_forces[s] != 0 && std::exchange(loaded.last_batch, batch_number_) != batch_number_;
      offset[s + 1] = offset[s] + loaded.num_atoms;
      force_offset[s + 1] = force_offset[s] + (needs_forces[s] != 0 ? loaded.num_atoms : 0);
      once_offset[s + 1] = once_offset[s] + (is_first ? loaded.num_atoms : 0);
      std::copy_n(species_count_.data() + place * num_species_, num_species_, first_row + s * num_species_);
    }
    num_force_atoms_ = force_offset[b];
    num_once_ = once_offset[b];
    species_offset_.assign(num_species_ + 1, 0);
    int32_t row = 0;
    for (int species = 0; species < num_species_; ++species) {
      for (int64_t s = 0; s < b; ++s) row += std::exchange(first_row[s * num_species_ + species], row);
      species_offset_[species + 1] = row;
    }
    for (auto* const list : {&row_atom_, &row_structure_, &row_of_, &force_atom_, &force_structure_, &once_}) {
      list->Grow(num_atoms_);
    }
    force_sampled_.Grow(num_atoms_);
    area_.Upload();
    backend_->ForEachBlock(
        b, 0,
        PlaceAtoms{num_species_, first_atom_.data(), Device<int32_t>(at.structure), Device<int32_t>(at.offset),
                   Device<int32_t>(at.force_offset), Device<int32_t>(at.once_offset), Device<int32_t>(at.first_row),
                   Device<uint8_t>(at.learns_forces), samples ? Device<uint8_t>(at.sampled) : nullptr, species_.data(),
                   rank_.data(), row_atom_.data(), row_structure_.data(), row_of_.data(), force_atom_.data(),
                   force_structure_.data(), force_sampled_.data(), once_.data()});
    return backend_->error();
  }

  // From q on: forces and stresses, their errors and, for gradients, the changes of features along the losses' slopes.
  // b: structures in the batch.
  void RunForces(int64_t b, bool train) {
    const int64_t n = num_force_atoms_, slots = pairs_.num_slots();
    const int32_t* const atoms = force_atom_.data();
    const auto *const structure = Device<int32_t>(places_.structure), *const offset =
                                                                          Device<int32_t>(places_.force_offset);
    const PairSlots<T> pairs = pairs_.view();
    const DescriptorTables<T>& tables = descriptor_.view();
    T* const slope = pair_slope_.data();
    T *const slope_y = slope + slots, *const slope_z = slope + 2 * slots;
    // Slopes are sums of parts that are added one after the other, so no atom may come twice.
    ComputePairSlopes(backend_.get(), tables, pairs, once_.data(), num_once_, q_.data(), moments_.data(), slope,
                      slope_y, slope_z);
    T* tangents = tangents_.data();
    if (model_.loss.forces) {
      ComputeForces<T>(backend_.get(), pairs, atoms, n, slope, slope_y, slope_z, force_.data());
      error_sums_.Grow(3 * n);
      backend_->ForEach(n, ForceErrors<T>{LossOf(model_.loss.force_delta), atoms, structure, force_structure_.data(),
                                          force_sampled_.data(), weight_.data(), force_.data(), reference_.data(),
                                          direction_.data(), error_sums_.data()});
      backend_->ForEachBlock(b, SumForceErrors::SharedBytes(), SumForceErrors{offset, error_sums_.data(), result_});
      if (train) {
        ComputeTangents(backend_.get(), tables, pairs, atoms, n, moments_.data(),
                        Motion<T>{direction_.data(), nullptr, nullptr}, tangents);
      }
      tangents += x_.size();
    }
    if (!model_.loss.stress) return;
    strain_sums_.Grow(9 * n);
    strain_.Grow(9 * b);
    ComputeStrainGradients<T>(backend_.get(), pairs, atoms, n, slope, slope_y, slope_z, strain_sums_.data());
    backend_->ForEachBlock(
        b, StressErrors<T>::SharedBytes(),
        StressErrors<T>{LossOf(model_.loss.stress_delta), structure, offset, has_stress_.data(), weight_.data(),
                        volume_.data(), reference_stress_.data(), strain_sums_.data(), strain_.data(), result_});
    if (train) {
      ComputeTangents(backend_.get(), tables, pairs, atoms, n, moments_.data(),
                      Motion<T>{nullptr, strain_.data(), force_structure_.data()}, tangents);
    }
  }

  const StepModel model_;
  const int num_features_, num_species_;
  const int64_t num_parameters_;
  const std::unique_ptr<Backend> backend_;  // first: all arrays return their memory to it
  DescriptorTablesOnDevice<T, Backend> descriptor_;
  NetworkPasses<T, Backend> networks_;
  DeviceArray<T, Backend> scalings_{backend_.get()};  // mean, scale, slope of the energy: each [species, F]
  // What Load leaves.
  std::vector<LoadedStructure> loaded_;
  std::vector<int32_t> species_count_;                        // [structures, species] atoms
  DeviceArray<int64_t, Backend> first_atom_{backend_.get()};  // [structures]
  DeviceArray<double, Backend> target_{backend_.get()}, weight_{backend_.get()}, energy_weight_{backend_.get()},
      volume_{backend_.get()}, reference_stress_{backend_.get()};  // [structures], the last [structures, 9]
  DeviceArray<uint8_t, Backend> has_stress_{backend_.get()};       // [structures]
  PairSlotsOnDevice<T, Backend> pairs_{backend_.get()};
  DeviceArray<uint8_t, Backend> species_{backend_.get()};
  DeviceArray<int32_t, Backend> rank_{backend_.get()};  // [A] place among the structure's atoms of the same species
  DeviceArray<T, Backend> x_{backend_.get()}, moments_{backend_.get()};  // [A, F], [moments, A]
  DeviceArray<double, Backend> reference_{backend_.get()};               // [A, 3] forces
  // Results of passes, at the places of loaded atoms and slots.
  DeviceArray<T, Backend> q_{backend_.get()}, pair_slope_{backend_.get()}, force_{backend_.get()},
      direction_{backend_.get()}, tangents_{backend_.get()};
  // What a batch needs.
  TransferArea<Backend> area_{backend_.get()};
  Places places_ = {};
  std::vector<int64_t> species_offset_;
  int64_t num_atoms_ = 0, num_force_atoms_ = 0, num_once_ = 0;
  int64_t batch_number_ = 0;
  DeviceArray<int32_t, Backend> row_atom_{backend_.get()}, row_structure_{backend_.get()}, row_of_{backend_.get()},
      force_atom_{backend_.get()}, force_structure_{backend_.get()}, once_{backend_.get()};  // PlaceAtoms has them
  DeviceArray<uint8_t, Backend> force_sampled_{backend_.get()};
  DeviceArray<T, Backend> atom_energy_{backend_.get()}, strain_sums_{backend_.get()}, strain_{backend_.get()};
  DeviceArray<double, Backend> slope_{backend_.get()}, error_sums_{backend_.get()};
  TransferArea<Backend> output_{backend_.get()};  // gradients, results
  StepResult* result_ = nullptr;                  // [B], in output_
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_GPU_FORCE_STEP_INL_H_
