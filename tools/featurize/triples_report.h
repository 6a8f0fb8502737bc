// Prints what featurize found in the files of a knowledge graph.

#ifndef RUTILE_TOOLS_FEATURIZE_TRIPLES_REPORT_H_
#define RUTILE_TOOLS_FEATURIZE_TRIPLES_REPORT_H_

#include <cstdint>

#include "lib/graph/text/build_graph.h"

namespace rutile {

// Prints formats as messages, and anomalies as warnings with their number, fate and first place.
void PrintTriplesReport(const BuildGraphOptions& options, const BuiltGraph& built);

// Returns how many lines of triples are not in the graph.
int64_t NumLeftOut(const BuildGraphOptions& options, const BuildGraphReport& report);

}  // namespace rutile

#endif  // RUTILE_TOOLS_FEATURIZE_TRIPLES_REPORT_H_
