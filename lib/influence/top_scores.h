// Selects the largest of very many scores, in memory for twice the requested number.

#ifndef RUTILE_LIB_INFLUENCE_TOP_SCORES_H_
#define RUTILE_LIB_INFLUENCE_TOP_SCORES_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "lib/influence/tracin_options.h"

namespace rutile {

// A training example on a list. There are fewer than 2^31 of them, so that an entry takes 16 bytes.
struct ScoredExample {
  double score = 0;
  int32_t train = 0;
  int32_t slot = 0;  // index of its parts
};

// Selects, among the scores added for one test, those that a ranking lists. Scores are finite and no example is added
// twice; ties go to the lower index, so the order of additions does not matter.
class TopScores {
 public:
  // k = 0 lists all. `parts` numbers are stored with each score.
  TopScores(InfluenceRanking ranking, int64_t k, int64_t parts);

  // If low() < score < high(), the score will not be listed, whatever the example; callers check this before Add to
  // save time. A score that is not finite is never between them.
  double low() const { return low_; }
  double high() const { return high_; }

  // Adds a score. part(p) returns the p-th part of it, and is called only if the score is stored for now.
  void Add(double score, int64_t train, const std::function<double(int64_t)>& part);

  // Appends the listed examples in the ranking's order. part_score: the parts of each.
  void AppendSorted(std::vector<int64_t>* train, std::vector<double>* score, std::vector<double>* part_score);

 private:
  // The k best scores of one end of the ranking.
  struct Side {
    InfluenceRanking ranking;
    std::vector<ScoredExample> entries;
    std::vector<double> parts;  // [slots, parts]
    ScoredExample worst;        // worst of the k best at the last Prune
    bool full = false;          // whether `worst` is set
  };

  void AddTo(Side* side, const ScoredExample& entry, const std::function<double(int64_t)>& part);
  // Drops all but the k best of a side.
  void Prune(Side* side);

  const InfluenceRanking ranking_;
  const int64_t k_;
  const int64_t parts_;
  std::vector<Side> sides_;  // two for kBoth
  double low_, high_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_INFLUENCE_TOP_SCORES_H_
