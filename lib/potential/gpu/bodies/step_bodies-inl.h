// What a step of force training does beside descriptor and networks: scales features, sums energies, and turns errors
// into losses and their slopes.

#ifndef RUTILE_LIB_POTENTIAL_GPU_BODIES_STEP_BODIES_INL_H_
#define RUTILE_LIB_POTENTIAL_GPU_BODIES_STEP_BODIES_INL_H_

#include <cstdint>

#include "lib/gpu/block.h"
#include "lib/gpu/device_function.h"
#include "lib/potential/gpu/force_step.h"

namespace rutile {

// The loss of one error and its slope (loss_function.h).
struct DeviceErrorLoss {
  bool huber;
  double delta;

  RUTILE_DEVICE double Value(double e) const {
    if (!huber) return e * e;
    const double size = e < 0 ? -e : e;
    return size <= delta ? 0.5 * e * e : delta * (size - 0.5 * delta);
  }
  RUTILE_DEVICE double Slope(double e) const {
    if (!huber) return 2 * e;
    return e > delta ? delta : e < -delta ? -delta : e;
  }
};

// Turns features [A, F] into the networks' input, in place.
template <typename T>
struct ScaleFeatures {
  static constexpr int kThreads = 256;
  int num_features;
  const uint8_t* species;  // [A]
  const T *mean, *scale;   // [species, F]
  T* x;                    // [A, F]

  RUTILE_DEVICE void operator()(int64_t i) const {
    const int64_t atom = i / num_features;
    const int64_t at = species[atom] * num_features + (i - atom * num_features);
    x[i] = (x[i] - mean[at]) * scale[at];
  }
};

// Lists the atoms of a batch: the rows of the networks, sorted by species, and the atoms whose structures need forces.
// One block for each structure.
struct PlaceAtoms {
  static constexpr int kThreads = 64;
  int num_species;
  const int64_t* first;                   // [loaded structures] first atom of each
  const int32_t* structure;               // [B] the loaded structure
  const int32_t* offset;                  // [B + 1] atoms of the batch
  const int32_t* force_offset;            // [B + 1] those of structures that need forces
  const int32_t* once_offset;             // [B + 1] the same without structures that have come before
  const int32_t* first_row;               // [B, species] rows of earlier structures' and species' atoms
  const uint8_t* learns_forces;           // [B]
  const uint8_t* sampled;                 // [A of the batch], or null: all atoms of structures that learn forces
  const uint8_t* species;                 // [A loaded]
  const int32_t* rank;                    // [A loaded] how many atoms of its species the structure has before this one
  int32_t *row_atom, *row_structure;      // [A of the batch]
  int32_t* row_of;                        // [A of the batch]
  int32_t *force_atom, *force_structure;  // [n]
  uint8_t* force_sampled;                 // [n]
  int32_t* once;

  RUTILE_DEVICE void operator()(const Block& block) const {
    const int64_t b = block.index, size = offset[b + 1] - offset[b], first_atom = first[structure[b]];
    const bool has_forces = force_offset[b + 1] > force_offset[b], is_first = once_offset[b + 1] > once_offset[b];
    for (int64_t i = block.thread; i < size; i += block.threads) {
      const int64_t atom = first_atom + i;
      const int64_t row = first_row[b * num_species + species[atom]] + rank[atom];
      row_atom[row] = static_cast<int32_t>(atom);
      row_structure[row] = static_cast<int32_t>(b);
      row_of[offset[b] + i] = static_cast<int32_t>(row);
      if (is_first) once[once_offset[b] + i] = static_cast<int32_t>(atom);
      if (!has_forces) continue;
      force_atom[force_offset[b] + i] = static_cast<int32_t>(atom);
      force_structure[force_offset[b] + i] = static_cast<int32_t>(b);
      force_sampled[force_offset[b] + i] = learns_forces[b] && (sampled == nullptr || sampled[offset[b] + i]);
    }
  }
};

// Sums `count` numbers over the entries that a block's threads take turns with. sums: [threads, count] shared; after
// the call thread 0 finds the totals in the first row.
RUTILE_DEVICE inline void SumThreads(const Block& block, int count, double* sums) {
  block.Sync();
  if (block.thread != 0) return;
  for (int other = 1; other < block.threads; ++other) {
    for (int k = 0; k < count; ++k) sums[k] += sums[other * count + k];
  }
}

// Sums the energies of each structure, and sets its error and the slope of its loss by the sum.
template <typename T>
struct EnergyErrors {
  static constexpr int kThreads = 32;
  DeviceErrorLoss loss;
  double energy_scale, energy_shift;
  const int32_t* structure;       // [B] the loaded structure
  const int32_t* offset;          // [B + 1] atoms of the batch
  const int32_t* row;             // [A] the networks' row of each atom
  const T* atom_energy;           // [rows]
  const double *target, *weight;  // [loaded structures]
  StepResult* result;             // [B]
  double* slope;                  // [B]

  static int64_t SharedBytes() { return kThreads * sizeof(double); }

  RUTILE_DEVICE void operator()(const Block& block) const {
    const int64_t b = block.index;
    auto* const sums = static_cast<double*>(block.shared);
    double sum = 0;
    for (int64_t t = offset[b] + block.thread; t < offset[b + 1]; t += block.threads) sum += atom_energy[row[t]];
    sums[block.thread] = sum;
    SumThreads(block, 1, sums);
    if (block.thread != 0) return;
    const auto atoms = static_cast<double>(offset[b + 1] - offset[b]);
    const double error = sums[0] / (energy_scale * atoms) + energy_shift - target[structure[b]];
    result[b] = {error, 0, 0, 0, 0, 0, 0};
    slope[b] = weight[structure[b]] * loss.Slope(error) / (energy_scale * atoms);
  }
};

// Compares forces with the references, and sets the direction along which features change as the loss does: against the
// slope of the loss, as a force falls where the energy rises.
template <typename T>
struct ForceErrors {
  static constexpr int kThreads = 128;
  DeviceErrorLoss loss;
  const int32_t* atom;         // [n] of the atoms whose structures need forces
  const int32_t* structure;    // [B] the loaded structure
  const int32_t* batch_place;  // [n] of the atom's structure in the batch
  const uint8_t* sampled;      // [n]
  const double* weight;        // [loaded structures]
  const T* force;              // [A, 3] of all that is loaded
  const double* reference;     // [A, 3]
  T* direction;                // [A, 3]
  double* sums;                // [n, 3]: loss, square and absolute value of the errors

  RUTILE_DEVICE void operator()(int64_t t) const {
    const int64_t first = 3 * int64_t{atom[t]};
    const double factor = weight[structure[batch_place[t]]];
    double value = 0, square = 0, absolute = 0;
    for (int64_t c = first; c < first + 3; ++c) {
      double slope = 0;
      if (sampled[t]) {
        const double error = static_cast<double>(force[c]) - reference[c];
        value += loss.Value(error);
        square += error * error;
        absolute += error < 0 ? -error : error;
        slope = factor * loss.Slope(error);
      }
      direction[c] = static_cast<T>(-slope);
    }
    sums[3 * t] = value;
    sums[3 * t + 1] = square;
    sums[3 * t + 2] = absolute;
  }
};

// Sums force errors over the atoms of each structure.
struct SumForceErrors {
  static constexpr int kThreads = 32;
  const int32_t* offset;  // [B + 1] atoms whose structures need forces
  const double* sums;     // [n, 3]
  StepResult* result;     // [B]

  static int64_t SharedBytes() { return 3 * kThreads * sizeof(double); }

  RUTILE_DEVICE void operator()(const Block& block) const {
    const int64_t b = block.index;
    auto* const all = static_cast<double*>(block.shared);
    double* const own = all + 3 * block.thread;
    own[0] = own[1] = own[2] = 0;
    for (int64_t t = offset[b] + block.thread; t < offset[b + 1]; t += block.threads) {
      for (int k = 0; k < 3; ++k) own[k] += sums[3 * t + k];
    }
    SumThreads(block, 3, all);
    if (block.thread != 0) return;
    result[b].force_loss = all[0];
    result[b].force_square = all[1];
    result[b].force_absolute = all[2];
  }
};

// Sums the strain gradient over the atoms of each structure, compares the stress with the reference, and sets the
// strain that the loss changes along: symmetric, as the predicted stress is, even if the reference is not.
template <typename T>
struct StressErrors {
  static constexpr int kThreads = 32;
  DeviceErrorLoss loss;
  const int32_t* structure;   // [B] the loaded structure
  const int32_t* offset;      // [B + 1] atoms whose structures need forces
  const uint8_t* has_stress;  // [loaded structures], as the next three
  const double *weight, *volume;
  const double* reference;  // [loaded structures, 9]
  const T* contribution;    // [n, 9]
  T* strain;                // [B, 9]
  StepResult* result;       // [B]

  static int64_t SharedBytes() { return 9 * kThreads * sizeof(double); }

  RUTILE_DEVICE void operator()(const Block& block) const {
    const int64_t b = block.index, loaded = structure[b];
    if (!has_stress[loaded]) {
      for (int k = block.thread; k < 9; k += block.threads) strain[9 * b + k] = T(0);
      return;
    }
    auto* const all = static_cast<double*>(block.shared);
    double* const own = all + 9 * block.thread;
    for (int k = 0; k < 9; ++k) own[k] = 0;
    for (int64_t t = offset[b] + block.thread; t < offset[b + 1]; t += block.threads) {
      for (int k = 0; k < 9; ++k) own[k] += contribution[9 * t + k];
    }
    SumThreads(block, 9, all);
    if (block.thread != 0) return;
    double along[9], value = 0, square = 0, absolute = 0;
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) {
        const double predicted = 0.5 * (all[3 * i + j] + all[3 * j + i]) / volume[loaded];
        const double error = predicted - reference[9 * loaded + 3 * i + j];
        value += loss.Value(error);
        square += error * error;
        absolute += error < 0 ? -error : error;
        along[3 * i + j] = weight[loaded] * loss.Slope(error) / volume[loaded];
      }
    }
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) {
        strain[9 * b + 3 * i + j] = static_cast<T>(0.5 * (along[3 * i + j] + along[3 * j + i]));
      }
    }
    result[b].stress_loss = value;
    result[b].stress_square = square;
    result[b].stress_absolute = absolute;
  }
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_GPU_BODIES_STEP_BODIES_INL_H_
