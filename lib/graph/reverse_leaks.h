// Finds triples of valid and test whose answer training gives away in another form: reversed, or under another name.
//
// (h, r, t) is given away by (t, r', h) in training if r' is nearly always the inverse of r, or r itself and r is
// symmetric; and by (h, r', t) if r' nearly always accompanies r. FB15k and WN18 had such tests, and simple rules beat
// models on them (Toutanova and Chen, CVSC 2015; Dettmers et al., AAAI 2018).

#ifndef RUTILE_LIB_GRAPH_REVERSE_LEAKS_H_
#define RUTILE_LIB_GRAPH_REVERSE_LEAKS_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/graph/knowledge_graph.h"

namespace rutile {

// A pair of relations, one of which gives the other away.
struct RelationLeak {
  enum Kind { kInverse, kSymmetric, kSame };
  Kind kind = kInverse;
  int32_t relation = 0;  // r, of the tests
  int32_t other = 0;     // r', in training; equal to r if it is symmetric
  int64_t count = 0;     // tests that it gives away, each counted for one pair
  double share = 0;      // of all triples of r, those for which r' has the counterpart
};

// What training gives away of one split.
struct LeakReport {
  int64_t count = 0;                // triples of the split
  std::vector<RelationLeak> pairs;  // by falling count, then ids
  std::vector<char> leaks;          // for each triple of the split, whether it is given away
};

// Returns the leaks of valid and test. A pair of relations counts if r' has the counterpart of at least 4 in 5 triples
// of r in all splits, and of twice as many as chance would give: the share of pairs of its heads and tails that r'
// joins in training. Training triples of weight 0 are not learned and give nothing away; they are facts of their
// relations all the same. Takes time in proportion to triples, and to the relations that join the pairs of tests.
std::array<LeakReport, 2> FindReverseLeaks(const KnowledgeGraph& graph);

// Describes the pairs that give most away: "\"r_inv\" as inverse of \"r\" (12, 100 %)"; at most `limit`.
std::string DescribeLeaks(const LeakReport& report, const KnowledgeGraph& graph, int limit);

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_REVERSE_LEAKS_H_
