// Influence of training examples on tests, from products of gradients at checkpoints:
//
//   score(i, j) = sum over checkpoints c of rate_c <grad l(i; theta_c), grad l'(j; theta_c)>
//
// Source: G. Pruthi, F. Liu, S. Kale, M. Sundararajan, NeurIPS 2020 (TracInCP). A positive score: training on i lowered
// the loss of j (i is a proponent). Domains compute the products (lib/task/gradient_products.h); here they are summed
// in fp64, normalized, and the largest of each test are kept, so that memory does not grow with training x tests.

#ifndef RUTILE_LIB_INFLUENCE_TRACIN_H_
#define RUTILE_LIB_INFLUENCE_TRACIN_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/influence/tracin_options.h"
#include "lib/task/gradient_products.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

struct InfluenceInputs {
  absl::Span<GradientProducts* const> checkpoints;  // at least one; of the same examples
  absl::Span<const double> rates;                   // one for each: the learning rate in force there; finite, >= 0
  absl::Span<const int64_t> train;                  // training examples to go through, in this order, each once
  absl::Span<const int64_t> tests;                  // in the order of the result, each once; with test_weight: unused
  // Whether a training example may be listed for a test (a neighborhood of the test, say). Called by several threads,
  // only for scores that would be listed. Without: all may. Not together with test_weight: leave them out of `train`.
  std::function<bool(int64_t test, int64_t train)> allowed;
};

// What is known of T tests and N training examples. L entries are listed, P parts (part_names).
struct Influence {
  std::vector<int64_t> tests;           // [T] as in the inputs; {-1} for the weighted sum of tests
  std::vector<int64_t> offset;          // [T + 1] entries of test t: [offset[t], offset[t + 1])
  std::vector<int64_t> train;           // [L] training example
  std::vector<double> score;            // [L]
  std::vector<double> part_score;       // [L, P] where asked for; adds up to score
  std::vector<int64_t> train_order;     // [N] the training examples gone through, in that order
  std::vector<double> train_self;       // [N] in the order of train_order, where asked for
  std::vector<double> train_self_part;  // [N, P]
  std::vector<double> test_self;        // [T]
  std::vector<double> test_self_part;   // [T, P]
  std::vector<std::string> part_names;  // [P]
};

// Where a computation stood: written to a file and read again, it goes on to the same result, bit for bit.
struct InfluenceState {
  std::string fingerprint;  // of inputs and options: a state of another computation is refused
  NamedTensors tensors;
};

struct InfluenceHooks {
  // After each tile, with the training examples done of all passes over them. An error (CheckInterrupt) ends the
  // computation with it, after a last call of `save`.
  std::function<absl::Status(int64_t done, int64_t total)> progress;
  // Keeps the state, at most every save_seconds; its error ends the computation.
  std::function<absl::Status(const InfluenceState& state)> save;
  double save_seconds = 60;
  const InfluenceState* resume = nullptr;  // where to go on from
};

// The result does not depend on the order of training examples nor on threads, and not on tiles, memory_limit or shards
// but for rounding in the products. INVALID_ARGUMENT: an option or input out of range, a state of another computation,
// or a product that is not finite (the message names the pair and the checkpoint's number). Errors of the products
// themselves are passed on.
absl::StatusOr<Influence> ComputeInfluence(const InfluenceInputs& inputs, const TracInOptions& options,
                                           const InfluenceHooks& hooks = {});

}  // namespace rutile

#endif  // RUTILE_LIB_INFLUENCE_TRACIN_H_
