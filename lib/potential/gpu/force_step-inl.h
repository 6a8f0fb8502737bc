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
#include "lib/potential/gpu/descriptor_bodies-inl.h"
#include "lib/potential/gpu/descriptor_tables.h"
#include "lib/potential/gpu/force_step.h"
#include "lib/potential/gpu/network_passes-inl.h"
#include "lib/potential/gpu/pair_slots_builder.h"
#include "lib/potential/gpu/step_bodies-inl.h"
#include "lib/potential/gpu/upload_area-inl.h"

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
    first_.assign(1, 0);
    for (const StepStructure& structure : structures) {
      const int64_t atoms = structure.pairs.num_atoms;
      pairs.Add(model_.descriptor, structure.pairs);
      species.insert(species.end(), structure.pairs.species, structure.pairs.species + atoms);
      if (structure.force != nullptr) {
        force.insert(force.end(), structure.force, structure.force + 3 * atoms);
      } else {
        force.resize(force.size() + 3 * atoms, std::numeric_limits<double>::quiet_NaN());
      }
      first_.push_back(first_.back() + atoms);
      if (pairs.x.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
        return "the structures have more than 2^31 pairs, the most that are kept on a GPU; train on fewer of them, or "
               "on processors";
      }
    }
    const int64_t atoms = first_.back();
    last_batch_.assign(structures.size(), 0);
    rank_.Upload(RanksInSpecies(species));
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
    PlaceBatch(batch, parameters);
    atom_energy_.Resize(batch.atom_offset[b]);
    result_.Resize(b);
    slope_.Resize(b);
    const bool forces_now = num_force_atoms_ > 0;
    const NetworkBatch<T> rows = Rows();
    networks_.Forward(Device<T>(places_.parameters), rows, atom_energy_.data(), forces_now ? q_.data() : nullptr);
    backend_->ForEachBlock(b, EnergyErrors<T>::SharedBytes(),
                           EnergyErrors<T>{LossOf(model_.loss.energy_delta), model_.energy_scale, model_.energy_shift,
                                           Device<int64_t>(places_.atom_offset), row_of_.data(), atom_energy_.data(),
                                           Device<double>(places_.target), Device<double>(places_.energy_weight),
                                           result_.data(), slope_.data()});
    if (forces_now) RunForces(b, gradients != nullptr);
    if (gradients != nullptr) {
      gradient_.Resize(model_.loss.num_terms() * num_parameters_);
      T* next = gradient_.data();
      const auto term = [&](bool there) { return there ? std::exchange(next, next + num_parameters_) : nullptr; };
      const EnergyTerm<T> energy = {slope_.data(), term(true)};
      // No structure of this batch may need forces: then `needs_forces` keeps the old tangents from being read.
      const auto* const needs_forces = Device<uint8_t>(places_.needs_forces);
      const T* const tangents = tangents_.data();
      const TangentTerm<T> force = {tangents, needs_forces, T(1), term(model_.loss.forces)};
      const TangentTerm<T> stress = {tangents + model_.loss.forces * x_.size(), needs_forces, T(1),
                                     term(model_.loss.stress)};
      networks_.Gradients(Device<T>(places_.parameters), rows, energy, force, stress);
      backend_->Download(gradients, gradient_.data(), gradient_.size() * sizeof(T));
    }
    backend_->Download(results, result_.data(), b * sizeof(StepResult));
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
    int64_t parameters, first, atom_offset, force_offset, once_offset, first_row, sampled;
    int64_t target, weight, energy_weight, volume, stress, needs_forces, has_stress;
  };

  bool forces() const { return model_.loss.forces || model_.loss.stress; }
  const T* mean() const { return scalings_.data(); }
  const T* scale() const { return mean() + model_.mean.size(); }
  const T* energy_slope() const { return scale() + model_.scale.size(); }
  DeviceErrorLoss LossOf(double delta) const { return {model_.loss.huber, delta}; }
  template <typename E>
  const E* Device(int64_t place) const {
    return area_.template Device<E>(place);
  }
  NetworkBatch<T> Rows() const {
    return {x_.data(), energy_slope(), row_atom_.data(), row_structure_.data(), species_offset_.data()};
  }

  // Counts the atoms of each species in each structure, and returns the place of each atom among those.
  std::vector<int32_t> RanksInSpecies(const std::vector<uint8_t>& species) {
    const auto structures = static_cast<int64_t>(first_.size()) - 1;
    std::vector<int32_t> ranks(species.size());
    species_count_.assign(structures * num_species_, 0);
    for (int64_t s = 0; s < structures; ++s) {
      int64_t* const count = species_count_.data() + s * num_species_;
      for (int64_t i = first_[s]; i < first_[s + 1]; ++i) ranks[i] = static_cast<int32_t>(count[species[i]]++);
    }
    return ranks;
  }

  // Sends parameters and what is known of a batch's structures to the device, which then lists their atoms.
  void PlaceBatch(const StepBatch& batch, const T* parameters) {
    const int64_t b = batch.num_structures, atoms = batch.atom_offset[b];
    area_.Clear();
    Places& at = places_;
    at.parameters = area_.template Place<T>(num_parameters_);
    at.first = area_.template Place<int64_t>(b);
    for (int64_t* const place : {&at.atom_offset, &at.force_offset, &at.once_offset}) {
      *place = area_.template Place<int64_t>(b + 1);
    }
    at.first_row = area_.template Place<int64_t>(b * num_species_);
    at.sampled = area_.template Place<uint8_t>(atoms);
    for (int64_t* const place : {&at.target, &at.weight, &at.energy_weight, &at.volume}) {
      *place = area_.template Place<double>(b);
    }
    at.stress = area_.template Place<double>(model_.loss.stress ? 9 * b : 0);
    at.needs_forces = area_.template Place<uint8_t>(b);
    at.has_stress = area_.template Place<uint8_t>(b);

    const auto copy = [this](const auto* from, int64_t count, int64_t place) {
      std::copy_n(from, count, area_.template Host<std::decay_t<decltype(*from)>>(place));
    };
    copy(parameters, num_parameters_, at.parameters);
    copy(batch.atom_offset, b + 1, at.atom_offset);
    copy(batch.target, b, at.target);
    copy(batch.weight, b, at.weight);
    copy(batch.energy_weight == nullptr ? batch.weight : batch.energy_weight, b, at.energy_weight);
    copy(batch.volume, b, at.volume);
    if (model_.loss.stress) copy(batch.stress, 9 * b, at.stress);
    copy(batch.needs_forces, b, at.needs_forces);
    copy(batch.has_stress, b, at.has_stress);
    if (model_.loss.forces) {
      copy(batch.sampled, atoms, at.sampled);
    } else {
      std::fill_n(area_.template Host<uint8_t>(at.sampled), atoms, uint8_t{0});
    }
    auto* const first = area_.template Host<int64_t>(at.first);
    auto* const force_offset = area_.template Host<int64_t>(at.force_offset);
    auto* const once_offset = area_.template Host<int64_t>(at.once_offset);
    auto* const first_row = area_.template Host<int64_t>(at.first_row);
    force_offset[0] = once_offset[0] = 0;
    ++batch_number_;
    for (int64_t s = 0; s < b; ++s) {
      const int64_t structure = batch.structure[s], size = batch.atom_offset[s + 1] - batch.atom_offset[s];
      first[s] = first_[structure];
      const bool has_forces = batch.needs_forces[s];
      const bool is_first = has_forces && std::exchange(last_batch_[structure], batch_number_) != batch_number_;
      force_offset[s + 1] = force_offset[s] + (has_forces ? size : 0);
      once_offset[s + 1] = once_offset[s] + (is_first ? size : 0);
    }
    num_force_atoms_ = force_offset[b];
    num_once_ = once_offset[b];
    species_offset_.assign(num_species_ + 1, 0);
    int64_t row = 0;
    for (int species = 0; species < num_species_; ++species) {
      for (int64_t s = 0; s < b; ++s) {
        first_row[s * num_species_ + species] = row;
        row += species_count_[batch.structure[s] * num_species_ + species];
      }
      species_offset_[species + 1] = row;
    }
    for (auto* const list : {&row_atom_, &row_structure_, &row_of_, &force_atom_, &force_structure_, &once_}) {
      list->Resize(atoms);
    }
    force_sampled_.Resize(atoms);
    area_.Upload();
    backend_->ForEachBlock(
        b, 0,
        PlaceAtoms{num_species_, Device<int64_t>(at.first), Device<int64_t>(at.atom_offset),
                   Device<int64_t>(at.force_offset), Device<int64_t>(at.once_offset), Device<int64_t>(at.first_row),
                   Device<uint8_t>(at.sampled), species_.data(), rank_.data(), row_atom_.data(), row_structure_.data(),
                   row_of_.data(), force_atom_.data(), force_structure_.data(), force_sampled_.data(), once_.data()});
  }

  // From q on: forces and stresses, their errors and, for gradients, the changes of features along the losses' slopes.
  // b: structures in the batch.
  void RunForces(int64_t b, bool train) {
    const int64_t n = num_force_atoms_, slots = pairs_.num_slots();
    const int32_t* const atoms = force_atom_.data();
    const auto* const offset = Device<int64_t>(places_.force_offset);
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
      error_sums_.Resize(3 * n);
      backend_->ForEach(n, ForceErrors<T>{LossOf(model_.loss.force_delta), atoms, force_structure_.data(),
                                          force_sampled_.data(), Device<double>(places_.weight), force_.data(),
                                          reference_.data(), direction_.data(), error_sums_.data()});
      backend_->ForEachBlock(b, SumForceErrors::SharedBytes(),
                             SumForceErrors{offset, error_sums_.data(), result_.data()});
      if (train) {
        ComputeTangents(backend_.get(), tables, pairs, atoms, n, moments_.data(),
                        Motion<T>{direction_.data(), nullptr, nullptr}, tangents);
      }
      tangents += x_.size();
    }
    if (!model_.loss.stress) return;
    strain_sums_.Resize(9 * n);
    strain_.Resize(9 * b);
    ComputeStrainGradients<T>(backend_.get(), pairs, atoms, n, slope, slope_y, slope_z, strain_sums_.data());
    backend_->ForEachBlock(
        b, StressErrors<T>::SharedBytes(),
        StressErrors<T>{LossOf(model_.loss.stress_delta), offset, Device<uint8_t>(places_.has_stress),
                        strain_sums_.data(), Device<double>(places_.weight), Device<double>(places_.volume),
                        Device<double>(places_.stress), strain_.data(), result_.data()});
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
  std::vector<int64_t> first_;          // [structures + 1] first atom of each
  std::vector<int64_t> species_count_;  // [structures, species] atoms
  std::vector<int64_t> last_batch_;     // [structures] number of the last batch in which its forces were needed
  PairSlotsOnDevice<T, Backend> pairs_{backend_.get()};
  DeviceArray<uint8_t, Backend> species_{backend_.get()};
  DeviceArray<int32_t, Backend> rank_{backend_.get()};  // [A] place among the structure's atoms of the same species
  DeviceArray<T, Backend> x_{backend_.get()}, moments_{backend_.get()};  // [A, F], [moments, A]
  DeviceArray<double, Backend> reference_{backend_.get()};               // [A, 3] forces
  // Results of passes, at the places of loaded atoms and slots.
  DeviceArray<T, Backend> q_{backend_.get()}, pair_slope_{backend_.get()}, force_{backend_.get()},
      direction_{backend_.get()}, tangents_{backend_.get()};
  // What a batch needs.
  UploadArea<Backend> area_{backend_.get()};
  Places places_ = {};
  std::vector<int64_t> species_offset_;
  int64_t num_force_atoms_ = 0, num_once_ = 0;
  int64_t batch_number_ = 0;
  DeviceArray<int32_t, Backend> row_atom_{backend_.get()}, row_structure_{backend_.get()}, row_of_{backend_.get()},
      force_atom_{backend_.get()}, force_structure_{backend_.get()}, once_{backend_.get()};  // PlaceAtoms has them
  DeviceArray<uint8_t, Backend> force_sampled_{backend_.get()};
  DeviceArray<T, Backend> atom_energy_{backend_.get()}, gradient_{backend_.get()}, strain_sums_{backend_.get()},
      strain_{backend_.get()};
  DeviceArray<double, Backend> slope_{backend_.get()}, error_sums_{backend_.get()};
  DeviceArray<StepResult, Backend> result_{backend_.get()};
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_GPU_FORCE_STEP_INL_H_
