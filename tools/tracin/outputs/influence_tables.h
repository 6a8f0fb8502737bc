// Formats the results of tracin as tables, and as TiePin's CSV and JSON files.

#ifndef RUTILE_TOOLS_TRACIN_OUTPUTS_INFLUENCE_TABLES_H_
#define RUTILE_TOOLS_TRACIN_OUTPUTS_INFLUENCE_TABLES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lib/influence/files/influence_file.h"
#include "lib/influence/tracin.h"
#include "tools/tracin/influence_domain.h"
#include "tools/tracin/outputs/output_flags.h"

namespace rutile {

// The results of one computation.
struct TracinResult {
  Influence influence;
  InfluenceDescription description;
  size_t num_tests = 0;                     // number asked for; influence lacks those with existing files
  bool single = false;                      // --mode=single: the JSON is a list
  const InfluenceDomain* domain = nullptr;  // null: no names (--merge without --train)

  bool is_self() const { return influence.tests.empty(); }
  bool is_aggregate() const { return influence.tests.size() == 1 && influence.tests[0] < 0; }
};

// Returns the positions in train_self of the top_k (0: all) largest values, descending; of ties the lower example comes
// first.
std::vector<int64_t> LargestSelf(const Influence& influence, int64_t top_k);

// Returns a header and one row for each listed pair, or for each training example of self-influence.
std::string ResultToTsv(const TracinResult& result);

// Writes CSV and JSON files if requested, except those that --skip_existing keeps. INVALID_ARGUMENT if there are no
// triples.
absl::Status WriteTiepinFiles(const TracinResult& result, const OutputFlags& outputs);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_OUTPUTS_INFLUENCE_TABLES_H_
