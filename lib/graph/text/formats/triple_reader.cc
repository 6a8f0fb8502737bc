#include "lib/graph/text/formats/triple_reader.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/base/status_macros.h"
#include "lib/graph/text/formats/json_line.h"
#include "lib/graph/text/shown_text.h"
#include "lib/graph/weight_range.h"
#include "lib/tensorfile/tensor_header.h"

namespace rutile {
namespace {

constexpr size_t kPeekedTriples = 1000;
constexpr char kHeaderRemedy[] = "--header=yes skips that line, --header=no takes it for a triple";

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

// True for the usual column titles of a table. Others are found by evidence, when all lines have been read.
bool IsHeader(const TextTriple& triple) {
  const auto is_one = [](absl::string_view field, std::initializer_list<absl::string_view> names) {
    const std::string lower = absl::AsciiStrToLower(field);
    return std::find(names.begin(), names.end(), lower) != names.end();
  };
  return is_one(triple.head, {"head", "subject", "source", "head_id"}) &&
         is_one(triple.relation, {"relation", "rel", "predicate", "edge", "label", "relation_id", "metaedge"}) &&
         is_one(triple.tail, {"tail", "object", "target", "tail_id"});
}

// Names the form of RDF or JSON that a file has and that is not read, with what to do; "" for other files.
std::string OtherForm(absl::string_view beginning) {
  beginning = absl::StripLeadingAsciiWhitespace(beginning.substr(0, kKgPrefix));
  const std::string first = absl::AsciiStrToLower(beginning.substr(0, 8));
  if (absl::StartsWith(first, "@prefix") || absl::StartsWith(first, "@base") || absl::StartsWith(first, "prefix ")) {
    return "is RDF as Turtle; make N-Triples of it, as by \"rapper -i turtle -o ntriples FILE\"";
  }
  if (absl::StartsWith(first, "<?xml") || absl::StartsWith(first, "<rdf:rdf")) {
    return "is XML; make N-Triples of it, as by \"rapper -i rdfxml -o ntriples FILE\"";
  }
  if (absl::StartsWith(first, "[")) return "is JSON as a list; write one object in a line, as KGX's edges.jsonl has";
  if (absl::StartsWith(first, "{") &&
      (absl::StrContains(beginning, "\"edges\"") || absl::StrContains(beginning, "\"nodes\"")) &&
      DetectKgFormat(beginning) == KgFormat::kEdgeMap) {
    return "is JSON as one object; write one edge in a line, as by \"kgx transform --output-format jsonl\"";
  }
  return "";
}

}  // namespace

absl::StatusOr<TripleReader> TripleReader::Open(absl::string_view path, EdgeMap* edges,
                                                const TripleReaderOptions& options) {
  ASSIGN_OR_RETURN(LineReader lines, LineReader::Open(path));
  return Start(std::move(lines), edges, options);
}

absl::StatusOr<TripleReader> TripleReader::FromBytes(absl::string_view path, std::string bytes, EdgeMap* edges,
                                                     const TripleReaderOptions& options) {
  return Start(LineReader::FromBytes(path, std::move(bytes)), edges, options);
}

absl::StatusOr<TripleReader> TripleReader::Start(LineReader lines, EdgeMap* edges, const TripleReaderOptions& options) {
  TripleReader reader(std::move(lines), edges, options);
  const absl::string_view beginning = reader.lines_.Prefix(kKgPrefix);
  const auto error = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(reader.path(), ": ", what,
                                                   ", expected triples: head, relation and tail between tabs, OpenKE's "
                                                   "counted ids, KGX edges or N-Triples"));
  };
  if (const std::string form = OtherForm(beginning); !form.empty()) return error(form);
  switch (DetectKgFormat(beginning)) {
    case KgFormat::kIds:
      return error("is a file of names and indices");
    case KgFormat::kKgxNodes:
      return error("is a file of KGX nodes");
    case KgFormat::kEdgeMap:
      return error("is an edge map");
    case KgFormat::kKgxEdges:
      reader.format_ = KgFormat::kKgxEdges;
      reader.edge_parser_.emplace(edges, options.edges);
      break;
    case KgFormat::kNTriples:
      reader.format_ = KgFormat::kNTriples;
      break;
    case KgFormat::kCountedTriples:
      RETURN_IF_ERROR(reader.StartCounted());
      break;
    default:  // what is recognized as nothing is read as names, too: wrong lines are reported one by one
      RETURN_IF_ERROR(reader.StartTable());
      break;
  }
  RETURN_IF_ERROR(reader.CheckWeights());
  return reader;
}

absl::Status TripleReader::CheckWeights() const {
  const std::string& column = options_.table.weight_column;
  if (column.empty() || is_table_) return absl::OkStatus();
  if (options_.table.weight_is_optional && !has_weights()) return absl::OkStatus();
  const auto error = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(path(), ": --weight_column=", column, ": ", what));
  };
  if (format_ != KgFormat::kKgxEdges) {
    return error("this format has no weights, expected a table with a column of them, or KGX edges");
  }
  if (IsCount(column)) return error("JSON has no columns, expected the name of the field that is the weight");
  return absl::OkStatus();
}

bool TripleReader::TakeWeight(absl::string_view text, TextTriple* triple) {
  if (absl::SimpleAtod(text, &triple->weight) && IsTripleWeight(triple->weight)) return true;
  problem_ = absl::StrCat("the weight is ", ShownText(text), ", expected 0, or a number of ", kLeastTripleWeight,
                          " to ", kLargestTripleWeight, " (--weight_column=", options_.table.weight_column, ")");
  return false;
}

absl::Status TripleReader::StartCounted() {
  format_ = KgFormat::kCountedTriples;
  absl::string_view line;
  while (lines_.Next(&line) && IsBlank(line)) {
  }
  if (absl::SimpleAtoi(line, &count_)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(Place(), ": ", ShownText(line), " is no number of lines below 2^63"));
}

absl::Status TripleReader::StartTable() {
  is_table_ = true;
  const absl::string_view beginning = lines_.Prefix(kKgPrefix);
  const bool is_whole =
      beginning.size() < kKgPrefix || lines_.BytesLeftAtMost() == static_cast<int64_t>(beginning.size());
  absl::StatusOr<TableLayout> layout = FindTableLayout(beginning.substr(0, kKgPrefix), is_whole, options_.table);
  if (!layout.ok()) return absl::InvalidArgumentError(absl::StrCat(path(), ":", layout.status().message()));
  layout_ = *std::move(layout);
  is_plain_ = layout_.separator == "\t" && !layout_.quoted && !layout_.columns_given;
  may_have_header_ = !layout_.has_header && options_.table.header == TableOptions::Header::kAuto;
  splitter_.emplace(layout_.separator, layout_.quoted);
  if (layout_.is_kgx) {
    format_ = KgFormat::kKgxEdges;
    edge_parser_.emplace(edges_, options_.edges);
  } else {
    negated_column_ = FindColumn(layout_.names, kNegatedField);
    for (int column = 0; column < layout_.num_fields; ++column) {
      const bool is_taken = std::find(layout_.columns.begin(), layout_.columns.end(), column) != layout_.columns.end();
      if (is_taken || column == layout_.weight_column) continue;
      sign_columns_.push_back({column, 0, ""});
      const bool has_name = column < static_cast<int>(layout_.names.size());
      if (has_name && IsKgxQualifier(layout_.names[column])) qualifier_columns_.push_back(column);
    }
  }
  if (!layout_.has_header) return absl::OkStatus();
  for (absl::string_view line; lines_.Next(&line) && IsBlank(line);) {
  }
  return absl::OkStatus();
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
    if (format_ == KgFormat::kNTriples && IsNTriplesComment(line)) continue;
    ++num_lines_;
    unknown_relation_ = false;
    tail_is_literal_ = false;
    switch (format_) {
      case KgFormat::kCountedTriples:
        return ParseIds(line, triple);
      case KgFormat::kNTriples:
        return ParseNTriples(line, triple);
      case KgFormat::kKgxEdges:
        return layout_.is_kgx ? ParseRow(line, triple) : ParseEdge(line, triple);
      default:
        return is_plain_ ? ParseNames(line, triple) : ParseRow(line, triple);
    }
  }
  status_ = lines_.status();
  if (status_.ok() && count_ >= 0 && num_lines_ != count_) {
    status_ = absl::InvalidArgumentError(absl::StrCat(path(), ": its first line counts ", count_, " triples, but ",
                                                      num_lines_, " lines follow; the file is cut off or joined"));
  }
  if (status_.ok() && denied_.count > 0 && affirmed_.count > 0) {
    status_ = absl::InvalidArgumentError(absl::StrCat(path(), ": ", denied_.count, " of ",
                                                      denied_.count + affirmed_.count, " statements are negated (",
                                                      denied_.first, "), the others are not (", affirmed_.first,
                                                      "), and it is not clear which are false: give the "
                                                      "negated ones alone, or false ones without \"negated\""));
  }
  return kEnd;
}

std::string TripleReader::WrongFields(absl::string_view line, size_t num_fields) const {
  if (!IsText(line)) return "text that is not UTF-8, expected names in UTF-8";
  if (layout_.columns_given) {
    return absl::StrCat(num_fields, " fields in ", ShownText(line), ", expected ", layout_.num_fields,
                        " as in the first line");
  }
  const bool is_tab = layout_.separator == "\t";
  std::string text =
      absl::StrCat(num_fields, " fields in ", ShownText(line), ", expected head, relation and tail with ",
                   is_tab ? "a tab" : JsonQuote(layout_.separator), " between");
  if (num_lines_ > 1) return text;
  if (num_fields > 3) {
    absl::StrAppend(&text, "; say which columns hold them, as in --columns=1,2,3 or by the names in a header");
  } else if (options_.table.separator.empty()) {
    absl::StrAppend(&text, "; --separator=comma or another says what is between fields");
  }
  return text;
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
    return Malformed(WrongFields(line, 1 + std::count(begin, end, '\t')));
  }
  triple->head = absl::string_view(begin, first - begin);
  triple->relation = absl::string_view(first + 1, second - first - 1);
  triple->tail = absl::string_view(second + 1, end - second - 1);
  return TakeNames(line, triple);
}

TripleReader::Item TripleReader::TakeNames(absl::string_view line, TextTriple* triple) {
  if (triple->head.empty() || triple->relation.empty() || triple->tail.empty()) {
    return Malformed(absl::StrCat("an empty field in ", ShownText(line), ", expected head, relation and tail"));
  }
  if (may_be_header() && IsHeader(*triple)) {
    return Malformed(absl::StrCat("names of columns, ", ShownText(line), ", expected triples from the first line on; ",
                                  kHeaderRemedy));
  }
  if (!IsText(line)) return Malformed("text that is not UTF-8, expected names in UTF-8");
  return kTriple;
}

TripleReader::Item TripleReader::ParseRow(absl::string_view line, TextTriple* triple) {
  if (!splitter_->Split(line)) {
    return Malformed(absl::StrCat("a quotation mark without its other in ", ShownText(line),
                                  ", expected fields in quotes as in CSV, on one line; --quotes=none takes quotes as "
                                  "part of names"));
  }
  const std::vector<absl::string_view>& fields = splitter_->fields();
  if (static_cast<int>(fields.size()) != layout_.num_fields) return Malformed(WrongFields(line, fields.size()));
  if (layout_.weight_column >= 0 && !TakeWeight(fields[layout_.weight_column], triple)) return kMalformed;
  if (layout_.is_kgx) {
    if (!IsText(line)) return Malformed("text that is not UTF-8, expected names in UTF-8");
    return TakeEdge(edge_parser_->ParseRow(layout_.names, fields), triple);
  }
  *triple = {fields[layout_.columns[0]], fields[layout_.columns[1]], fields[layout_.columns[2]], triple->weight};
  if (const Item item = TakeNames(line, triple); item != kTriple) return item;
  for (const absl::string_view name : {triple->head, triple->relation, triple->tail}) {
    if (absl::StrContains(name, '\t')) {
      return Malformed(absl::StrCat("a tab in the name ", ShownText(name), ", expected names without"));
    }
  }
  NoteSigns(fields);
  for (const int column : qualifier_columns_) {
    if (!fields[column].empty()) unused_qualifiers_[layout_.names[column]].Add(Place(), ShownText(fields[column]));
  }
  if (negated_column_ < 0) return kTriple;
  bool negated = false;
  if (!ParseNegated(fields[negated_column_], &negated)) {
    return Malformed(absl::StrCat("\"negated\" is ", ShownText(fields[negated_column_]), ", expected true or false"));
  }
  if (options_.edges.negated_as_false) CountDenied(negated);
  if (!negated || options_.edges.negated_as_false) return kTriple;
  if (!options_.edges.negated_relations) return kNegated;
  relation_ = absl::StrCat(triple->relation, " (negated)");
  triple->relation = relation_;
  return kTriple;
}

void TripleReader::NoteSigns(absl::Span<const absl::string_view> fields) {
  const auto is_none = [&](const SignColumn& column) {
    return fields[column.column] != "1" && fields[column.column] != "-1";
  };
  sign_columns_.erase(std::remove_if(sign_columns_.begin(), sign_columns_.end(), is_none), sign_columns_.end());
  for (SignColumn& column : sign_columns_) {
    if (fields[column.column] == "-1" && column.num_negative++ == 0) column.first = Place();
  }
}

std::string TripleReader::DoubtOfSigns() const {
  for (const SignColumn& column : sign_columns_) {
    if (column.num_negative == 0) continue;
    return absl::StrCat(column.first, ": column ", column.column + 1, " holds 1 and -1 alone, and -1 in ",
                        column.num_negative,
                        " lines, which are read as facts; if they mark false statements, leave these lines out");
  }
  return "";
}

std::vector<TripleReader::NamedTriple> TripleReader::Peek() {
  std::vector<NamedTriple> triples;
  if (format_ != KgFormat::kTriples) return triples;
  absl::string_view text = lines_.Prefix(kKgPrefix);
  FieldSplitter splitter(layout_.separator, layout_.quoted);
  while (!text.empty() && triples.size() < kPeekedTriples) {
    const size_t end = text.find('\n');
    if (end == absl::string_view::npos && !triples.empty()) break;  // the line may be cut off
    const absl::string_view line = absl::StripSuffix(text.substr(0, end), "\r");
    if (splitter.Split(line) && static_cast<int>(splitter.fields().size()) == layout_.num_fields) {
      const auto field = [&](int i) { return std::string(splitter.fields()[layout_.columns[i]]); };
      triples.push_back({field(0), field(1), field(2)});
    }
    text.remove_prefix(end == absl::string_view::npos ? text.size() : end + 1);
  }
  return triples;
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
  if (num_words != 3) return Malformed(absl::StrCat(ShownText(line), ", expected the ids of head, tail and relation"));
  *triple = {words[0], words[2], words[1]};
  return kTriple;
}

TripleReader::Item TripleReader::ParseEdge(absl::string_view line, TextTriple* triple) {
  if (const std::string& name = options_.table.weight_column; !name.empty()) {
    std::vector<std::string> none;
    std::vector<JsonField> weights;
    const auto is_weight = [&](absl::string_view field) { return field == name; };
    if (const absl::Status status = ParseJsonTexts(line, {}, is_weight, &none, &weights); !status.ok()) {
      return Malformed(std::string(status.message()));
    }
    if (weights.empty()) return Malformed(absl::StrCat("no field ", JsonQuote(name), " (--weight_column)"));
    if (!TakeWeight(weights[0].value, triple)) return kMalformed;
  }
  return TakeEdge(edge_parser_->ParseLine(line), triple);
}

TripleReader::Item TripleReader::TakeEdge(KgxEdgeParser::Outcome outcome, TextTriple* triple) {
  for (const JsonField& field : edge_parser_->unused()) unused_qualifiers_[field.name].Add(Place(), field.value);
  switch (outcome) {
    case KgxEdgeParser::kMalformed:
      return Malformed(edge_parser_->problem());
    case KgxEdgeParser::kNegated:
      return kNegated;
    case KgxEdgeParser::kUnknownRelation:
      unknown_relation_ = true;
      problem_ = edge_parser_->problem();
      break;
    case KgxEdgeParser::kEdge:
      break;
  }
  if (options_.edges.negated_as_false) CountDenied(edge_parser_->is_negated());
  *triple = {edge_parser_->subject(), edge_parser_->relation(), edge_parser_->object(), triple->weight};
  return kTriple;
}

TripleReader::Item TripleReader::ParseNTriples(absl::string_view line, TextTriple* triple) {
  if (!IsText(line)) return Malformed("text that is not UTF-8, expected names in UTF-8");
  if (std::string what; !ParseNTriplesLine(line, &n_triple_, &what)) {
    return Malformed(absl::StrCat(ShownText(line), ": ", what));
  }
  tail_is_literal_ = n_triple_.object_is_literal;
  *triple = {n_triple_.subject, n_triple_.predicate, n_triple_.object};
  return kTriple;
}

}  // namespace rutile
