#include "tools/evaluate/graphs/rank_sample.h"

#include <gflags/gflags.h>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "lib/graph/triple_sample.h"
#include "tools/common/run/flag_domain.h"
#include "tools/common/run/given_flags.h"

DEFINE_int64(rank_sample, 0,
             "Knowledge graphs: rank a sample of so many triples of the split among all entities, the same in each run "
             "and that of train --rank_sample; 0: all triples.");

namespace rutile {
namespace {

const bool for_embeddings = FlagsAreFor(FlagDomain::kEmbeddings, __FILE__);

}  // namespace

absl::Status CheckRankSample(const EvaluateShard& shard) {
  if (FLAGS_rank_sample < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--rank_sample=", FLAGS_rank_sample, ": expected a number of triples, or 0 for all"));
  }
  if (!shard.is_part()) return absl::OkStatus();
  return RefuseFlags("with --shard, which ranks a part of all triples", {"rank_sample"});
}

std::optional<std::vector<int64_t>> RankSampleFromFlag(int64_t num_triples) {
  if (FLAGS_rank_sample == 0 || FLAGS_rank_sample >= num_triples) return std::nullopt;
  return SampleOfTriples(num_triples, FLAGS_rank_sample);
}

std::vector<Triple> RankedTriples(const KnowledgeGraph& graph, const RankTriplesOptions& options) {
  const absl::Span<const Triple> all = SplitTriples(graph, options.split);
  if (!options.triples.has_value()) return {all.begin(), all.end()};
  std::vector<Triple> ranked;
  for (const int64_t i : *options.triples) ranked.push_back(all[i]);
  return ranked;
}

}  // namespace rutile
