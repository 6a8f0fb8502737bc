#include "tools/featurize/triples_inputs.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/graph/text/formats/kg_format.h"

namespace rutile {
namespace {

constexpr std::pair<const char*, int> kSplitWords[] = {{"train", 0}, {"training", 0}, {"valid", 1}, {"validation", 1},
                                                       {"val", 1},   {"dev", 1},      {"test", 2},  {"testing", 2}};

std::string LowerName(absl::string_view path) { return absl::AsciiStrToLower(path.substr(path.find_last_of('/') + 1)); }

// Splits a file name into runs of letters: "train2id.txt" becomes train, id, txt.
std::vector<std::string> Words(absl::string_view path) {
  std::vector<std::string> words = {""};
  for (const char c : LowerName(path)) {
    if (absl::ascii_isalpha(c)) {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  return words;
}

// Returns split 0, 1 or 2; -1 if the name indicates none, or more than one.
int SplitOfName(absl::string_view path) {
  int split = -1;
  for (const std::string& word : Words(path)) {
    for (const auto& [name, number] : kSplitWords) {
      if (word != name) continue;
      if (split >= 0 && split != number) return -1;
      split = number;
    }
  }
  return split;
}

std::vector<absl::string_view> Folders(absl::string_view path) {
  const size_t end = path.find_last_of('/');
  if (end == absl::string_view::npos) return {};
  return absl::StrSplit(path.substr(0, end), '/');
}

// Returns the split that a folder is named after, or -1. Words within a name do not count, as in featurize_test.
int SplitOfFolder(absl::string_view folder) {
  const std::string lower = absl::AsciiStrToLower(folder);
  for (const auto& [name, number] : kSplitWords) {
    if (lower == name) return number;
  }
  return -1;
}

// Returns the split that each file's folders indicate, the nearest first, or -1. Folders that all files share, such as
// the one of a project called test, say nothing.
std::vector<int> SplitsOfFolders(const std::vector<std::string>& paths) {
  std::vector<std::vector<absl::string_view>> folders;
  for (const std::string& path : paths) folders.push_back(Folders(path));
  size_t num_shared = 0;
  const auto is_shared = [&](const std::vector<absl::string_view>& one) {
    return num_shared < one.size() && one[num_shared] == folders[0][num_shared];
  };
  while (num_shared < folders[0].size() && std::all_of(folders.begin(), folders.end(), is_shared)) ++num_shared;
  std::vector<int> splits;
  for (const std::vector<absl::string_view>& one : folders) {
    int split = -1;
    for (size_t i = one.size(); split < 0 && i > num_shared; --i) split = SplitOfFolder(one[i - 1]);
    splits.push_back(split);
  }
  return splits;
}

absl::Status Set(const char* flag, const std::string& path, std::string* option) {
  if (option->empty()) {
    *option = path;
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(path, ": --", flag, " is ", *option, " already, expected one file"));
}

absl::Status SetIds(const std::string& path, BuildGraphOptions* options) {
  const std::string name = LowerName(path);
  if (absl::StrContains(name, "rel")) return Set("relation_to_id", path, &options->relation_to_id);
  if (absl::StrContains(name, "name")) return Set("node_name_dict", path, &options->node_name_dict);
  if (absl::StrContains(name, "ent") || absl::StrContains(name, "node")) {
    return Set("entity_to_id", path, &options->entity_to_id);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": names and indices, but of what? Give it as --entity_to_id, --relation_to_id or --node_name_dict"));
}

absl::Status AssignSplits(const std::vector<std::string>& paths, BuildGraphOptions* options) {
  std::vector<std::string>* const splits[] = {&options->train, &options->valid, &options->test};
  if (paths.empty()) return absl::InvalidArgumentError("no file of training triples among the inputs; give --train");
  const std::vector<int> folders = SplitsOfFolders(paths);
  // A single folder of such a name may be that of a project; several are meant.
  const bool folders_are_splits = std::set<int>(folders.begin(), folders.end()).size() >
                                  (std::count(folders.begin(), folders.end(), -1) > 0 ? 2 : 1);
  std::vector<int> named;
  int num_named = 0;
  for (size_t i = 0; i < paths.size(); ++i) {
    const int name = SplitOfName(paths[i]), folder = folders[i];
    if (name >= 0 && folder >= 0 && name != folder && folders_are_splits) {
      return absl::InvalidArgumentError(absl::StrCat(paths[i], ": its name says ", kSplitNames[name], ", its folder ",
                                                     kSplitNames[folder], "; give --train, --valid and --test"));
    }
    named.push_back(name >= 0 ? name : folder);
    num_named += named.back() >= 0;
  }
  if (num_named != 0 && num_named != static_cast<int>(paths.size())) {
    size_t i = 0;
    while (named[i] >= 0) ++i;
    return absl::InvalidArgumentError(
        absl::StrCat(paths[i], ": its name has no split, as others' do; give --train, --valid and --test"));
  }
  if (num_named == 0 && paths.size() > 3) {
    return absl::InvalidArgumentError(absl::StrCat(paths.size(),
                                                   " files of triples whose names have no split; give "
                                                   "--train, --valid and --test"));
  }
  for (size_t i = 0; i < paths.size(); ++i) splits[num_named == 0 ? i : named[i]]->push_back(paths[i]);
  if (!options->train.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError("no file of training triples among the inputs; give --train");
}

}  // namespace

absl::Status AssignTriplesInputs(absl::Span<const std::string> paths, BuildGraphOptions* options) {
  std::vector<std::string> triples;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(const KgFormat format, DetectKgFormatOfFile(path));
    switch (format) {
      case KgFormat::kTriples:
      case KgFormat::kTable:
      case KgFormat::kNTriples:
      case KgFormat::kCountedTriples:
      case KgFormat::kKgxEdges:
        triples.push_back(path);
        break;
      case KgFormat::kIds:
        RETURN_IF_ERROR(SetIds(path, options));
        break;
      case KgFormat::kKgxNodes:
        RETURN_IF_ERROR(Set("nodes", path, &options->nodes));
        break;
      case KgFormat::kEdgeMap:
        RETURN_IF_ERROR(Set("edge_map", path, &options->edge_map));
        break;
      case KgFormat::kOther:
        // Trust a name that indicates triples, and flags that say how to cut lines; reading then reports what is wrong
        // in the first line.
        if (SplitOfName(path) < 0 && options->table.is_default()) {
          return absl::InvalidArgumentError(absl::StrCat(
              path,
              ": is no file of triples, ids or KGX, unlike other inputs; leave it out, or say with --separator "
              "and --columns how its lines are cut"));
        }
        triples.push_back(path);
        break;
    }
  }
  return AssignSplits(triples, options);
}

std::string DescribeInputs(const BuildGraphOptions& options) {
  std::vector<std::string> parts;
  const std::pair<const char*, const std::vector<std::string>*> splits[] = {
      {"train", &options.train}, {"valid", &options.valid}, {"test", &options.test}, {"negatives", &options.negatives}};
  for (const auto& [name, paths] : splits) {
    if (!paths->empty()) parts.push_back(absl::StrCat(name, " ", absl::StrJoin(*paths, " + ")));
  }
  const std::pair<const char*, const std::string*> files[] = {
      {"entity_to_id", &options.entity_to_id},     {"relation_to_id", &options.relation_to_id},
      {"node_name_dict", &options.node_name_dict}, {"nodes", &options.nodes},
      {"entity_types", &options.entity_types},     {"edge_map", &options.edge_map}};
  for (const auto& [name, path] : files) {
    if (!path->empty()) parts.push_back(absl::StrCat(name, " ", *path));
  }
  return absl::StrJoin(parts, ", ");
}

std::vector<std::string> AllInputs(const BuildGraphOptions& options) {
  std::vector<std::string> inputs;
  for (const std::vector<std::string>* paths : {&options.train, &options.valid, &options.test, &options.negatives}) {
    inputs.insert(inputs.end(), paths->begin(), paths->end());
  }
  for (const std::string* path : {&options.entity_to_id, &options.relation_to_id, &options.node_name_dict,
                                  &options.nodes, &options.entity_types, &options.edge_map}) {
    if (!path->empty()) inputs.push_back(*path);
  }
  return inputs;
}

}  // namespace rutile
