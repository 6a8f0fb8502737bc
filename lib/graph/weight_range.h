// Which numbers can be weights of triples.

#ifndef RUTILE_LIB_GRAPH_WEIGHT_RANGE_H_
#define RUTILE_LIB_GRAPH_WEIGHT_RANGE_H_

namespace rutile {

// The least weight above 0, and the largest. Beyond these, sums and shares of weights would not be numbers.
inline constexpr double kLeastTripleWeight = 1e-30, kLargestTripleWeight = 1e30;

// True for 0 and for weights in this range; false for NaN.
inline bool IsTripleWeight(double weight) {
  return weight == 0 || (weight >= kLeastTripleWeight && weight <= kLargestTripleWeight);
}

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_WEIGHT_RANGE_H_
