// The largest of very many scores, in memory for twice as many as are asked for.

#ifndef RUTILE_LIB_INFLUENCE_TOP_SCORES_H_
#define RUTILE_LIB_INFLUENCE_TOP_SCORES_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "lib/influence/tracin_options.h"

namespace rutile {

// A training example on a list. Below 2^31 of them, so that an entry takes 16 bytes.
struct ScoredExample {
  double score = 0;
  int32_t train = 0;
  int32_t slot = 0;  // where its parts lie
};

// Of the scores added for one test, those that a ranking lists. Scores are finite and no example is added twice; ties
// go to the lower index, so the order of additions does not matter.
class TopScores {
 public:
  // k = 0: all. `parts` numbers are kept beside each score.
  TopScores(InfluenceRanking ranking, int64_t k, int64_t parts);

  // low() < score < high(): not listed, whatever the example. It pays to ask before Add. Not so for what is not finite.
  double low() const { return low_; }
  double high() const { return high_; }

  // part(p): the p-th part of the score, called only where the score is kept for now.
  void Add(double score, int64_t train, const std::function<double(int64_t)>& part);

  // What is listed, in the ranking's order; appended. part_score: parts() for each.
  void AppendSorted(std::vector<int64_t>* train, std::vector<double>* score, std::vector<double>* part_score);

 private:
  // The k best of one side.
  struct Side {
    InfluenceRanking ranking;
    std::vector<ScoredExample> entries;
    std::vector<double> parts;  // [slots, parts]
    ScoredExample worst;        // of the k that were best when last looked
    bool full = false;          // whether there is a worst
  };

  void AddTo(Side* side, const ScoredExample& entry, const std::function<double(int64_t)>& part);
  // Leaves the k best in a side.
  void Prune(Side* side);

  const InfluenceRanking ranking_;
  const int64_t k_;
  const int64_t parts_;
  std::vector<Side> sides_;  // two for kBoth
  double low_, high_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_INFLUENCE_TOP_SCORES_H_
