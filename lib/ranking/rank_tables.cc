#include "lib/ranking/rank_tables.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/base/tsv_cell.h"
#include "lib/file/file.h"

namespace rutile {
namespace {

constexpr size_t kBufferBytes = 1 << 20;

void AppendRanks(const RankValues& rank, std::string* out) {
  absl::StrAppendFormat(out, "\t%g\t%g\t%g", rank.realistic, rank.optimistic, rank.pessimistic);
}

// Appends the rank among candidates; an empty cell for a target that is none.
void AppendRankAmong(const RankValues& rank, std::string* out) {
  *out += '\t';
  if (!rank.outside) absl::StrAppendFormat(out, "%g", rank.realistic);
}

// Returns a label, or "" if there are no labels of this kind.
std::string Label(const std::vector<std::string>& labels, int32_t id) {
  return labels.empty() ? "" : TsvCell(labels[id]);
}

}  // namespace

absl::Status WriteRanksTsv(absl::string_view path, const KnowledgeGraph& graph, absl::Span<const Triple> triples,
                           const TripleRanks& ranks) {
  CHECK(ranks.tail.size() == triples.size()) << ranks.tail.size() << " vs. " << triples.size();
  const bool heads = !ranks.head.empty();
  const bool labels = !graph.entity_labels.empty() || !graph.relation_labels.empty();
  ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  std::string buffer = absl::StrCat(
      "head\trelation\ttail", labels ? "\thead_label\trelation_label\ttail_label" : "",
      "\ttail_rank\ttail_optimistic\ttail_pessimistic", heads ? "\thead_rank\thead_optimistic\thead_pessimistic" : "",
      ranks.tail_among.empty() ? "" : "\ttail_rank_among", ranks.head_among.empty() ? "" : "\thead_rank_among", "\n");
  for (size_t i = 0; i < triples.size(); ++i) {
    const Triple& t = triples[i];
    absl::StrAppend(&buffer, TsvCell(graph.entities[t.head]), "\t", TsvCell(graph.relations[t.relation]), "\t",
                    TsvCell(graph.entities[t.tail]));
    if (labels) {
      absl::StrAppend(&buffer, "\t", Label(graph.entity_labels, t.head), "\t", Label(graph.relation_labels, t.relation),
                      "\t", Label(graph.entity_labels, t.tail));
    }
    AppendRanks(ranks.tail[i], &buffer);
    if (heads) AppendRanks(ranks.head[i], &buffer);
    if (!ranks.tail_among.empty()) AppendRankAmong(ranks.tail_among[i], &buffer);
    if (!ranks.head_among.empty()) AppendRankAmong(ranks.head_among[i], &buffer);
    buffer += '\n';
    if (buffer.size() < kBufferBytes) continue;
    RETURN_IF_ERROR(file.Append(buffer));
    buffer.clear();
  }
  RETURN_IF_ERROR(file.Append(buffer));
  return file.Commit();
}

}  // namespace rutile
