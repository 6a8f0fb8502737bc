#include "tools/evaluate/graphs/kge_models.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "lib/file/input_files.h"
#include "lib/file/sha256.h"
#include "lib/graph/triples_file.h"
#include "lib/kge/model/kge_import.h"
#include "lib/kge/model/kge_options.h"
#include "lib/kge/new_entities/grown_graph.h"
#include "lib/kge/training/model_scorer.h"
#include "lib/ranking/ensemble_scorer.h"
#include "lib/tensorfile/file_kind.h"
#include "lib/tensorfile/tensor_reader.h"
#include "tools/common/run/flag_domain.h"
#include "tools/common/run/given_flags.h"
#include "tools/evaluate/models.h"

DEFINE_string(
    kge_loss, "",
    "Knowledge graphs: loss that a model of PyKEEN was trained with, 1vsAll, KvsAll or 1-N, which its file does "
    "not say.");

namespace rutile {
namespace {

const bool for_embeddings = FlagsAreFor(FlagDomain::kEmbeddings, __FILE__);

// Sets the loss of a model whose file does not say it.
absl::Status SetLossFromFlag(ForeignKge* foreign) {
  if (FLAGS_kge_loss.empty()) return absl::OkStatus();
  const absl::StatusOr<KgeLoss> loss = kKgeLossNames.Parse(FLAGS_kge_loss);
  if (!loss.ok() || *loss == KgeLoss::kOneOfN) {
    return absl::InvalidArgumentError(absl::StrCat("--kge_loss=", FLAGS_kge_loss, ": expected 1vsAll, KvsAll or 1-N"));
  }
  if (foreign->loss_known) {
    return absl::InvalidArgumentError(absl::StrCat("--kge_loss: ", foreign->path, " is of ", foreign->project,
                                                   ", whose models are all trained with ",
                                                   kKgeLossNames.Name(foreign->shape.options.loss), ": leave it out"));
  }
  foreign->shape.options.loss = *loss;
  foreign->loss_known = true;
  return absl::OkStatus();
}

absl::StatusOr<TrainedKge> Import(const ToolRun& run, const std::string& path, int64_t embedding_height,
                                  const std::string& output_model, std::optional<KnowledgeGraph>* graph) {
  if (embedding_height < 0) {
    return absl::InvalidArgumentError(absl::StrCat("--embedding_height=", embedding_height, ": expected at least 1"));
  }
  ASSIGN_OR_RETURN(const TensorFile file, ReadTensorFile(path));
  ASSIGN_OR_RETURN(ForeignKge foreign, ReadForeignKge(file, embedding_height));
  RETURN_IF_ERROR(SetLossFromFlag(&foreign));
  if (run.args.size() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": a model of ", foreign.project,
                     " has no names: name the file of triples behind it whose ids it was trained with"));
  }
  ASSIGN_OR_RETURN(*graph, ReadTriples(run.args[1]));
  ASSIGN_OR_RETURN(TrainedKge model, NameForeignKge(foreign, **graph));
  PrintMessage(absl::StrCat(path, ": a model of ", foreign.project, ", ConvE (",
                            kConveVariantNames.Name(model.shape.options.variant), ") of ", model.shape.dim(),
                            " numbers; its ids are taken to be those of ", run.args[1],
                            foreign.loss_known ? "" : "; its loss is not known (--kge_loss)"));
  if (!output_model.empty()) {
    ASSIGN_OR_RETURN(Metadata metadata, OutputMetadata(run, KgeSchema().kind, {path, run.args[1]}));
    model.metadata.insert(metadata.begin(), metadata.end());
    RETURN_IF_ERROR(WriteKgeModel(output_model, model));
    PrintMessage(absl::StrCat("wrote ", output_model));
  }
  return model;
}

}  // namespace

absl::StatusOr<KgeScorer> KgeModels::Scorer(int num_threads) const {
  std::vector<KgeScorer> scorers;
  for (const TrainedKge& model : models) scorers.push_back(MakeScorer(model.shape, model.parameters, num_threads));
  if (!is_ensemble()) return std::move(scorers[0]);
  return MakeEnsembleScorer(std::move(scorers), num_threads);
}

int64_t NumFoldedIn(const KgeModels& models) {
  int64_t most = 0;
  for (const TrainedKge& model : models.models) most = std::max(most, NumNewEntities(model.metadata));
  return most;
}

absl::StatusOr<KgeModels> ReadKgeModels(const ToolRun& run, int64_t embedding_height, const std::string& output_model,
                                        std::optional<KnowledgeGraph>* graph) {
  KgeModels result;
  const std::vector<std::string> arguments = SplitInputs(run.args[0]);
  for (const std::string& path : arguments) RETURN_IF_ERROR(RefuseRunDirectory(path));
  ASSIGN_OR_RETURN(result.paths, ExpandInputs(arguments));
  std::set<std::string> hashes;
  for (size_t i = 0; i < result.paths.size(); ++i) {
    const std::string& path = result.paths[i];
    if (result.paths.size() > 1) {
      ASSIGN_OR_RETURN(std::string hash, Sha256HexOfFile(path));
      if (!hashes.insert(std::move(hash)).second) {
        return absl::InvalidArgumentError(absl::StrCat(path, ": is given twice, and would count twice"));
      }
    }
    ASSIGN_OR_RETURN(const TensorFile look, LookIntoTensorFile(path));
    if (!IsForeignKge(look)) {
      RETURN_IF_ERROR(RefuseFlags("with a model of ours", {"embedding_height", "kge_loss"}));
      ASSIGN_OR_RETURN(TrainedKge model, ReadKgeModel(path));
      result.models.push_back(std::move(model));
    } else if (result.paths.size() > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat(path,
                       ": is of another project; --output_model writes it as a model of ours, which can be one of "
                       "several"));
    } else {
      ASSIGN_OR_RETURN(TrainedKge model, Import(run, path, embedding_height, output_model, graph));
      result.models.push_back(std::move(model));
    }
    if (i == 0) continue;
    const absl::Status status = CheckSameVocabulary(result.models[i], result.models[0].names);
    if (!status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          path, " and ", result.paths[0], ": are of different graphs, and cannot answer together: ", status.message()));
    }
  }
  return result;
}

}  // namespace rutile
