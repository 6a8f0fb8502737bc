#include "tools/tracin/graphs/kge_question.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "lib/base/status_macros.h"
#include "tools/common/run/flag_domain.h"
#include "tools/common/run/given_flags.h"
#include "tools/common/run/run_tool.h"

DECLARE_string(test_quantity);
DEFINE_string(
    loss, "triple",
    "Triples: the loss whose gradients are taken: triple (softplus of minus the triple's score, TiePin's); as train "
    "writes them, or shorter, 1-N or 1n (binary cross-entropy over all entities, all known tails true), 1-of-N or 1ofn "
    "(its own tail true), 1vsAll or ce (softmax, its own tail), KvsAll or kvsall (softmax, all known tails); or "
    "trained: that of the run, which is taken by itself with --precondition=gauss-newton.");
DEFINE_bool(label_test_tails, true,
            "Triples: with --loss=1-N or KvsAll, the tail of a test is true, though training may not have it.");
DEFINE_bool(by_triple, false,
            "Triples: with --loss=1-N or KvsAll, the gradient of a training triple is by how much that of its head and "
            "relation changes if it is left out; else all triples with this head and relation have the same. On by "
            "itself with --precondition=gauss-newton.");

namespace rutile {
namespace {

const bool for_embeddings = FlagsAreFor(FlagDomain::kEmbeddings, __FILE__);

// True if the loss is to be that of the run, whatever it is.
bool TakesTrained(const TracinFlags& flags) {
  return FLAGS_loss == "trained" || (flags.gauss_newton && !FlagGiven("loss"));
}

absl::StatusOr<KgeInfluenceLoss> LossFromFlags(const TracinFlags& flags, KgeLoss trained) {
  if (TakesTrained(flags)) return TrainedInfluenceLoss(trained);
  const absl::StatusOr<KgeInfluenceLoss> loss = kKgeInfluenceLossNames.Parse(FLAGS_loss);
  if (!loss.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--loss=", FLAGS_loss,
                                                   ": expected triple, trained, or 1-N, 1-of-N, 1vsAll or KvsAll, as "
                                                   "train has them (1n, 1ofn, ce, kvsall)"));
  }
  if (flags.gauss_newton && *loss != TrainedInfluenceLoss(trained)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--loss=", FLAGS_loss, ": with --precondition=gauss-newton the curvature is that of the run's loss, ",
        kKgeLossNames.Name(trained), ", and no other loss has its minimum there: leave it out"));
  }
  return loss;
}

// The flags that added something to the loss over scores of tails; empty if none did.
std::string AddedToLoss(const KgeOptions& options) {
  std::vector<std::string> added;
  if (options.regularizer != KgeRegularizer::kNone) {
    added.push_back(absl::StrCat("--regularizer=", kKgeRegularizerNames.Name(options.regularizer), " with a weight of ",
                                 options.regularization));
  }
  if (options.relation_prediction > 0) {
    added.push_back(absl::StrCat("--relation_prediction=", options.relation_prediction));
  }
  return absl::StrJoin(added, " and ");
}

// True if gradients can have all that was added: penalties of rows, for losses in which each triple has its own.
bool CanBePenalized(const KgeOptions& options) {
  return HasRowPenalty(options) && options.relation_prediction == 0 &&
         !NeedsKnownTails(TrainedInfluenceLoss(options.loss));
}

// The steps of such a run followed another gradient than that of a loss over scores of tails.
absl::Status CheckAddedToLoss(const TracinFlags& flags, const KgeOptions& options) {
  if (AddedToLoss(options).empty() || (TakesTrained(flags) && CanBePenalized(options))) return absl::OkStatus();
  const std::string added = absl::StrCat("the run added to its loss ", AddedToLoss(options), ", whose gradients",
                                         flags.gauss_newton ? " and curvature" : "", " scores of tails do not include",
                                         flags.gauss_newton ? ", so that they are too large" : "");
  if (!TakesTrained(flags)) {
    return WarnOrRefuse(flags, absl::StrCat(added, CanBePenalized(options) ? "; --loss=trained includes them" : ""));
  }
  return absl::InvalidArgumentError(absl::StrCat("--loss=trained: ", added, ": give --loss=",
                                                 kKgeLossNames.Name(options.loss), ", the loss of the run without it"));
}

void WarnOfSoftmax(KgeInfluenceLoss loss, const KgeOptions& options) {
  const KgeInfluenceLoss trained = TrainedInfluenceLoss(options.loss);
  if (loss != KgeInfluenceLoss::kTriple ||
      (trained != KgeInfluenceLoss::kCrossEntropy && trained != KgeInfluenceLoss::kKvsAll)) {
    return;
  }
  PrintWarning(absl::StrCat(
      "--loss=triple takes a score for a log-odds, but the run's loss, ", kKgeLossNames.Name(options.loss),
      ", is a softmax, which leaves open where scores begin: gradients of triples that are scored high all but "
      "vanish, and influence is of the others; --loss=",
      AddedToLoss(options).empty() || CanBePenalized(options) ? "trained" : kKgeLossNames.Name(options.loss),
      " takes the gradients that the run followed"));
}

// Returns the number of an entity.
absl::StatusOr<int32_t> EntityOf(absl::string_view name, const KnowledgeGraph& graph) {
  const auto found = std::find(graph.entities.begin(), graph.entities.end(), name);
  if (found != graph.entities.end()) return static_cast<int32_t>(found - graph.entities.begin());
  return absl::InvalidArgumentError(absl::StrCat("no entity is called \"", name, "\""));
}

absl::Status SetQuantity(const KnowledgeGraph& graph, KgeInfluenceOptions* options) {
  absl::string_view text = FLAGS_test_quantity;
  if (text == "auto" || text == "loss") return absl::OkStatus();
  if (text == "score") {
    options->quantity = KgeQuantity::kScore;
  } else if (text == "margin") {
    options->quantity = KgeQuantity::kMargin;
  } else if (absl::ConsumePrefix(&text, "difference:")) {
    options->quantity = KgeQuantity::kDifference;
    const absl::StatusOr<int32_t> rival = EntityOf(text, graph);
    if (!rival.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("--test_quantity=", FLAGS_test_quantity, ": ",
                                                     rival.status().message(), "; expected an entity of --train"));
    }
    options->rival = *rival;
  } else {
    return absl::InvalidArgumentError(absl::StrCat("--test_quantity=", FLAGS_test_quantity,
                                                   ": expected loss, score, margin or difference:ENTITY with triples"));
  }
  return absl::OkStatus();
}

}  // namespace

bool AsksForTrainedLoss(const TracinFlags& flags) { return flags.gauss_newton || TakesTrained(flags); }

absl::StatusOr<KgeInfluenceOptions> KgeQuestionFromFlags(const TracinFlags& flags, const KgeOptions& trained,
                                                         const KnowledgeGraph& graph) {
  KgeInfluenceOptions options;
  ASSIGN_OR_RETURN(options.loss, LossFromFlags(flags, trained.loss));
  WarnOfSoftmax(options.loss, trained);
  RETURN_IF_ERROR(CheckAddedToLoss(flags, trained));
  options.penalized = TakesTrained(flags) && CanBePenalized(trained);
  RETURN_IF_ERROR(SetQuantity(graph, &options));
  options.by_triple = FlagGiven("by_triple") ? FLAGS_by_triple : flags.gauss_newton && NeedsKnownTails(options.loss);
  const bool has_labels = flags.has_tests() && NeedsKnownTails(options.loss) && options.quantity == KgeQuantity::kLoss;
  options.label_test_tails = FLAGS_label_test_tails && (has_labels || FlagGiven("label_test_tails"));
  return options;
}

std::string KgeQuantityText(const KgeInfluenceOptions& options, const KnowledgeGraph& graph) {
  switch (options.quantity) {
    case KgeQuantity::kLoss:
      return absl::StrCat("loss ", kKgeInfluenceLossNames.Name(options.loss));
    case KgeQuantity::kDifference:
      return absl::StrCat("difference to ", graph.entities[options.rival]);
    case KgeQuantity::kScore:
    case KgeQuantity::kMargin:
      break;
  }
  return std::string(kKgeQuantityNames.Name(options.quantity));
}

absl::Status ParseKgeQuantityText(const std::string& text, const KnowledgeGraph& graph, KgeInfluenceOptions* options) {
  options->rival = -1;
  for (const KgeQuantity quantity : {KgeQuantity::kLoss, KgeQuantity::kScore, KgeQuantity::kMargin}) {
    options->quantity = quantity;
    if (text == KgeQuantityText(*options, graph)) return absl::OkStatus();
  }
  absl::string_view rest = text;
  if (!absl::ConsumePrefix(&rest, "difference to ")) {
    return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is no quantity of triples"));
  }
  options->quantity = KgeQuantity::kDifference;
  ASSIGN_OR_RETURN(options->rival, EntityOf(rest, graph));
  return absl::OkStatus();
}

absl::Status CheckAskedQuantity(const std::string& path, const KgeInfluenceOptions& found,
                                const KnowledgeGraph& graph) {
  if (!FlagGiven("test_quantity")) return absl::OkStatus();
  KgeInfluenceOptions asked;
  asked.loss = found.loss;
  RETURN_IF_ERROR(SetQuantity(graph, &asked));
  if (asked.quantity == found.quantity && asked.rival == found.rival) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--test_quantity=", FLAGS_test_quantity, ", but the scores of ", path,
                                                 " are of ", KgeQuantityText(found, graph),
                                                 ": leave it out, or give files of that quantity"));
}

absl::Status RefuseKgeQuestion(const char* why) { return RefuseFlags(why, {"loss", "by_triple", "sum_inverse"}); }

}  // namespace rutile
