// Scales the moments of many-body potentials so that they stay moments: what belongs to one vector has one scale.

#ifndef RUTILE_LIB_POTENTIAL_MODEL_MOMENT_SCALING_H_
#define RUTILE_LIB_POTENTIAL_MODEL_MOMENT_SCALING_H_

#include "lib/descriptor/moment_options.h"
#include "lib/potential/model/scaling.h"

namespace rutile {

// Replaces the scaling of features that FeatureStatistics found by one that commutes with rotations. Means are 0, and a
// scale is that of all moments of the same degree l around the same central species: 1 / root of their mean square, or
// 1 for kind kNone. The scale is 0 for neighbors of a species that no training atom of the central species has, so that
// they count nothing.
//
// range: left as it is for l = 0, which are densities of neighbors; unlimited for the others, as they change with the
// axes. Both have the descriptor's species and features.
void ScaleMoments(const MomentOptions& options, FeatureScalingKind kind, FeatureScaling* scaling, FeatureRange* range);

// True if no atom of species `center` had neighbors of species `neighbor` in training.
bool IsUnseenPair(const MomentOptions& options, const FeatureScaling& scaling, int center, int neighbor);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_MODEL_MOMENT_SCALING_H_
