// Chooses from a pool the structures that are worth most to compute next. All choices are greedy, one structure after
// the other, and of equal candidates the first is taken.

#ifndef RUTILE_LIB_POTENTIAL_INFLUENCE_STRUCTURE_CHOICE_H_
#define RUTILE_LIB_POTENTIAL_INFLUENCE_STRUCTURE_CHOICE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/machine/parallel_for.h"

namespace rutile {

// A chosen candidate, and what it was chosen for.
struct Choice {
  int64_t index = 0;
  double score = 0;
};

// Chooses by how much the sum of the variances of targets falls when a candidate is learned (A-optimal design of
// experiments). Candidate j adds an output with the row h_j, measured with the variance `noise`; the covariance K of
// the parameters becomes K - K h h^T K / (noise + h^T K h), and the next candidate is chosen with that. The score is
// what the sum over targets t of g_t^T K g_t falls by.
//
// Rows are L^-1 h and L^-1 g for K = (L L^T)^-1: candidates [n, size], targets [m, size]; without targets, the
// candidates are the targets. count: at most n. The work is O((n + m) n size + count (n + m) n). RESOURCE_EXHAUSTED if
// the covariances, 8 (n + m) n bytes, exceed `memory_limit` bytes (0: no limit).
absl::StatusOr<std::vector<Choice>> ChooseByVariance(int64_t size, absl::Span<const double> candidates,
                                                     absl::Span<const double> targets, double noise, int64_t count,
                                                     int64_t memory_limit, ThreadPool* pool);

// Chooses the candidate whose nearest neighbor, among those chosen before and the origin, is farthest. points: [n,
// size]. The score is that distance.
std::vector<Choice> ChooseFarthest(int64_t size, absl::Span<const double> points, int64_t count);

// Chooses the largest scores above 0, at most `count`. NaN counts as the largest.
std::vector<Choice> ChooseLargest(absl::Span<const double> scores, int64_t count);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_INFLUENCE_STRUCTURE_CHOICE_H_
