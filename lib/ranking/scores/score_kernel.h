// Computes scores of queries against entities, <hidden, entity> + bias, as products of small tiles in registers.
//
// A score is one chain of multiply-adds over the dimensions in order, whatever the tile, block or thread, and whether
// it is computed in a tile or alone. On one machine a score therefore has the same bits wherever it comes from, equal
// rows have equal scores, and a target can be compared with a row whose score is computed later.

#ifndef RUTILE_LIB_RANKING_SCORES_SCORE_KERNEL_H_
#define RUTILE_LIB_RANKING_SCORES_SCORE_KERNEL_H_

#include <cstdint>

namespace rutile {

constexpr int kMaxTileQueries = 12;

// Number of entities in a panel, which are adjacent for each dimension: at most 32 floats or 16 doubles.
template <typename T>
int PanelWidth();

// Number of queries at which ScoreTile is most efficient: at most kMaxTileQueries.
template <typename T>
int TileQueries();

// Packs entities for ScoreTile. entity: [n, dim], n >= 1. panels: [ceil(n / W)][dim][W] with W = PanelWidth(), padded
// with 0.
template <typename T>
void PackPanels(const T* entity, int64_t n, int64_t dim, T* panels);

// Computes scores[q * stride + e] for 1..kMaxTileQueries queries and all entities of `num_panels` panels. hidden:
// [queries, dim]; bias: [num_panels * W]; stride >= num_panels * W.
template <typename T>
void ScoreTile(const T* hidden, int queries, int64_t dim, const T* panels, int64_t num_panels, const T* bias, T* scores,
               int64_t stride);

// Returns one score, with the bits that ScoreTile gives.
template <typename T>
T ScoreOne(const T* hidden, const T* entity, int64_t dim, T bias);

// Computes scores[i] of the entities ids[i], i < n, of a table [num, dim], with the bits of ScoreOne, several at a
// time. bias: [num], or null.
template <typename T>
void ScoreSome(const T* hidden, const T* table, int64_t dim, const T* bias, const int32_t* ids, int64_t n, T* scores);

// Adds the numbers of scores [n] above `target` to `greater`, and of those equal to it to `equal`. NaN is neither.
template <typename T>
void CountScores(const T* scores, int64_t n, T target, int64_t* greater, int64_t* equal);

// Copies the scores [n] of the entities first .. first + n - 1 to `kept` [n], with left_out in the place of those that
// are not in a set, whose bits are those of EntitySet::bits().
template <typename T>
void KeepScores(const T* scores, int64_t n, const uint64_t* bits, int64_t first, T left_out, T* kept);

}  // namespace rutile

#endif  // RUTILE_LIB_RANKING_SCORES_SCORE_KERNEL_H_
