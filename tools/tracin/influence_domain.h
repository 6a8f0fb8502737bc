// What tracin needs to know of a domain: its examples, their names, and products of gradients at each checkpoint.

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
#include "lib/influence/files/influence_file.h"
#include "lib/task/gradient_products.h"
#include "lib/task/parameter_slice.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

// Position of a parameter in the model, for --blocks and --use_last_layers_only.
struct ParameterPlace {
  std::string block;  // "entity", "conv"; "Ti"
  std::string layer;  // "bn0"; "Ti.0"
  int depth = 0;      // index among consecutive layers; -1: in no layer
};

// A triple by ids of the graph and by names, for TiePin's file formats.
struct NamedTriple {
  int64_t ids[3] = {};          // head, relation, tail
  std::string names[3];         // as in the data
  std::string people_names[3];  // readable names; the name if there is none
  bool inverse = false;         // the example asks for the head, through the inverse of the relation
};

// One data domain, potentials or knowledge graphs. The influence computation sees nothing else of it.
class InfluenceDomain {
 public:
  virtual ~InfluenceDomain() = default;

  // ---- examples
  virtual int64_t num_train() const = 0;
  virtual int64_t num_tests() const = 0;
  // Returns the training examples that count, ascending.
  virtual std::vector<int64_t> TrainExamples() const = 0;
  // Reorders training examples for the fastest pass through them.
  virtual std::vector<int64_t> StreamOrder(std::vector<int64_t> train) const { return train; }
  // Returns the stratum number of each of `train`. INVALID_ARGUMENT: no such property.
  virtual absl::StatusOr<std::vector<int64_t>> Strata(const std::string& property,
                                                      absl::Span<const int64_t> train) const = 0;
  // Removes from `train` the examples that are not near any of `tests`, and returns a predicate for
  // InfluenceInputs::allowed that tells whether an example is near a test. Without such a restriction it removes
  // nothing and returns an empty function.
  virtual std::function<bool(int64_t test, int64_t train)> Near(absl::Span<const int64_t> tests,
                                                                std::vector<int64_t>* train) const {
    return nullptr;
  }

  // ---- products; not for --merge
  virtual std::vector<ParameterSlice> slices() const = 0;
  virtual ParameterPlace Place(const ParameterSlice& slice) const = 0;
  // Returns the gradient products of checkpoint (or model) number `index`.
  virtual absl::StatusOr<std::unique_ptr<GradientProducts>> Products(size_t index) const = 0;
  // Returns the memory in bytes that the products of a checkpoint use, excluding test gradients.
  virtual int64_t bytes_per_point() const = 0;
  // Returns the allowed error of a product in this precision, relative to the lengths of both gradients.
  virtual double tolerance() const = 0;
  // Returns the table of --mode=leave-one-out, of the parameters in `parts`.
  virtual absl::StatusOr<std::string> LeaveOneOutTable(absl::Span<const ProductPart> parts) const {
    return absl::InvalidArgumentError("--mode=leave-one-out is for structures");
  }
  // Writes the file of --mode=curvature, of the parameters in `parts`. provenance: of the output.
  virtual absl::Status WriteCurvatureFile(absl::Span<const ProductPart> parts, const std::string& path,
                                          const Metadata& provenance) const {
    return absl::InvalidArgumentError("--mode=curvature is for structures");
  }
  // Adds quantities, hashes and settings to the description.
  virtual void Describe(InfluenceDescription* description) const = 0;

  // Return the hashes of Describe: of all training examples, which are `train` (ascending), and of the tests.
  virtual std::string TrainSha256(absl::Span<const int64_t> train) const = 0;
  virtual std::string TestSha256() const = 0;

  // ---- tables
  virtual std::vector<std::string> train_columns() const = 0;
  virtual std::vector<std::string> TrainCells(int64_t train) const = 0;
  virtual std::vector<std::string> test_columns() const = 0;
  virtual std::vector<std::string> TestCells(int64_t test) const = 0;
  // Returns the unit of a score without normalization, like "eV"; "" if it has none.
  virtual std::string score_unit() const { return ""; }
  // Returns the unit of an influence of an example on itself, on its own loss; "" if it has none.
  virtual std::string self_unit() const { return ""; }
  // Returns the sign of the scores of an example that makes the tests better: 1 if a lower quantity of a test is better
  // (losses), -1 if a higher one is (scores of triples), 0 if neither is (energies, force components).
  virtual int SignOfHelp() const = 0;
  // Both return false if the examples are no triples.
  virtual bool TrainTriple(int64_t train, NamedTriple* triple) const { return false; }
  virtual bool TestTriple(int64_t test, NamedTriple* triple) const { return false; }
};

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_INFLUENCE_DOMAIN_H_
