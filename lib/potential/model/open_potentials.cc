#include "lib/potential/model/open_potentials.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "lib/mace/mace_file.h"
#include "lib/potential/model/aenet/aenet_file.h"
#include "lib/potential/model/aenet/aenet_network.h"
#include "lib/potential/model/mace_potential.h"
#include "lib/structure/element.h"
#include "lib/tensorfile/tensor_reader.h"

namespace rutile {
namespace {

constexpr absl::string_view kModels =
    "a model of train, as run/best.safetensors, or the networks of aenet for all "
    "species, as Ti.nn and O.nn";

// A kind of file that users of other programs take for a model.
struct OtherFile {
  absl::string_view begin, end;  // of the file's name without its directory
  absl::string_view what;
  absl::string_view remedy;
};

constexpr absl::string_view kTrain = "its form cannot be held: train a model on the structures that it was made from";
constexpr OtherFile kOtherFiles[] = {
    {"", ".train", "a training set of aenet", "train a model on the structures (XSF) that it was made from"},
    {"", ".train.scaled", "a training set of aenet", "train a model on the structures (XSF) that it was made from"},
    {"", ".train.forces", "a training set of aenet", "train a model on the structures (XSF) that it was made from"},
    {"", ".train.ascii", "a training set of aenet", "train a model on the structures (XSF) that it was made from"},
    {"", ".stp", "a fingerprint setup of aenet", "train --fingerprints reads it"},
    {"input", ".nn", "settings of n2p2 or RuNNer", kTrain},
    {"weights.", ".data", "a network of n2p2 or RuNNer", kTrain},
    {"scaling", ".data", "scaling data of n2p2 or RuNNer", kTrain},
    {"", ".mtp", "a potential of MLIP (MTP)", kTrain},
    {"", ".almtp", "a potential of MLIP (MTP)", kTrain},
    {"", ".cfg", "structures or settings of MLIP (MTP)", "convert the structures to extended XYZ, and train on them"},
    {"", ".model", "a model of MACE",
     "python3 -m rutile.import_mace writes one of scalar messages as a file for rutile; train a model in place of "
     "others"},
    {"", ".pth", "a model of NequIP, Allegro or PyTorch", kTrain},
    {"", ".pt", "a model of PyTorch", kTrain},
    {"", ".pt2", "a model of NequIP, Allegro or PyTorch", kTrain},
    {"", ".nequip.zip", "a model of NequIP or Allegro", kTrain},
    {"", ".yace", "a potential of ACE", kTrain},
    {"", ".ace", "a potential of ACE", kTrain},
    {"", ".pb", "a model of DeePMD-kit", kTrain},
    {"", ".snapcoeff", "a potential of SNAP", kTrain},
    {"", ".snapparam", "a potential of SNAP", kTrain},
    {"nep", ".txt", "a potential of GPUMD (NEP)", kTrain},
};

bool IsRegularFile(const std::string& path) {
  struct stat info;
  return path != "-" && ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

absl::StatusOr<bool> IsAenetNetwork(const std::string& path) {
  if (!IsRegularFile(path) || LooksLikeTensorFile(path)) return false;
  ASSIGN_OR_RETURN(const FileContents contents, FileContents::Open(path));
  return LooksLikeAenetNetwork(contents.data());
}

// Opens a potential of rutile or a MACE model. Streams are kept in memory, so that a pipe can be read again.
absl::StatusOr<Potential> OpenOne(const std::string& path) {
  if (IsRegularFile(path) && !LooksLikeTensorFile(path)) return ReadPotential(path);
  const absl::StatusOr<TensorFile> look = LookIntoTensorFile(path);
  // ReadPotential says what is wrong with a file that is no tensor file.
  if (!look.ok() || !IsMaceFile(*look)) return ReadPotential(path);
  ASSIGN_OR_RETURN(const TensorFile file, ReadTensorFile(path));
  return MacePotential(file);
}

// Networks of aenet on the way to a potential.
class SpeciesNetworks {
 public:
  bool empty() const { return names_.empty(); }
  bool complete() const { return !empty() && missing_.empty(); }

  absl::Status Add(const std::string& path) {
    ASSIGN_OR_RETURN(const FileContents contents, FileContents::Open(path));
    ASSIGN_OR_RETURN(AenetNetwork network, ParseAenet(contents.data(), path));
    if (empty()) missing_ = network.environment;
    missing_.erase(std::remove(missing_.begin(), missing_.end(), network.atom), missing_.end());
    for (size_t k = 0; k < networks_.size(); ++k) {
      if (networks_[k].atom != network.atom) continue;
      return absl::InvalidArgumentError(absl::StrCat(path, ": is a second network of ", ElementSymbol(network.atom),
                                                     ", beside ", names_[k], ", before one of ", Missing(),
                                                     "; expected one for each species"));
    }
    networks_.push_back(std::move(network));
    names_.push_back(path);
    return absl::OkStatus();
  }

  // Appends the potential, and starts anew.
  absl::Status Finish(OpenedPotentials* opened) {
    ASSIGN_OR_RETURN(Potential potential, FromAenet(networks_, names_));
    opened->potentials.push_back(std::move(potential));
    opened->names.push_back(absl::StrJoin(names_, ","));
    *this = SpeciesNetworks();
    return absl::OkStatus();
  }

  absl::Status Incomplete() const {
    return absl::InvalidArgumentError(absl::StrCat(
        absl::StrJoin(names_, ","), ": need a network of each species of the environment, and there is none of ",
        Missing(), "; name the files of all species together, with commas for evaluate and train"));
  }

 private:
  std::string Missing() const {
    return absl::StrJoin(missing_, ", ",
                         [](std::string* out, uint8_t element) { absl::StrAppend(out, ElementSymbol(element)); });
  }

  std::vector<AenetNetwork> networks_;
  std::vector<std::string> names_;
  std::vector<uint8_t> missing_;
};

}  // namespace

absl::Status RefuseOtherPrograms(absl::string_view path) {
  const std::string name(path);
  if (!IsRegularFile(name) || LooksLikeTensorFile(name)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const bool is_network, IsAenetNetwork(name));
  if (is_network) {
    return absl::InvalidArgumentError(
        absl::StrCat(path,
                     ": is a network of aenet, expected a model of train, as run/best.safetensors; evaluate, "
                     "train --init_from and the C library open networks of aenet"));
  }
  const absl::string_view base = path.substr(path.rfind('/') + 1);
  for (const OtherFile& other : kOtherFiles) {
    if (!absl::StartsWith(base, other.begin) || !absl::EndsWith(base, other.end)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is ", other.what, ", by its name, expected ", kModels, "; ", other.remedy));
  }
  if (absl::EndsWith(base, ".nn") || absl::EndsWith(base, ".nn.ascii")) {
    return absl::InvalidArgumentError(
        absl::StrCat(path,
                     ": does not begin like a network of aenet, as its name says (text, or little-endian records of "
                     "Fortran), expected ",
                     kModels));
  }
  return absl::OkStatus();
}

absl::StatusOr<OpenedPotentials> OpenPotentials(absl::Span<const std::string> paths) {
  OpenedPotentials opened;
  SpeciesNetworks networks;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(const bool is_network, IsAenetNetwork(path));
    if (is_network) {
      RETURN_IF_ERROR(networks.Add(path));
      if (networks.complete()) RETURN_IF_ERROR(networks.Finish(&opened));
      continue;
    }
    if (!networks.empty()) return networks.Incomplete();
    ASSIGN_OR_RETURN(Potential potential, OpenOne(path));
    opened.potentials.push_back(std::move(potential));
    opened.names.push_back(path);
  }
  if (!networks.empty()) return networks.Incomplete();
  return opened;
}

}  // namespace rutile
