// The labels that losses compare scores with, after smoothing: no array of them is needed.

#ifndef RUTILE_LIB_KGE_MODEL_KGE_LABELS_H_
#define RUTILE_LIB_KGE_MODEL_KGE_LABELS_H_

#include <cstdint>

#include "lib/kge/model/kge_options.h"

namespace rutile {

// Every entity's label is base; those of true tails are base + extra.
struct SmoothedLabels {
  double base = 0;
  double extra = 1;
};

// As LabelSmoothing says, for a query with num_true true tails among num_entities >= 2. The labels of softmax losses
// are then divided by their sum, that of 1vsAll, too.
SmoothedLabels SmoothLabels(const KgeOptions& options, int64_t num_entities, int64_t num_true);

// Cross-entropy of a softmax over entities; the others are binary cross-entropies.
inline bool IsSoftmaxLoss(KgeLoss loss) { return loss == KgeLoss::kOneVsAll || loss == KgeLoss::kKvsAll; }

// An example is a key (head, relation) with all its training tails; else it is a triple.
inline bool IsKeyLoss(KgeLoss loss) { return loss == KgeLoss::kOneToN || loss == KgeLoss::kKvsAll; }

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_MODEL_KGE_LABELS_H_
