#include "tools/evaluate/models.h"

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "lib/base/decimal.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "lib/file/input_files.h"
#include "lib/influence/files/subsets_file.h"
#include "lib/mace/mace_model.h"
#include "lib/potential/model/aenet/aenet_file.h"
#include "lib/potential/model/open_potentials.h"
#include "lib/potential/model/pair_repulsion.h"
#include "lib/potential/prediction/force_predictor.h"
#include "lib/structure/element.h"
#include "lib/tensorfile/file_kind.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_reader.h"
#include "tools/common/flags/structure_flags.h"
#include "tools/common/run/given_flags.h"
#include "tools/common/run/run_tool.h"

namespace rutile {
namespace {

// Refuses a file of triples as the model, for users who swap the arguments.
absl::Status RefuseTriples(const std::string& path) {
  if (!LooksLikeTensorFile(path)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const TensorFile file, LookIntoTensorFile(path));
  const absl::StatusOr<FileKind> kind = GetFileKind(file);
  if (!kind.ok() || kind->name != "kg.triples") return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": is a file of triples, expected a model before it: evaluate MODEL TRIPLES"));
}

// Completes the error of a file that is no model at all: arguments in another order, or a pipe whose command has
// failed.
absl::Status WithHint(const std::vector<std::string>& paths, const absl::Status& status) {
  if (!absl::IsInvalidArgument(status)) return status;
  for (const std::string& path : paths) {
    if (!absl::StartsWith(status.message(), path) || !FileExists(path) || LooksLikeTensorFile(path)) continue;
    std::error_code ignored;
    const bool is_pipe = std::filesystem::is_fifo(path, ignored);
    if (!is_pipe) {
      const absl::StatusOr<FileContents> contents = FileContents::Open(path);
      if (contents.ok() && LooksLikeAenetNetwork(contents->data())) continue;  // a model, but not a whole one
    }
    const bool is_silent = is_pipe && absl::StrContains(status.message(), "is empty");
    return absl::InvalidArgumentError(
        absl::StrCat(status.message(), is_silent ? ": nothing came through this pipe, did its command fail?"
                                                 : ": the model comes first, as in evaluate MODEL DATA"));
  }
  return status;
}

}  // namespace

absl::Status RefuseRunDirectory(const std::string& path) {
  const std::string best = absl::StrCat(path, "/best.safetensors");
  if (FileExists(best)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": is the directory of a run, expected its model, ", best));
  }
  if (!FileExists(absl::StrCat(path, "/member-00/best.safetensors"))) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(path, ": is the directory of a committee, expected its models, '",
                                                 path, "/member-*/best.safetensors'"));
}

absl::StatusOr<Models> ReadModels(const std::string& argument) {
  const std::vector<std::string> arguments = SplitInputs(argument);
  for (const std::string& path : arguments) RETURN_IF_ERROR(RefuseRunDirectory(path));
  Models models;
  ASSIGN_OR_RETURN(models.paths, ExpandInputs(arguments));
  for (const std::string& path : models.paths) RETURN_IF_ERROR(RefuseTriples(path));
  absl::StatusOr<OpenedPotentials> opened = OpenPotentials(models.paths);
  if (!opened.ok()) return WithHint(models.paths, opened.status());
  models.potentials = std::move(opened->potentials);
  models.names = std::move(opened->names);
  RETURN_IF_ERROR(CheckCommittee(models.potentials, models.names));
  return models;
}

void WarnOfUnfinishedRun(absl::string_view path, const Metadata& metadata) {
  const auto ended = metadata.find("run_ended");
  if (ended == metadata.end() || ended->second != "false") return;
  const auto epoch = metadata.find("epoch");
  PrintWarning(absl::StrCat(path, ": is of a run that has not ended",
                            epoch != metadata.end() ? absl::StrCat(" (this is epoch ", epoch->second, ")") : "",
                            ": it was stopped, or is still training; train --resume goes on with it"));
}

void WarnOfEqualMembers(const Models& models) {
  const auto key = [](const Potential& p) {
    const Tensor& tensor = p.parameters;
    return std::make_pair(tensor.dtype(),
                          absl::string_view(static_cast<const char*>(tensor.data()), tensor.num_bytes()));
  };
  for (size_t m = 1; m < models.potentials.size(); ++m) {
    const bool is_mace = models.potentials[m].mace != nullptr;  // whose parameters are elsewhere
    for (size_t k = 0; k < m; ++k) {
      const bool same_file = models.names[m] == models.names[k];
      if (!same_file && (is_mace || key(models.potentials[m]) != key(models.potentials[k]))) continue;
      PrintWarning(absl::StrCat(
          models.names[m],
          same_file ? ": is twice in the committee" : absl::StrCat(": has the parameters of ", models.names[k]),
          ": the spread of a committee says something if its members are of different runs "
          "(train --seed)"));
      return;
    }
  }
}

void SayIfOfSubset(absl::string_view path, const Metadata& metadata) {
  const auto subset = metadata.find(kSubsetKey);
  if (subset == metadata.end()) return;
  PrintMessage(absl::StrCat(path, ": learned from a part of its training set, subset ", subset->second,
                            " of a plan (train --subset)"));
}

absl::StatusOr<LabelKeys> RecordedLabels(const Models& models) {
  const LabelKeys first = LabelKeysOf(models.potentials[0].metadata);
  for (size_t m = 1; m < models.potentials.size(); ++m) {
    const LabelKeys other = LabelKeysOf(models.potentials[m].metadata);
    std::vector<std::string> differences;
    for (const absl::string_view label_key : kLabelKeyNames) {
      const std::string name(label_key);
      const auto text = [&](const LabelKeys& keys) {
        const auto found = keys.find(name);
        return found == keys.end() ? absl::StrCat("no --", name, " (usual names, or an older version)")
                                   : absl::StrCat("--", name, "=", found->second);
      };
      if (FlagGiven(name.c_str()) || text(first) == text(other)) continue;
      differences.push_back(absl::StrCat(text(other), ", and ", models.names[0], " ", text(first)));
    }
    if (differences.empty()) continue;
    return absl::InvalidArgumentError(absl::StrCat(models.names[m], ": records labels of ",
                                                   absl::StrJoin(differences, "; "),
                                                   ": say by these flags which labels to compare with"));
  }
  return first;
}

absl::StatusOr<StructureReaderOptions> ReaderOptionsFor(const Models& models, std::string* taken) {
  ASSIGN_OR_RETURN(StructureReaderOptions options, StructureReaderOptionsFromFlags());
  ASSIGN_OR_RETURN(const LabelKeys recorded, RecordedLabels(models));
  const std::string words = TakeRecordedLabels(recorded, &options);
  if (taken != nullptr) *taken = words;
  return options;
}

void DescribeSubset(const Models& models, Metadata* metadata) {
  if (models.potentials.size() != 1) return;
  const Metadata& model = models.potentials[0].metadata;
  if (model.count(kSubsetKey) == 0) return;
  for (const char* key : {kSubsetKey, kSubsetsSha256Key, kSubsetSeedKey, "step", "run_ended"}) {
    if (const auto found = model.find(key); found != model.end()) (*metadata)[key] = found->second;
  }
}

// Returns what the file says of the splines of a MACE model, "" if it has none.
std::string DescribeSplines(const Potential& potential) {
  if (potential.mace->radial_splines == 0) return "";
  const auto error = potential.metadata.find("radial_spline_error");
  return absl::StrCat(", radial functions as splines of ", potential.mace->radial_splines, " knots",
                      error != potential.metadata.end() ? absl::StrCat(", off by ", error->second) : "");
}

using Facts = std::vector<std::pair<std::string, std::string>>;

void AddDescriptorFacts(const DescriptorOptions& descriptor, Facts* facts) {
  if (!descriptor.is_chebyshev()) {
    const MomentOptions& m = descriptor.moments();
    facts->emplace_back("moments",
                        absl::StrFormat("%d %s functions, harmonics to l = %d, cutoff %g Å", m.num_radial,
                                        m.basis == RadialBasis::kBessel ? "Bessel" : "Chebyshev", m.max_l, m.cutoff));
    return;
  }
  const ChebyshevOptions& d = descriptor.chebyshev();
  facts->emplace_back("radial", absl::StrFormat("order %d, cutoff %g Å", d.rad_order, d.rad_cutoff));
  std::string angular = absl::StrFormat("order %d, cutoff %g Å", d.ang_order, d.ang_cutoff);
  for (const AngularSet& set : d.nearer) {
    absl::StrAppendFormat(&angular, "; order %d, cutoff %g Å", set.order, set.cutoff);
  }
  facts->emplace_back("angular", angular);
}

std::vector<std::pair<std::string, std::string>> ModelFacts(const Models& models) {
  const Potential& first = models.potentials[0];
  const DescriptorOptions& d = first.descriptor;
  std::vector<std::pair<std::string, std::string>> facts;
  if (models.potentials.size() > 1) {
    facts.emplace_back("committee", absl::StrCat(models.potentials.size(), " members; predictions are their mean"));
  }
  facts.emplace_back("file", absl::StrJoin(models.paths, ", "));
  facts.emplace_back("species", absl::StrJoin(d.species(), ", ", [](std::string* out, uint8_t z) {
                       absl::StrAppend(out, ElementSymbol(z));
                     }));
  AddDescriptorFacts(d, &facts);
  for (size_t m = 0; m < models.potentials.size(); ++m) {
    const std::string radii = DescribeRepulsion(models.potentials[m].repulsion, d);
    if (radii.empty() || (m > 0 && models.potentials[m].repulsion == first.repulsion)) continue;
    facts.emplace_back(m > 0 ? absl::StrCat("repulsion ", m + 1) : "repulsion",
                       absl::StrCat("ZBL, switched off from ", radii, " Å"));
  }
  for (size_t m = 0; m < models.potentials.size(); ++m) {
    const Potential& p = models.potentials[m];
    if (p.mace != nullptr) {
      facts.emplace_back(models.potentials.size() > 1 ? absl::StrCat("network ", m + 1) : "network",
                         absl::StrFormat("MACE of mace-torch, %d channels, %d layer%s, F64", p.mace->channels,
                                         p.mace->layers.size(), p.mace->has_messages() ? "s" : "") +
                             DescribeSplines(p));
      continue;
    }
    std::string network = absl::StrCat(p.shape.num_features, "-", absl::StrJoin(p.shape.hidden, "-"),
                                       p.shape.hidden.empty() ? "1, " : "-1, ",
                                       kActivationNames.Name(p.shape.activation), ", one for each species, ",
                                       p.shape.num_parameters(), " parameters, ", DTypeName(p.parameters.dtype()));
    for (const char* key : {"epoch", "loss"}) {
      const auto found = p.metadata.find(key);
      if (found != p.metadata.end()) absl::StrAppend(&network, "; ", key, " ", found->second);
    }
    facts.emplace_back(models.potentials.size() > 1 ? absl::StrCat("network ", m + 1) : "network", network);
  }
  for (size_t s = 0; s < d.species().size(); ++s) {
    facts.emplace_back(absl::StrCat("atomic energy of ", ElementSymbol(d.species()[s])),
                       Decimal(first.atomic_energies[s], 6) + " eV");
  }
  return facts;
}

}  // namespace rutile
