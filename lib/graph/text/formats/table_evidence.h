// Judges by the triples of a graph whether its tables were read as they were meant: a first line that names columns,
// and the order of head, relation and tail. No list of words decides this, because every program has its own titles.

#ifndef RUTILE_LIB_GRAPH_TEXT_FORMATS_TABLE_EVIDENCE_H_
#define RUTILE_LIB_GRAPH_TEXT_FORMATS_TABLE_EVIDENCE_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "lib/graph/knowledge_graph.h"

namespace rutile {

// The first line of a table, taken for a triple.
struct FirstLine {
  std::string place;  // "train.txt:1"
  std::string shown;  // the line as the message shows it
  Triple triple;
};

// How sure a judgment is.
enum class Evidence {
  kNone,    // nothing speaks for it
  kSome,    // worth a warning
  kStrong,  // hardly any graph looks like this
};

// A judgment of a first line or of the columns, and what it rests on, as a sentence for people.
struct TableJudgment {
  Evidence evidence = Evidence::kNone;
  std::string reason;
};

// Judges which first lines are names of columns. Result: one for each line. A triple whose relation and both entities
// are in no other triple stands alone; the names of columns do, while of real triples at most a few do. It is strong
// evidence if at least two others exist and at most one in a thousand of them stands alone, too, or if the entities
// stand alone and all three words are usual titles. It is some evidence if the entities alone do, at least 20 others
// exist, and at most one in ten does so, too. Lines that several files share count as one.
std::vector<TableJudgment> JudgeFirstLines(const KnowledgeGraph& graph, absl::Span<const FirstLine> lines);

// Judges whether another column holds the relation. Relations are fewer than heads or tails, and things are heads here
// and tails there. It is some evidence if there are as many relations as tails (or heads), and no tail is a head; it is
// strong if, further, most relations are also entities; then the column that shares no names with the others holds
// relations. It is some evidence, too, if there are more relations than entities, fewer than two triples for each, and
// most of them with one triple: a column of numbers or sentences taken for the relation. reason names the flag with
// the likely columns.
TableJudgment JudgeColumnOrder(const KnowledgeGraph& graph);

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_TEXT_FORMATS_TABLE_EVIDENCE_H_
