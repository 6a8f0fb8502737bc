#include "tools/evaluate/graphs/new_entities.h"

#include <gflags/gflags.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "lib/base/status_macros.h"
#include "lib/file/commit_together.h"
#include "lib/graph/text/new_triples.h"
#include "lib/graph/triples_file.h"
#include "lib/kge/model/kge_file.h"
#include "lib/kge/model/kge_import.h"
#include "lib/kge/new_entities/fold_in.h"
#include "lib/kge/new_entities/grown_graph.h"
#include "lib/tensorfile/provenance.h"
#include "lib/tensorfile/tensor_header.h"
#include "lib/tensorfile/tensor_reader.h"
#include "tools/common/flags/thread_flags.h"
#include "tools/common/run/flag_domain.h"
#include "tools/common/run/given_flags.h"

DEFINE_string(new_triples, "",
              "Knowledge graphs: text file of triples of entities that the model does not know, each with one that it "
              "does: finds rows for them, all else fixed, and ranks or answers with them.");
DEFINE_string(output_triples, "",
              "Knowledge graphs: with --new_triples, write the triples with the new entities and their triples, which "
              "go with --output_model.");

namespace rutile {
namespace {

const bool for_embeddings = FlagsAreFor(FlagDomain::kEmbeddings, __FILE__);

constexpr char kCommand[] = "new_entities_command", kInputs[] = "new_entities_inputs";
constexpr size_t kNamesShown = 5;

// Returns `"X", "Y", ...` of the new entities: a misspelled name of a known one is among them.
std::string FirstNames(const std::vector<std::string>& names) {
  const auto quote = [](std::string* out, const std::string& name) { out->append(JsonQuote(name)); };
  const auto first = absl::MakeConstSpan(names).subspan(0, kNamesShown);
  return absl::StrCat(absl::StrJoin(first, ", ", quote), names.size() > kNamesShown ? ", ..." : "");
}

// Checks what can be refused without rows, since the search for them may be long.
absl::Status CheckNames(const TrainedKge& model, const KnowledgeGraph& grown) {
  TrainedKge names;
  names.names = model.names;
  names.names.entities = grown.entities;
  return CheckSameVocabulary(names, grown);
}

}  // namespace

bool AddsEntities() { return !FLAGS_new_triples.empty(); }

const std::string& NewTriplesFile() { return FLAGS_new_triples; }

bool WritesNewEntities(const std::string& output_model) {
  return AddsEntities() && (!output_model.empty() || !FLAGS_output_triples.empty());
}

absl::Status CheckNewEntityFlags(const std::string& output_model) {
  if (!AddsEntities()) return RefuseFlags("without --new_triples", {"output_triples"});
  if (FLAGS_new_triples == "-") {
    return absl::InvalidArgumentError("--new_triples=-: expected a file, whose hash results record");
  }
  RETURN_IF_ERROR(RefuseFlags("with --new_triples (write the model with --output_model, and use that)",
                              {"calibrate", "shard", "export_embeddings", "list_types"}));
  if (!WritesNewEntities(output_model)) return absl::OkStatus();
  return RefuseFlags("where --new_triples writes a model or triples, of which it can be asked afterward",
                     {"split", "filter", "direction", "ranking_convention", "device", "hits_at", "per_relation",
                      "min_mrr", "queries", "top_k", "probabilities", "known", "candidates", "head_candidates",
                      "tail_candidates", "output_dir", "base_rate", "false_answers", "train_log"});
}

absl::Status AddNewEntities(const ToolRun& run, KgeModels* models, KnowledgeGraph* graph) {
  for (size_t m = 0; m < models->models.size(); ++m) {
    RETURN_IF_ERROR(CheckLossIsKnown(models->models[m].metadata, models->paths[m], "--new_triples"));
  }
  ASSIGN_OR_RETURN(const NewTriples added, ReadNewTriples(FLAGS_new_triples, models->first().names));
  absl::StatusOr<KnowledgeGraph> grown = GrowGraph(models->first().names, *graph, added);
  if (!grown.ok()) return absl::InvalidArgumentError(absl::StrCat(run.args[1], ": ", grown.status().message()));
  if (const absl::Status status = CheckNames(models->first(), *grown); !status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(run.args[1], ": ", status.message()));
  }
  for (size_t m = 0; m < models->models.size(); ++m) {
    TrainedKge& model = models->models[m];
    const absl::StatusOr<FoldedRows> folded = FoldIn(model, added, *grown, ThreadsFromFlags());
    if (!folded.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(models->paths[m], ": ", folded.status().message()));
    }
    if (folded->num_stopped > 0) {
      PrintWarning(absl::StrFormat(
          "%s: the search for rows was stopped for %d of %d new entities, after many steps, at slopes of up to %.1e",
          models->paths[m], folded->num_stopped, added.names.size(), folded->largest_gradient));
    }
    const int64_t before = NumNewEntities(model.metadata);
    model = GrowModel(model, added, *grown, folded->rows);
    model.metadata[kNewEntitiesKey] = absl::StrCat(before + static_cast<int64_t>(added.names.size()));
    model.metadata[kCommand] = ShellCommand(run.command);
    ASSIGN_OR_RETURN(const Metadata made,
                     OutputMetadata(run, KgeSchema().kind, {models->paths[m], run.args[1], FLAGS_new_triples}));
    model.metadata[kInputs] = made.at("inputs");
  }
  *graph = *std::move(grown);
  PrintMessage(absl::StrCat(
      FLAGS_new_triples, ": ", added.names.size(), added.names.size() == 1 ? " new entity" : " new entities", " (",
      FirstNames(added.names), ") with ", added.triples.size(), added.triples.size() == 1 ? " triple" : " triples",
      added.num_repeated > 0 ? absl::StrCat("; ", added.num_repeated, " more repeat one, and do not count") : ""));
  return absl::OkStatus();
}

absl::Status WriteNewEntities(const ToolRun& run, const std::string& output_model, const KgeModels& models,
                              const KnowledgeGraph& graph) {
  Metadata metadata;
  if (!FLAGS_output_triples.empty()) {
    ASSIGN_OR_RETURN(metadata,
                     OutputMetadata(run, TriplesSchema().kind, {models.paths[0], run.args[1], FLAGS_new_triples}));
    metadata["entity_ids"] = "found";  // whatever gave the others, no file gave those of new entities
    ASSIGN_OR_RETURN(const TensorFile read, LookIntoTensorFile(run.args[1]));
    if (const auto split = read.metadata.find("split"); split != read.metadata.end()) metadata["split"] = split->second;
  }
  // A model without its triples would know nothing of them.
  CommitTogether together;
  if (!output_model.empty()) RETURN_IF_ERROR(WriteKgeModel(output_model, models.first()));
  if (!FLAGS_output_triples.empty()) RETURN_IF_ERROR(WriteTriples(FLAGS_output_triples, graph, metadata));
  RETURN_IF_ERROR(together.Commit());
  for (const std::string& path : {output_model, FLAGS_output_triples}) {
    if (!path.empty()) PrintMessage(absl::StrCat("wrote ", path));
  }
  return absl::OkStatus();
}

}  // namespace rutile
