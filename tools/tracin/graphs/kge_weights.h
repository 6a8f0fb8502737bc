// Weights of triples and known-false triples in tracin: what multiplies the losses of examples, and whether they are
// the run's.

#ifndef RUTILE_TOOLS_TRACIN_GRAPHS_KGE_WEIGHTS_H_
#define RUTILE_TOOLS_TRACIN_GRAPHS_KGE_WEIGHTS_H_

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "lib/graph/known_tails.h"
#include "lib/kge/model/kge_file.h"
#include "tools/tracin/checkpoint_set.h"
#include "tools/tracin/graphs/kge_data.h"
#include "tools/tracin/tracin_flags.h"

namespace rutile {

// Returns what multiplies the losses of the training examples: their weights, and of known-false ones also
// negative_weight, the run's; empty: all 1.
std::vector<double> LossWeights(const KgeData& data, double negative_weight);

// Returns the weights of known.all_tails(), the tails of the training triples; empty: all 1.
std::vector<double> KnownWeights(const KgeData& data, const KnownTails& known);

// Warns or refuses, as the flags say, unless the run had the weights and known-false triples of the data. model: the
// first of the checkpoints, if these are models.
absl::Status CheckSameWeights(const TracinFlags& flags, const CheckpointSet& checkpoint_set,
                              const std::optional<TrainedKge>& model, const KgeData& data);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_GRAPHS_KGE_WEIGHTS_H_
