// What is asked of triples: the loss and the quantity whose gradients are multiplied.

#ifndef RUTILE_TOOLS_TRACIN_GRAPHS_KGE_QUESTION_H_
#define RUTILE_TOOLS_TRACIN_GRAPHS_KGE_QUESTION_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/graph/triples_file.h"
#include "lib/kge/influence/kge_influence_options.h"
#include "lib/kge/model/kge_options.h"
#include "tools/tracin/tracin_flags.h"

namespace rutile {

// True if --loss or the curvature of --precondition=gauss-newton is that of the run, whatever it is.
bool AsksForTrainedLoss(const TracinFlags& flags);

// Reads --loss, --test_quantity, --by_triple and --label_test_tails. trained: the options of the run; graph: names
// of entities. INVALID_ARGUMENT naming flag, value and what would fit.
absl::StatusOr<KgeInfluenceOptions> KgeQuestionFromFlags(const TracinFlags& flags, const KgeOptions& trained,
                                                         const KnowledgeGraph& graph);

// The quantity of a test in influence files: "loss 1vsAll", "score", "margin", "difference to Fe".
std::string KgeQuantityText(const KgeInfluenceOptions& options, const KnowledgeGraph& graph);
// Reads it: sets quantity and rival. INVALID_ARGUMENT if it is none, or of a loss other than options.loss.
absl::Status ParseKgeQuantityText(const std::string& text, const KnowledgeGraph& graph, KgeInfluenceOptions* options);

// INVALID_ARGUMENT if --test_quantity is given and asks for something else than `found`, what the scores of a file are
// of.
absl::Status CheckAskedQuantity(const std::string& path, const KgeInfluenceOptions& found, const KnowledgeGraph& graph);

// INVALID_ARGUMENT naming the first of these flags that is given.
absl::Status RefuseKgeQuestion(const char* why);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_GRAPHS_KGE_QUESTION_H_
