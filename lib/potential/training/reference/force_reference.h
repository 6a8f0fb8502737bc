// Defines energies, forces and stress by LibTorch's network over the plain descriptor, differentiable in the
// parameters. The kernels of force training must agree with it.
//
// With E the energies of the structures and G the features of their atoms: q = dE/dG comes from autograd with
// create_graph. Forces and stress come from an autograd function that is linear in q, whose forward is
// DescriptorDerivatives::Vjp and whose backward is Jvp, so that nothing of the size of pairs times features is stored.
// lib/potential/training/reference/autograd_reference.h is a second opinion, by autograd through everything.
//
// The batch has these tensors (A atoms, B structures, P pairs; all but target may have more rows, which are not read):
//   species        u8   [A]        index into the descriptor's species; atoms as the structures have them
//   atom_offset    i64  [B + 1]    atoms of structure b: [atom_offset[b], atom_offset[b + 1])
//   target         f64  [B]        energy per atom less atomic energies, eV
//   position       f64  [A, 3]     Angstrom
//   cell           f64  [B, 3, 3]  Angstrom, rows are lattice vectors
//   pair_offset    i64  [A + 1]    pairs of atom a, as in PairView
//   pair_j         i32  [P]        number of an atom in the batch
//   pair_shift     i16  [P, 3]
//   force          f64  [A, 3]     eV/Angstrom, the reference values of the data
//   force_sampled  bool [A]        atoms whose forces are learned
//   stress         f64  [B, 3, 3]  eV/Angstrom^3;  has_stress bool [B]
//   has_geometry   bool [B]        false: the structure has no pairs, and its features are given
//   feature        f32 or f64 [A, F]  not scaled: rows of structures without geometry; absent when there are none

#ifndef RUTILE_LIB_POTENTIAL_TRAINING_REFERENCE_FORCE_REFERENCE_H_
#define RUTILE_LIB_POTENTIAL_TRAINING_REFERENCE_FORCE_REFERENCE_H_

#include <ATen/core/Tensor.h>

#include "lib/descriptor/descriptor_options.h"
#include "lib/network/network_shape.h"
#include "lib/potential/model/labels/scaling.h"
#include "lib/task/eager_options.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// A prediction in fp64. Forces and stress are undefined tensors when they were not asked for.
struct ReferencePrediction {
  at::Tensor energy_per_atom;  // [B] eV, less the atomic energies
  at::Tensor force;            // [A, 3] eV/Angstrom: of all atoms, sampled or not; 0 in structures without geometry
  // [B, 3, 3] eV/Angstrom^3, symmetric, positive in tension; 0 in structures without geometry or without a volume.
  at::Tensor stress;
};

// Predicts a batch. parameters: [shape.num_parameters()], f32 or f64, the type of the network's arithmetic; all else is
// fp64. The result is differentiable in them, once, and has no graph when they need no gradient. Reads all tensors of
// the batch except the values of target, force, force_sampled, stress and has_stress. CHECK-fails when shapes disagree.
// eager: how (operations or script) and in which type the networks run. The result is on the parameters' device;
// geometry stays on the CPU.
ReferencePrediction PredictReference(const DescriptorOptions& options, const NetworkShape& shape,
                                     const FeatureScaling& feature_scaling, const EnergyScaling& energy_scaling,
                                     const at::Tensor& parameters, const NamedTensors& batch, bool forces,
                                     const EagerOptions& eager = {});

// ---- parts shared with autograd_reference

// Returns [B] energies in eV per atom, less the atomic energies, from features [A, F] fp64 (not scaled); differentiable
// in both features and parameters.
at::Tensor ReferenceEnergiesPerAtom(const NetworkShape& shape, const FeatureScaling& feature_scaling,
                                    const EnergyScaling& energy_scaling, const at::Tensor& parameters,
                                    const NamedTensors& batch, const at::Tensor& features,
                                    const EagerOptions& eager = {});

// Returns the stress as ReferencePrediction::stress defines it, differentiable. strain_gradient: [B, 3, 3] eV.
at::Tensor ReferenceStress(const at::Tensor& strain_gradient, const NamedTensors& batch);

// Returns the prediction detached; undefined tensors stay undefined.
ReferencePrediction WithoutGraph(const ReferencePrediction& prediction);

// Returns [A] the structure of each atom, i64, on the CPU.
at::Tensor StructureOfAtoms(const NamedTensors& batch);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_TRAINING_REFERENCE_FORCE_REFERENCE_H_
