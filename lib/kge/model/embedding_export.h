// Exports the embeddings of a trained model with their names, for other programs.

#ifndef RUTILE_LIB_KGE_MODEL_EMBEDDING_EXPORT_H_
#define RUTILE_LIB_KGE_MODEL_EMBEDDING_EXPORT_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/kge/model/kge_file.h"
#include "lib/tensorfile/schema.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

// The schema of kind kge.embeddings/1.
const Schema& EmbeddingsSchema();

// Writes the embeddings. A path that ends in .tsv gets a table: kind ("entity", "relation" or "inverse"), id, name,
// label, then the numbers, with enough digits to be read back to the same bits. A path that ends in .safetensors gets a
// tensor file of kind kge.embeddings/1, which also has the entities' biases. metadata: see lib/tensorfile/provenance.h.
// INVALID_ARGUMENT for other endings.
absl::Status ExportEmbeddings(absl::string_view path, const TrainedKge& model, const Metadata& metadata);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_MODEL_EMBEDDING_EXPORT_H_
