// What the curvatures of an embedding model's checkpoints are made of: triples, damping and probes.

#ifndef RUTILE_TOOLS_TRACIN_GRAPHS_KGE_CURVATURE_H_
#define RUTILE_TOOLS_TRACIN_GRAPHS_KGE_CURVATURE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/graph/triples_file.h"
#include "lib/kge/influence/kge_curvature_options.h"
#include "lib/kge/influence/kge_influence_options.h"
#include "lib/kge/model/kge_shape.h"
#include "tools/tracin/checkpoint_set.h"
#include "tools/tracin/curvature_flags.h"
#include "tools/tracin/tracin_flags.h"

namespace rutile {

class KgeCurvatureChoice {
 public:
  // Reads the flags and prints what is taken for a damping that is unknown. graph: with the run's training triples.
  static absl::StatusOr<KgeCurvatureChoice> Create(const TracinFlags& flags, const CheckpointSet& checkpoint_set,
                                                   const KgeShape& shape, KgeInfluenceLoss loss,
                                                   const KnowledgeGraph& graph);

  // Returns the options of checkpoint or model number `index` of the set; none without --precondition=gauss-newton.
  std::optional<KgeCurvatureOptions> At(size_t index) const;
  // Memory of a checkpoint's blocks.
  int64_t bytes() const { return bytes_; }
  // Adds what decides the matrices to the settings of an influence file.
  void Describe(std::map<std::string, std::string>* settings) const;

 private:
  CurvatureFlags flags_;
  int64_t num_parameters_ = 0, bytes_ = 0;
  std::string triples_sha256_;
  std::vector<std::vector<double>> dampings_;  // [checkpoints, P] of the run, or empty
  std::optional<KgeCurvatureOptions> options_;
};

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_GRAPHS_KGE_CURVATURE_H_
