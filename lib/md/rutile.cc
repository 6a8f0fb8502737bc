// The C interface: checks pointers and sizes, turns statuses into codes and messages, and lets no exception out.

#include "lib/md/rutile.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <new>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/base/status_macros.h"
#include "lib/base/version.h"
#include "lib/md/md_context.h"
#include "lib/md/md_model.h"

struct rutile_model {
  std::shared_ptr<const rutile::MdModel> model;
};

struct rutile_context {
  explicit rutile_context(std::shared_ptr<const rutile::MdModel> model) : md(std::move(model)) {}
  rutile::MdContext md;
  std::vector<int> centers;
  std::string error;
};

namespace rutile {
namespace {

int Code(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return RUTILE_OK;
    case absl::StatusCode::kInvalidArgument:
      return RUTILE_INVALID_ARGUMENT;
    case absl::StatusCode::kNotFound:
      return RUTILE_NOT_FOUND;
    case absl::StatusCode::kResourceExhausted:
      return RUTILE_OUT_OF_MEMORY;
    default:
      return RUTILE_FAILED;
  }
}

// Calls a function that returns a status. The caller may be C or Fortran, where an exception would end the process.
template <typename Function>
absl::Status Guarded(const Function& function) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("out of memory");
  } catch (const std::length_error&) {
    return absl::ResourceExhaustedError("out of memory: more elements than an array can have");
  } catch (const std::exception& e) {
    return absl::InternalError(e.what());
  } catch (...) {
    return absl::InternalError("an exception of unknown type");
  }
}

// Copies a message, cut to the size of the buffer.
void CopyMessage(absl::string_view message, char* buffer, size_t size) {
  if (buffer == nullptr || size == 0) return;
  const size_t length = std::min(message.size(), size - 1);
  std::memcpy(buffer, message.data(), length);
  buffer[length] = 0;
}

// Returns the struct as this version knows it, from a caller of an older or a newer one. The caller's may be longer
// only by zeros: by members that it does not use.
template <typename Struct>
absl::StatusOr<Struct> Known(const Struct* given, absl::string_view name) {
  Struct known = {};
  const size_t size = given->struct_size;
  if (size < sizeof(size_t)) {
    return absl::InvalidArgumentError(
        absl::StrCat("struct_size of ", name, " is ", size, ", expected sizeof(", name, "), ", sizeof(Struct)));
  }
  std::memcpy(&known, given, std::min(size, sizeof(Struct)));
  const char* const bytes = reinterpret_cast<const char*>(given);
  for (size_t k = sizeof(Struct); k < size; ++k) {
    if (bytes[k] == 0) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        name, " has ", size, " bytes, of which this library, version ", kVersion, ", knows ", sizeof(Struct),
        ", and one of the others is not 0: the program needs a newer librutile.so, or its struct_size is wrong"));
  }
  return known;
}

absl::Status Missing(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(what, " is null, which is not allowed here"));
}

absl::Status CheckArrays(int num_atoms, const int* species, const double* positions, const rutile_outputs* outputs) {
  if (num_atoms < 0) {
    return absl::InvalidArgumentError(absl::StrCat("num_atoms is ", num_atoms, ", expected 0 or more"));
  }
  if (species == nullptr && num_atoms > 0) return Missing("species");
  if (positions == nullptr && num_atoms > 0) return Missing("positions");
  if (outputs == nullptr) return Missing("outputs");
  return absl::OkStatus();
}

absl::Status Open(const char* const* paths, int count, const rutile_options* options, rutile_model** model) {
  if (model == nullptr) return Missing("model");
  *model = nullptr;
  rutile_options known = {};
  if (options != nullptr) {
    ASSIGN_OR_RETURN(known, Known(options, "rutile_options"));
  }
  std::vector<std::string> names;
  for (int k = 0; k < count; ++k) {
    if (paths == nullptr || paths[k] == nullptr) return Missing(absl::StrCat("paths[", k, "]"));
    names.emplace_back(paths[k]);
  }
  ASSIGN_OR_RETURN(std::shared_ptr<const MdModel> opened,
                   MdModel::Open(names, known.precision, known.curvature == nullptr ? "" : known.curvature));
  *model = new rutile_model{std::move(opened)};
  return absl::OkStatus();
}

absl::Status ComputeCell(rutile_context* context, int num_atoms, const int* species, const double* positions,
                         const double* cell, const int* pbc, const rutile_outputs* outputs) {
  RETURN_IF_ERROR(CheckArrays(num_atoms, species, positions, outputs));
  ASSIGN_OR_RETURN(const rutile_outputs known, Known(outputs, "rutile_outputs"));
  Matrix3 matrix = {};
  if (cell != nullptr) std::copy_n(cell, 9, matrix.begin());
  std::array<bool, 3> periodic = {false, false, false};
  for (int k = 0; k < 3 && pbc != nullptr; ++k) periodic[k] = pbc[k] != 0;
  return context->md.ComputeCell(absl::MakeConstSpan(species, num_atoms), positions, matrix, periodic, known);
}

// The caller's functions as a MessageExchange.
class CallersExchange final : public MessageExchange {
 public:
  explicit CallersExchange(const rutile_exchange& callers) : callers_(callers) {}

  absl::Status SendOut(int width, absl::Span<double> values) override {
    return Call(callers_.send_out, "send_out", width, values);
  }
  absl::Status SendHome(int width, absl::Span<double> values) override {
    return Call(callers_.send_home, "send_home", width, values);
  }

 private:
  absl::Status Call(int (*function)(void*, int, double*), absl::string_view name, int width,
                    absl::Span<double> values) const {
    const int code = function(callers_.user, width, values.data());
    if (code == 0) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("the caller's function ", name, " for messages returned ", code));
  }

  const rutile_exchange callers_;
};

absl::Status ComputeList(rutile_context* context, int num_atoms, const int* species, const double* positions,
                         int num_centers, const int* centers, rutile_neighbors_function neighbors, void* user, int mask,
                         const rutile_exchange* exchange, const rutile_outputs* outputs) {
  RETURN_IF_ERROR(CheckArrays(num_atoms, species, positions, outputs));
  if (num_centers < 0 || num_centers > num_atoms) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_centers is ", num_centers, ", expected 0 to the number of atoms, ", num_atoms));
  }
  if (neighbors == nullptr && num_centers > 0) return Missing("neighbors");
  ASSIGN_OR_RETURN(const rutile_outputs known, Known(outputs, "rutile_outputs"));
  rutile_exchange functions = {};
  if (exchange != nullptr) {
    ASSIGN_OR_RETURN(functions, Known(exchange, "rutile_exchange"));
    if (functions.send_out == nullptr || functions.send_home == nullptr) return Missing("a function of the exchange");
  }
  CallersExchange callers(functions);
  absl::Span<const int> chosen(centers, num_centers);
  if (centers == nullptr) {
    context->centers.resize(num_centers);
    std::iota(context->centers.begin(), context->centers.end(), 0);
    chosen = context->centers;
  }
  const auto ask = [&](int atom) -> absl::StatusOr<absl::Span<const int>> {
    int count = 0;
    const int* list = nullptr;
    if (const int code = neighbors(user, atom, &count, &list); code != 0) {
      return absl::InternalError(
          absl::StrCat("the caller's function for neighbors returned ", code, " for atom ", int64_t{atom} + 1));
    }
    if (count < 0 || (list == nullptr && count > 0)) {
      return absl::InvalidArgumentError(absl::StrCat("the caller's function gave ", count, " neighbors of atom ",
                                                     int64_t{atom} + 1, list == nullptr ? " at null" : "",
                                                     ", expected 0 or more, and an array"));
    }
    return absl::MakeConstSpan(list, count);
  };
  return context->md.ComputeList(absl::MakeConstSpan(species, num_atoms), positions, chosen, ask, mask,
                                 exchange == nullptr ? nullptr : &callers, known);
}

// Calls a function for a context, keeps its message there, and returns its code.
template <typename Function>
int WithMessage(rutile_context* context, const Function& function) {
  if (context == nullptr) return RUTILE_INVALID_ARGUMENT;
  context->error.clear();
  const absl::Status status = Guarded(function);
  if (!status.ok()) context->error.assign(status.message().data(), status.message().size());
  return Code(status);
}

}  // namespace
}  // namespace rutile

int rutile_abi_version(void) { return RUTILE_ABI_VERSION; }

const char* rutile_version(void) { return rutile::kVersion; }

int rutile_open(const char* const* paths, int count, const rutile_options* options, rutile_model** model, char* error,
                size_t error_size) {
  const absl::Status status = rutile::Guarded([&] { return rutile::Open(paths, count, options, model); });
  rutile::CopyMessage(absl::string_view(status.message().data(), status.message().size()), error, error_size);
  return rutile::Code(status);
}

void rutile_close(rutile_model* model) { delete model; }

int rutile_get_info(const rutile_model* model, rutile_model_info* info) {
  if (model == nullptr || info == nullptr || info->struct_size < sizeof(size_t)) return RUTILE_INVALID_ARGUMENT;
  const rutile::MdModel& m = *model->model;
  rutile_model_info known = {};
  known.struct_size = info->struct_size;
  known.cutoff = m.cutoff();
  known.num_species = static_cast<int>(m.symbols().size());
  known.num_members = static_cast<int>(m.potentials().size());
  known.precision = m.precision();
  known.has_training_range = m.has_training_range() ? 1 : 0;
  known.num_layers = 1;
  for (const rutile::Potential& potential : m.potentials()) {
    known.num_messages += potential.shape.moments.message_width();
  }
  if (known.num_messages > 0) known.num_layers = 2;
  known.influence_distance = known.num_layers * known.cutoff;
  known.has_deviations = m.curvature() != nullptr ? 1 : 0;
  std::memcpy(info, &known, std::min(info->struct_size, sizeof(known)));
  return RUTILE_OK;
}

const char* rutile_species(const rutile_model* model, int index) {
  if (model == nullptr || index < 0 || index >= static_cast<int>(model->model->symbols().size())) return nullptr;
  return model->model->symbols()[index].c_str();
}

int rutile_species_index(const rutile_model* model, const char* symbol) {
  if (model == nullptr || symbol == nullptr) return RUTILE_UNKNOWN_SPECIES;
  const std::vector<std::string>& symbols = model->model->symbols();
  const auto found = std::find(symbols.begin(), symbols.end(), symbol);
  return found == symbols.end() ? RUTILE_UNKNOWN_SPECIES : static_cast<int>(found - symbols.begin());
}

int rutile_context_create(const rutile_model* model, rutile_context** context) {
  if (context == nullptr) return RUTILE_INVALID_ARGUMENT;
  *context = nullptr;
  if (model == nullptr) return RUTILE_INVALID_ARGUMENT;
  return rutile::Code(rutile::Guarded([&] {
    *context = new rutile_context(model->model);
    return absl::OkStatus();
  }));
}

void rutile_context_destroy(rutile_context* context) { delete context; }

const char* rutile_last_error(const rutile_context* context) {
  return context == nullptr ? "the context is null" : context->error.c_str();
}

int rutile_compute_cell(rutile_context* context, int num_atoms, const int* species, const double* positions,
                        const double* cell, const int* pbc, const rutile_outputs* outputs) {
  return rutile::WithMessage(
      context, [&] { return rutile::ComputeCell(context, num_atoms, species, positions, cell, pbc, outputs); });
}

int rutile_compute_list(rutile_context* context, int num_atoms, const int* species, const double* positions,
                        int num_centers, const int* centers, rutile_neighbors_function neighbors, void* user, int mask,
                        const rutile_outputs* outputs) {
  return rutile_compute_list_together(context, num_atoms, species, positions, num_centers, centers, neighbors, user,
                                      mask, nullptr, outputs);
}

int rutile_compute_list_together(rutile_context* context, int num_atoms, const int* species, const double* positions,
                                 int num_centers, const int* centers, rutile_neighbors_function neighbors, void* user,
                                 int mask, const rutile_exchange* exchange, const rutile_outputs* outputs) {
  return rutile::WithMessage(context, [&] {
    return rutile::ComputeList(context, num_atoms, species, positions, num_centers, centers, neighbors, user, mask,
                               exchange, outputs);
  });
}
