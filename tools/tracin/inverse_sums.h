// Products of triples with their inverse examples added up: both are one fact, which is there or left out as a whole.

#ifndef RUTILE_TOOLS_TRACIN_INVERSE_SUMS_H_
#define RUTILE_TOOLS_TRACIN_INVERSE_SUMS_H_

#include <memory>

#include "lib/task/gradient_products.h"

namespace rutile {

// Returns products whose training example i is the sum of examples i and n + i of `products`, which has 2 n. Squares of
// training examples must not be asked for.
std::unique_ptr<GradientProducts> SumInverses(std::unique_ptr<GradientProducts> products);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_INVERSE_SUMS_H_
