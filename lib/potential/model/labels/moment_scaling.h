// Scales the moments of many-body potentials so that they stay moments: what belongs to one vector has one scale.

#ifndef RUTILE_LIB_POTENTIAL_MODEL_LABELS_MOMENT_SCALING_H_
#define RUTILE_LIB_POTENTIAL_MODEL_LABELS_MOMENT_SCALING_H_

#include <vector>

#include "lib/descriptor/moment_options.h"
#include "lib/potential/model/labels/scaling.h"

namespace rutile {

// Replaces the scaling of features that FeatureStatistics found by one that commutes with rotations. Means are 0, and
// the scale of radial function n (from 1) and degree l is 1 / (n root of the mean square) over all moments of this
// degree around the same central species; for kind kNone it is 1. The scale is 0 for neighbors of a species that no
// training atom of the central species has, so that they count nothing.
//
// In ideal crystals moments of degrees above 0 vanish by symmetry, and what is left is rounding. A degree whose root of
// the mean square is at most 1e-4 of that of l = 0 gets scale 0; the others are divided by at least 0.01 of it.
//
// The factor 1/n makes potentials smooth between the data: radial functions that oscillate fast take larger
// coefficients, which training reaches later. Such priors are common in atomic cluster expansions (W. C. Witt et al.,
// J. Chem. Phys. 159, 164101 (2023), sec. II D).
//
// range: left as it is for l = 0, which are densities of neighbors; unlimited for the others, as they change with the
// axes. Components of degrees that vanish may be 1e-3 of the root of the mean square of l = 0, those of degrees below
// 0.01 of it 0.03, or more where rotations of training structures have more. Both have the descriptor's species and
// features.
void ScaleMoments(const MomentOptions& options, FeatureScalingKind kind, FeatureScaling* scaling, FeatureRange* range);

// The degrees above 0 that vanish around all training atoms of species `center`, as in ideal crystals, and whose scale
// is therefore 0.
std::vector<int> VanishingDegrees(const MomentOptions& options, const FeatureScaling& scaling, int center);

// True if no atom of species `center` had neighbors of species `neighbor` in training.
bool IsUnseenPair(const MomentOptions& options, const FeatureScaling& scaling, int center, int neighbor);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_MODEL_LABELS_MOMENT_SCALING_H_
