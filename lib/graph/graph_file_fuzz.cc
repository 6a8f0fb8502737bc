// Reads damaged files of kinds kg.triples/1 and kg.known/1: the result is one line that names the file, or ids within
// the vocabulary. The input of the target damages a whole file (lib/testing/damaged_file.h). Runs with libFuzzer, and
// as a test.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "lib/base/logging.h"
#include "lib/graph/known_file.h"
#include "lib/graph/known_tails.h"
#include "lib/graph/triples_file.h"
#include "lib/testing/damaged_file.h"

namespace {

const rutile::KnowledgeGraph& Graph() {
  static const rutile::KnowledgeGraph& graph = *[] {
    auto* graph = new rutile::KnowledgeGraph();
    graph->entities = {"a", "b", "c"};
    graph->relations = {"r", "s"};
    graph->train = {{0, 0, 1}, {2, 1, 0}};
    graph->valid = {{0, 0, 2}};
    graph->test = {{0, 0, 0}};
    return graph;
  }();
  return graph;
}

std::string WholeTriples() {
  const rutile::ScratchFile file;
  CHECK(rutile::WriteTriples(file.path(), Graph(), {}).ok());
  return rutile::WithoutChecksums(file.Contents());
}

std::string WholeKnown() {
  const rutile::ScratchFile file;
  CHECK(rutile::WriteKnownTails(file.path(), Graph(), rutile::AllKnownTails(Graph()), {}).ok());
  return rutile::WithoutChecksums(file.Contents());
}

void ReadTriples(const std::string& path) {
  const absl::StatusOr<rutile::KnowledgeGraph> graph = rutile::ReadTriples(path);
  rutile::CheckOutcome(graph, path);
  if (!graph.ok()) return;
  for (const rutile::Triple& triple : graph->train) {
    CHECK(triple.head >= 0 && triple.head < graph->num_entities());
    CHECK(triple.tail >= 0 && triple.tail < graph->num_entities());
    CHECK(triple.relation >= 0 && triple.relation < graph->num_relations());
  }
  rutile::AllKnownTails(*graph);
}

void ReadKnown(const std::string& path) {
  const absl::StatusOr<rutile::KnownTails> known = rutile::ReadKnownTails(path, Graph());
  rutile::CheckOutcome(known, path);
  if (!known.ok()) return;
  for (const int32_t tail : known->all_tails()) CHECK(tail >= 0 && tail < Graph().num_entities());
  for (const rutile::Triple& triple : Graph().train) known->Tails(triple.head, triple.relation);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string& triples = *new std::string(WholeTriples());
  static const std::string& known = *new std::string(WholeKnown());
  rutile::ForEachDamage(triples, data, size, ReadTriples);
  rutile::ForEachDamage(known, data, size, ReadKnown);
  return 0;
}
