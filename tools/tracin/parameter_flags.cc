#include "tools/tracin/parameter_flags.h"

#include <fnmatch.h>
#include <gflags/gflags.h>

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "lib/base/enum_names.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "tools/common/run/flag_choice.h"
#include "tools/common/run/flag_word.h"
#include "tools/common/run/given_flags.h"

DEFINE_string(params, "", "Only parameters whose names fit one of these globs, with commas between. Empty: all.");
DEFINE_string(exclude_params, "", "Not those whose names fit one of these globs.");
DEFINE_bool(use_last_layers_only, false,
            "Only parameters of the last layers. It is not the same ranking: see the README for how far it is off.");
DEFINE_int32(num_last_layers, 2, "How many layers that are.");
DEFINE_string(last_layer_names, "", "Or which parameters, as globs, in place of a number of layers.");
DEFINE_string(
    blocks, "",
    "Also what each block of parameters adds to a score: by itself the model's blocks (entity, relation, conv, "
    "norms, fc, scoring; the networks of the species); layers; or parameters (each by its name).");
const bool blocks_may_stand_alone = rutile::MayStandAlone("blocks");

namespace rutile {
namespace {

bool Fits(const std::vector<std::string>& globs, const std::string& name) {
  for (const std::string& glob : globs) {
    if (fnmatch(glob.c_str(), name.c_str(), 0) == 0) return true;
  }
  return false;
}

// Returns the globs of a flag. Each must match some parameter.
absl::StatusOr<std::vector<std::string>> Globs(const char* flag, const std::string& text,
                                               absl::Span<const ParameterSlice> slices) {
  std::vector<std::string> globs = absl::StrSplit(text, ',', absl::SkipEmpty());
  std::vector<std::string> names;
  for (const ParameterSlice& slice : slices) {
    if (!slice.buffer) names.push_back(slice.name);
  }
  for (const std::string& glob : globs) {
    bool any = false;
    for (const std::string& name : names) any = any || Fits({glob}, name);
    if (any) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--", flag, ": no parameter is called ", glob, "; there are ", absl::StrJoin(names, ", ")));
  }
  return globs;
}

// Marks the parameters outside the last layers as left out.
absl::Status KeepLastLayers(absl::Span<const ParameterSlice> slices,
                            const std::function<ParameterPlace(const ParameterSlice&)>& place,
                            std::vector<bool>* kept) {
  if (!FLAGS_use_last_layers_only) {
    return RefuseFlags("without --use_last_layers_only", {"num_last_layers", "last_layer_names"});
  }
  RETURN_IF_ERROR(RefuseFlags("with --use_last_layers_only", {"params", "exclude_params"}));
  if (!FLAGS_last_layer_names.empty()) {
    RETURN_IF_ERROR(RefuseFlags("with --last_layer_names", {"num_last_layers"}));
    ASSIGN_OR_RETURN(const std::vector<std::string> globs, Globs("last_layer_names", FLAGS_last_layer_names, slices));
    for (size_t s = 0; s < slices.size(); ++s) (*kept)[s] = (*kept)[s] && Fits(globs, slices[s].name);
    return absl::OkStatus();
  }
  std::set<int> depths;
  for (const ParameterSlice& slice : slices) {
    const int depth = place(slice).depth;
    if (!slice.buffer && depth >= 0) depths.insert(depth);
  }
  if (depths.empty()) {
    return absl::InvalidArgumentError(
        "--use_last_layers_only: the model has no layers, only embeddings: --last_layer_names names parameters");
  }
  if (FLAGS_num_last_layers < 1 || FLAGS_num_last_layers > static_cast<int>(depths.size())) {
    return absl::InvalidArgumentError(absl::StrCat("--num_last_layers=", FLAGS_num_last_layers, ": expected 1 to ",
                                                   depths.size(), ", the layers there are"));
  }
  const int first = *std::next(depths.rbegin(), FLAGS_num_last_layers - 1);
  for (size_t s = 0; s < slices.size(); ++s) (*kept)[s] = (*kept)[s] && place(slices[s]).depth >= first;
  return absl::OkStatus();
}

// What a score is divided into.
enum class Parts { kNone, kBlocks, kLayers, kParameters };
constexpr absl::string_view kPartsWords[] = {"", "true", "layers", "parameters"};
constexpr EnumNames<Parts> kPartsNames("scores cannot be divided by", kPartsWords);

std::string PartName(Parts parts, const ParameterSlice& slice, const ParameterPlace& place) {
  switch (parts) {
    case Parts::kNone:
      return "all";
    case Parts::kBlocks:
      return place.block;
    case Parts::kLayers:
      return place.layer;
    case Parts::kParameters:
      return slice.name;
  }
  LOG(FATAL) << "no parts: " << static_cast<int>(parts);
}

}  // namespace

absl::StatusOr<ParameterChoice> ParametersFromFlags(absl::Span<const ParameterSlice> slices,
                                                    const std::function<ParameterPlace(const ParameterSlice&)>& place) {
  ASSIGN_OR_RETURN(const Parts parts, ParseFlagChoice("blocks", FLAGS_blocks, kPartsNames));
  ASSIGN_OR_RETURN(const std::vector<std::string> params, Globs("params", FLAGS_params, slices));
  ASSIGN_OR_RETURN(const std::vector<std::string> excluded, Globs("exclude_params", FLAGS_exclude_params, slices));
  std::vector<bool> kept(slices.size());
  for (size_t s = 0; s < slices.size(); ++s) {
    const std::string& name = slices[s].name;
    kept[s] = !slices[s].buffer && (params.empty() || Fits(params, name)) && !Fits(excluded, name);
  }
  RETURN_IF_ERROR(KeepLastLayers(slices, place, &kept));
  ParameterChoice choice;
  choice.part_scores = parts != Parts::kNone;
  std::vector<std::string> left;
  bool all = true;
  for (size_t s = 0; s < slices.size(); ++s) {
    if (!kept[s]) {
      all = all && slices[s].buffer;
      continue;
    }
    left.push_back(slices[s].name);
    const std::string name = PartName(parts, slices[s], place(slices[s]));
    ProductPart* part = nullptr;
    for (ProductPart& other : choice.parts) {
      if (other.name == name) part = &other;
    }
    if (part == nullptr) {
      choice.parts.push_back({name, {}});
      part = &choice.parts.back();
    }
    part->slices.push_back(static_cast<int>(s));
  }
  if (choice.parts.empty()) return absl::InvalidArgumentError("--exclude_params: no parameter is left");
  if (!all) choice.description = absl::StrJoin(left, ",");
  return choice;
}

absl::Status RefuseParameterFlags(absl::string_view why) {
  return RefuseFlags(
      why, {"params", "exclude_params", "use_last_layers_only", "num_last_layers", "last_layer_names", "blocks"});
}

}  // namespace rutile
