#include "lib/graph/triple_reader.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "lib/base/status_macros.h"
#include "lib/graph/json_line.h"
#include "lib/tensorfile/tensor_header.h"

namespace rutile {
namespace {

constexpr size_t kShown = 60;  // number of bytes of a line shown in a message
constexpr size_t kEdgeEnds = 2;

bool IsBlank(absl::string_view line) { return std::all_of(line.begin(), line.end(), absl::ascii_isspace); }

// Most lines are ASCII, which is checked 8 bytes at a time.
bool IsText(absl::string_view line) {
  size_t i = 0;
  uint64_t high = 0;
  for (; i + 8 <= line.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, line.data() + i, 8);
    high |= word;
  }
  for (; i < line.size(); ++i) high |= static_cast<unsigned char>(line[i]);
  return (high & 0x8080808080808080) == 0 || IsUtf8(line);
}

std::string Shown(absl::string_view line) {
  if (line.size() <= kShown) return JsonQuote(line);
  size_t end = kShown;  // do not cut within a character
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xc0) == 0x80) --end;
  return absl::StrCat(JsonQuote(line.substr(0, end)), "...");
}

// True for the column titles of a table. As a triple, they would make unintended entities "head" and "tail".
bool IsHeader(const TextTriple& triple) {
  const auto is_one = [](absl::string_view field, std::initializer_list<absl::string_view> names) {
    const std::string lower = absl::AsciiStrToLower(field);
    return std::find(names.begin(), names.end(), lower) != names.end();
  };
  return is_one(triple.head, {"head", "subject", "source", "head_id"}) &&
         is_one(triple.relation, {"relation", "rel", "predicate", "edge", "label", "relation_id"}) &&
         is_one(triple.tail, {"tail", "object", "target", "tail_id"});
}

}  // namespace

absl::StatusOr<TripleReader> TripleReader::Open(absl::string_view path, EdgeMap* edges) {
  ASSIGN_OR_RETURN(LineReader lines, LineReader::Open(path));
  return Start(std::move(lines), edges);
}

absl::StatusOr<TripleReader> TripleReader::FromBytes(absl::string_view path, std::string bytes, EdgeMap* edges) {
  return Start(LineReader::FromBytes(path, std::move(bytes)), edges);
}

absl::StatusOr<TripleReader> TripleReader::Start(LineReader lines, EdgeMap* edges) {
  TripleReader reader(std::move(lines), edges);
  const auto error = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(reader.path(), ": is ", what,
                                                   ", expected triples: head, relation and tail between tabs, OpenKE's "
                                                   "counted ids, or KGX edges"));
  };
  switch (DetectKgFormat(reader.lines_.Prefix(kKgPrefix))) {
    case KgFormat::kIds:
      return error("a file of names and indices");
    case KgFormat::kKgxNodes:
      return error("a file of KGX nodes");
    case KgFormat::kEdgeMap:
      return error("an edge map");
    case KgFormat::kKgxEdges:
      reader.format_ = KgFormat::kKgxEdges;
      reader.fields_ = {"subject", "object"};
      reader.fields_.insert(reader.fields_.end(), edges->fields().begin(), edges->fields().end());
      break;
    case KgFormat::kCountedTriples: {
      reader.format_ = KgFormat::kCountedTriples;
      absl::string_view line;
      while (reader.lines_.Next(&line) && IsBlank(line)) {
      }
      if (!absl::SimpleAtoi(line, &reader.count_)) {
        return absl::InvalidArgumentError(
            absl::StrCat(reader.Place(), ": ", Shown(line), " is no number of lines below 2^63"));
      }
      break;
    }
    default:
      break;  // read as names; wrong lines are reported one by one
  }
  return reader;
}

std::string TripleReader::Place() const { return absl::StrCat(lines_.path(), ":", lines_.line_number()); }

TripleReader::Item TripleReader::Malformed(std::string problem) {
  problem_ = std::move(problem);
  return kMalformed;
}

TripleReader::Item TripleReader::Next(TextTriple* triple) {
  absl::string_view line;
  while (lines_.Next(&line)) {
    if (line.empty() || (static_cast<unsigned char>(line[0]) <= ' ' && IsBlank(line))) continue;
    ++num_lines_;
    unknown_relation_ = false;
    switch (format_) {
      case KgFormat::kCountedTriples:
        return ParseIds(line, triple);
      case KgFormat::kKgxEdges:
        return ParseEdge(line, triple);
      default:
        return ParseNames(line, triple);
    }
  }
  status_ = lines_.status();
  if (status_.ok() && count_ >= 0 && num_lines_ != count_) {
    status_ = absl::InvalidArgumentError(absl::StrCat(path(), ": its first line counts ", count_, " triples, but ",
                                                      num_lines_, " lines follow; the file is cut off or joined"));
  }
  return kEnd;
}

TripleReader::Item TripleReader::ParseNames(absl::string_view line, TextTriple* triple) {
  const char* const begin = line.data();
  const char* const end = begin + line.size();
  const auto tab = [&](const char* from) {
    return from == end ? nullptr : static_cast<const char*>(std::memchr(from, '\t', end - from));
  };
  const char* const first = tab(begin);
  const char* const second = first == nullptr ? nullptr : tab(first + 1);
  if (second == nullptr || tab(second + 1) != nullptr) {
    return Malformed(absl::StrCat(1 + std::count(begin, end, '\t'), " fields in ", Shown(line),
                                  ", expected head, relation and tail with a tab between"));
  }
  triple->head = absl::string_view(begin, first - begin);
  triple->relation = absl::string_view(first + 1, second - first - 1);
  triple->tail = absl::string_view(second + 1, end - second - 1);
  if (triple->head.empty() || triple->relation.empty() || triple->tail.empty()) {
    return Malformed(absl::StrCat("an empty field in ", Shown(line), ", expected head, relation and tail"));
  }
  if (num_lines_ == 1 && IsHeader(*triple)) {
    return Malformed(absl::StrCat("names of columns, ", Shown(line), ", expected triples from the first line on"));
  }
  if (!IsText(line)) return Malformed("text that is not UTF-8, expected names in UTF-8");
  return kTriple;
}

TripleReader::Item TripleReader::ParseIds(absl::string_view line, TextTriple* triple) {
  absl::string_view words[3];
  int num_words = 0;
  for (const absl::string_view word : absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty())) {
    if (num_words == 3 || !IsCount(word)) {
      num_words = -1;
      break;
    }
    words[num_words++] = word;
  }
  if (num_words != 3) return Malformed(absl::StrCat(Shown(line), ", expected the ids of head, tail and relation"));
  *triple = {words[0], words[2], words[1]};
  return kTriple;
}

TripleReader::Item TripleReader::ParseEdge(absl::string_view line, TextTriple* triple) {
  if (const absl::Status parsed = ParseJsonTexts(line, fields_, &values_); !parsed.ok()) {
    return Malformed(std::string(parsed.message()));
  }
  const auto is_name = [](const std::string& text) {
    return !text.empty() && text.find_first_of("\t\n\r") == std::string::npos;
  };
  for (size_t i = 0; i < fields_.size(); ++i) {
    const bool is_needed = i < kEdgeEnds || fields_[i] == "predicate";
    if (is_needed && values_[i].empty()) return Malformed(absl::StrCat("an edge without \"", fields_[i], "\""));
    if (!values_[i].empty() && !is_name(values_[i])) {
      return Malformed(absl::StrCat("\"", fields_[i], "\" is ", Shown(values_[i]), ", with a tab or a line end"));
    }
  }
  const absl::Span<const std::string> key = absl::MakeConstSpan(values_).subspan(kEdgeEnds);
  *triple = {values_[0], edges_->Find(key), values_[1]};
  if (triple->relation.empty()) {
    unknown_relation_ = true;
    problem_ = absl::StrCat("the edge map has no ", edges_->Describe(key));
  }
  return kTriple;
}

}  // namespace rutile
