// Finds structures whose labels are predictions of the model itself: frames of a simulation that the model drove, which
// ASE writes with the results of its calculator as "energy" and "forces". As references they show no error, and a model
// that learns them learns nothing.

#ifndef RUTILE_TOOLS_EVALUATE_OWN_LABELS_H_
#define RUTILE_TOOLS_EVALUATE_OWN_LABELS_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "lib/evaluation/structure_prediction.h"

namespace rutile {

// Returns for each structure whether its labels are the predictions. Labels and predictions are the same if energies
// differ by at most 1e-5 eV/atom, components of forces by 1e-4 eV/Angstrom (of the largest, if that is above 1
// eV/Angstrom) and those of stresses by 1e-5 eV/Angstrom^3: ten times what fp32 and fp64 differ by, and far below the
// errors of a model. A structure with forces above 0.01 eV/Angstrom that are the same counts by itself. Others, with
// energies alone or with forces that vanish by symmetry, count if the labels of all structures are the same and there
// are two at least. Single atoms count for nothing by themselves, as a model may know their energies.
std::vector<bool> LabelsThatArePredictions(absl::Span<const StructurePrediction> predictions);

// Warns of them; "" if there are none.
std::string OwnLabelsWarning(absl::Span<const StructurePrediction> predictions);

}  // namespace rutile

#endif  // RUTILE_TOOLS_EVALUATE_OWN_LABELS_H_
