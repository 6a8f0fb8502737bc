// Embeddings of a trained model with their names, for other programs.

#ifndef RUTILE_LIB_KGE_MODEL_EMBEDDING_EXPORT_H_
#define RUTILE_LIB_KGE_MODEL_EMBEDDING_EXPORT_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/kge/model/kge_file.h"
#include "lib/tensorfile/schema.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

// Kind kge.embeddings/1.
const Schema& EmbeddingsSchema();

// A path that ends in .tsv gets a table: kind ("entity", "relation" or "inverse"), id, name, label, then the numbers,
// which read back to the same bits; .safetensors a tensor file of kind kge.embeddings/1. Biases of entities are in the
// latter alone. metadata: see lib/tensorfile/provenance.h. INVALID_ARGUMENT: another ending.
absl::Status ExportEmbeddings(absl::string_view path, const TrainedKge& model, const Metadata& metadata);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_MODEL_EMBEDDING_EXPORT_H_
