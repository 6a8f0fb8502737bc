// A potential's networks under another potential's scaling: where fine-tuning starts.
//
// An atom's energy is network((G - mean) * scale) / energy_scale + energy_shift + atomic_energy. The statistics of the
// new training set replace mean, scale, shift and atomic energies; the first and the last layer take the difference,
// which is exact:
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
  Tensor parameters;                  // [P] of `to`, of its type
  std::vector<std::string> taken;     // species whose networks are those of `from`: "Ti"
  std::vector<std::string> begun;     // those that keep the parameters of `to`
  std::vector<std::string> messages;  // what is not as it was, for people
};

// The networks of species that both have, under the scaling of `to`; the others as in `to`. Then both predict the same
// energies and forces of the training structures of `to`, to rounding, where their species are the same.
// INVALID_ARGUMENT: descriptors that differ in more than species, one species against several, other hidden layers or
// activation, no species that both have.
absl::StatusOr<Transfer> TransferParameters(const Potential& from, const Potential& to);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_MODEL_TRANSFER_H_
