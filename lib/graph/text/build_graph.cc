#include "lib/graph/text/build_graph.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/interrupt.h"
#include "lib/base/status_macros.h"
#include "lib/graph/entity_types.h"
#include "lib/graph/text/formats/id_file.h"
#include "lib/graph/text/formats/kg_format.h"
#include "lib/graph/text/formats/kgx_nodes.h"
#include "lib/graph/text/formats/table_evidence.h"
#include "lib/graph/text/formats/triple_reader.h"
#include "lib/graph/text/formats/type_file.h"
#include "lib/graph/text/graph_names.h"
#include "lib/graph/text/shown_text.h"
#include "lib/graph/triple_weights.h"
#include "lib/graph/vocabulary.h"
#include "lib/tensorfile/tensor_header.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

constexpr int kNegatives = 3;  // in the place of a split's number: that of kTripleLists
constexpr int kShownLeaks = 5, kShownUntyped = 5;
constexpr char kNegatedWhat[] = "a negated statement, which is no fact";
constexpr char kNegatedRefusal[] =
    "a negated statement, which is no fact; --negated=drop leaves it out, --negated=relation makes a relation "
    "of its own of it";
constexpr int64_t kItemsPerRound = 16384;  // about ten milliseconds

std::string Show(const TextTriple& triple) {
  return absl::StrCat(JsonQuote(triple.head), " ", JsonQuote(triple.relation), " ", JsonQuote(triple.tail));
}

class Builder {
 public:
  explicit Builder(const BuildGraphOptions& options)
      : options_(options),
        entities_("entity", options.max_names),
        relations_("relation", options.inverse_relations ? options.max_names / 2 : options.max_names) {}

  absl::StatusOr<BuiltGraph> Build() {
    if (!options_.edge_map.empty()) {
      ASSIGN_OR_RETURN(result_.edge_map, EdgeMap::Read(options_.edge_map));
    }
    if (!options_.entity_to_id.empty()) RETURN_IF_ERROR(entities_.ReadFrom(options_.entity_to_id, &report().formats));
    const std::string& relation_ids = options_.relation_to_id;
    if (!relation_ids.empty()) RETURN_IF_ERROR(relations_.ReadFrom(relation_ids, &report().formats));
    RETURN_IF_ERROR(ReadSplit(0, options_.train, &graph().train));
    RETURN_IF_ERROR(ReadSplit(1, options_.valid, &graph().valid));
    RETURN_IF_ERROR(ReadSplit(2, options_.test, &graph().test));
    RETURN_IF_ERROR(ReadSplit(kNegatives, options_.negatives, &graph().negatives));
    triples_ = {};  // the graph may need that memory
    weights_ = {};
    graph().inverse_relations = options_.inverse_relations;
    graph().entities = entities_.vocabulary().Names();
    graph().relations = relations_.vocabulary().Names();
    RETURN_IF_ERROR(JudgeTables());
    report().unseen_entities = entities_.num_unseen();
    report().unseen_relations = relations_.num_unseen();
    report().unseen_relation_names = relations_.unseen_names();
    RETURN_IF_ERROR(AddLabelsAndTypes());
    DescribeFields();
    if (options_.sort_names) SortGraphNames(!entities_.fixed(), !relations_.fixed(), &graph());
    RETURN_IF_ERROR(Split());
    RETURN_IF_ERROR(HandleReversed());
    for (int i = 0; i <= kNegatives; ++i) {
      FoundIn(i).triples = static_cast<int64_t>((graph().*kTripleLists[i].triples).size());
    }
    CountUnused();
    RETURN_IF_ERROR(CheckTripleWeights(graph()));
    return std::move(result_);
  }

 private:
  // Whether a line goes into the graph.
  enum class Verdict { kTake, kLeave };

  KnowledgeGraph& graph() { return result_.graph; }
  BuildGraphReport& report() { return result_.report; }
  SplitReport& FoundIn(int split) { return split == kNegatives ? report().negatives : report().splits[split]; }

  // Returns kLeave and counts the finding, or returns the finding as an error.
  static absl::StatusOr<Verdict> Handle(Handling handling, const TripleReader& reader, absl::string_view what,
                                        Finding* finding) {
    if (handling == Handling::kRefuse) {
      return absl::InvalidArgumentError(absl::StrCat(reader.Place(), ": ", what));
    }
    finding->Add(reader.Place(), what);
    return handling == Handling::kKeep ? Verdict::kTake : Verdict::kLeave;
  }

  absl::Status ReadSplit(int split, const std::vector<std::string>& paths, std::vector<Triple>* triples) {
    split_ = split;
    SplitReport& found = FoundIn(split);
    std::vector<double>& weights = graph().*kTripleLists[split].triple_weights;
    weights_.clear();
    TripleReaderOptions reader_options;
    reader_options.table = options_.table;
    reader_options.table.weight_is_optional = split == kNegatives;
    reader_options.edges.qualifiers = options_.qualifiers;
    reader_options.edges.negated_relations = options_.negated == Handling::kKeep;
    reader_options.edges.negated_as_false = split == kNegatives;
    for (const std::string& path : paths) {
      ASSIGN_OR_RETURN(TripleReader reader, TripleReader::Open(path, &result_.edge_map, reader_options));
      RETURN_IF_ERROR(NoteFormat(&reader));
      TextTriple text;
      int64_t items = 0, told = 0;
      const auto tell = [&] {
        if (options_.on_progress) options_.on_progress(items - std::exchange(told, items));
      };
      for (TripleReader::Item item; (item = reader.Next(&text)) != TripleReader::kEnd;) {
        if (items++ % kItemsPerRound == 0) {
          RETURN_IF_ERROR(CheckInterrupt());
          tell();
        }
        if (item == TripleReader::kMalformed) {
          RETURN_IF_ERROR(Handle(options_.malformed, reader, reader.problem(), &found.malformed).status());
          continue;
        }
        if (item == TripleReader::kNegated) {
          const char* const what = options_.negated == Handling::kRefuse ? kNegatedRefusal : kNegatedWhat;
          RETURN_IF_ERROR(Handle(options_.negated, reader, what, &found.negated).status());
          continue;
        }
        Triple triple;
        ASSIGN_OR_RETURN(const Verdict verdict, Take(reader, text, &triple));
        if (verdict == Verdict::kTake) {
          triples->push_back(triple);
          if (IsWeighted()) weights.push_back(text.weight);
        }
        if (split != kNegatives && reader.may_be_header() &&
            std::min({triple.head, triple.relation, triple.tail}) >= 0) {
          first_lines_.push_back({reader.Place(), Show(text), triple});
        }
      }
      RETURN_IF_ERROR(reader.status());
      found.negated.Add(reader.denied());
      if (std::string doubt = reader.DoubtOfSigns(); !doubt.empty()) report().doubts.push_back(std::move(doubt));
      for (const auto& [field, finding] : reader.unused_qualifiers()) {
        report().unused_qualifiers[field].Add(finding);
      }
      tell();
    }
    if (!paths.empty() && triples->empty()) {
      const int64_t num_left_out = found.malformed.count + found.negated.count + found.literals.count +
                                   found.unknown.count + found.leaked.count + found.unseen.count;
      return absl::InvalidArgumentError(absl::StrCat(
          paths[0], ": no triple ", num_left_out > 0 ? "is left " : "", "for the ", kTripleLists[split].name,
          split == kNegatives ? "" : " split", ", expected at least one; give another file or none"));
    }
    return absl::OkStatus();
  }

  // Decides what the fields of the file are, and notes its format.
  absl::Status NoteFormat(TripleReader* reader) {
    const bool is_counted = reader->format() == KgFormat::kCountedTriples;
    has_entity_ids_ = has_relation_ids_ = is_counted;
    report().num_tables += reader->is_table();
    report().num_n_triples_files += reader->format() == KgFormat::kNTriples;
    const auto note = [&](absl::string_view what) {
      report().formats.push_back(absl::StrCat(reader->path(), ": ", what));
    };
    const std::string layout = reader->is_table() ? reader->layout().Describe() : "";
    const bool is_edges = reader->format() == KgFormat::kKgxEdges;
    report().num_edge_files += is_edges;
    report().num_negatable_files += is_edges || FindColumn(reader->layout().names, kNegatedField) >= 0;
    if (!layout.empty()) note(layout);
    if (is_edges && layout.empty()) note("KGX edges");
    if (reader->format() == KgFormat::kNTriples) note("N-Triples");
    if (IsWeighted() && !reader->has_weights()) {
      note(absl::StrCat("has no column ", options_.table.weight_column,
                        " of --weight_column: its triples have weight 1"));
    }
    if (is_counted) note("a count and then ids of head, tail and relation (as OpenKE writes)");
    if (is_counted && !(entities_.fixed() && relations_.fixed())) {
      return absl::InvalidArgumentError(absl::StrCat(reader->path(),
                                                     ": holds ids, and needs --entity_to_id and "
                                                     "--relation_to_id to say what they are"));
    }
    if (is_edges && result_.edge_map.grows() && relations_.fixed()) {
      return absl::InvalidArgumentError(absl::StrCat(
          reader->path(), ": relations of KGX edges have the names of an edge map, and ", options_.relation_to_id,
          " has ids of such names: give --edge_map, the one that the ids were made with"));
    }
    judges_columns_ |= reader->format() == KgFormat::kTriples && !reader->layout().columns_given;
    if (reader->format() == KgFormat::kTriples) DecideContent(reader);
    if (!is_counted && (has_entity_ids_ || has_relation_ids_)) {
      note(absl::StrCat(
          "ids of ",
          !has_relation_ids_ ? "entities"
          : has_entity_ids_  ? "entities and relations"
                             : "relations",
          ", by the files that give these",
          options_.content == TripleContent::kAuto ? " (--triples_hold=names if the numbers are names)" : ""));
    }
    return absl::OkStatus();
  }

  void DecideContent(TripleReader* reader) {
    if (options_.content == TripleContent::kNames || !(entities_.fixed() || relations_.fixed())) return;
    if (options_.content == TripleContent::kIds) {
      has_entity_ids_ = entities_.fixed();
      has_relation_ids_ = relations_.fixed();
      return;
    }
    const std::vector<TripleReader::NamedTriple> triples = reader->Peek();
    has_entity_ids_ = entities_.fixed() && !triples.empty();
    has_relation_ids_ = relations_.fixed() && !triples.empty();
    for (const TripleReader::NamedTriple& triple : triples) {
      has_entity_ids_ = has_entity_ids_ && IsCount(triple.head) && IsCount(triple.tail) &&
                        entities_.Find(triple.head) < 0 && entities_.Find(triple.tail) < 0;
      has_relation_ids_ = has_relation_ids_ && IsCount(triple.relation) && relations_.Find(triple.relation) < 0;
    }
  }

  bool IsWeighted() const { return !options_.table.weight_column.empty(); }

  absl::StatusOr<Verdict> Take(const TripleReader& reader, const TextTriple& text, Triple* triple) {
    SplitReport& found = FoundIn(split_);
    *triple = {-1, -1, -1};
    if (reader.tail_is_literal()) {
      ASSIGN_OR_RETURN(const Verdict verdict,
                       Handle(options_.literals, reader,
                              absl::StrCat("the literal ", ShownText(text.tail), " as an entity"), &found.literals));
      if (verdict == Verdict::kLeave) return verdict;
    }
    if (has_entity_ids_) {
      RETURN_IF_ERROR(ParseId(reader, entities_, text.head, &triple->head));
      RETURN_IF_ERROR(ParseId(reader, entities_, text.tail, &triple->tail));
    } else {
      triple->head = entities_.Find(text.head);
      triple->tail = entities_.Find(text.tail);
    }
    if (has_relation_ids_) {
      RETURN_IF_ERROR(ParseId(reader, relations_, text.relation, &triple->relation));
    } else {
      triple->relation = relations_.Find(text.relation);
    }
    std::string unknown;
    if (reader.unknown_relation()) {
      unknown = reader.problem();
    } else if (const auto [names, name] = Lacking(text, *triple); names != nullptr) {
      unknown = absl::StrCat("the ", names->what(), " ", JsonQuote(name), " has no id in ",
                             names == &entities_ ? options_.entity_to_id : options_.relation_to_id);
      if (IsCount(name) && options_.content == TripleContent::kAuto) {
        absl::StrAppend(&unknown, "; --triples_hold=ids takes numbers for ids");
      } else if (reader.may_be_header()) {
        absl::StrAppend(&unknown, "; --header=yes skips a line of titles");
      }
    }
    if (unknown.empty() && split_ == kNegatives && std::min({triple->head, triple->relation, triple->tail}) < 0) {
      unknown = absl::StrCat("a name of ", Show(text), " is in no triple of train, valid and test");
    }
    if (!unknown.empty()) return Handle(options_.unknown_names, reader, unknown, &found.unknown);
    if (split_ > 0 && split_ != kNegatives) {
      ASSIGN_OR_RETURN(const Verdict verdict, CheckSeen(reader, text, *triple));
      if (verdict == Verdict::kLeave) return verdict;
    }
    RETURN_IF_ERROR(AddNew(reader, &entities_, text.head, &triple->head));
    RETURN_IF_ERROR(AddNew(reader, &relations_, text.relation, &triple->relation));
    RETURN_IF_ERROR(AddNew(reader, &entities_, text.tail, &triple->tail));
    uint8_t& splits = triples_[*triple];  // a bit for each split that has it
    const uint8_t others = splits;
    const uint8_t own = static_cast<uint8_t>(1 << split_);
    splits |= own;
    RETURN_IF_ERROR(CheckWeight(reader, text, *triple, (others & own) != 0));
    if (others & own) {
      return Handle(options_.duplicates, reader, absl::StrCat(Show(text), " comes twice"), &found.duplicates);
    }
    if (others != 0 && split_ == kNegatives) {
      int split = 0;
      while ((others >> split & 1) == 0) ++split;
      return absl::InvalidArgumentError(absl::StrCat(reader.Place(), ": ", Show(text), " is in ", kSplitNames[split],
                                                     ", too: a triple is true or false, leave one of them out"));
    }
    if (others != 0) {
      const char* const earlier = kSplitNames[others & 1 ? 0 : 1];
      return Handle(options_.leaked, reader, absl::StrCat(Show(text), " is in ", earlier, ", too"), &found.leaked);
    }
    // A triple of weight 0 is known, and not learned.
    if (split_ == 0 && (!IsWeighted() || text.weight > 0)) {
      entities_.MarkTrained(triple->head);
      entities_.MarkTrained(triple->tail);
      relations_.MarkTrained(triple->relation);
    }
    return Verdict::kTake;
  }

  // Refuses a repeated triple of a split whose weight is another than before.
  absl::Status CheckWeight(const TripleReader& reader, const TextTriple& text, const Triple& triple, bool repeated) {
    if (!IsWeighted()) return absl::OkStatus();
    const double before = weights_.emplace(triple, text.weight).first->second;
    if (!repeated || before == text.weight) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(reader.Place(), ": ", Show(text), " comes twice, with the weights ", before, " and ", text.weight,
                     ", expected one line for each triple: add the weights up, or choose one"));
  }

  // Returns the first name of the triple that has no id although names of its kind are fixed; null if there is none.
  std::pair<const GraphNames*, absl::string_view> Lacking(const TextTriple& text, const Triple& triple) const {
    if (entities_.fixed() && triple.head < 0) return {&entities_, text.head};
    if (relations_.fixed() && triple.relation < 0) return {&relations_, text.relation};
    if (entities_.fixed() && triple.tail < 0) return {&entities_, text.tail};
    return {nullptr, ""};
  }

  absl::Status ParseId(const TripleReader& reader, const GraphNames& names, absl::string_view digits,
                       int32_t* id) const {
    int64_t value = 0;
    if (absl::SimpleAtoi(digits, &value) && value < names.vocabulary().size()) {
      *id = static_cast<int32_t>(value);
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(absl::StrCat(
        reader.Place(), ": ", names.what(), " ", digits, IsCount(digits) ? " is out of range" : " is no id",
        ", expected 0 .. ", names.vocabulary().size() - 1,
        reader.is_table() ? "; --columns=1,3,2 if the relation is last, --triples_hold=names if these are names" : ""));
  }

  absl::StatusOr<Verdict> CheckSeen(const TripleReader& reader, const TextTriple& text, const Triple& triple) {
    std::string what;
    const auto check = [&](GraphNames* names, absl::string_view name, int32_t id) {
      if (names->IsTrained(id)) return;
      // The file may contain ids; the message gives the name.
      if (id >= 0) name = names->vocabulary().name(id);
      names->MarkUnseen(name);
      if (!what.empty()) return;
      what = absl::StrCat("the ", names->what(), " ", JsonQuote(name), " is in no training triple",
                          IsWeighted() ? " of a weight above 0" : "");
    };
    check(&entities_, text.head, triple.head);
    check(&relations_, text.relation, triple.relation);
    check(&entities_, text.tail, triple.tail);
    if (what.empty()) return Verdict::kTake;
    return Handle(options_.unseen, reader, what, &report().splits[split_].unseen);
  }

  absl::Status AddNew(const TripleReader& reader, GraphNames* names, absl::string_view name, int32_t* id) {
    if (*id >= 0) return absl::OkStatus();
    *id = names->Add(name);
    if (*id >= 0) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(reader.Place(), ": the ", names->what(), " ", JsonQuote(name),
                                                   " is one more than the ", names->limit(),
                                                   " that 32-bit ids can name"));
  }

  // Returns an error or notes a doubt if a first line or the order of columns is not what it was taken for.
  absl::Status JudgeTables() {
    const std::vector<TableJudgment> judgments = JudgeFirstLines(graph(), first_lines_);
    for (size_t i = 0; i < judgments.size(); ++i) {
      if (judgments[i].evidence == Evidence::kNone) continue;
      const bool is_strong = judgments[i].evidence == Evidence::kStrong;
      const std::string what = absl::StrCat(
          first_lines_[i].place, ": ", first_lines_[i].shown, is_strong ? " names columns" : " may name columns",
          ", as ", judgments[i].reason,
          "; expected triples from the first line on; --header=yes skips that line, --header=no takes it for a triple");
      if (is_strong) return absl::InvalidArgumentError(what);
      report().doubts.push_back(what);
    }
    if (!judges_columns_ || has_entity_ids_) return absl::OkStatus();
    const TableJudgment order = JudgeColumnOrder(graph());
    if (order.evidence == Evidence::kNone) return absl::OkStatus();
    const std::string what = absl::StrCat(options_.train[0], ": ", order.reason);
    if (order.evidence == Evidence::kStrong) return absl::InvalidArgumentError(what);
    report().doubts.push_back(what);
    return absl::OkStatus();
  }

  absl::Status Split() {
    if (!options_.split.is_wanted()) return absl::OkStatus();
    ASSIGN_OR_RETURN(report().split, SplitTraining(options_.split, &graph()));
    return absl::OkStatus();
  }

  absl::Status HandleReversed() {
    std::array<LeakReport, 2> leaks = FindReverseLeaks(graph());
    std::vector<Triple>* const splits[] = {&graph().valid, &graph().test};
    std::vector<double>* const weights[] = {&graph().valid_weights, &graph().test_weights};
    for (int i = 0; i < 2; ++i) {
      if (leaks[i].count > 0 && options_.reversed == Handling::kRefuse) {
        return absl::InvalidArgumentError(absl::StrCat(
            kSplitNames[i + 1], ": ", leaks[i].count, " of ", splits[i]->size(),
            " triples are in train, reversed or under another name: ", DescribeLeaks(leaks[i], graph(), kShownLeaks)));
      }
      if (leaks[i].count > 0 && options_.reversed == Handling::kDrop) {
        size_t kept = 0;
        for (size_t row = 0; row < splits[i]->size(); ++row) {
          if (leaks[i].leaks[row]) continue;
          if (!weights[i]->empty()) (*weights[i])[kept] = (*weights[i])[row];
          (*splits[i])[kept++] = (*splits[i])[row];
        }
        splits[i]->resize(kept);
        if (!weights[i]->empty()) weights[i]->resize(kept);
        if (kept == 0) {
          return absl::InvalidArgumentError(
              absl::StrCat("no triple is left for the ", kSplitNames[i + 1], " split: all ", leaks[i].count,
                           " are in train, reversed or under another name; --reversed=keep keeps them"));
        }
      }
      report().splits[i + 1].reversed = std::move(leaks[i]);
    }
    return absl::OkStatus();
  }

  // Notes which fields beside Biolink's four tell relations of KGX edges apart.
  void DescribeFields() {
    if (!result_.edge_map.grows()) return;
    const std::vector<std::string>& fields = result_.edge_map.fields();
    std::vector<std::string> added;
    for (size_t i = EdgeMap().fields().size(); i < fields.size(); ++i) {
      const int64_t n = result_.edge_map.NumValues(static_cast<int>(i));
      added.push_back(absl::StrCat(fields[i], " (", n, n == 1 ? " value)" : " values)"));
    }
    if (added.empty()) return;
    report().formats.push_back(
        absl::StrCat("relations are also told apart by ", absl::StrJoin(added, ", "), "; --qualifiers chooses"));
  }

  void CountUnused() {
    std::vector<bool> entity(graph().entities.size(), false), relation(graph().relations.size(), false);
    for (const std::vector<Triple>* split : {&graph().train, &graph().valid, &graph().test}) {
      for (const Triple& triple : *split) {
        entity[triple.head] = entity[triple.tail] = true;
        relation[triple.relation] = true;
      }
    }
    report().unused_entities = std::count(entity.begin(), entity.end(), false);
    report().unused_relations = std::count(relation.begin(), relation.end(), false);
  }

  void SetTypes(const EntityTypesBuilder& builder) {
    const EntityTypes& types = graph().entity_types = builder.Build(graph().num_entities());
    if (types.empty()) return;
    for (int32_t e = 0; e < graph().num_entities(); ++e) {
      if (!types.Of(e).empty()) continue;
      if (report().untyped++ < kShownUntyped) report().untyped_names.push_back(graph().entities[e]);
    }
  }

  // Adds what files say about entities and relations beside their triples.
  absl::Status AddLabelsAndTypes() {
    const int64_t num_entities = graph().num_entities();
    EntityTypesBuilder types;
    if (!options_.node_name_dict.empty()) {
      ASSIGN_OR_RETURN(IdFile file, ReadLabelFile(options_.node_name_dict, num_entities));
      graph().entity_labels = std::move(file.names);
    } else if (!options_.nodes.empty()) {
      graph().entity_labels.assign(num_entities, "");
      RETURN_IF_ERROR(ReadKgxNodes(options_.nodes, entities_.vocabulary(), options_.malformed, &graph().entity_labels,
                                   &types, &report().malformed_nodes));
    }
    if (!options_.entity_types.empty()) {
      RETURN_IF_ERROR(ReadTypeFile(options_.entity_types, entities_.vocabulary(), options_.malformed, &types,
                                   &report().malformed_types, &report().unknown_types, &report().formats));
    }
    SetTypes(types);
    for (size_t i = 0; i < graph().entity_labels.size(); ++i) {
      if (!graph().entity_labels[i].empty()) continue;
      graph().entity_labels[i] = graph().entities[i];
      ++report().unlabeled;
    }
    if (result_.edge_map.size() == 0) return absl::OkStatus();
    const auto labels = result_.edge_map.Labels();
    for (const std::string& relation : graph().relations) {
      const auto found = labels.find(relation);
      graph().relation_labels.push_back(found == labels.end() ? relation : found->second);
    }
    return absl::OkStatus();
  }

  const BuildGraphOptions& options_;
  GraphNames entities_, relations_;
  absl::flat_hash_map<Triple, uint8_t> triples_;  // to a bit for each split that has it, or for kNegatives
  absl::flat_hash_map<Triple, double> weights_;   // of the current split
  std::vector<FirstLine> first_lines_;
  bool judges_columns_ = false;                             // true if content decided the columns of a table
  bool has_entity_ids_ = false, has_relation_ids_ = false;  // what the fields of the current file are
  int split_ = 0;
  BuiltGraph result_;
};

}  // namespace

absl::StatusOr<BuiltGraph> BuildGraph(const BuildGraphOptions& options) {
  const ProfileScope scope(Stage::kGraph);
  RETURN_IF_ERROR(CheckBuildGraphOptions(options));
  return Builder(options).Build();
}

}  // namespace rutile
