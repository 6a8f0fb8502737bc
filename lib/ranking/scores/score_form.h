// How a query's vector q and an entity's row e make a score, bias - distance or <q, e> + bias.

#ifndef RUTILE_LIB_RANKING_SCORES_SCORE_FORM_H_
#define RUTILE_LIB_RANKING_SCORES_SCORE_FORM_H_

namespace rutile {

// kDot: <q, e> + bias. The others are bias - distance: kL1, sum_k |q_k - e_k|; kL2, the square root of sum_k (q_k -
// e_k)^2; kModuli, for rows [re | im] of d / 2 complex numbers, sum_k |q_k - e_k| over their moduli.
enum class ScoreForm { kDot, kL1, kL2, kModuli };

inline bool IsDistance(ScoreForm form) { return form != ScoreForm::kDot; }

}  // namespace rutile

#endif  // RUTILE_LIB_RANKING_SCORES_SCORE_FORM_H_
