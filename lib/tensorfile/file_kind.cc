#include "lib/tensorfile/file_kind.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"

namespace rutile {
namespace {

struct Maker {
  absl::string_view kind;
  absl::string_view tool;
};

constexpr Maker kMakers[] = {
    {"atomistic.features", "featurize"},
    {"atomistic.neighbors", "cache-neighbors"},
    {"kg.triples", "featurize"},
    {"kg.known", "cache-neighbors"},
    {"kg.ranks", "evaluate"},
    {"potential", "train"},
    {"mace", "python3 -m rutile.import_mace"},
    {"kge", "train"},
    {"checkpoint", "train"},
    {"predictions", "evaluate"},
    {"influence", "tracin"},
    {"curvature", "tracin --mode=curvature"},
};

// Returns "; make one with featurize", or "".
std::string Remedy(absl::string_view kind_name) {
  const absl::string_view tool = ToolThatMakes(kind_name);
  return tool.empty() ? "" : absl::StrCat("; make one with ", tool);
}

// Suggests which file to give in place of one of kind `found`.
std::string Remedy(absl::string_view wanted, absl::string_view found) {
  const bool model = wanted == "potential" || wanted == "kge";
  if (model && found == "checkpoint") return "; the models of a run are its best.safetensors and last.safetensors";
  if (wanted == "checkpoint" && (found == "potential" || found == "kge")) {
    return "; those of a run are in its folder checkpoints";
  }
  return Remedy(wanted);
}

std::string Describe(const FileKind& kind) { return absl::StrCat(kind.name, "/", kind.version); }

}  // namespace

absl::string_view ToolThatMakes(absl::string_view kind_name) {
  for (const Maker& maker : kMakers) {
    if (maker.kind == kind_name) return maker.tool;
  }
  return "";
}

absl::StatusOr<FileKind> ParseFileKind(absl::string_view text) {
  const size_t slash = text.rfind('/');
  FileKind kind;
  if (slash != absl::string_view::npos && slash > 0 && slash + 1 < text.size() &&
      absl::ascii_isdigit(text[slash + 1]) && absl::SimpleAtoi(text.substr(slash + 1), &kind.version) &&
      kind.version >= 1) {
    kind.name = std::string(text.substr(0, slash));
    return kind;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\" is not a kind of file, expected a name and a version like atomistic.features/1"));
}

absl::StatusOr<FileKind> GetFileKind(const TensorFile& file) {
  const auto found = file.metadata.find("kind");
  if (found == file.metadata.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat(file.path, ": its metadata has no \"kind\", expected a file that a rutile tool made"));
  }
  absl::StatusOr<FileKind> kind = ParseFileKind(found->second);
  if (!kind.ok()) return absl::InvalidArgumentError(absl::StrCat(file.path, ": ", kind.status().message()));
  return kind;
}

absl::Status CheckFileKind(absl::string_view expected, const TensorFile& file) {
  const absl::StatusOr<FileKind> wanted = ParseFileKind(expected);
  CHECK(wanted.ok()) << wanted.status();
  if (file.metadata.count("kind") == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(file.path, ": its metadata has no \"kind\", expected ", expected, Remedy(wanted->name)));
  }
  ASSIGN_OR_RETURN(const FileKind found, GetFileKind(file));
  if (found.name != wanted->name) {
    return absl::InvalidArgumentError(absl::StrCat(file.path, ": is a file of kind ", Describe(found), ", expected ",
                                                   expected, Remedy(wanted->name, found.name)));
  }
  if (found.version > wanted->version) {
    return absl::InvalidArgumentError(absl::StrCat(file.path, ": is a file of kind ", Describe(found),
                                                   ", newer than this rutile, which reads ", expected,
                                                   "; use a newer rutile"));
  }
  if (found.version < wanted->version) {
    return absl::InvalidArgumentError(absl::StrCat(file.path, ": is a file of kind ", Describe(found),
                                                   ", older than what this rutile reads, ", expected,
                                                   Remedy(wanted->name)));
  }
  return absl::OkStatus();
}

}  // namespace rutile
