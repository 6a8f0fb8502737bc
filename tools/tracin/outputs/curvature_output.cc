#include "tools/tracin/outputs/curvature_output.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/base/status_macros.h"
#include "lib/evaluation/deviation_check.h"
#include "lib/file/file.h"
#include "lib/potential/data/isolated_atoms.h"
#include "lib/potential/data/structure_list.h"
#include "lib/potential/influence/curvature/curvature_file.h"
#include "tools/common/run/run_tool.h"

namespace rutile {
namespace {

constexpr char kUncalibrated[] =
    ": uncertainties have the size that the training errors suggest; --test names structures to calibrate them on";

// Adds a line on one quantity. scale: 1000 for meV.
void Describe(const char* quantity, const char* unit, double scale, const ErrorsWithUncertainty& errors,
              std::vector<std::string>* lines) {
  constexpr size_t kFew = 20;
  if (errors.error.empty()) {
    lines->push_back(absl::StrCat(quantity, ": no labels to calibrate on", kUncalibrated));
    return;
  }
  if (errors.error.size() < kFew) {
    lines->push_back(
        absl::StrCat(quantity, ": only ", errors.error.size(), " errors to calibrate on; the scale is rough"));
  }
  std::vector<double> error = errors.error, deviation = errors.deviation;
  for (double& each : error) each *= scale;
  for (double& each : deviation) each *= scale;
  DeviationCheck found = CheckDeviations(error, deviation);
  found.quantity = quantity;
  found.unit = unit;
  found.measure = "uncertainty";
  lines->push_back(DescribeDeviationCheck(found));
}

}  // namespace

absl::StatusOr<HeldOut> ValidationStructures(const AtomicData& train, const std::string& run_directory) {
  HeldOut held_out;
  const std::string path = run_directory.empty() ? "" : run_directory + "/validation_frames.txt";
  if (path.empty() || !FileExists(path)) {
    PrintMessage(absl::StrCat(path.empty() ? "no run is known" : absl::StrCat("there is no ", path), kUncalibrated));
    return held_out;
  }
  ASSIGN_OR_RETURN(const StructureList list, ReadStructureList(path));
  const absl::StatusOr<ListedPlaces> found = PlacesOfListed(list, train);
  if (!found.ok()) {
    PrintMessage(absl::StrCat("the validation structures of the run are not in --train (", found.status().message(),
                              "; if it had --validation_data, add those files)", kUncalibrated));
    return held_out;
  }
  held_out.structures = found->places;
  held_out.source = absl::StrCat("validation structures of ", path);
  if (held_out.structures.empty()) PrintMessage(absl::StrCat(path, ": is empty", kUncalibrated));
  return held_out;
}

absl::StatusOr<HeldOut> TestStructures(const AtomicData& test, const Metadata& model) {
  HeldOut all{{}, "the structures of --test"}, larger = all;
  for (int64_t s = 0; s < test.num_structures(); ++s) {
    all.structures.push_back(s);
    ASSIGN_OR_RETURN(const bool isolated, IsIsolated(test, s));
    if (!isolated) larger.structures.push_back(s);
  }
  const size_t left_out = all.structures.size() - larger.structures.size();
  if (left_out == 0 || larger.structures.empty() || LearnedIsolatedAtoms(model)) return all;
  PrintMessage(absl::StrCat(
      left_out, " of ", all.structures.size(),
      " structures of --test are isolated atoms, and the model does not say that it learned such: uncertainties "
      "are calibrated without them"));
  return larger;
}

absl::Status SaveCurvature(const std::string& path, const std::string& source, Metadata metadata, MadeCurvature made) {
  PrintMessage(made.notes);
  std::vector<std::string> lines;
  if (!source.empty()) {
    Describe("energy", "meV/atom", 1000, made.calibration.energy, &lines);
    Describe("force", "eV/Å", 1, made.calibration.force, &lines);
  }
  for (const std::string& line : lines) PrintMessage(absl::StrCat("calibrated on ", source, ": ", line));
  if (made.calibration.num_fixed > 0) {
    PrintMessage(absl::StrCat(made.calibration.num_fixed,
                              " components of forces are zero by symmetry and do not count in the calibration"));
  }
  PrintMessage(absl::StrFormat("scales: energies %.4g, forces %.4g; by the training errors alone %.4g",
                               made.curvature.energy_scale, made.curvature.force_scale, made.noise_scale));
  metadata["calibration"] = lines.empty() ? "none: by the training errors" : absl::StrJoin(lines, "\n");
  made.curvature.metadata = std::move(metadata);
  RETURN_IF_ERROR(WriteCurvature(path, made.curvature));
  PrintMessage(absl::StrCat("wrote ", path, ": evaluate --uncertainty=", path));
  return absl::OkStatus();
}

}  // namespace rutile
