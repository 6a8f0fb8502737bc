#include "lib/kge/model/embedding_export.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/status_macros.h"
#include "lib/base/tsv_cell.h"
#include "lib/file/file.h"
#include "lib/graph/name_lines.h"
#include "lib/tensorfile/tensor_writer.h"

namespace rutile {
namespace {

constexpr size_t kBufferBytes = 1 << 20;

Tensor Entities(const TrainedKge& model) {
  return model.parameters.Slice(model.shape.offsets().entity, {model.shape.num_entities, model.shape.dim()});
}

Tensor Relations(const TrainedKge& model) {
  return model.parameters.Slice(model.shape.offsets().relation,
                                {model.shape.num_relations, model.shape.relation_dim()});
}

template <typename T>
class TableWriter {
 public:
  explicit TableWriter(AtomicFile* file) : file_(file) {}

  // Adds rows [begin, end), whose names and labels begin at index 0.
  absl::Status AddRows(absl::string_view kind, int64_t begin, int64_t end, const Tensor& rows,
                       const std::vector<std::string>& names, const std::vector<std::string>& labels) {
    const int64_t dim = rows.dim(1);
    const absl::Span<const T> values = rows.values<T>();
    for (int64_t i = begin; i < end; ++i) {
      const size_t name = static_cast<size_t>(i - begin);
      absl::StrAppend(&buffer_, kind, "\t", i, "\t", TsvCell(names[name]), "\t",
                      labels.empty() ? "" : TsvCell(labels[name]));
      for (int64_t k = 0; k < dim; ++k) {
        absl::StrAppendFormat(&buffer_, "\t%.*g", sizeof(T) == 4 ? 9 : 17, values[i * dim + k]);
      }
      buffer_ += '\n';
      if (buffer_.size() < kBufferBytes) continue;
      RETURN_IF_ERROR(file_->Append(buffer_));
      buffer_.clear();
    }
    return absl::OkStatus();
  }

  std::string* buffer() { return &buffer_; }

  absl::Status Finish() {
    RETURN_IF_ERROR(file_->Append(buffer_));
    return file_->Commit();
  }

 private:
  AtomicFile* const file_;
  std::string buffer_;
};

template <typename T>
absl::Status WriteTable(absl::string_view path, const TrainedKge& model) {
  ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  TableWriter<T> writer(&file);
  *writer.buffer() = "kind\tid\tname\tlabel";
  for (int64_t k = 0; k < model.shape.dim(); ++k) absl::StrAppend(writer.buffer(), "\tx", k);
  *writer.buffer() += '\n';
  const KnowledgeGraph& names = model.names;
  const Tensor entities = Entities(model), relations = Relations(model);
  RETURN_IF_ERROR(writer.AddRows("entity", 0, names.num_entities(), entities, names.entities, names.entity_labels));
  RETURN_IF_ERROR(
      writer.AddRows("relation", 0, names.num_relations(), relations, names.relations, names.relation_labels));
  RETURN_IF_ERROR(writer.AddRows("inverse", names.num_relations(), model.shape.num_relations, relations,
                                 names.relations, names.relation_labels));
  return writer.Finish();
}

absl::Status WriteTensors(absl::string_view path, const TrainedKge& model, Metadata metadata) {
  NamedTensors tensors;
  tensors.Set("entity", Entities(model));
  tensors.Set("relation", Relations(model));
  const int64_t bias = model.shape.offsets().entity_bias;
  if (bias >= 0) tensors.Set("entity_bias", model.parameters.Slice(bias, {model.shape.num_entities}));
  if (model.shape.is_tucker()) {
    const int64_t d = model.shape.dim();
    tensors.Set("core", model.parameters.Slice(model.shape.offsets().fc_weight, {d, model.shape.relation_dim(), d}));
  }
  tensors.Set("entity_names", NamesToTensor(model.names.entities));
  tensors.Set("relation_names", NamesToTensor(model.names.relations));
  metadata["kind"] = EmbeddingsSchema().kind;
  const KgeOptions& options = model.shape.options;
  metadata["kge_model"] = std::string(kKgeModelNames.Name(options.model));
  if (IsDistanceModel(options.model)) metadata["distance_norm"] = absl::StrCat(options.distance_norm);
  metadata["inverse_relations"] = model.names.inverse_relations ? "true" : "false";
  return WriteTensorFile(path, metadata, tensors);
}

}  // namespace

const Schema& EmbeddingsSchema() {
  static const Schema& schema = *new Schema{
      "kge.embeddings/1",
      "Embeddings of a knowledge-graph model, made by `evaluate --export_embeddings` for other programs. N entities of "
      "d numbers, Q relations (with inverses: R, then the inverse of each) of D numbers: d, but d² for rescal, a "
      "matrix row by row, d/2 for cp, d/2 angles for rotate, and what the model has for tucker, whose core tensor is "
      "with them. Names are text, a line for each id.",
      {
          {"entity", {DType::kF32, DType::kF64}, {"N", "d"}, true, "a row for each entity"},
          {"relation", {DType::kF32, DType::kF64}, {"Q", "D"}, true, "a row for each relation that queries name"},
          {"entity_bias", {DType::kF32, DType::kF64}, {"N"}, false, "added to the score of a tail"},
          {"core", {DType::kF32, DType::kF64}, {"d", "D", "d"}, false, "of tucker: tails, relations, heads"},
          {"entity_names", {DType::kU8}, {"EB"}, true, "a line for each entity"},
          {"relation_names", {DType::kU8}, {"RB"}, true, "a line for each relation, R of them"},
      },
      {
          {"inverse_relations", true, "`true`: relation R + r is the inverse of r"},
          {"kge_model", false, "how rows make a score: `complex`, `transe` and so on, as train's `--kge_model`"},
          {"distance_norm", false,
           "`1` or `2`, of transe and rotate, whose scores are minus this norm of a difference"},
      }};
  return schema;
}

absl::Status ExportEmbeddings(absl::string_view path, const TrainedKge& model, const Metadata& metadata) {
  if (absl::EndsWith(path, ".safetensors")) return WriteTensors(path, model, metadata);
  if (!absl::EndsWith(path, ".tsv")) {
    return absl::InvalidArgumentError(
        absl::StrCat("--export_embeddings=", path, ": expected a name that ends in .tsv or .safetensors"));
  }
  if (model.shape.relation_dim() != model.shape.dim()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--export_embeddings=", path, ": entities of ", kKgeModelNames.Name(model.shape.options.model), " have ",
        model.shape.dim(), " numbers and relations ", model.shape.relation_dim(),
        ", and the rows of a table have the same columns: export a .safetensors file, which has two tables"));
  }
  return model.parameters.dtype() == DType::kF64 ? WriteTable<double>(path, model) : WriteTable<float>(path, model);
}

}  // namespace rutile
