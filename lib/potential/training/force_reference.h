// Energies, forces and stress by LibTorch's network over the plain descriptor, differentiable in the parameters: what
// the kernels of force training must agree with.
//
// With E the energies of the structures and G the features of their atoms: q = dE/dG by autograd with create_graph, and
// forces and stress by an autograd function that is linear in q, whose forward is DescriptorDerivatives::Vjp and whose
// backward is Jvp: nothing of the size of pairs times features is stored. lib/potential/training/autograd_reference.h
// is a second opinion, autograd through everything.
//
// The batch (A atoms, B structures, P pairs; tensors may have more rows, which are not read, but for target's B):
//   species        u8   [A]        index into the descriptor's species; atoms as the structures have them
//   atom_offset    i64  [B + 1]    atoms of structure b: [atom_offset[b], atom_offset[b + 1])
//   target         f64  [B]        energy per atom less atomic energies, eV
//   position       f64  [A, 3]     Angstrom
//   cell           f64  [B, 3, 3]  Angstrom, rows are lattice vectors
//   pair_offset    i64  [A + 1]    pairs of atom a, as in PairView
//   pair_j         i32  [P]        number of an atom in the batch
//   pair_shift     i16  [P, 3]
//   force          f64  [A, 3]     eV/Angstrom, what was computed for the structures
//   force_sampled  bool [A]        whose forces count
//   stress         f64  [B, 3, 3]  eV/Angstrom^3;  has_stress bool [B]
//   has_geometry   bool [B]        false: the structure has no pairs, and its features are given
//   feature        f32 or f64 [A, F]  not scaled: rows of structures without geometry; absent when there are none

#ifndef RUTILE_LIB_POTENTIAL_TRAINING_FORCE_REFERENCE_H_
#define RUTILE_LIB_POTENTIAL_TRAINING_FORCE_REFERENCE_H_

#include <ATen/core/Tensor.h>

#include "lib/descriptor/chebyshev_options.h"
#include "lib/network/network_shape.h"
#include "lib/potential/model/scaling.h"
#include "lib/task/eager_options.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// In fp64. Forces and stress are undefined tensors when they were not asked for.
struct ReferencePrediction {
  at::Tensor energy_per_atom;  // [B] eV, less the atomic energies
  at::Tensor force;            // [A, 3] eV/Angstrom: of all atoms, sampled or not; 0 in structures without geometry
  // [B, 3, 3] eV/Angstrom^3, symmetric, positive in tension; 0 in structures without geometry or without a volume.
  at::Tensor stress;
};

// parameters: [shape.num_parameters()], f32 or f64, the type of the network's arithmetic; all else is fp64. The result
// is differentiable in them, once, and has no graph when they need no gradient. Reads all but target's values, force,
// force_sampled, stress and has_stress of the batch. CHECK-fails when shapes disagree. eager: as what, and in which
// type, the networks run. The result is on the parameters' device; geometry stays on the CPU.
ReferencePrediction PredictReference(const ChebyshevOptions& options, const NetworkShape& shape,
                                     const FeatureScaling& feature_scaling, const EnergyScaling& energy_scaling,
                                     const at::Tensor& parameters, const NamedTensors& batch, bool forces,
                                     const EagerOptions& eager = {});

// ---- parts shared with autograd_reference

// [B] eV per atom, less the atomic energies, from features [A, F] fp64 (not scaled); differentiable in both.
at::Tensor ReferenceEnergiesPerAtom(const NetworkShape& shape, const FeatureScaling& feature_scaling,
                                    const EnergyScaling& energy_scaling, const at::Tensor& parameters,
                                    const NamedTensors& batch, const at::Tensor& features,
                                    const EagerOptions& eager = {});

// strain_gradient: [B, 3, 3] eV; what ReferencePrediction::stress says. Differentiable.
at::Tensor ReferenceStress(const at::Tensor& strain_gradient, const NamedTensors& batch);

// Detached, as much of it as there is.
ReferencePrediction WithoutGraph(const ReferencePrediction& prediction);

// [A] the structure of each atom, i64, on the CPU.
at::Tensor StructureOfAtoms(const NamedTensors& batch);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_TRAINING_FORCE_REFERENCE_H_
