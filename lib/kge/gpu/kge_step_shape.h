// What kernels of GPUs need to know of an embedding model, and of a batch on the device.
//
// nvcc compiles this file, so it uses the standard library alone.

#ifndef RUTILE_LIB_KGE_GPU_KGE_STEP_SHAPE_H_
#define RUTILE_LIB_KGE_GPU_KGE_STEP_SHAPE_H_

#include <cstdint>

#include "lib/matrix/factor_rounding.h"

namespace rutile {

// The layers whose dropout masks differ, as DropoutLayer of lib/kge/layers/dropout.h numbers them.
enum KgeDropout { kDropInput, kDropFeatureMap, kDropOutput, kDropHead, kDropRelation, kNumKgeDropouts };

// What a regularizer of single rows sums up: squares, cubes of numbers, or cubes of the moduli of complex numbers.
enum class RowPenaltyKind { kNone, kSquares, kCubes, kModuliCubed };

// KgeShape and KgeOptions in plain numbers (lib/kge/model/kge_shape.h, kge_options.h).
struct KgeStepShape {
  int64_t num_entities = 0, num_relations = 0, dim = 0;
  bool conve = false;
  bool complex_numbers = false;       // ComplEx: rows are [re | im]
  bool softmax = false;               // softmax cross-entropy; false: binary cross-entropy, mean over entities
  double rate[kNumKgeDropouts] = {};  // of dropout
  double candidate_rate = 0;
  FactorRounding rounding = FactorRounding::kNone;  // of factors of matrix products in training; float alone has it
  RowPenaltyKind penalty = RowPenaltyKind::kNone;
  // ConvE.
  int64_t embedding_height = 0, embedding_width = 0, channels = 0, kernel_height = 0, kernel_width = 0;
  bool stacked_in_width = false;   // an image is two embeddings side by side; false: one above the other
  bool has_input_norm = false;     // bn0
  bool drops_before_norm = false;  // dropout -> bn0; false: bn0 -> dropout
  bool has_affine_norms = false;   // norms have weight and bias
  double norm_epsilon = 0;

  // Where parameters begin in the flat tensor (KgeShape::Offsets); -1: the model does not have them.
  int64_t entity = -1, entity_bias = -1, relation = -1;
  int64_t bn0_weight = -1, bn0_bias = -1, bn0_mean = -1, bn0_variance = -1;
  int64_t conv_weight = -1, conv_bias = -1;
  int64_t bn1_weight = -1, bn1_bias = -1, bn1_mean = -1, bn1_variance = -1;
  int64_t fc_weight = -1, fc_bias = -1;
  int64_t bn2_weight = -1, bn2_bias = -1, bn2_mean = -1, bn2_variance = -1;
  int64_t num_parameters = 0;

  int64_t image_height() const { return embedding_height * (stacked_in_width ? 1 : 2); }
  int64_t image_width() const { return embedding_width * (stacked_in_width ? 2 : 1); }
  int64_t map_height() const { return image_height() - kernel_height + 1; }
  int64_t map_width() const { return image_width() - kernel_width + 1; }
  int64_t map_size() const { return map_height() * map_width(); }
  int64_t num_features() const { return channels * map_size(); }
};

// B queries in the device's memory.
struct KgeDeviceBatch {
  int64_t size = 0;
  const int32_t *head = nullptr, *relation = nullptr;  // [B]
  const int64_t* positive_offset = nullptr;            // [B + 1]
  const int32_t* positive = nullptr;                   // true tails of each query, ascending
  // [B] keys of the examples' masks (dropout_bodies-inl.h) of each layer with a rate above 0, else null.
  const uint64_t* mask_key[kNumKgeDropouts] = {};
  bool training = true;  // false: running statistics, no dropout
};

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_GPU_KGE_STEP_SHAPE_H_
