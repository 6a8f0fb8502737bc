#include "lib/potential/data/structure_list.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "lib/potential/data/prediction_source.h"
#include "lib/potential/data/same_structures.h"
#include "lib/structure/structure_hash.h"

namespace rutile {
namespace {

constexpr size_t kNamed = 5;  // structures that a message names

// Takes "b.extxyz#3 4f2a91c07be1" apart; leaves both empty for any other comment.
void ParseComment(absl::string_view comment, std::string* name, std::string* hash) {
  const std::vector<absl::string_view> words = absl::StrSplit(comment, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
  if (words.empty() || !IsStructureHash(words.back())) return;
  *hash = std::string(words.back());
  *name = absl::StrJoin(words.begin(), words.end() - 1, " ");
}

std::string Describe(const StructureList& list, size_t i) {
  return list.names[i].empty() ? absl::StrCat(list.numbers[i])
                               : absl::StrCat(list.numbers[i], " (", list.names[i], ")");
}

std::string FirstOf(const std::vector<std::string>& items) {
  const auto end = items.begin() + static_cast<int64_t>(std::min(items.size(), kNamed));
  return absl::StrCat(absl::StrJoin(items.begin(), end, ", "), items.size() > kNamed ? ", ..." : "");
}

}  // namespace

bool StructureList::has_hashes() const {
  return !hashes.empty() && std::none_of(hashes.begin(), hashes.end(), [](const std::string& h) { return h.empty(); });
}

absl::StatusOr<StructureList> ReadStructureList(absl::string_view path) {
  ASSIGN_OR_RETURN(const FileContents contents, FileContents::Open(path));
  return ParseStructureList(path, contents.data());
}

absl::StatusOr<StructureList> ParseStructureList(absl::string_view path, absl::string_view text) {
  StructureList list;
  list.path = std::string(path);
  std::set<int64_t> seen;
  int64_t line_number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++line_number;
    const size_t comment = std::min(line.find('#'), line.size());
    const std::vector<absl::string_view> words =
        absl::StrSplit(line.substr(0, comment), absl::ByAnyChar(" \t\r\v\f"), absl::SkipEmpty());
    for (const absl::string_view word : words) {
      int64_t number;
      if (!absl::SimpleAtoi(word, &number) || number < 0) {
        return absl::InvalidArgumentError(absl::StrCat(path, ":", line_number, ": found \"", word.substr(0, 40),
                                                       "\", expected the number of a structure, counted from 0"));
      }
      if (!seen.insert(number).second) {
        return absl::InvalidArgumentError(
            absl::StrCat(path, ":", line_number, ": a structure is there twice: ", number));
      }
      list.numbers.push_back(number);
      list.names.emplace_back();
      list.hashes.emplace_back();
    }
    if (words.size() == 1 && comment < line.size()) {
      ParseComment(line.substr(comment + 1), &list.names.back(), &list.hashes.back());
    }
  }
  return list;
}

std::string StructureListOf(const AtomicData& data, absl::Span<const int64_t> structures) {
  std::string text;
  for (const int64_t s : structures) {
    const int64_t number = data.number(s);
    absl::StrAppend(&text, number, "  # ", data.name(s), " ", data.HashOfNumber(number), "\n");
  }
  return text;
}

absl::StatusOr<ListedNumbers> FindListed(const StructureList& list, const NumberedStructures& read) {
  ListedNumbers found;
  std::vector<std::string> missing;
  std::vector<size_t> moved;
  std::set<int64_t> taken;
  for (size_t i = 0; i < list.numbers.size(); ++i) {
    const int64_t number = list.numbers[i];
    const bool exists = number < read.count;
    found.numbers.push_back(number);
    if (list.hashes[i].empty()) {
      if (!exists) missing.push_back(Describe(list, i));
    } else if (!exists || read.hash(number) != list.hashes[i]) {
      moved.push_back(i);
      continue;
    }
    taken.insert(number);
  }
  if (!missing.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(list.path, ": structure ", FirstOf(missing), " of ", read.count,
                                                   " does not exist: numbers count all that is read, from 0"));
  }
  if (moved.empty()) return found;
  std::map<std::string, std::vector<int64_t>> by_hash;  // from the last to the first
  for (int64_t number = read.count - 1; number >= 0; --number) {
    if (taken.count(number) == 0) by_hash[read.hash(number)].push_back(number);
  }
  for (const size_t i : moved) {
    std::vector<int64_t>& left = by_hash[list.hashes[i]];
    if (left.empty()) {
      missing.push_back(Describe(list, i));
      continue;
    }
    found.numbers[i] = left.back();
    left.pop_back();
  }
  if (!missing.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        list.path, ": ", missing.size(), " of ", list.numbers.size(), " listed structures are not among the ",
        read.count, " of the data, under any number: ", FirstOf(missing),
        "; give the data that the list was made with, or a list of plain numbers"));
  }
  found.moved = static_cast<int64_t>(moved.size());
  return found;
}

absl::StatusOr<ListedPlaces> PlacesOfListed(const StructureList& list, const AtomicData& data) {
  ASSIGN_OR_RETURN(const ListedNumbers found,
                   FindListed(list, {data.num_read(), [&](int64_t number) { return data.HashOfNumber(number); }}));
  ListedPlaces result;
  result.moved = found.moved;
  for (const int64_t number : found.numbers) {
    if (const std::optional<int64_t> place = data.Find(number); place.has_value()) {
      result.places.push_back(*place);
    } else {
      result.left_out.push_back(absl::StrCat(number, " (", data.NameOfNumber(number), ")"));
    }
  }
  return result;
}

absl::StatusOr<ListedNumbers> FindListedInInputs(const StructureList& list, absl::Span<const std::string> inputs,
                                                 const DescriptorOptions& descriptor,
                                                 const StructureReaderOptions& reader, bool forces) {
  const bool hashed = std::any_of(list.hashes.begin(), list.hashes.end(), [](const auto& h) { return !h.empty(); });
  if (!hashed || std::find(inputs.begin(), inputs.end(), "-") != inputs.end()) return ListedNumbers{list.numbers, 0};
  ASSIGN_OR_RETURN(const std::vector<std::string> once, InputsOnce(inputs, descriptor, forces));
  std::vector<std::string> hashes;
  for (const std::string& input : once) {
    ASSIGN_OR_RETURN(const std::unique_ptr<PredictionSource> source, PredictionSource::Open(input, descriptor, reader));
    SourceStructure item;
    while (true) {
      ASSIGN_OR_RETURN(const bool more, source->Next([](const std::string&) { return true; }, &item));
      if (!more) break;
      hashes.push_back(StructureHash(item.structure));
    }
  }
  return FindListed(list, {static_cast<int64_t>(hashes.size()), [&](int64_t number) { return hashes[number]; }});
}

std::string DescribeMoved(const StructureList& list, int64_t moved) {
  if (moved == 0) return "";
  return absl::StrCat(list.path, ": ", moved, " of ", list.numbers.size(),
                      " listed structures have other numbers in these data, and were found by their content");
}

}  // namespace rutile
