// The golden values of testdata/kg, and batches that own their arrays.

#ifndef RUTILE_LIB_TESTING_GOLDEN_CONVE_H_
#define RUTILE_LIB_TESTING_GOLDEN_CONVE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "lib/kg/kge_batch.h"
#include "lib/kg/kge_shape.h"
#include "lib/kg/triple.h"
#include "lib/tensorfile/named_tensors.h"
#include "nlohmann/json.hpp"

namespace rutile {

// A KgeBatch and what it points to. Examples are numbered from 0.
struct OwnedKgeBatch {
  std::vector<int32_t> head, relation;
  std::vector<int64_t> example;
  std::vector<int64_t> positive_offset = {0};
  std::vector<int32_t> positive;

  void Add(int32_t query_head, int32_t query_relation, const std::vector<int32_t>& positives);
  KgeBatch View(bool training, int64_t epoch = 0) const;
};

// `size` random queries, each with up to max_positives distinct tails (one at least).
OwnedKgeBatch RandomKgeBatch(const KgeShape& shape, int64_t size, int64_t max_positives, uint64_t seed);

class GoldenConve {
 public:
  // "dettmers" or "tiepin"; without dropout. CHECK-fails when the file is not in the runfiles.
  explicit GoldenConve(absl::string_view variant);

  const KgeShape& shape() const { return shape_; }
  // Of an array in the file, "eval.scores": F64.
  Tensor Array(const std::string& name) const;
  double Scalar(const std::string& name) const;
  const nlohmann::json& json() const { return json_; }
  // The flat parameters, F64 [P], made of the arrays PREFIX + name of the slice in the file; what is not there is 0
  // ("param.", "adam.step1.", "eval.grad.bce_1ofK_tiepin.").
  Tensor Flat(const std::string& prefix) const;
  // "train", "valid", "test", "batch".
  std::vector<Triple> Triples(const std::string& name) const;
  // The queries of "batch": with all their tails in train, or with the triple's own alone.
  OwnedKgeBatch Batch(bool own_tail_alone) const;

 private:
  nlohmann::json json_;
  KgeShape shape_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TESTING_GOLDEN_CONVE_H_
