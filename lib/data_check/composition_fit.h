// Fits atomic energies to the energies of a data set so that a few wrong ones do not matter, which shows the wrong
// ones.

#ifndef RUTILE_LIB_DATA_CHECK_COMPOSITION_FIT_H_
#define RUTILE_LIB_DATA_CHECK_COMPOSITION_FIT_H_

#include <cstdint>
#include <map>
#include <vector>

#include "absl/types/span.h"
#include "lib/data_check/frame_facts.h"

namespace rutile {

struct CompositionFit {
  std::map<uint8_t, double> atomic_energies;  // eV by atomic number; empty if there are too few energies to judge
  std::vector<double> residual;               // [frames] eV per atom; NaN without an energy or a fit
  double median = 0;                          // of |residual| over the frames that were fitted
  int64_t fitted = 0;                         // number of frames that were fitted
};

// Minimizes the sum of |residuals| of the energies per atom over all frames except isolated atoms, which lie far from
// any bulk, by least squares with weights 1 / |residual|. Where compositions do not tell elements apart, one of the
// equivalent solutions is taken; residuals do not depend on it. Needs three frames more than there are elements.
CompositionFit FitCompositions(absl::Span<const FrameFacts> frames);

}  // namespace rutile

#endif  // RUTILE_LIB_DATA_CHECK_COMPOSITION_FIT_H_
