#include "tools/featurize/triples_flags.h"

#include <gflags/gflags.h>

#include <array>
#include <initializer_list>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "lib/base/status_macros.h"
#include "lib/file/input_files.h"
#include "tools/common/run/flag_domain.h"
#include "tools/common/run/given_flags.h"
#include "tools/featurize/triples_inputs.h"

DEFINE_string(train, "", "Knowledge graph: training triples, a file or several with commas between.");
DEFINE_string(valid, "", "Knowledge graph: validation triples, likewise.");
DEFINE_string(test, "", "Knowledge graph: test triples, likewise.");
DEFINE_string(split, "",
              "Knowledge graph: shares of the training triples for training, validation and tests, as in 0.8,0.1,0.1, "
              "drawn relation by relation; each entity and relation stays in training. Empty: no split is made.");
DEFINE_uint64(seed, 0, "Knowledge graph: draws the triples of --split.");
DEFINE_string(separator, "auto",
              "Knowledge graph: what is between the fields of a table: tab, comma, semicolon, bar, space (any number), "
              "or the text itself. auto: a tab, or what gives all lines three fields.");
DEFINE_string(
    columns, "",
    "Knowledge graph: columns of head, relation and tail in a table, numbers from 1, as in 1,3,2, or names in "
    "the first line. Empty: the three that there are, or subject, predicate and object in KGX's edges.tsv.");
DEFINE_string(
    weight_column, "",
    "Knowledge graph: column of a weight of each triple in all files of triples, a number from 1 or a name in "
    "the first line; of edges.jsonl a field. At least 0; training multiplies losses by it. Empty: all are 1.");
DEFINE_string(negatives, "",
              "Knowledge graph: triples that are known to be false, files as those of --train, with commas between. "
              "Training pushes them down.");
DEFINE_string(header, "auto",
              "Knowledge graph: yes or no, whether the first line of a table names the columns. auto: refuse a line "
              "that looks so.");
DEFINE_string(quotes, "auto",
              "Knowledge graph: csv: quotation marks around fields of a table are no part of them, as in CSV; none: "
              "they are. auto: csv with other separators than tabs, and with tabs if all fields have quotes.");
DEFINE_string(triples_hold, "auto",
              "Knowledge graph: names or ids, what tables of triples hold. auto: ids if --entity_to_id or "
              "--relation_to_id has no name that is there, and all are numbers.");
DEFINE_string(entity_to_id, "", "Knowledge graph: file that gives entities their ids. Empty: in order of appearance.");
DEFINE_string(relation_to_id, "",
              "Knowledge graph: file that gives relations their ids. Empty: in order of appearance.");
DEFINE_string(vocabulary_order, "appearance",
              "Knowledge graph: order of ids that no file gives: appearance (in train, valid, test; in a line head "
              "before tail) or name (of the bytes).");
DEFINE_string(node_name_dict, "", "Knowledge graph: names for people, by the ids of --entity_to_id.");
DEFINE_string(nodes, "", "Knowledge graph: KGX nodes.jsonl or nodes.tsv, for their names and categories.");
DEFINE_string(
    entity_types, "",
    "Knowledge graph: types of entities, a line \"entity TAB type\" or with several types for each, in addition "
    "to the categories of --nodes.");
DEFINE_string(edge_map, "", "Knowledge graph: names of KGX relations, edge_map.json. Empty: predicate:0 and so on.");
DEFINE_string(edge_map_output, "", "Knowledge graph: where to write the edge map of KGX edges.");
DEFINE_string(
    qualifiers, "auto",
    "Knowledge graph: fields of KGX edges that tell relations of one predicate apart, with commas between, or "
    "none. auto: all whose names contain \"qualif\".");
DEFINE_bool(inverse_relations, true,
            "Knowledge graph: models learn an inverse of each relation, too, and predict heads by it.");
DEFINE_string(negated, "drop",
              "Knowledge graph: drop or refuse statements that are negated, or relation: they are relations of their "
              "own.");
DEFINE_string(literals, "keep", "Knowledge graph: keep, drop or refuse triples of N-Triples whose tail is a literal.");
DEFINE_string(malformed, "refuse", "Knowledge graph: refuse or skip lines that are no triple.");
DEFINE_string(unknown_names, "refuse",
              "Knowledge graph: refuse or skip triples with a name that the files of ids lack.");
DEFINE_string(duplicates, "drop", "Knowledge graph: drop or refuse triples that come again in a split.");
DEFINE_string(leaked, "drop",
              "Knowledge graph: drop, keep or refuse triples of valid or test that an earlier split has.");
DEFINE_string(reversed, "keep",
              "Knowledge graph: keep, drop or refuse triples of valid or test that training has reversed, with an "
              "inverse or symmetric relation, or with another name of the relation.");
DEFINE_string(unseen, "keep",
              "Knowledge graph: keep, drop or refuse triples of valid or test with an entity or relation that no "
              "training triple has.");

namespace rutile {
namespace {

const bool for_embeddings = FlagsAreFor(FlagDomain::kEmbeddings, __FILE__);

// Returns the value that the flag's text names.
template <typename T>
absl::StatusOr<T> ParseChoice(absl::string_view flag, const std::string& value,
                              std::initializer_list<std::pair<const char*, T>> choices) {
  std::vector<std::string> names;
  for (const auto& [name, choice] : choices) {
    if (value == name) return choice;
    names.push_back(name);
  }
  return absl::InvalidArgumentError(absl::StrCat("--", flag, "=", value, ": expected ", absl::StrJoin(names, " or ")));
}

absl::Status ParseHandlings(BuildGraphOptions* options) {
  constexpr Handling kRefuse = Handling::kRefuse, kDrop = Handling::kDrop, kKeep = Handling::kKeep;
  ASSIGN_OR_RETURN(options->malformed,
                   ParseChoice<Handling>("malformed", FLAGS_malformed, {{"refuse", kRefuse}, {"skip", kDrop}}));
  ASSIGN_OR_RETURN(options->unknown_names,
                   ParseChoice<Handling>("unknown_names", FLAGS_unknown_names, {{"refuse", kRefuse}, {"skip", kDrop}}));
  ASSIGN_OR_RETURN(options->duplicates,
                   ParseChoice<Handling>("duplicates", FLAGS_duplicates, {{"drop", kDrop}, {"refuse", kRefuse}}));
  ASSIGN_OR_RETURN(
      options->negated,
      ParseChoice<Handling>("negated", FLAGS_negated, {{"drop", kDrop}, {"relation", kKeep}, {"refuse", kRefuse}}));
  const std::initializer_list<std::pair<const char*, Handling>> all = {
      {"drop", kDrop}, {"keep", kKeep}, {"refuse", kRefuse}};
  ASSIGN_OR_RETURN(options->leaked, ParseChoice<Handling>("leaked", FLAGS_leaked, all));
  ASSIGN_OR_RETURN(options->literals, ParseChoice<Handling>("literals", FLAGS_literals, all));
  ASSIGN_OR_RETURN(options->reversed, ParseChoice<Handling>("reversed", FLAGS_reversed, all));
  ASSIGN_OR_RETURN(options->unseen, ParseChoice<Handling>("unseen", FLAGS_unseen,
                                                          {{"keep", kKeep}, {"drop", kDrop}, {"refuse", kRefuse}}));
  return absl::OkStatus();
}

absl::Status ParseTable(BuildGraphOptions* options) {
  using Header = TableOptions::Header;
  using Quotes = TableOptions::Quotes;
  const std::pair<const char*, const char*> separators[] = {
      {"auto", ""}, {"tab", "\t"}, {"\\t", "\t"}, {"comma", ","}, {"space", " "}, {"semicolon", ";"}, {"bar", "|"}};
  options->table.separator = FLAGS_separator;
  for (const auto& [name, text] : separators) {
    if (FLAGS_separator == name) options->table.separator = text;
  }
  if (FLAGS_separator.empty() || absl::StrContains(FLAGS_separator, '"')) {
    return absl::InvalidArgumentError(
        absl::StrCat("--separator=", FLAGS_separator, ": expected tab, comma, semicolon, bar, space or another text"));
  }
  ASSIGN_OR_RETURN(options->table.header,
                   ParseChoice<Header>("header", FLAGS_header,
                                       {{"auto", Header::kAuto}, {"yes", Header::kYes}, {"no", Header::kNo}}));
  ASSIGN_OR_RETURN(options->table.quotes,
                   ParseChoice<Quotes>("quotes", FLAGS_quotes,
                                       {{"auto", Quotes::kAuto}, {"csv", Quotes::kCsv}, {"none", Quotes::kNone}}));
  options->table.weight_column = FLAGS_weight_column;
  if (!FLAGS_columns.empty()) options->table.columns = absl::StrSplit(FLAGS_columns, ',');
  ASSIGN_OR_RETURN(options->content, ParseChoice<TripleContent>("triples_hold", FLAGS_triples_hold,
                                                                {{"auto", TripleContent::kAuto},
                                                                 {"names", TripleContent::kNames},
                                                                 {"ids", TripleContent::kIds}}));
  return absl::OkStatus();
}

absl::Status ParseSplit(GraphSplitOptions* split) {
  if (FLAGS_split.empty()) return RefuseFlags("without --split", {"seed"});
  const std::vector<std::string> texts = absl::StrSplit(FLAGS_split, ',');
  std::array<double, 3> shares = {0, 0, 0};
  bool is_valid = texts.size() == shares.size();
  double sum = 0;
  for (size_t i = 0; is_valid && i < shares.size(); ++i) {
    is_valid = absl::SimpleAtod(texts[i], &shares[i]) && shares[i] >= 0 && shares[i] <= 1;
    sum += shares[i];
  }
  constexpr double kRounding = 1e-6;  // of three shares with a few digits
  if (!is_valid || !(sum > 1 - kRounding && sum < 1 + kRounding) || shares[0] == 0 || shares[0] == 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("--split=", FLAGS_split,
                     ": expected three shares that add up to 1, for training, validation and tests, as in "
                     "--split=0.8,0.1,0.1"));
  }
  split->validation_fraction = shares[1];
  split->test_fraction = shares[2];
  split->seed = FLAGS_seed;
  return absl::OkStatus();
}

}  // namespace

bool TriplesFlagsGiven() {
  for (const char* flag :
       {"train", "valid", "test", "negatives", "split", "columns", "weight_column", "separator", "header"}) {
    if (FlagGiven(flag)) return true;
  }
  return false;
}

absl::StatusOr<BuildGraphOptions> BuildGraphOptionsFromFlags(const ToolRun& run) {
  BuildGraphOptions options;
  RETURN_IF_ERROR(ParseHandlings(&options));
  RETURN_IF_ERROR(ParseTable(&options));
  RETURN_IF_ERROR(ParseSplit(&options.split));
  ASSIGN_OR_RETURN(options.sort_names, ParseChoice<bool>("vocabulary_order", FLAGS_vocabulary_order,
                                                         {{"appearance", false}, {"name", true}}));
  options.inverse_relations = FLAGS_inverse_relations;
  options.entity_to_id = FLAGS_entity_to_id;
  options.relation_to_id = FLAGS_relation_to_id;
  options.node_name_dict = FLAGS_node_name_dict;
  options.nodes = FLAGS_nodes;
  options.entity_types = FLAGS_entity_types;
  options.edge_map = FLAGS_edge_map;
  if (FLAGS_qualifiers == "none") {
    options.qualifiers.emplace();
  } else if (FLAGS_qualifiers != "auto") {
    options.qualifiers = absl::StrSplit(FLAGS_qualifiers, ',');
  }
  const std::pair<const std::string*, std::vector<std::string>*> splits[] = {
      {&FLAGS_train, &options.train}, {&FLAGS_valid, &options.valid}, {&FLAGS_test, &options.test}};
  for (const auto& [flag, paths] : splits) {
    *paths = SplitInputs(*flag);
  }
  options.negatives = SplitInputs(FLAGS_negatives);
  const bool has_splits = !options.train.empty() || !options.valid.empty() || !options.test.empty();
  if (has_splits && !run.args.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(run.args[0], ": give splits as --train, --valid and --test, or as inputs, expected not both"));
  }
  if (has_splits && options.train.empty()) {
    return absl::InvalidArgumentError("needs --train beside --valid and --test");
  }
  if (!has_splits) {
    ASSIGN_OR_RETURN(const std::vector<std::string> inputs, ExpandInputs(run.args));
    RETURN_IF_ERROR(AssignTriplesInputs(inputs, &options));
    PrintMessage(DescribeInputs(options));
  }
  return options;
}

absl::Status RefuseUnusedTriplesFlags(const BuildGraphReport& report) {
  if (report.num_tables == 0) {
    RETURN_IF_ERROR(RefuseFlags("on files that are no tables of names or ids",
                                {"separator", "columns", "header", "quotes", "triples_hold"}));
  }
  if (report.num_edge_files == 0) RETURN_IF_ERROR(RefuseFlags("without KGX edges", {"qualifiers"}));
  if (report.num_negatable_files == 0) {
    RETURN_IF_ERROR(RefuseFlags("without KGX edges or a column \"negated\"", {"negated"}));
  }
  if (report.num_n_triples_files == 0) RETURN_IF_ERROR(RefuseFlags("without N-Triples", {"literals"}));
  return absl::OkStatus();
}

absl::Status RefuseTriplesFlags() { return RefuseFlagsFor(FlagDomain::kEmbeddings, "with structures"); }

std::string EdgeMapOutputFromFlags() { return FLAGS_edge_map_output; }

std::string SplitMetadata(const GraphSplitOptions& options) {
  if (!options.is_wanted()) return "";
  return absl::StrCat("{\"shares\": [", 1 - options.validation_fraction - options.test_fraction, ", ",
                      options.validation_fraction, ", ", options.test_fraction, "], \"seed\": ", options.seed, "}");
}

}  // namespace rutile
