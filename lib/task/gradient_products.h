// Products of the gradients of single examples, which influence is made of: <grad l(i), grad l'(j)> for training
// examples i and test examples j, at one checkpoint.
//
// The counterpart of Task for influence: a domain fills tiles of products in whatever way is fast for its models,
// without forming gradients where it can, and lib/influence sums checkpoints, normalizes and keeps the largest. An
// object is made for one checkpoint; it knows the training examples, 0 to num_train() - 1, the test examples, 0 to
// num_tests() - 1, and what is differentiated for each: the loss, or for tests another quantity (a predicted energy).
//
// Everything is in evaluation mode (running statistics, no dropout), so that examples do not depend on each other.

#ifndef RUTILE_LIB_TASK_GRADIENT_PRODUCTS_H_
#define RUTILE_LIB_TASK_GRADIENT_PRODUCTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/task/parameter_slice.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// What a domain is told of a checkpoint.
struct WeightedCheckpoint {
  Tensor parameters;                // flat [P], F32 or F64, in the order of the domain's slices
  std::vector<double> loss_weight;  // [terms] by which a term's loss of an example counts; empty: each by 1
  // Flat [P], not negative, of the parameters' type: each product of two numbers of the gradients is multiplied by it
  // (Adam: 1 / (sqrt(v) + eps)). Without elements: by 1.
  Tensor preconditioner;
};

// A part of the parameters whose products are added up and given apart: all, or a block, or a single slice.
struct ProductPart {
  std::string name;
  std::vector<int> slices;  // indices in slices(), none of them a buffer; a slice is in at most one part
};

// Products of B training examples with H held tests. Memory is reused.
struct ProductTile {
  std::vector<double> product;       // [parts, B, H]
  std::vector<double> train_square;  // [parts, B] |grad l(i)|^2, with the preconditioner; filled where asked for
};

// One thread at a time may use an object, which may use several. Results do not depend on their number, nor on how
// examples are cut into tiles, but for rounding where a product of matrices is BLAS's.
class GradientProducts {
 public:
  virtual ~GradientProducts() = default;

  virtual int64_t num_train() const = 0;
  virtual int64_t num_tests() const = 0;
  virtual const std::vector<ParameterSlice>& slices() const = 0;

  // From the next call of SetTests on. Slices in no part do not count at all. At first: one part of all.
  virtual void SetParts(const std::vector<ProductPart>& parts) = 0;

  // How many training examples a tile should have at least to be computed well, and what a held test takes, bytes.
  virtual int64_t tile_size() const = 0;
  virtual int64_t bytes_per_test() const = 0;

  // Keeps what products with these tests need, and forgets others. `tests` in range, each at most once.
  virtual absl::Status SetTests(absl::Span<const int64_t> tests) = 0;
  // Holds one test, whose gradient is the sum over j of weights[j] grad l'(j): influence on all of them together.
  // weights: [num_tests()]. Takes P numbers.
  virtual absl::Status HoldWeightedTests(absl::Span<const double> weights) = 0;
  virtual int64_t num_held() const = 0;
  // [parts, H] |grad l'(j)|^2 of those that are held, with the preconditioner.
  virtual std::vector<double> TestNorms() = 0;

  // tile: overwritten. Where no test is held (SetTests({})), products are empty. squares: whether train_square is
  // wanted. INVALID_ARGUMENT naming a training example that cannot be read.
  virtual absl::Status Products(absl::Span<const int64_t> train, bool squares, ProductTile* tile) = 0;

  // Gives back what the checkpoint takes of memory, and the tests, until the next call of SetTests or
  // HoldWeightedTests, which takes it again. Does nothing where there is no way to get it again.
  virtual void Release() {}

  // The definition, by one backward pass of LibTorch: gradient [P] of one example, overwritten; buffers' parts are 0.
  // UNIMPLEMENTED for products that were made without it, as those of programs without LibTorch are.
  virtual absl::Status ReferenceTrainGradient(int64_t train, absl::Span<double> gradient) = 0;
  virtual absl::Status ReferenceTestGradient(int64_t test, absl::Span<double> gradient) = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_GRADIENT_PRODUCTS_H_
