// A batch of structures as force training sees it: names and types of its tensors in one place.

#ifndef RUTILE_LIB_POTENTIAL_TRAINING_FORCE_BATCH_H_
#define RUTILE_LIB_POTENTIAL_TRAINING_FORCE_BATCH_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/descriptor/descriptor_derivatives.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/data/feature_source.h"
#include "lib/potential/model/atomistic_model.h"
#include "lib/potential/model/task_options.h"
#include "lib/potential/training/force_sampler.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Views of the tensors of a batch of B structures, A atoms, P pairs, named as the members. Tensors may be longer:
// memory of a larger batch. Atoms are those of one structure after another. Geometry and forces that the data has in
// memory stay there, and the batch has no tensors of them: copying would be a tenth of a step, by one thread.
template <typename T>
struct ForceBatch {
  // data: what the batch was made of; outlives the view.
  ForceBatch(const NamedTensors& batch, const AtomicData& data);

  absl::Span<const int64_t> example;      // [B] number in the data
  absl::Span<const int64_t> atom_offset;  // [B + 1]
  absl::Span<const uint8_t> species;      // [A]
  absl::Span<const double> target;        // [B] energy per atom less atomic energies, eV
  absl::Span<const double> weight;        // [B]
  absl::Span<const bool> has_geometry;    // [B] false: it has no pairs here and `feature` has its features
  absl::Span<const double> volume;        // [B] Angstrom^3; 0 where there is none
  absl::Span<const bool> force_sampled;   // [A] whose forces count
  absl::Span<const int64_t> num_sampled;  // [B] how many those are
  double num_labeled = 0;                 // atoms with forces in the batch, sampled or not
  absl::Span<const bool> has_stress;      // [B] whose stress counts
  absl::Span<const double> stress;        // [B, 3, 3] eV/Angstrom^3
  absl::Span<const T> feature;            // [A, F] not scaled
  // ---- all of these, or none: they are in the data
  absl::Span<const double> position;                // [A, 3] Angstrom
  absl::Span<const double> cell;                    // [B, 3, 3] Angstrom
  absl::Span<const double> force;                   // [A, 3] eV/Angstrom
  absl::Span<const int64_t> pair_offset;            // [A + 1]
  absl::Span<const int32_t> pair_j;                 // [P] atoms counted from the structure's first
  absl::Span<const int16_t> pair_shift;             // [P, 3]
  absl::Span<const int64_t> triplet_offset;         // [A + 1], or empty
  absl::Span<const uint16_t> triplet_a, triplet_b;  // as in TripletView

  int64_t num_structures() const { return static_cast<int64_t>(target.size()); }
  int64_t num_atoms(int64_t s) const { return atom_offset[s + 1] - atom_offset[s]; }
  // Of a structure that has it.
  StructureGeometry geometry(int64_t s) const;
  // [3N] eV/Angstrom, of a structure whose forces count.
  absl::Span<const double> forces(int64_t s) const;

 private:
  const AtomicData& data_;
};

// Fills batches, reusing their memory. Thread-safe.
class ForceBatchMaker {
 public:
  // All outlive the object. sampler: null when forces do not count.
  ForceBatchMaker(const AtomicData& data, const AtomisticModel& model, const FeatureSource& features,
                  const ForceSampler* sampler, bool stress)
      : data_(data), model_(model), features_(features), sampler_(sampler), stress_(stress) {}

  // T is the type of the model's parameters. Errors of AtomicData::FindPairs.
  template <typename T>
  absl::Status Make(absl::Span<const int64_t> examples, NamedTensors* batch) const;

  // The batch with tensors of geometry and forces, as the reference needs it; shares the others.
  NamedTensors WithGeometry(const NamedTensors& batch) const;

 private:
  // Pairs that are not in memory are found or read ahead of the step, where other threads make batches.
  bool CopiesGeometry() const { return !data_.has_pairs() || data_.exceeds_memory(); }
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
