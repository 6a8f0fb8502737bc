#include "tools/evaluate/near_pairs.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace rutile {

std::string NearPairsWarning(absl::Span<const StructurePrediction> predictions, double min_cutoff, bool has_repulsion) {
  int64_t structures = 0;
  const StructurePrediction* nearest = nullptr;
  for (const StructurePrediction& p : predictions) {
    if (!(p.nearest <= min_cutoff)) continue;
    ++structures;
    if (nearest == nullptr || p.nearest < nearest->nearest) nearest = &p;
  }
  if (structures == 0) return "";
  return absl::StrCat(
      structures, " structures have atoms nearer than --min_cutoff=", min_cutoff,
      " Angstrom, which the descriptor does not see: ",
      has_repulsion ? "the repulsion alone acts between them" : "energies and forces lack what these do to each other",
      absl::StrFormat("; the nearest two, at %.3f Angstrom, are in ", nearest->nearest), nearest->name);
}

}  // namespace rutile
