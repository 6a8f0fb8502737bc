// A step of training embeddings on a GPU: losses of a batch of queries and their gradients, at parameters that stay on
// the device with the optimizer's averages (lib/optimizer/gpu).
//
// The passes are those of ConveKernel (lib/kge/training/conve_kernel.h), with the same dropout masks. Every sum is
// taken in an order that does not depend on the device's threads, so that a repeated run gives the same bits on the
// same device.
//
// nvcc compiles this file and what it includes, so that they use the standard library alone.

#ifndef RUTILE_LIB_KGE_GPU_KGE_STEP_H_
#define RUTILE_LIB_KGE_GPU_KGE_STEP_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/kge/gpu/kge_step_shape.h"
#include "lib/optimizer/gpu/device_parameters.h"

namespace rutile {

// Items sorted by the row of a table that they belong to. Items of a row keep their order.
struct RowGroups {
  std::vector<int32_t> row;     // [U] ascending, each once
  std::vector<int64_t> offset;  // [U + 1] into item
  std::vector<int32_t> item;
};

// Rows of a table with what their penalty counts (RowPenalty of lib/kge/training/scores/embedding_penalty.h).
struct PenaltyRows {
  std::vector<int32_t> row;  // each once
  std::vector<double> weight;
};

// Pairs of an entity and a relation with what their penalty counts (DuraPenalty of
// lib/kge/training/scores/dura_penalty.h).
struct PenaltyPairs {
  std::vector<int32_t> entity, relation;
  std::vector<double> weight;
  RowGroups by_entity, by_relation;
};

// Triples whose relations are predicted at once (lib/kge/training/scores/relation_prediction.h), as queries whose one
// true answer is the relation.
struct PredictedRelations {
  std::vector<int32_t> head, relation, tail;  // [n]
  std::vector<int64_t> offset;                // [n + 1] 0, 1, 2, ..., n
  std::vector<double> base, extra, weight;    // [n] labels: 0 and 1, and how much the triple counts
  RowGroups by_entity;                        // of items 0 .. n - 1, the heads, and n .. 2 n - 1, the tails
};

// B queries on the host, as KgeBatch has them, and what follows from them. Pointers must be valid during Run alone.
struct KgeStepBatch {
  int64_t size = 0;
  const int32_t *head = nullptr, *relation = nullptr;  // [B]
  const int64_t* positive_offset = nullptr;            // [B + 1]
  const int32_t* positive = nullptr;
  bool training = true;                             // false: running statistics, no dropout, none of the penalties
  std::vector<double> base, extra, weight;          // [B] labels, and how much a query's softmax loss counts
  std::vector<uint64_t> mask_key[kNumKgeDropouts];  // [B], or empty without dropout of this layer
  uint64_t candidate_key = 0;                       // of the candidates' mask of this batch
  RowGroups by_head, by_relation;                   // of queries
  PenaltyRows entities, relations;
  PenaltyPairs pairs;
  std::vector<PredictedRelations>
      predicted;  // of a few thousand triples each, so that their vectors take little memory
};

// Results of one batch.
struct KgeStepResult {
  double loss = 0;                 // the sum over the batch, with what regularizers add
  int64_t size = 0;                // examples whose statistics these are; 0: there are none
  std::vector<double> statistics;  // of norms, for ConveStatistics (conve_statistics.h)
};

// All functions that return a string return "" or what went wrong; all later calls then return the same. One thread at
// a time may use an object.
class KgeStep {
 public:
  virtual ~KgeStep() = default;

  // The parameters and gradient that Run uses; values of the type that MakeCudaKgeStep was asked for.
  virtual DeviceParameters* parameters() = 0;

  // Adds the gradient of a training batch at parameters() to the gradient there, or overwrites it. Does not wait.
  virtual std::string Run(const KgeStepBatch& batch, bool overwrite) = 0;

  // Computes the gradient [P] of a training batch at the host's parameters [P], which take the place of those of
  // SetEvaluated; parameters() stay as they are. Waits, and leaves the batch's results to Fetch.
  virtual std::string Gradient(const void* parameters, const KgeStepBatch& batch, void* gradient) = 0;

  // Copies parameters [P] for Evaluate and Hidden, beside those of training.
  virtual std::string SetEvaluated(const void* parameters) = 0;
  // Computes the loss of a batch, which need not be one of training, at the parameters of SetEvaluated. Does not wait.
  virtual std::string Evaluate(const KgeStepBatch& batch) = 0;
  // Computes v(head, relation) of Q queries in evaluation mode at those parameters: hidden [Q, d].
  virtual std::string Hidden(int64_t size, const int32_t* head, const int32_t* relation, void* hidden) = 0;

  // Waits, and returns the results of all batches since the last call, in order.
  virtual std::string Fetch(std::vector<KgeStepResult>* results) = 0;
};

// True if this program has kernels of embeddings for GPUs, that is, if nvcc was there when it was built.
bool HasCudaKgeStep();

// Returns a step in float, or double if `fp64`, on the GPU of this number in CUDA. Returns null and sets *error to the
// reason if it cannot run there.
std::unique_ptr<KgeStep> MakeCudaKgeStep(const KgeStepShape& shape, bool fp64, int device, std::string* error);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_GPU_KGE_STEP_H_
