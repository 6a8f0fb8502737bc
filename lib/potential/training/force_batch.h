// A batch of structures for force training. This file is the only place that names its tensors and their types.
//
// A device that has all structures is sent a batch of their numbers and of what the epoch samples (DeviceForceBatch);
// others get all of ForceBatch, which has the same tensors and those that the data determines.

#ifndef RUTILE_LIB_POTENTIAL_TRAINING_FORCE_BATCH_H_
#define RUTILE_LIB_POTENTIAL_TRAINING_FORCE_BATCH_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/descriptor/descriptor_derivatives.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/data/feature_source.h"
#include "lib/potential/model/atomistic_model.h"
#include "lib/potential/model/task_options.h"
#include "lib/potential/training/force_sampler.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Views of the tensors of a batch of B structures, A atoms and P pairs, named as the members. Tensors may be longer
// than these sizes, as their memory may be that of a larger batch. The atoms of one structure follow those of another.
// Geometry and forces that the data holds in memory are not copied, and the batch has no tensors of them: copying them
// by one thread would take a tenth of a step.
template <typename T>
struct ForceBatch {
  // data: what the batch was made from; must outlive the view.
  ForceBatch(const NamedTensors& batch, const AtomicData& data);

  absl::Span<const int64_t> example;      // [B] index in the data
  absl::Span<const int64_t> atom_offset;  // [B + 1]
  absl::Span<const uint8_t> species;      // [A]
  absl::Span<const bool> has_energy;      // [B] structures whose energy is known and learned
  absl::Span<const double> target;        // [B] energy per atom less atomic energies, eV; 0 where it is not known
  absl::Span<const double> weight;        // [B]
  absl::Span<const bool> has_geometry;    // [B] false if the structure has no pairs here, but features in `feature`
  absl::Span<const double> volume;        // [B] Angstrom^3; 0 where there is none
  absl::Span<const bool> force_sampled;   // [A] atoms whose forces are learned
  absl::Span<const int64_t> num_sampled;  // [B] number of atoms whose forces are learned
  double sampled_share = 1;               // ForceSampler::share
  absl::Span<const bool> has_stress;      // [B] structures whose stress is learned
  absl::Span<const double> stress;        // [B, 3, 3] eV/Angstrom^3
  absl::Span<const T> feature;            // [A, F] not scaled
  // ---- geometry; either all of these are set, or none because the data holds them
  absl::Span<const double> position;                // [A, 3] Angstrom
  absl::Span<const double> cell;                    // [B, 3, 3] Angstrom
  absl::Span<const double> force;                   // [A, 3] eV/Angstrom
  absl::Span<const int64_t> pair_offset;            // [A + 1]
  absl::Span<const int32_t> pair_j;                 // [P] atoms counted from the structure's first
  absl::Span<const int16_t> pair_shift;             // [P, 3]
  absl::Span<const int64_t> triplet_offset;         // [A + 1], or empty
  absl::Span<const uint16_t> triplet_a, triplet_b;  // as in TripletView

  int64_t num_structures() const { return static_cast<int64_t>(target.size()); }
  // What the energy of structure s counts in the loss.
  double energy_weight(int64_t s) const { return has_energy[s] ? weight[s] : 0; }
  int64_t num_atoms(int64_t s) const { return atom_offset[s + 1] - atom_offset[s]; }
  // Returns the geometry of structure s, which has_geometry.
  StructureGeometry geometry(int64_t s) const;
  // Returns forces [3N] in eV/Angstrom of structure s, which has sampled forces.
  absl::Span<const double> forces(int64_t s) const;

 private:
  const AtomicData& data_;
};

// Views of the tensors that do not follow from the data, of a batch of either kind.
struct DeviceForceBatch {
  explicit DeviceForceBatch(const NamedTensors& batch);

  absl::Span<const int64_t> example;      // [B] index in the data
  absl::Span<const int64_t> num_sampled;  // [B] number of atoms whose forces are learned
  double sampled_share = 1;               // ForceSampler::share
  // [A] atoms whose forces are learned, where the others' are not; may be longer. Null if no structure has both.
  const bool* force_sampled = nullptr;

  int64_t num_structures() const { return static_cast<int64_t>(example.size()); }
};

// Fills batches and reuses their memory. Thread-safe.
class ForceBatchMaker {
 public:
  // All arguments must outlive the object. sampler: null when forces are not learned.
  ForceBatchMaker(const AtomicData& data, const AtomisticModel& model, const FeatureSource& features,
                  const ForceSampler* sampler, bool stress)
      : data_(data), model_(model), features_(features), sampler_(sampler), stress_(stress) {}

  // Makes a batch of `examples`. T is the type of the model's parameters. Errors of AtomicData::FindPairs.
  template <typename T>
  absl::Status Make(absl::Span<const int64_t> examples, NamedTensors* batch) const;

  // Makes a batch of `examples` with the tensors of DeviceForceBatch alone.
  void MakeForDevice(absl::Span<const int64_t> examples, NamedTensors* batch) const;
  // Returns the batch that Make would have made when MakeForDevice made this one; tensors of this one are shared. A
  // batch by Make is returned as it is. Errors of AtomicData::FindPairs.
  template <typename T>
  absl::StatusOr<NamedTensors> Complete(const NamedTensors& batch) const;

  // Returns the batch, by Make, with tensors of geometry and forces added, which the reference needs; the other tensors
  // are shared.
  NamedTensors WithGeometry(const NamedTensors& batch) const;

 private:
  // True if pairs are not in memory: loader threads then find or read them ahead of the step.
  bool CopiesGeometry() const { return !data_.has_pairs() || data_.exceeds_memory(); }
  // Adds what the data determines to a batch of MakeForDevice.
  template <typename T>
  absl::Status AddData(NamedTensors* batch) const;
  absl::Status AddGeometry(NamedTensors* batch) const;
  bool StressCounts(int64_t s) const { return stress_ && data_.has_stress(s); }

  const AtomicData& data_;
  const AtomisticModel& model_;
  const FeatureSource& features_;
  const ForceSampler* const sampler_;
  const bool stress_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_TRAINING_FORCE_BATCH_H_
