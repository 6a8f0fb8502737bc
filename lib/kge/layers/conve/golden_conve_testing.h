// The golden values of testdata/kg, and batches that own their arrays.

#ifndef RUTILE_LIB_KGE_LAYERS_CONVE_GOLDEN_CONVE_TESTING_H_
#define RUTILE_LIB_KGE_LAYERS_CONVE_GOLDEN_CONVE_TESTING_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "lib/graph/triple.h"
#include "lib/kge/layers/kge_batch.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// A KgeBatch with the arrays that it points to. Examples are numbered from 0.
struct OwnedKgeBatch {
  std::vector<int32_t> head, relation;
  std::vector<int64_t> example;
  std::vector<int64_t> positive_offset = {0};
  std::vector<int32_t> positive;

  void Add(int32_t query_head, int32_t query_relation, const std::vector<int32_t>& positives);
  KgeBatch View(bool training, int64_t epoch = 0) const;
};

// Returns `size` random queries, each with 1 to max_positives distinct tails.
OwnedKgeBatch RandomKgeBatch(const KgeShape& shape, int64_t size, int64_t max_positives, uint64_t seed);

// The rank of a test triple's tail among all entities; 1 is the best.
struct GoldenRank {
  Triple triple;
  std::vector<int32_t> filtered;  // other known tails, which are not counted
  double optimistic = 0, pessimistic = 0, realistic = 0;
  double raw_pessimistic = 0;  // the pessimistic rank without filter
};

// Golden values of one model, its batches, gradients and ranks. The JSON is parsed in the .cc file, since nlohmann's
// header would cost each test that includes this 2 s and more.
class GoldenConve {
 public:
  // variant is "dettmers" or "tiepin", without dropout. CHECK-fails if the file is not in the runfiles.
  explicit GoldenConve(absl::string_view variant);

  const KgeShape& shape() const { return shape_; }
  // Returns an array of the file, such as "eval.scores", in F64.
  Tensor Array(const std::string& name) const;
  double Scalar(const std::string& name) const;
  // Returns a mean over ranks(), such as kind "metrics.realistic", name "hits@3".
  double Metric(const std::string& kind, const std::string& name) const;
  // The ranks of the triples of "test", in their order.
  const std::vector<GoldenRank>& ranks() const { return ranks_; }
  // The learning rates of both checkpoints.
  const std::vector<double>& learning_rates() const { return learning_rates_; }
  // The file's names of parameters in the order of its flat gradients.
  const std::vector<std::string>& gradient_order() const { return gradient_order_; }
  // Returns flat parameters, F64 [P], from the file's arrays called `prefix` + the slice's name in the file; what is
  // not there is 0. Prefixes are "param.", "adam.step1.", "eval.grad.bce_1ofK_tiepin.".
  Tensor Flat(const std::string& prefix) const;
  // Returns the triples of "train", "valid", "test" or "batch".
  std::vector<Triple> Triples(const std::string& name) const;
  // Returns the queries of "batch", each with all its tails in train, or with its triple's own tail alone.
  OwnedKgeBatch Batch(bool own_tail_alone) const;

 private:
  KgeShape shape_;
  std::map<std::string, Tensor> arrays_;
  std::map<std::string, double> scalars_;
  std::map<std::string, std::map<std::string, double>> metrics_;
  std::vector<GoldenRank> ranks_;
  std::vector<double> learning_rates_;
  std::vector<std::string> gradient_order_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_LAYERS_CONVE_GOLDEN_CONVE_TESTING_H_
