#include "tools/cache-neighbors/cache_triples.h"

#include <gflags/gflags.h>

#include <chrono>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/base/status_macros.h"
#include "lib/graph/known_file.h"
#include "lib/graph/neighborhood.h"
#include "lib/graph/triples_file.h"
#include "lib/tensorfile/file_kind.h"
#include "lib/tensorfile/tensor_reader.h"
#include "tools/common/flags/output_flags.h"
#include "tools/common/run/flag_domain.h"
#include "tools/common/run/given_flags.h"

DEFINE_int32(hops, -1,
             "Knowledge graph: write, instead of known tails, the triples among entities that at most so many training "
             "triples separate from --entities.");
DEFINE_validator(hops, [](const char*, int32_t value) { return value >= -1; });
DEFINE_string(entities, "", "Knowledge graph: file with an entity's name in each line, for --hops.");

namespace rutile {
namespace {

const bool for_embeddings = FlagsAreFor(FlagDomain::kEmbeddings, __FILE__);

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

absl::Status WriteKnown(const ToolRun& run, const KnowledgeGraph& graph, const std::string& output) {
  const auto start = std::chrono::steady_clock::now();
  const KnownTails known = AllKnownTails(graph);
  ASSIGN_OR_RETURN(const Metadata metadata, OutputMetadata(run, KnownSchema().kind, run.args));
  RETURN_IF_ERROR(WriteKnownTails(output, graph, known, metadata));
  PrintMessage(absl::StrFormat("%d (head, relation), %d known tails, %.1f for each; %.2f s -> %s", known.num_keys(),
                               known.num_tails(), static_cast<double>(known.num_tails()) / known.num_keys(),
                               SecondsSince(start), output));
  return absl::OkStatus();
}

absl::Status WriteNeighborhood(const ToolRun& run, const KnowledgeGraph& graph, const std::string& output) {
  const auto start = std::chrono::steady_clock::now();
  ASSIGN_OR_RETURN(const std::vector<int32_t> entities, ReadEntities(FLAGS_entities, graph));
  ASSIGN_OR_RETURN(const Neighborhood cut, CutNeighborhood(graph, entities, FLAGS_hops));
  ASSIGN_OR_RETURN(const Metadata metadata, OutputMetadata(run, TriplesSchema().kind, {run.args[0], FLAGS_entities}));
  RETURN_IF_ERROR(WriteTriples(output, cut.graph, metadata));
  PrintMessage(
      absl::StrFormat("%d of %d entities (%s by hop), %d relations; triples: train %d, valid %d, test %d; %.2f s -> %s",
                      cut.graph.num_entities(), graph.num_entities(), absl::StrJoin(cut.entities_by_hop, " + "),
                      cut.graph.num_relations(), cut.graph.train.size(), cut.graph.valid.size(), cut.graph.test.size(),
                      SecondsSince(start), output));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> IsTriplesInput(const ToolRun& run) {
  if (run.args.empty() || !LooksLikeTensorFile(run.args[0])) return false;
  ASSIGN_OR_RETURN(const TensorFile file, LookIntoTensorFile(run.args[0]));
  const absl::StatusOr<FileKind> kind = GetFileKind(file);
  return kind.ok() && kind->name == "kg.triples";
}

absl::Status RefuseTriplesFlags() { return RefuseFlagsFor(FlagDomain::kEmbeddings, "with structures"); }

absl::Status CacheTriples(const ToolRun& run) {
  RETURN_IF_ERROR(RefuseFlagsFor(FlagDomain::kPotentials, "with a knowledge graph"));
  RETURN_IF_ERROR(RefuseFlags("with a knowledge graph", {"threads", "progress"}));
  if (run.args.size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(run.args[1], ": expected one file of triples, and no other input"));
  }
  if ((FLAGS_hops >= 0) != !FLAGS_entities.empty()) {
    return absl::InvalidArgumentError(FLAGS_hops >= 0 ? "--hops needs --entities, a file with a name in each line"
                                                      : "--entities needs --hops, how far from them");
  }
  ASSIGN_OR_RETURN(const std::string output, OutputFromFlags());
  ASSIGN_OR_RETURN(const KnowledgeGraph graph, ReadTriples(run.args[0]));
  return FLAGS_hops >= 0 ? WriteNeighborhood(run, graph, output) : WriteKnown(run, graph, output);
}

}  // namespace rutile
