#include "lib/kge/influence/kge_pair_products.h"

#include <algorithm>
#include <type_traits>

#include "lib/base/logging.h"
#include "lib/kge/layers/workspace.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/matrix/matrix_view.h"
#include "lib/matrix/row_dot.h"
#include "lib/matrix/sparse_products.h"

namespace rutile {
namespace {

// Examples that a thread computes at a time.
constexpr int64_t kPiece = 16;

template <class Index>
void Add(const std::vector<int32_t>& ids, Index* index) {
  index->clear();
  for (size_t j = 0; j < ids.size(); ++j) (*index)[ids[j]].push_back(static_cast<int32_t>(j));
}

// Calls body(j) for each test j with this id.
template <class Index, class Body>
void ForMatches(const Index& index, int32_t id, const Body& body) {
  const auto found = index.find(id);
  if (found == index.end()) return;
  for (const int32_t j : found->second) body(j);
}

}  // namespace

template <typename T>
KgePairProducts<T>::KgePairProducts(const KgeShape& shape, const KgePartPlan& plan, bool bf16, ThreadPool* pool)
    : shape_(shape),
      plan_(plan),
      pool_(pool),
      small_columns_(SmallColumns(shape).size),
      bf16_(bf16),
      exact_(FactorRounding::kNone, pool),
      rounded_(bf16 ? FactorRounding::kBf16 : FactorRounding::kNone, pool) {
  rounded_.SetRounding(bf16);
}

template <typename T>
void KgePairProducts<T>::SetTests(GradientFactors<T>* tests) {
  tests_ = tests;
  if (tests->size == 0) return;
  Add(tests->head, &by_head_);
  Add(tests->relation, &by_relation_);
  Add(tests->tail, &by_tail_);
  const int64_t d = shape_.dim();
  tests_v_.resize(tests->size * d);
  for (int64_t j = 0; j < tests->size; ++j) std::copy_n(tests->v + tests->key[j] * d, d, tests_v_.data() + j * d);
  SetSmall(*tests);
  if (bf16_) return;
  if (plan_.fc_weight >= 0 || plan_.fc_bias >= 0) tests_fc_ = Pack(tests->d_fc, tests->size, d, d);
  if (plan_.fc_weight < 0) return;
  if (tests->short_maps != nullptr) {
    test_maps_ = Pack(tests->short_maps, tests->keys, tests->short_map_width, tests->short_map_width);
  } else {
    test_maps_ = Pack(tests->maps, tests->keys, shape_.num_features(), shape_.num_features());
  }
  tests->maps = nullptr;
  tests->map_memory = Tensor();
}

template <typename T>
void KgePairProducts<T>::SetSmall(const GradientFactors<T>& tests) {
  tests_small_.clear();
  amx_small_.clear();
  for (const KgePartPlan::Columns& columns : plan_.small) {
    const T* const rows = tests.small + columns.begin;
    const int64_t width = columns.end - columns.begin;
    if constexpr (std::is_same_v<T, float>) {
      if (bf16_ && AmxSplitProducts::IsPossible()) {
        amx_small_.emplace_back(rows, tests.size, width, small_columns_);
        continue;
      }
    }
    tests_small_.push_back({rows, tests.size, width, small_columns_});
  }
  amx_memory_.resize(NumWorkers(pool_));
}

template <typename T>
typename KgePairProducts<T>::Packed KgePairProducts<T>::Pack(const T* rows, int64_t n, int64_t columns,
                                                             int64_t stride) {
  Packed packed;
  packed.rows = n;
  packed.columns = columns;
  packed.numbers = Tensor::Zeros(DTypeOf<T>(), {SparseTilesSize<T>(n, columns)});
  PackSparseTiles<T>(rows, n, columns, stride, packed.numbers.template mutable_values<T>().data());
  return packed;
}

// Half of the numbers in maps and in gradients of fc's result are 0, and skipping them saves more than BLAS does. An
// example's products also have the same bits in any tile.
template <typename T>
const T* KgePairProducts<T>::MultiplyPacked(const T* rows, int64_t n, int64_t row_stride, const Packed& packed,
                                            int64_t* stride) {
  *stride = SparseColumns<T>(packed.rows);
  T* const products = Take<T>(&packed_products_, n * *stride);
  ForPieces(pool_, n, NumPieces(n, NumWorkers(pool_)), [&](int64_t begin, int64_t end, int) {
    MultiplySparse<T>(rows + begin * row_stride, end - begin, packed.columns, row_stride,
                      packed.numbers.template values<T>().data(), packed.rows, products + begin * *stride);
  });
  return products;
}

template <typename T>
T* KgePairProducts<T>::Gram(const T* a, const T* b, int64_t rows, int64_t columns, Tensor* memory) {
  T* const out = Take<T>(memory, rows * tests_->size);
  const MatrixView<T> others = {b, tests_->size, columns, columns};
  rounded_.Multiply({a, rows, columns, columns}, others.Transposed(), /*add=*/false, out, tests_->size);
  return out;
}

template <typename T>
void KgePairProducts<T>::MultiplySmall(const GradientFactors<T>& factors, T* products) {
  const int64_t num_tests = tests_->size;
  for (size_t c = 0; c < plan_.small.size(); ++c) {
    const KgePartPlan::Columns& columns = plan_.small[c];
    const T* const rows = factors.small + columns.begin;
    T* const out = products + columns.part * factors.size * num_tests;
    if constexpr (std::is_same_v<T, float>) {
      if (!amx_small_.empty()) {
        ForPieces(pool_, factors.size, NumPieces(factors.size, NumWorkers(pool_)),
                  [&](int64_t begin, int64_t end, int worker) {
                    amx_small_[c].Add(rows + begin * small_columns_, end - begin, small_columns_,
                                      out + begin * num_tests, num_tests, &amx_memory_[worker]);
                  });
        continue;
      }
    }
    exact_.Multiply({rows, factors.size, columns.end - columns.begin, small_columns_}, tests_small_[c].Transposed(),
                    /*add=*/true, out, num_tests);
  }
}

template <typename T>
void KgePairProducts<T>::MultiplyFc(const GradientFactors<T>& factors, T* products) {
  if (plan_.fc_weight < 0 && plan_.fc_bias < 0) return;
  const int64_t num_tests = tests_->size, size = factors.size, d = shape_.dim();
  const T* slopes = nullptr;  // [B, H]
  if (bf16_) {
    slopes = Gram(factors.d_fc, tests_->d_fc, size, d, &of_fc_);
  } else {
    int64_t stride = 0;
    const T* const sums = MultiplyPacked(factors.d_fc, size, d, tests_fc_, &stride);
    T* const rows = Take<T>(&of_fc_, size * num_tests);
    for (int64_t e = 0; e < size; ++e) std::copy_n(sums + e * stride, num_tests, rows + e * num_tests);
    slopes = rows;
  }
  if (plan_.fc_bias >= 0) {
    T* const out = products + plan_.fc_bias * size * num_tests;
    for (int64_t i = 0; i < size * num_tests; ++i) out[i] += slopes[i];
  }
  if (plan_.fc_weight < 0) return;
  const int64_t features = shape_.num_features(), test_keys = tests_->keys;
  int64_t stride = test_keys;
  const T* maps = nullptr;  // [K, keys of the tests]
  if (factors.maps == nullptr) {
    maps = factors.map_products;
  } else if (bf16_) {
    T* const products_of_maps = Take<T>(&of_maps_, factors.keys * test_keys);
    const MatrixView<T> others = {tests_->maps, test_keys, features, features};
    rounded_.Multiply({factors.maps, factors.keys, features, features}, others.Transposed(), /*add=*/false,
                      products_of_maps, test_keys);
    maps = products_of_maps;
  } else {
    const T* const rows = factors.short_maps != nullptr ? factors.short_maps : factors.maps;
    maps = MultiplyPacked(rows, factors.keys, test_maps_.columns, test_maps_, &stride);
  }
  T* const out = products + plan_.fc_weight * size * num_tests;
  for (int64_t e = 0; e < size; ++e) {
    const T* const row = maps + factors.key[e] * stride;
    for (int64_t j = 0; j < num_tests; ++j) out[e * num_tests + j] += slopes[e * num_tests + j] * row[tests_->key[j]];
  }
}

template <typename T>
void KgePairProducts<T>::MultiplyRelations(const GradientFactors<T>& factors, T* products) const {
  if (plan_.relation < 0) return;
  const int64_t d = shape_.relation_dim(), num_tests = tests_->size;
  T* const out = products + plan_.relation * factors.size * num_tests;
  ForPieces(pool_, factors.size, kPiece, [&](int64_t begin, int64_t end, int) {
    for (int64_t e = begin; e < end; ++e) {
      ForMatches(by_relation_, factors.relation[e], [&](int32_t j) {
        out[e * num_tests + j] += RowDot(factors.d_relation + e * d, tests_->d_relation + j * d, d);
      });
    }
  });
}

template <typename T>
void KgePairProducts<T>::MatchEntities(const GradientFactors<T>& factors, T* products) const {
  if (plan_.entity < 0 && plan_.entity_bias < 0) return;
  const int64_t d = shape_.dim(), num_tests = tests_->size;
  T* const rows = plan_.entity < 0 ? nullptr : products + plan_.entity * factors.size * num_tests;
  T* const biases = plan_.entity_bias < 0 ? nullptr : products + plan_.entity_bias * factors.size * num_tests;
  ForPieces(pool_, factors.size, kPiece, [&](int64_t begin, int64_t end, int) {
    for (int64_t e = begin; e < end; ++e) {
      const int32_t head = factors.head[e], tail = factors.tail[e];
      const T error = factors.error[e];
      const T* const v = factors.v + factors.key[e] * d;
      ForMatches(by_tail_, tail, [&](int32_t j) {
        const T both = error * tests_->error[j];
        if (rows != nullptr) rows[e * num_tests + j] += both * RowDot(v, &tests_v_[j * d], d);
        if (biases != nullptr) biases[e * num_tests + j] += both;
      });
      if (rows == nullptr) continue;
      const T* const d_head = factors.d_head + e * d;
      ForMatches(by_head_, head,
                 [&](int32_t j) { rows[e * num_tests + j] += RowDot(d_head, tests_->d_head + j * d, d); });
      ForMatches(by_tail_, head,
                 [&](int32_t j) { rows[e * num_tests + j] += tests_->error[j] * RowDot(d_head, &tests_v_[j * d], d); });
      ForMatches(by_head_, tail,
                 [&](int32_t j) { rows[e * num_tests + j] += error * RowDot(v, tests_->d_head + j * d, d); });
    }
  });
}

template <typename T>
void KgePairProducts<T>::MultiplyEntities(const GradientFactors<T>& factors, T* products) {
  if (plan_.entity < 0 && plan_.entity_bias < 0) return;
  const int64_t d = shape_.dim(), n = shape_.num_entities, num_tests = tests_->size, size = factors.size;
  const T* of_errors = nullptr;  // [B, H] <D_i, D_j>
  if (tests_->short_errors != nullptr) {
    of_errors = Gram(factors.short_errors, tests_->short_errors, size, tests_->short_error_width, &of_errors_);
  } else if (tests_->errors != nullptr) {
    of_errors = Gram(factors.errors, tests_->errors, size, n, &of_errors_);
  } else {
    T* const out = Take<T>(&of_errors_, size * num_tests);
    for (int64_t e = 0; e < size; ++e) {
      for (int64_t j = 0; j < num_tests; ++j) {
        out[e * num_tests + j] = factors.errors[e * n + tests_->tail[j]] * tests_->error[j];
      }
    }
    of_errors = out;
  }
  if (plan_.entity_bias >= 0) {
    T* const out = products + plan_.entity_bias * size * num_tests;
    for (int64_t i = 0; i < size * num_tests; ++i) out[i] += of_errors[i];
  }
  if (plan_.entity < 0) return;
  const T* const of_hidden = Gram(factors.v, tests_v_.data(), factors.keys, d, &of_hidden_);
  const T* const of_heads = Gram(factors.d_head, tests_v_.data(), size, d, &of_heads_);
  const T* const of_held_heads = Gram(factors.v, tests_->d_head, factors.keys, d, &of_held_heads_);
  const T* const of_tails =
      factors.d_tail == nullptr ? nullptr : Gram(factors.d_tail, tests_v_.data(), size, d, &of_tails_);
  T* const out = products + plan_.entity * size * num_tests;
  ForPieces(pool_, size, kPiece, [&](int64_t begin, int64_t end, int) {
    for (int64_t e = begin; e < end; ++e) {
      const int64_t of_pair = e * num_tests, of_key = factors.key[e] * num_tests;
      const int32_t head = factors.head[e], tail = factors.tail[e];
      const auto error_of_test = [&](int64_t j, int32_t entity) {
        if (tests_->errors != nullptr) return tests_->errors[j * n + entity];
        return tests_->tail[j] == entity ? tests_->error[j] : T(0);
      };
      for (int64_t j = 0; j < num_tests; ++j) {
        out[of_pair + j] += of_errors[of_pair + j] * of_hidden[of_key + j] +
                            error_of_test(j, head) * of_heads[of_pair + j] +
                            factors.errors[e * n + tests_->head[j]] * of_held_heads[of_key + j];
        if (of_tails != nullptr) out[of_pair + j] += error_of_test(j, tail) * of_tails[of_pair + j];
      }
      if (of_tails != nullptr) {
        ForMatches(by_head_, tail,
                   [&](int32_t j) { out[of_pair + j] += RowDot(factors.d_tail + e * d, tests_->d_head + j * d, d); });
      }
      ForMatches(by_head_, head,
                 [&](int32_t j) { out[of_pair + j] += RowDot(factors.d_head + e * d, tests_->d_head + j * d, d); });
    }
  });
}

template <typename T>
void KgePairProducts<T>::Multiply(const GradientFactors<T>& factors, T* products) {
  CHECK(tests_ != nullptr);
  CHECK(factors.errors != nullptr || tests_->errors == nullptr) << "errors over entities of one side alone";
  std::fill_n(products, plan_.num_parts * factors.size * tests_->size, T(0));
  if (factors.size == 0 || tests_->size == 0) return;
  MultiplySmall(factors, products);
  MultiplyFc(factors, products);
  MultiplyRelations(factors, products);
  if (factors.errors != nullptr) {
    MultiplyEntities(factors, products);
  } else {
    CHECK(factors.d_tail == nullptr) << "penalties are of losses over entities";
    MatchEntities(factors, products);
  }
}

template class KgePairProducts<float>;
template class KgePairProducts<double>;

}  // namespace rutile
