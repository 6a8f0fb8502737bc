#include "tools/train/data/training_subset.h"

#include <gflags/gflags.h>

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/status_macros.h"
#include "lib/potential/data/structure_list.h"
#include "lib/train/options/trainer_settings.h"
#include "tools/common/run/given_flags.h"
#include "tools/common/run/run_tool.h"

DEFINE_string(
    subset, "",
    "FILE:N: learn from subset N, counted from 0, of the training examples, which tracin --plan_subsets drew. "
    "The others weigh nothing, and all else is as with all of them: order, steps, schedule, scales, atomic "
    "energies, validation set.");

namespace rutile {
namespace {

// Characters of a hash that the settings of a run record.
constexpr size_t kShortHash = 12;

absl::Status Mismatch(const TrainingSubset& subset, int64_t num_train, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(
      subset.flag, ": the plan is of ", subset.plan.num_examples(), " training ", subset.plan.examples,
      ", and this run has ", num_train, ": ", what, "; give the data, split and filters of the run that it is for"));
}

absl::Status CheckExamples(const TrainingSubset& subset, absl::string_view examples) {
  if (subset.plan.examples == examples) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(subset.flag, ": a plan of ", subset.plan.examples, ", and the data are ", examples));
}

}  // namespace

void TrainingSubset::Describe(int64_t seed, Metadata* metadata) const {
  (*metadata)[kSubsetKey] = absl::StrCat(number);
  (*metadata)[kSubsetsSha256Key] = sha256;
  (*metadata)[kSubsetSeedKey] = absl::StrCat(seed);
}

absl::StatusOr<std::optional<TrainingSubset>> SubsetFromFlags(TrainerOptions* options) {
  if (FLAGS_subset.empty()) return std::nullopt;
  TrainingSubset subset;
  subset.flag = absl::StrCat("--subset=", FLAGS_subset);
  const absl::StatusOr<SubsetName> name = ParseSubsetName(FLAGS_subset);
  if (!name.ok()) return absl::InvalidArgumentError(absl::StrCat("--subset=", name.status().message()));
  ASSIGN_OR_RETURN(subset.plan, ReadSubsets(name->path));
  subset.number = name->number;
  if (subset.number >= subset.plan.num_subsets) {
    return absl::InvalidArgumentError(
        absl::StrCat(subset.flag, ": there are ", subset.plan.num_subsets, " subsets, counted from 0"));
  }
  const auto& overrides = options->overrides;
  for (const char* data : {DataSetting().name, "all"}) {
    if (std::find(overrides.begin(), overrides.end(), data) == overrides.end()) continue;
    return absl::InvalidArgumentError(absl::StrCat("--subset and --override=", data,
                                                   " exclude each other: the plan is of the data that the run had"));
  }
  subset.sha256 = SubsetsSha256(subset.plan);
  options->config["subset"] = absl::StrCat(subset.number, " of ", subset.sha256.substr(0, kShortHash));
  return subset;
}

absl::StatusOr<std::vector<uint8_t>> LeftOutStructures(const TrainingSubset& subset, const AtomicData& data,
                                                       absl::Span<const int64_t> train) {
  RETURN_IF_ERROR(CheckExamples(subset, kStructureExamples));
  const auto num_train = static_cast<int64_t>(train.size());
  ASSIGN_OR_RETURN(const StructureList list,
                   ParseStructureList(subset.plan.path, absl::StrJoin(subset.plan.lines, "\n")));
  if (static_cast<int64_t>(list.numbers.size()) != subset.plan.num_examples() || !list.has_hashes()) {
    return absl::InvalidArgumentError(absl::StrCat(
        subset.plan.path, ": tensor \"examples\": expected a line with number and hash for each structure"));
  }
  const absl::StatusOr<ListedPlaces> found = PlacesOfListed(list, data);
  if (!found.ok()) return Mismatch(subset, num_train, found.status().message());
  if (!found->left_out.empty()) {
    return Mismatch(subset, num_train,
                    absl::StrCat("structure ", found->left_out[0], " of the plan is left out by ", data.filters()));
  }
  std::vector<uint8_t> left_out(data.num_structures(), 0), is_known(data.num_structures(), 0);
  for (size_t i = 0; i < found->places.size(); ++i) {
    is_known[found->places[i]] = 1;
    left_out[found->places[i]] = subset.plan.subset(subset.number)[i] == 0 ? 1 : 0;
  }
  for (const int64_t s : train) {
    if (is_known[s] != 0) continue;
    return Mismatch(subset, num_train, absl::StrCat(data.name(s), " trains and is not in the plan"));
  }
  if (num_train != subset.plan.num_examples()) {
    return Mismatch(subset, num_train, "others of the plan validate, are kept for the test or have no label");
  }
  const auto kept = std::count_if(train.begin(), train.end(), [&](int64_t s) { return left_out[s] == 0; });
  PrintMessage(absl::StrCat(subset.flag, ": learns from ", kept, " of ", num_train,
                            " training structures; scales, atomic energies and the number of steps are those of all"));
  return left_out;
}

absl::StatusOr<std::vector<uint8_t>> KeptTriples(const TrainingSubset& subset, const KnowledgeGraph& graph) {
  RETURN_IF_ERROR(CheckExamples(subset, kTripleExamples));
  const auto num_train = static_cast<int64_t>(graph.train.size());
  absl::flat_hash_map<absl::string_view, int64_t> place;
  for (int64_t i = 0; i < subset.plan.num_examples(); ++i) place.emplace(subset.plan.lines[i], i);
  std::vector<uint8_t> kept(num_train);
  for (int64_t i = 0; i < num_train; ++i) {
    const Triple& triple = graph.train[i];
    const std::string line = absl::StrCat(graph.entities[triple.head], "\t", graph.relations[triple.relation], "\t",
                                          graph.entities[triple.tail]);
    const auto found = place.find(line);
    if (found == place.end()) {
      return Mismatch(subset, num_train, absl::StrCat("\"", line, "\" is not in the plan"));
    }
    kept[i] = subset.plan.subset(subset.number)[found->second];
  }
  if (num_train != subset.plan.num_examples()) return Mismatch(subset, num_train, "others of the plan do not train");
  PrintMessage(absl::StrCat(subset.flag, ": learns from ", std::count(kept.begin(), kept.end(), 1), " of ", num_train,
                            " training triples; the number of steps is that of all"));
  return kept;
}

}  // namespace rutile
