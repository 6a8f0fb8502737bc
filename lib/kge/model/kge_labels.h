// Labels after smoothing, which losses compare scores with. Two numbers describe them, so that no array is needed.

#ifndef RUTILE_LIB_KGE_MODEL_KGE_LABELS_H_
#define RUTILE_LIB_KGE_MODEL_KGE_LABELS_H_

#include <cstdint>

#include "lib/kge/model/kge_options.h"

namespace rutile {

// The label of an entity is base, and base + extra if it is a true tail.
struct SmoothedLabels {
  double base = 0;
  double extra = 1;
};

// Returns the labels of options.smoothing_form for a query with num_true true tails among num_entities >= 2 entities.
// For softmax losses, also 1vsAll, labels are then divided by their sum.
SmoothedLabels SmoothLabels(const KgeOptions& options, int64_t num_entities, int64_t num_true);

// True if the loss is the cross-entropy of a softmax over entities; the others are binary cross-entropies.
inline bool IsSoftmaxLoss(KgeLoss loss) { return loss == KgeLoss::kOneVsAll || loss == KgeLoss::kKvsAll; }

// True if an example is a key (head, relation) with all its training tails; for other losses it is a triple.
inline bool IsKeyLoss(KgeLoss loss) { return loss == KgeLoss::kOneToN || loss == KgeLoss::kKvsAll; }

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_MODEL_KGE_LABELS_H_
