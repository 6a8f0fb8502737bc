// Scores of queries against entities, <hidden, entity> + bias, as products of small tiles that stay in registers.
//
// A score is one chain of multiply-adds over the dimensions in order, whatever the tile, the block or the thread, and
// whether it is made in a tile or alone. So a score has the same bits wherever it comes from on one machine, equal rows
// have equal scores, and a target can be compared with a row that has not been made yet.

#ifndef RUTILE_LIB_RANKING_SCORE_KERNEL_H_
#define RUTILE_LIB_RANKING_SCORE_KERNEL_H_

#include <cstdint>

namespace rutile {

constexpr int kMaxTileQueries = 12;

// Entities in a panel, which lie beside each other for each dimension: at most 32 floats, 16 doubles.
template <typename T>
int PanelWidth();

// Queries that ScoreTile works on at its best: at most kMaxTileQueries.
template <typename T>
int TileQueries();

// entity: [n, dim], n >= 1. panels: [ceil(n / W)][dim][W]; what the last panel has in excess becomes 0.
template <typename T>
void PackPanels(const T* entity, int64_t n, int64_t dim, T* panels);

// scores[q * stride + e] for 1..kMaxTileQueries queries and all entities of `num_panels` panels. hidden: [queries,
// dim]; bias: [num_panels * W]; stride >= num_panels * W.
template <typename T>
void ScoreTile(const T* hidden, int queries, int64_t dim, const T* panels, int64_t num_panels, const T* bias, T* scores,
               int64_t stride);

// One score, with the bits that ScoreTile gives.
template <typename T>
T ScoreOne(const T* hidden, const T* entity, int64_t dim, T bias);

// scores[i] of the entities ids[i], i < n, of a table [num, dim]: each with the bits of ScoreOne, some at a time. bias:
// [num], or null.
template <typename T>
void ScoreSome(const T* hidden, const T* table, int64_t dim, const T* bias, const int32_t* ids, int64_t n, T* scores);

// Adds to `greater` and `equal` how many of scores [n] are greater than `target`, and how many equal to it. NaN is
// neither.
template <typename T>
void CountScores(const T* scores, int64_t n, T target, int64_t* greater, int64_t* equal);

}  // namespace rutile

#endif  // RUTILE_LIB_RANKING_SCORE_KERNEL_H_
