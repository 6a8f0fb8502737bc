// Watches for atoms that are nearer than the descriptor looks: such a pair is no neighbor to the model, which says
// nothing of what the two do to each other, and gives a smooth energy and small forces.

#ifndef RUTILE_TOOLS_EVALUATE_NEAR_PAIRS_H_
#define RUTILE_TOOLS_EVALUATE_NEAR_PAIRS_H_

#include <cstdint>
#include <mutex>
#include <string>

#include "absl/strings/string_view.h"
#include "lib/descriptor/descriptor_derivatives.h"
#include "tools/evaluate/models.h"
#include "tools/evaluate/predictions.h"

namespace rutile {

// Returns the smallest distance of a pair in Angstrom; infinity without pairs.
double NearestDistance(const StructureGeometry& geometry);

class NearPairs {
 public:
  // min_cutoff: of the descriptor, Angstrom; with 0 no pair is too near. has_repulsion: whether the model has a
  // repulsion, which does not need the descriptor.
  NearPairs(double min_cutoff, bool has_repulsion) : min_cutoff_(min_cutoff), has_repulsion_(has_repulsion) {}
  explicit NearPairs(const Models& models);

  // Adds itself to what is called for the geometry of each structure. It must outlive the hooks.
  void AddTo(PredictionHooks* hooks);
  // Different threads may call it at the same time. number: as of PredictOptions::on_geometry.
  void Add(int64_t number, absl::string_view name, const StructureGeometry& geometry);

  // Returns how many structures have such pairs, with the nearest of them; "" if none has. The result does not depend
  // on the order of calls.
  std::string Warning() const;

 private:
  const double min_cutoff_;
  const bool has_repulsion_;
  mutable std::mutex mutex_;  // guards the rest
  int64_t structures_ = 0;
  double nearest_ = 0;  // Angstrom, in structure number_
  int64_t number_ = 0;
  std::string name_;
};

}  // namespace rutile

#endif  // RUTILE_TOOLS_EVALUATE_NEAR_PAIRS_H_
