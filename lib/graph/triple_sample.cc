#include "lib/graph/triple_sample.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "lib/base/random.h"
#include "lib/base/random_subset.h"

namespace rutile {

std::vector<int64_t> SampleOfTriples(int64_t num_triples, int64_t count) {
  return RandomSubset(num_triples, std::min(count, num_triples), RandomStream(0, "rank_sample"));
}

std::string SampleNote(int64_t num_triples, int64_t count) {
  if (count >= num_triples) return "";
  return absl::StrCat("a sample of ", count, " of ", num_triples,
                      " triples is ranked: the figures have errors of chance");
}

}  // namespace rutile
