// Moves a potential's networks under another potential's scaling, as the start of fine-tuning, or where a run goes on
// with other data.
//
// An atom's energy is network((G - mean) * scale) / energy_scale + energy_shift + atomic_energy. The statistics of the
// new training set replace mean, scale, shift and atomic energies, and the first and the last layer absorb the
// difference, which is exact:
//
//   W' = W * scale / scale',                 b' = b + sum_k W_k (mean'_k - mean_k) scale_k
//   w' = w * energy_scale' / energy_scale,   c' = (c / energy_scale + shift + e - shift' - e') * energy_scale'
//
// A feature that is constant in the new set (scale' = 0) is taken at that constant.

#ifndef RUTILE_LIB_POTENTIAL_MODEL_TRANSFER_H_
#define RUTILE_LIB_POTENTIAL_MODEL_TRANSFER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/potential/model/potential_file.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

struct Transfer {
  Tensor parameters;                  // [P] for `to`, of its type
  std::vector<std::string> taken;     // species whose networks come from `from`, such as "Ti"
  std::vector<std::string> begun;     // species that keep the parameters of `to`
  std::vector<std::string> messages;  // changes that people should know of
};

// Returns the networks of species that both potentials have, under the scaling of `to`, and those of `to` for the other
// species. Then both predict the same energies and forces, to rounding, for training structures of `to` whose species
// are in both. INVALID_ARGUMENT: descriptors that differ in more than species, one species against several, other
// hidden layers, activation or repulsion, no species in common.
absl::StatusOr<Transfer> TransferParameters(const Potential& from, const Potential& to);

// Returns from.parameters under the scaling of `to`, [P] of their type, so that both predict the same energies and
// forces, to rounding, for all structures. INVALID_ARGUMENT where that cannot be: other species or another order of
// them, features that count in `from` and do not vary under `to`. FAILED_PRECONDITION where TransferParameters refuses,
// too: another descriptor, other layers, another activation or repulsion.
absl::StatusOr<Tensor> CarryParametersOver(const Potential& from, const Potential& to);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_MODEL_TRANSFER_H_
