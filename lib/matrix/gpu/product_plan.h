// How a product of matrices is divided among the blocks of a kernel.

#ifndef RUTILE_LIB_MATRIX_GPU_PRODUCT_PLAN_H_
#define RUTILE_LIB_MATRIX_GPU_PRODUCT_PLAN_H_

#include <algorithm>
#include <cstdint>

namespace rutile {

// A block computes a tile of c over a part of the sum.
struct ProductPlan {
  bool large = false;      // tiles of the large kind
  int64_t splits = 1;      // parts of the sum
  int64_t k_of_split = 0;  // terms of each part but the last, which may have fewer
  double cost = 0;         // multiply-adds that the busiest processor has time for meanwhile, roughly
};

struct ProductTileSize {
  int64_t rows, columns;
  double efficiency;   // speed in terms of large tiles'
  double alone = 1.3;  // time of a block that has a processor for itself, in terms of one of several
};

// Returns the cheapest plan by a rough model of a GPU, whose inputs are sizes alone, so that a repeated product is
// taken in the same order. Parts of the sum are for products with fewer tiles than processors.
//   slice: k_of_split is a multiple of it
//   most_scratch: the most numbers of all parts, which are kept until they are added
//   speed: of multiply-adds, in terms of those of CUDA cores
inline ProductPlan MakeProductPlan(int64_t m, int64_t n, int64_t k, int64_t processors, const ProductTileSize& large,
                                   const ProductTileSize& small, int64_t slice, int64_t most_scratch,
                                   double speed = 1) {
  constexpr int64_t kLeastTerms = 64, kMostSplits = 256;
  constexpr double kTermsOfStart = 48;     // what a block does before and after its sum, in terms of the sum
  constexpr double kAddition = 45;         // to write a number of a part and to add it later
  constexpr double kSecondLaunch = 640e3;  // of the kernel that adds parts
  const auto pieces = [](int64_t total, int64_t size) { return (total + size - 1) / size; };
  ProductPlan best;
  for (const ProductTileSize* const tile : {&large, &small}) {
    const int64_t tiles = pieces(m, tile->rows) * pieces(n, tile->columns);
    const int64_t most =
        std::max<int64_t>(1, std::min({kMostSplits, k / kLeastTerms, 4 * processors / tiles, most_scratch / (m * n)}));
    for (int64_t s = 1; s <= most; ++s) {
      ProductPlan plan;
      plan.large = tile == &large;
      plan.k_of_split = std::max(slice, pieces(pieces(k, s), slice) * slice);
      plan.splits = std::max<int64_t>(1, pieces(k, plan.k_of_split));
      const double load = static_cast<double>(pieces(tiles * plan.splits, processors));
      plan.cost = std::max(load, tile->alone) * static_cast<double>(tile->rows * tile->columns) / tile->efficiency *
                  (static_cast<double>(plan.k_of_split) + kTermsOfStart);
      if (plan.splits > 1) {
        plan.cost += speed * kAddition * static_cast<double>(plan.splits * m * n) / static_cast<double>(processors);
        plan.cost += speed * kSecondLaunch;
      }
      if (best.k_of_split == 0 || plan.cost < best.cost) best = plan;
    }
  }
  return best;
}

}  // namespace rutile

#endif  // RUTILE_LIB_MATRIX_GPU_PRODUCT_PLAN_H_
