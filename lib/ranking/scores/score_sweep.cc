#include "lib/ranking/scores/score_sweep.h"

#include <algorithm>
#include <vector>

#include "lib/base/logging.h"
#include "lib/base/round_up.h"
#include "lib/ranking/scores/distance_kernel.h"
#include "lib/ranking/scores/score_form.h"
#include "lib/ranking/scores/score_kernel.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

// The panels of a block, and the scores of a tile against it, stay in the second-level cache for all queries.
constexpr int64_t kPanelBytes = 512 << 10;
constexpr int64_t kMaxBlock = 1024;
// Number of tiles that a thread takes at a time.
constexpr int64_t kTilesPerPiece = 4;

}  // namespace

template <typename T>
void SweepScores(const ScoreTable<T>& table, absl::Span<const T> hidden, ThreadPool* pool,
                 const std::function<void(int64_t q, int64_t first, absl::Span<const T> scores, int worker)>& visit) {
  const int64_t dim = table.dim;
  CHECK(dim > 0);
  CHECK(static_cast<int64_t>(table.entity.size()) == table.num * dim) << table.entity.size() << " vs. " << table.num;
  CHECK(table.bias.empty() || static_cast<int64_t>(table.bias.size()) == table.num) << table.bias.size();
  CHECK(hidden.size() % dim == 0) << hidden.size() << " numbers of " << dim << " dimensions";
  const int64_t num_queries = static_cast<int64_t>(hidden.size()) / dim;
  if (num_queries == 0 || table.num == 0) return;
  const ProfileScope scope(Stage::kScores);
  scope.Add(Counter::kExamples, num_queries);
  scope.Add(Counter::kFlop, 2 * num_queries * table.num * dim);
  scope.Add(Counter::kBytes, table.num * dim * static_cast<int64_t>(sizeof(T)));

  const int64_t width = PanelWidth<T>();
  const int64_t tile = TileQueries<T>();
  const int64_t fitting = kPanelBytes / (static_cast<int64_t>(sizeof(T)) * dim) / width * width;
  const int64_t block = std::max(width, std::min({fitting, kMaxBlock, RoundUp(table.num, width)}));
  std::vector<T> panels(block * dim), bias(block);
  std::vector<std::vector<T>> scratch(pool->num_threads());

  for (int64_t first = 0; first < table.num; first += block) {
    const int64_t count = std::min(block, table.num - first);
    const int64_t num_panels = (count + width - 1) / width;
    pool->For(num_panels, 4, [&](int64_t begin, int64_t end, int) {
      PackPanels(table.entity.data() + (first + begin * width) * dim, std::min(end * width, count) - begin * width, dim,
                 panels.data() + begin * width * dim);
    });
    std::fill(bias.begin(), bias.end(), T{0});
    if (!table.bias.empty()) std::copy_n(table.bias.begin() + first, count, bias.begin());
    pool->For(num_queries, tile * kTilesPerPiece, [&](int64_t begin, int64_t end, int worker) {
      std::vector<T>& scores = scratch[worker];
      scores.resize(tile * block);
      for (int64_t q = begin; q < end; q += tile) {
        const int64_t rows = std::min(tile, end - q);
        if (IsDistance(table.form)) {
          DistanceTile(table.form, hidden.data() + q * dim, rows, dim, panels.data(), num_panels, bias.data(),
                       scores.data(), block);
        } else {
          ScoreTile(hidden.data() + q * dim, static_cast<int>(rows), dim, panels.data(), num_panels, bias.data(),
                    scores.data(), block);
        }
        for (int64_t r = 0; r < rows; ++r) {
          visit(q + r, first, absl::MakeConstSpan(scores.data() + r * block, count), worker);
        }
      }
    });
  }
}

template void SweepScores<float>(const ScoreTable<float>&, absl::Span<const float>, ThreadPool*,
                                 const std::function<void(int64_t, int64_t, absl::Span<const float>, int)>&);
template void SweepScores<double>(const ScoreTable<double>&, absl::Span<const double>, ThreadPool*,
                                  const std::function<void(int64_t, int64_t, absl::Span<const double>, int)>&);

}  // namespace rutile
