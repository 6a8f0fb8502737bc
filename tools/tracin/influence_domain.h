// What tracin must know of a domain: its examples, their names, and products of gradients at each checkpoint.

#ifndef RUTILE_TOOLS_TRACIN_INFLUENCE_DOMAIN_H_
#define RUTILE_TOOLS_TRACIN_INFLUENCE_DOMAIN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/influence/influence_file.h"
#include "lib/task/gradient_products.h"
#include "lib/task/parameter_slice.h"

namespace rutile {

// Where a parameter stands in the model, for --blocks and --use_last_layers_only.
struct ParameterPlace {
  std::string block;  // "entity", "conv"; "Ti"
  std::string layer;  // "bn0"; "Ti.0"
  int depth = 0;      // of layers that follow each other; -1: it is in no layer
};

// A triple by ids of the graph, and by names: for the forms of TiePin.
struct NamedTriple {
  int64_t ids[3] = {};          // head, relation, tail
  std::string names[3];         // as in the data
  std::string people_names[3];  // for people; the name where there is none
};

class InfluenceDomain {
 public:
  virtual ~InfluenceDomain() = default;

  // ---- examples
  virtual int64_t num_train() const = 0;
  virtual int64_t num_tests() const = 0;
  // Those that count, ascending.
  virtual std::vector<int64_t> TrainExamples() const = 0;
  // The same examples in the order in which it is fastest to go through them.
  virtual std::vector<int64_t> StreamOrder(std::vector<int64_t> train) const { return train; }
  // Of each of `train` the number of its stratum. INVALID_ARGUMENT: no such property.
  virtual absl::StatusOr<std::vector<int64_t>> Strata(const std::string& property,
                                                      absl::Span<const int64_t> train) const = 0;
  // Leaves those of `train` that are near one of `tests`; and whether one is near a test, for InfluenceInputs::allowed.
  // Nothing is done, and the function is empty, without such a restriction.
  virtual std::function<bool(int64_t test, int64_t train)> Near(absl::Span<const int64_t> tests,
                                                                std::vector<int64_t>* train) const {
    return nullptr;
  }

  // ---- products; not for --merge
  virtual std::vector<ParameterSlice> slices() const = 0;
  virtual ParameterPlace Place(const ParameterSlice& slice) const = 0;
  // Of the `point`-th checkpoint or model.
  virtual absl::StatusOr<std::unique_ptr<GradientProducts>> Products(size_t point) const = 0;
  // Bytes of memory that the products of a checkpoint take, beside what they hold of tests.
  virtual int64_t bytes_per_point() const = 0;
  // Relative to the lengths of both gradients: by how much a product may be wrong in this precision.
  virtual double tolerance() const = 0;
  // Quantities, hashes, settings.
  virtual void Describe(InfluenceDescription* description) const = 0;

  // ---- tables
  virtual std::vector<std::string> train_columns() const = 0;
  virtual std::vector<std::string> TrainCells(int64_t train) const = 0;
  virtual std::vector<std::string> test_columns() const = 0;
  virtual std::vector<std::string> TestCells(int64_t test) const = 0;
  // Of a score without normalization, "eV"; "" where it has none.
  virtual std::string score_unit() const = 0;
  // False: there are no triples.
  virtual bool TrainTriple(int64_t train, NamedTriple* triple) const { return false; }
  virtual bool TestTriple(int64_t test, NamedTriple* triple) const { return false; }
};

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_INFLUENCE_DOMAIN_H_
