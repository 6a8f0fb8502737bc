// Draws the entities that stand for all in a sampled softmax.

#ifndef RUTILE_LIB_KGE_TRAINING_SCORES_NEGATIVE_SAMPLES_H_
#define RUTILE_LIB_KGE_TRAINING_SCORES_NEGATIVE_SAMPLES_H_

#include <cstdint>
#include <vector>

namespace rutile {

// Returns `count` of 0 .. num_entities - 1, ascending: each set of so many is as likely. It is a function of the
// arguments alone, so that processes that share a batch draw the same. number: of the batch in its epoch. CHECK-fails
// unless 0 <= count <= num_entities.
std::vector<int32_t> DrawNegatives(uint64_t seed, int64_t epoch, int64_t number, int64_t num_entities, int64_t count);

// Returns the logarithm of what each of these counts for in a sum over all entities, log(num_entities / count).
double NegativeLogWeight(int64_t num_entities, int64_t count);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_TRAINING_SCORES_NEGATIVE_SAMPLES_H_
