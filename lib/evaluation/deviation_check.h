// Compares the sizes of errors with the standard deviations that were predicted for them.
//
//   for (const DeviationCheck& each : DeviationChecksOf(predictions)) LOG(INFO) << DescribeDeviationCheck(each);

#ifndef RUTILE_LIB_EVALUATION_DEVIATION_CHECK_H_
#define RUTILE_LIB_EVALUATION_DEVIATION_CHECK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "lib/evaluation/structure_prediction.h"

namespace rutile {

// Errors with similar standard deviations.
struct DeviationBin {
  double deviation = 0, error = 0;  // roots of the mean squares
};

struct DeviationCheck {
  std::string quantity;  // "energy", of structures, or "force", of components
  std::string unit;      // of errors and deviations
  std::string measure;   // "uncertainty", or "spread" of a committee
  int64_t count = 0;
  int64_t structures = 0;  // that have such errors; 0 from CheckDeviations
  double rmse = 0, rms_deviation = 0;
  double correlation = 0;  // Pearson's, of |error| and deviation; NaN if one of them does not vary
  double within_1 = 0,
         within_2 = 0;             // shares of errors below one and two deviations; of a normal distribution .683, .954
  std::vector<DeviationBin> bins;  // at most 10 of equal numbers of errors, by deviation
};

// Fills all but the names and the number of structures. error, deviation: [n], n > 0.
DeviationCheck CheckDeviations(absl::Span<const double> error, absl::Span<const double> deviation);

// Returns what can be compared: energies per atom in meV and force components in eV/Angstrom, with their uncertainties
// and spreads. A component of a force has a third of its atom's mean square spread. Values that are not finite are left
// out.
std::vector<DeviationCheck> DeviationChecksOf(absl::Span<const StructurePrediction> predictions);

// Returns a line: "energy: rmse 5.1 meV/atom, root mean square uncertainty 4.8; 70.0 % of 20 errors in 20 structures
// ...".
std::string DescribeDeviationCheck(const DeviationCheck& calibration);

}  // namespace rutile

#endif  // RUTILE_LIB_EVALUATION_DEVIATION_CHECK_H_
