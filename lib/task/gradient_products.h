// Products of the gradients of single examples, <grad l(i), grad l'(j)> for training examples i and test examples j at
// one checkpoint, of which influence (TracIn) is computed.
//
// This is the counterpart of Task for influence: a domain fills tiles of products in whatever way is fast for its
// models, if possible without forming gradients, and lib/influence sums over checkpoints, normalizes and selects the
// largest. An object is made for one checkpoint; it knows the training examples, 0 to num_train() - 1, the test
// examples, 0 to num_tests() - 1, and what is differentiated for each: the loss, or for tests another quantity (a
// predicted energy).
//
// All is computed in evaluation mode (running statistics, no dropout), so that examples do not depend on each other.
//
//   RETURN_IF_ERROR(products->SetTests({0, 1, 2}));
//   const std::vector<double> norms = products->TestNorms();  // |grad l'(j)|^2, [parts = 1, 3]
//   ProductTile tile;
//   RETURN_IF_ERROR(products->Products({10, 11}, /*squares=*/true, &tile));
//   tile.product[1 * 3 + 2];  // <grad l(11), grad l'(2)>
//   tile.train_square[1];     // |grad l(11)|^2

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

// A checkpoint as a domain needs it for products of gradients.
struct WeightedCheckpoint {
  Tensor parameters;                // flat [P], F32 or F64, in the order of the domain's slices
  std::vector<double> loss_weight;  // [terms] weight of each term in an example's loss; empty: all 1
  // Flat [P], >= 0, of the parameters' type: each component's product is multiplied by it (Adam: 1 / (sqrt(v) + eps)).
  // A tensor without elements means 1 everywhere.
  Tensor preconditioner;
};

// A part of the parameters whose products are summed and returned separately: all, a block, or a single slice.
struct ProductPart {
  std::string name;
  std::vector<int> slices;  // indices in slices(), none of them a buffer; a slice is in at most one part
};

// Products of B training examples with the H tests that are set. Its memory is reused by the next call.
struct ProductTile {
  std::vector<double> product;       // [parts, B, H]
  std::vector<double> train_square;  // [parts, B] |grad l(i)|^2, with the preconditioner; if asked for
  // [parts, B] the product of each example with its own loss as a test; empty where that is train_square. The two
  // differ where the gradient of a training example counts more than its own loss.
  std::vector<double> train_self;
};

// Computes products of gradients at one checkpoint. An object is used by one thread at a time, and may use several
// itself. Results do not depend on the number of threads, nor on how examples are divided into tiles, except for
// rounding where a matrix product is BLAS's.
class GradientProducts {
 public:
  virtual ~GradientProducts() = default;

  virtual int64_t num_train() const = 0;
  virtual int64_t num_tests() const = 0;
  virtual const std::vector<ParameterSlice>& slices() const = 0;

  // Sets the parts from the next call of SetTests on. Slices in no part are left out of all products. By default one
  // part contains all slices.
  virtual void SetParts(const std::vector<ProductPart>& parts) = 0;

  // The number of training examples from which a tile is computed efficiently, and the memory that one test takes, in
  // bytes.
  virtual int64_t tile_size() const = 0;
  virtual int64_t bytes_per_test() const = 0;

  // Prepares products with these tests and drops earlier ones. Each of `tests` is in range and occurs at most once.
  virtual absl::Status SetTests(absl::Span<const int64_t> tests) = 0;
  // Sets a single test whose gradient is the sum over j of weights[j] grad l'(j), for the influence on all tests
  // together. weights: [num_tests()]. It takes memory for P numbers.
  virtual absl::Status SetWeightedTests(absl::Span<const double> weights) = 0;
  virtual int64_t num_set_tests() const = 0;
  // Returns |grad l'(j)|^2 of the tests that are set, with the preconditioner, [parts, H].
  virtual std::vector<double> TestNorms() = 0;

  // Overwrites `tile` with the products of the training examples `train`. If no test is set (SetTests({})), products
  // are empty. squares: whether to fill train_square. INVALID_ARGUMENT naming a training example that cannot be read.
  virtual absl::Status Products(absl::Span<const int64_t> train, bool squares, ProductTile* tile) = 0;

  // Returns a sentence for users on how the products of the tests that are set are made; "" if there is nothing to say.
  virtual std::string Notes() const { return ""; }

  // Frees the memory of the checkpoint and the tests until the next call of SetTests or SetWeightedTests, which loads
  // it again. Does nothing if it cannot be loaded again.
  virtual void Release() {}

  // Computes the gradient [P] of one example by its definition, one backward pass of LibTorch, and overwrites
  // `gradient`; buffers get 0. UNIMPLEMENTED for objects that were made without a reference, as in programs without
  // LibTorch.
  virtual absl::Status ReferenceTrainGradient(int64_t train, absl::Span<double> gradient) = 0;
  virtual absl::Status ReferenceTestGradient(int64_t test, absl::Span<double> gradient) = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_GRADIENT_PRODUCTS_H_
