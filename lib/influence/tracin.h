// Influence of training examples on tests, from products of gradients at checkpoints:
//
//   score(i, j) = sum over checkpoints c of rate_c <grad l(i; theta_c), grad l'(j; theta_c)>
//
// Source: G. Pruthi, F. Liu, S. Kale, M. Sundararajan, NeurIPS 2020 (TracInCP). A positive score means that training on
// i lowered the loss of j (i is a proponent). Domains compute the products (lib/task/gradient_products.h); this package
// sums them in fp64, normalizes, and selects the largest of each test, so that memory does not grow with training x
// tests.
//
//   const std::vector<GradientProducts*> checkpoints = {&first, &second};
//   const std::vector<double> rates = {0.1, 0.05};
//   const std::vector<int64_t> train = {0, 1, 2, 3}, tests = {3};
//   InfluenceInputs inputs;
//   inputs.checkpoints = checkpoints;
//   inputs.rates = rates;
//   inputs.train = train;
//   inputs.tests = tests;
//   ASSIGN_OR_RETURN(const Influence influence, ComputeInfluence(inputs, TracInOptions()));
//   influence.train[0];  // the strongest proponent of test 3, with the score influence.score[0]

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

// Checkpoints and examples of a computation. Spans refer to the caller's arrays.
struct InfluenceInputs {
  absl::Span<GradientProducts* const> checkpoints;  // at least one; of the same examples
  absl::Span<const double> rates;                   // one for each: the learning rate in force there; finite, >= 0
  absl::Span<const int64_t> train;                  // training examples in the order of computation, each once
  absl::Span<const int64_t> tests;                  // in the order of the result, each once; unused with test_weight
  // If set, decides whether a training example may be listed for a test (a neighborhood of the test, say). Called by
  // several threads, only for scores that would be listed. Not together with test_weight: leave the examples out of
  // `train` instead.
  std::function<bool(int64_t test, int64_t train)> allowed;
};

// The influence on T tests of N training examples, of which L entries are listed, with P parts (part_names).
struct Influence {
  std::vector<int64_t> tests;           // [T] as in the inputs; {-1} for the weighted sum of tests
  std::vector<int64_t> offset;          // [T + 1] entries of test t: [offset[t], offset[t + 1])
  std::vector<int64_t> train;           // [L] training example
  std::vector<double> score;            // [L]
  std::vector<double> part_score;       // [L, P] if asked for; adds up to score
  std::vector<int64_t> train_order;     // [N] the training examples, in the order of computation
  std::vector<double> train_self;       // [N] in the order of train_order, if asked for
  std::vector<double> train_self_part;  // [N, P]
  std::vector<double> test_self;        // [T]
  std::vector<double> test_self_part;   // [T, P]
  std::vector<std::string> part_names;  // [P]
};

// The state of an interrupted computation. It can be written to a file; a computation that resumes from it gets the
// same result, bit for bit.
struct InfluenceState {
  std::string fingerprint;  // hash of inputs and options: a state of another computation is refused
  NamedTensors tensors;
};

// Callbacks for progress, interruption and resumption of a computation.
struct InfluenceHooks {
  // Called after each tile with the number of training examples done in all passes and their total. An error
  // (CheckInterrupt) ends the computation, after a last call of `save`.
  std::function<absl::Status(int64_t done, int64_t total)> progress;
  // Stores the state, at most every save_seconds; its error ends the computation.
  std::function<absl::Status(const InfluenceState& state)> save;
  double save_seconds = 60;
  const InfluenceState* resume = nullptr;  // state to resume from
};

// Computes influence. The result does not depend on the order of training examples nor on threads, and on tiles,
// memory_limit and shards only by rounding in the products. INVALID_ARGUMENT: an option or input out of range, a state
// of another computation, or a product that is not finite (the message names the pair and the checkpoint's number).
// Errors of the products themselves are passed on.
absl::StatusOr<Influence> ComputeInfluence(const InfluenceInputs& inputs, const TracInOptions& options,
                                           const InfluenceHooks& hooks = {});

}  // namespace rutile

#endif  // RUTILE_LIB_INFLUENCE_TRACIN_H_
