#include "tools/tracin/graphs/kge_curvature.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "tools/common/run/run_tool.h"
#include "tools/tracin/graphs/kge_data.h"

namespace rutile {
namespace {

// Up to so many scores of all queries together each has a backward pass; beyond, each query has so many probes.
constexpr int64_t kAllScores = 4000000;
constexpr int kProbes = 8;
// What is taken where the damping of the run is unknown (docs/influence.md).
constexpr double kTraceDamping = 1;

int64_t NumQueries(std::vector<Triple> triples) {
  std::sort(triples.begin(), triples.end());
  int64_t queries = 0;
  for (size_t i = 0; i < triples.size(); ++i) {
    const bool same = i > 0 && triples[i].head == triples[i - 1].head && triples[i].relation == triples[i - 1].relation;
    queries += same ? 0 : 1;
  }
  return queries;
}

}  // namespace

absl::StatusOr<KgeCurvatureChoice> KgeCurvatureChoice::Create(const TracinFlags& flags,
                                                              const CheckpointSet& checkpoint_set,
                                                              const KgeShape& shape, KgeInfluenceLoss loss,
                                                              const KnowledgeGraph& graph) {
  KgeCurvatureChoice result;
  ASSIGN_OR_RETURN(result.flags_, CurvatureFromFlags(flags));
  if (!flags.gauss_newton) return result;
  KgeCurvatureOptions& options = result.options_.emplace();
  options.examples = graph.train;
  const auto relations = static_cast<int32_t>(graph.num_relations());
  for (size_t i = 0; graph.inverse_relations && i < graph.train.size(); ++i) {
    const Triple& triple = graph.train[i];
    options.examples.push_back({triple.tail, triple.relation + relations, triple.head});
  }
  options.probes = result.flags_.probes;
  if (options.probes < 0) {
    options.probes = NumQueries(options.examples) * shape.num_entities > kAllScores ? kProbes : 0;
  }
  options.seed = flags.seed;
  options.memory_limit = flags.options.memory_limit;
  result.triples_sha256_ = TripleExamplesSha256(graph, options.examples);
  result.num_parameters_ = shape.offsets().size;
  const int64_t d = shape.dim(), of_relation = shape.relation_dim(),
                features = shape.is_conve() ? shape.num_features() : 0;
  result.bytes_ =
      8 * (shape.num_entities * d * d + shape.num_relations * of_relation * of_relation + features * features);
  if (!result.flags_.from_run) return result;
  absl::StatusOr<std::vector<std::vector<double>>> dampings = DampingsOfRun(checkpoint_set, shape.Slices());
  if (dampings.ok()) {
    result.dampings_ = *std::move(dampings);
    return result;
  }
  result.flags_.from_run = false;
  result.flags_.trace = kTraceDamping;
  PrintMessage(absl::StrCat(dampings.status().message(), ": --damping=", result.flags_.Text(), " is taken"));
  return result;
}

std::optional<KgeCurvatureOptions> KgeCurvatureChoice::At(size_t index) const {
  std::optional<KgeCurvatureOptions> options = options_;
  if (!options.has_value()) return options;
  if (flags_.from_run) {
    options->damping = dampings_[index];
  } else if (flags_.constant > 0) {
    options->damping.assign(num_parameters_, flags_.constant);
  } else {
    options->trace_damping = flags_.trace;
  }
  return options;
}

void KgeCurvatureChoice::Describe(std::map<std::string, std::string>* settings) const {
  if (!options_.has_value()) return;
  (*settings)["damping"] = flags_.Text();
  (*settings)["probes"] = absl::StrCat(options_->probes);
  (*settings)["gauss_newton_examples"] = triples_sha256_;
  if (options_->probes > 0) (*settings)["seed"] = absl::StrCat(options_->seed);
}

}  // namespace rutile
