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
// For softmax losses, also 1vsAll, labels are then divided by their sum. With group_queries they are the mean of the
// labels of num_true triples: the sum of the triples' losses is num_true times the loss with the mean of their labels,
// as a cross-entropy is linear in its labels.
SmoothedLabels SmoothLabels(const KgeOptions& options, int64_t num_entities, int64_t num_true);

// True if the loss is the cross-entropy of a softmax over entities; the others are binary cross-entropies.
inline bool IsSoftmaxLoss(KgeLoss loss) { return loss == KgeLoss::kOneVsAll || loss == KgeLoss::kKvsAll; }

// True if all known tails of a key (head, relation) are true for the loss; for other losses it is a triple's own alone.
inline bool IsKeyLoss(KgeLoss loss) { return loss == KgeLoss::kOneToN || loss == KgeLoss::kKvsAll; }

// True if group_queries counts: it does for 1vsAll alone.
inline bool GroupsQueries(const KgeOptions& options) {
  return options.group_queries && options.loss == KgeLoss::kOneVsAll;
}

// True if a training example is a key with all its training tails, else it is a triple.
inline bool LearnsKeys(const KgeOptions& options) { return IsKeyLoss(options.loss) || GroupsQueries(options); }

// How many examples a query with num_true true tails counts for in the loss, which is a mean.
inline double QueryWeight(const KgeOptions& options, int64_t num_true) {
  return GroupsQueries(options) ? static_cast<double>(num_true) : 1.0;
}

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_MODEL_KGE_LABELS_H_
