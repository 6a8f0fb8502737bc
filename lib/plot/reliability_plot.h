// Draws how true probabilities are.

#ifndef RUTILE_LIB_PLOT_RELIABILITY_PLOT_H_
#define RUTILE_LIB_PLOT_RELIABILITY_PLOT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace rutile {

// Groups of answers with similar probabilities: the mean probability, the share of true answers, and the group's share
// of all answers, each from 0 to 1 and of one length.
struct ReliabilityData {
  std::vector<double> predicted, observed, share;
};

// Draws the observed shares over the predicted ones with the diagonal, on which they should lie, and below it how the
// answers are spread over probabilities. Returns an SVG file. Errors: INVALID_ARGUMENT if there is no group, otherwise
// those of RunGnuplot (NOT_FOUND: gnuplot not installed).
absl::StatusOr<std::string> ReliabilityPlot(const ReliabilityData& data);

}  // namespace rutile

#endif  // RUTILE_LIB_PLOT_RELIABILITY_PLOT_H_
