// Computes scores that are distances, bias - |hidden - entity| (score_form.h), as score_kernel.h computes products:
// from the same panels, and with the same bits in a tile and alone.
//
// Differences are taken before they are squared, so that near entities have distances as exact as far ones.

#ifndef RUTILE_LIB_RANKING_SCORES_DISTANCE_KERNEL_H_
#define RUTILE_LIB_RANKING_SCORES_DISTANCE_KERNEL_H_

#include <cstdint>

#include "lib/ranking/scores/score_form.h"

namespace rutile {

// Computes scores[q * stride + e] for any number of queries and all entities of `num_panels` panels (PackPanels).
// hidden: [queries, dim]; bias: [num_panels * W]; stride >= num_panels * W. dim is even for kModuli. CHECK-fails for
// kDot.
template <typename T>
void DistanceTile(ScoreForm form, const T* hidden, int64_t queries, int64_t dim, const T* panels, int64_t num_panels,
                  const T* bias, T* scores, int64_t stride);

// Returns one score, with the bits that DistanceTile gives.
template <typename T>
T DistanceOne(ScoreForm form, const T* hidden, const T* entity, int64_t dim, T bias);

}  // namespace rutile

#endif  // RUTILE_LIB_RANKING_SCORES_DISTANCE_KERNEL_H_
