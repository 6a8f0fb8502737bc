// Probabilities of a model's answers: fitting them, and using those that a model has.

#ifndef RUTILE_TOOLS_EVALUATE_GRAPHS_MODEL_CALIBRATION_H_
#define RUTILE_TOOLS_EVALUATE_GRAPHS_MODEL_CALIBRATION_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/calibration/calibration.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/kge/model/kge_file.h"
#include "lib/ranking/candidates.h"
#include "lib/ranking/kge_scorer.h"
#include "lib/ranking/rank_options.h"
#include "tools/common/run/run_tool.h"
#include "tools/evaluate/graphs/candidate_flags.h"

namespace rutile {

// True if --calibrate is given.
bool Calibrates();

// Checks the flags of this file. INVALID_ARGUMENT naming the flag.
absl::Status CheckCalibrationFlags();

// The probabilities that a model has.
struct ModelCalibration {
  Calibration calibration;
  double base_rate = 0.5;                // that of --base_rate, else that of the fit
  std::string among;                     // the entities that false answers were drawn from, for people
  std::string among_tails, among_heads;  // hashes of the candidates of either side; "" for all entities
  std::string triples;                   // the hash of the triples that were fitted, as of DescribeSplits
  int64_t num_trained = 0;               // entities of the model without those that were folded in
};

// Returns the probabilities of the model of the file `path`, or nullopt if it has none. INVALID_ARGUMENT naming the
// file and what is wrong with them.
absl::StatusOr<std::optional<ModelCalibration>> CalibrationOf(const TrainedKge& model, const std::string& path);

// Warns if answers are among other candidates than the probabilities were fitted for. candidates: of all relations and
// both sides, null for all entities; sides: those that are asked for.
void WarnOfOtherCandidates(const ModelCalibration& calibration, const KnowledgeGraph& graph,
                           const Candidates* candidates, const CandidateSides& sides);

// Measures them on the triples of a split, of these sides. candidates: of all relations, null for all entities.
absl::StatusOr<CalibrationMeasures> MeasureModel(const ModelCalibration& calibration, const KgeScorer& scorer,
                                                 const KnowledgeGraph& graph, GraphSplit split, bool heads,
                                                 const Candidates* candidates);

// Implements --calibrate: fits probabilities to the validation triples, prints how good they are there and on the test
// triples, and writes the model with them to `output`. candidates: of all relations, or null for all entities.
// INVALID_ARGUMENT: no triples to fit to.
absl::Status CalibrateModel(const ToolRun& run, const TrainedKge& model, const KgeScorer& scorer,
                            const KnowledgeGraph& graph, const Candidates* candidates, const std::string& output);

}  // namespace rutile

#endif  // RUTILE_TOOLS_EVALUATE_GRAPHS_MODEL_CALIBRATION_H_
