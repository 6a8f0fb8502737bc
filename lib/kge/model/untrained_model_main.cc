// Writes an untrained model of kind kge/1, for tests of tools that read models and for timing them: untrained_model
// TRIPLES MODEL conve|distmult|complex|rescal|cp|simple|transe|rotate|tucker VARIANT DIM HEIGHT INVERSES(0|1)
// LOSS.

#include <cstdlib>
#include <iostream>
#include <vector>

#include "absl/status/status.h"
#include "lib/base/status_macros.h"
#include "lib/graph/triples_file.h"
#include "lib/kge/model/kge_file.h"
#include "lib/kge/model/kge_init.h"

namespace rutile {
namespace {

absl::Status Write(char** argv) {
  ASSIGN_OR_RETURN(KnowledgeGraph graph, ReadTriples(argv[1]));
  TrainedKge model;
  KgeOptions& options = model.shape.options;
  ASSIGN_OR_RETURN(options.model, kKgeModelNames.Parse(argv[3]));
  ASSIGN_OR_RETURN(options.variant, kConveVariantNames.Parse(argv[4]));
  options.embedding_dim = std::atoi(argv[5]);
  options.embedding_height = std::atoi(argv[6]);
  options.embedding_width = options.embedding_dim / options.embedding_height;
  ASSIGN_OR_RETURN(options.loss, kKgeLossNames.Parse(argv[8]));
  RETURN_IF_ERROR(CheckKgeOptions(options));
  graph.train.clear();
  graph.valid.clear();
  graph.test.clear();
  graph.inverse_relations = argv[7][0] == '1';
  model.names = graph;
  model.shape.num_entities = graph.num_entities();
  model.shape.num_relations = graph.num_query_relations();
  model.parameters = InitialKgeTensor(model.shape, /*seed=*/1, DType::kF32);
  model.metadata = {{"tool", "untrained_model"}, {"version", "0"}, {"command", ""}, {"inputs", "{}"}};
  return WriteKgeModel(argv[2], model);
}

}  // namespace
}  // namespace rutile

int main(int argc, char** argv) {
  if (argc != 9) {
    std::cerr << "untrained_model TRIPLES MODEL conve|distmult|complex|rescal|cp|simple|transe|rotate|tucker "
                 "VARIANT DIM HEIGHT INVERSES LOSS\n";
    return 1;
  }
  const absl::Status status = rutile::Write(argv);
  if (!status.ok()) std::cerr << "untrained_model: " << status.message() << "\n";
  return status.ok() ? 0 : 1;
}
