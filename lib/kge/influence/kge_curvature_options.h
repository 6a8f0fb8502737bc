// Options of the curvature of an embedding model's training loss.

#ifndef RUTILE_LIB_KGE_INFLUENCE_KGE_CURVATURE_OPTIONS_H_
#define RUTILE_LIB_KGE_INFLUENCE_KGE_CURVATURE_OPTIONS_H_

#include <cstdint>
#include <vector>

#include "lib/graph/triple.h"

namespace rutile {

struct KgeCurvatureOptions {
  std::vector<Triple> examples;  // the training triples of the run, with those of inverse relations if it learned them
  std::vector<double> damping;   // D, [P] of all parameters, each > 0 but for buffers; empty: trace_damping
  double trace_damping = 0.1;    // D = trace_damping tr(H) / the number of parameters that are no buffers
  // How the derivatives of a query's scores by its head's row, its relation's row and the layers are found. 0: exactly,
  // with a backward pass for each entity. m > 0: from m random combinations of scores, whose mean square is exact on
  // average.
  int probes = 0;
  uint64_t seed = 0;  // of the combinations
  // Entities whose weight W_q[e, e] in a query is less than this share of the mean of the query's weights add w v v^T
  // to their rows by the mean of v v^T over all such weights. 0: each adds its own.
  double least_weight = 0.01;
  int64_t memory_limit = 0;  // bytes that the blocks may take; 0: no limit
};

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_INFLUENCE_KGE_CURVATURE_OPTIONS_H_
