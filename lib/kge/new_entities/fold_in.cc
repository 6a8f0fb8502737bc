#include "lib/kge/new_entities/fold_in.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/graph/known_tails.h"
#include "lib/kge/model/kge_options.h"
#include "lib/kge/new_entities/key_weights.h"
#include "lib/kge/new_entities/minimize.h"
#include "lib/kge/new_entities/other_queries.h"
#include "lib/kge/new_entities/row_objective.h"
#include "lib/kge/new_entities/row_prior.h"
#include "lib/kge/new_entities/row_queries.h"
#include "lib/kge/new_entities/table_loss.h"
#include "lib/kge/training/model_scorer.h"
#include "lib/machine/parallel_for.h"
#include "lib/tensorfile/tensor_header.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

constexpr double kTolerance = 1e-9;  // of the gradient by z, whose elements are of the order of 1 before
constexpr int64_t kMostEvaluations = 1000;
constexpr double kFlat = 1e-7;  // of the value of ConvE's objectives
// A smooth objective with a larger slope is not at its minimum: 1e-4 moves z by at most 1e-4 / kPriorWeight.
constexpr double kLargestGradient = 1e-4;

}  // namespace

absl::StatusOr<FoldedRows> FoldIn(const TrainedKge& model, const NewTriples& added, const KnowledgeGraph& grown,
                                  int num_threads) {
  const ProfileScope scope(Stage::kPredict);
  if (IsDistanceModel(model.shape.options.model)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "new entities are folded into models whose scores are products, and those of ",
        kKgeModelNames.Name(model.shape.options.model), " are distances: train with the new triples (--init_from)"));
  }
  ThreadPool pool(num_threads);
  const std::unique_ptr<RowQueries> queries = MakeRowQueries(model.shape, model.parameters, &pool);
  ASSIGN_OR_RETURN(const RowPrior prior, RowPrior::Create(model.shape, model.parameters, &pool));
  TableLoss table(model.shape, model.parameters, &pool);
  const KgeScorer scorer = MakeScorer(model.shape, model.parameters, num_threads);
  // The known part of the training triples; the new triples name entities that have no row yet.
  const auto num_known = static_cast<int32_t>(model.shape.num_entities);
  std::vector<Triple> train;
  std::vector<double> train_weights;
  for (size_t i = 0; i < grown.train.size(); ++i) {
    const Triple& t = grown.train[i];
    if (t.head >= num_known || t.tail >= num_known) continue;
    train.push_back(t);
    if (!grown.train_weights.empty()) train_weights.push_back(grown.train_weights[i]);
  }
  const KnownTails known = KnownTails::Build({train}, grown.num_relations(), grown.inverse_relations);
  const KeyWeights weights(train, train_weights, grown.num_relations(), grown.inverse_relations);
  const OtherQueries others(model.shape, known, weights, scorer, &table, &pool);
  FoldedRows result;
  for (size_t i = 0; i < added.names.size(); ++i) {
    const auto id = static_cast<int32_t>(num_known + i);
    std::vector<Triple> triples;
    std::copy_if(added.triples.begin(), added.triples.end(), std::back_inserter(triples),
                 [&](const Triple& t) { return t.head == id || t.tail == id; });
    const RowExamples examples =
        MakeRowExamples(model.shape, known, weights, triples, id, grown.num_relations(), grown.inverse_relations);
    RowObjective objective(examples, model.shape, scorer, prior, others, queries.get(), &table);
    const Minimum minimum = Minimize([&](absl::Span<const double> z, absl::Span<double> g) { return objective(z, g); },
                                     std::vector<double>(prior.size(), 0.0), kTolerance, kMostEvaluations,
                                     model.shape.is_conve() ? kFlat : 0);
    std::vector<double> row = prior.FromStandard(minimum.x);
    for (const double x : row) {
      if (std::isfinite(x) && std::isfinite(minimum.value) && std::isfinite(minimum.gradient_norm)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("the row of ", JsonQuote(added.names[i]), " is not finite: are the model's scores?"));
    }
    result.rows.push_back(std::move(row));
    result.largest_gradient = std::max(result.largest_gradient, minimum.gradient_norm);
    const bool at_limit = minimum.evaluations >= kMostEvaluations;
    if (at_limit || (!model.shape.is_conve() && minimum.gradient_norm > kLargestGradient)) ++result.num_stopped;
  }
  return result;
}

}  // namespace rutile
