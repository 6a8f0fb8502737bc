// The results of tracin as tables, and as the CSV and JSON files of TiePin.

#ifndef RUTILE_TOOLS_TRACIN_INFLUENCE_TABLES_H_
#define RUTILE_TOOLS_TRACIN_INFLUENCE_TABLES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lib/influence/influence_file.h"
#include "lib/influence/tracin.h"
#include "tools/tracin/influence_domain.h"
#include "tools/tracin/output_flags.h"

namespace rutile {

struct TracinResult {
  Influence influence;
  InfluenceDescription description;
  bool single = false;                      // --mode=single: the JSON is a list
  const InfluenceDomain* domain = nullptr;  // null: no names (--merge without --train)

  bool is_self() const { return influence.tests.empty(); }
  bool is_aggregate() const { return influence.tests.size() == 1 && influence.tests[0] < 0; }
};

// Places in train_self of the top_k (0: all) largest, descending; a tie goes to the lower example.
std::vector<int64_t> LargestSelf(const Influence& influence, int64_t top_k);

// A header row, then a row for each listed pair, or for each training example of self-influence.
std::string ResultToTsv(const TracinResult& result);

// CSV and JSON, where asked for. INVALID_ARGUMENT where there are no triples.
absl::Status WriteTiepinFiles(const TracinResult& result, const OutputFlags& outputs);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_INFLUENCE_TABLES_H_
