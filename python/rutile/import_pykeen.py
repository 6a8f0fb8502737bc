#!/usr/bin/env python3
"""Writes a knowledge-graph model of PyKEEN as a file that rutile's tools read.

    python3 -m rutile.import_pykeen --model=complex --entities=entity_to_id.tsv.gz --relations=relation_to_id.tsv.gz \\
        state.pt model.safetensors

STATE is a state dictionary: a safetensors file, or what torch.save wrote (reading that needs torch). PyKEEN's
trained_model.pkl is a whole model; this makes a state dictionary of it, where PyKEEN is installed:

    torch.save(torch.load("trained_model.pkl", weights_only=False).state_dict(), "state.pt")

A state dictionary names no model, so --model says which it is: distmult, complex, rescal, transe, rotate, cp, simple or
tucker. Scores are those of PyKEEN in evaluation, without what it does not write there: clamped scores, normalizers and
powers of norms. The id files are those of the training run's triples factory.

Inverse relations, if the model has them, are moved to rutile's places. Otherwise rutile's inverse of a relation is made
so that it gives heads the scores that PyKEEN gives them; make triples with featurize --inverse_relations (the default).
"""

import argparse
import csv
import gzip
import hashlib
import json
import os
import shlex
import struct
import sys
import zlib

from rutile.tensors import read_tensors

try:
    import numpy
except ImportError:
    numpy = None

MODELS = ("distmult", "complex", "rescal", "transe", "rotate", "cp", "simple", "tucker")
LOSSES = ("1vsAll", "KvsAll", "1-N")
ENTITY, RELATION = "entity_representations.%d._embeddings.weight", "relation_representations.%d._embeddings.weight"
OLDER = {"entity_embeddings._embeddings.weight": ENTITY % 0, "relation_embeddings._embeddings.weight": RELATION % 0}  # as in 1.8
EPSILON = 1e-5  # of PyTorch's batch norms


class Refused(Exception):
    """Says why a model is not one that rutile can have."""


# ---- the state dictionary


def load(path):
    """The tensors of a file by name, as arrays."""
    if path.endswith(".safetensors"):
        return read_tensors(path)[0]
    try:
        import torch  # pylint: disable=import-outside-toplevel
    except ImportError as error:
        raise Refused("reading it needs torch: %s (pip install torch), or save the state dictionary as safetensors" %
                      error) from error
    try:
        loaded = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # whatever a pickle that is damaged, or holds more than tensors, raises
        raise Refused("it is no state dictionary: %s: %s; of a whole model, torch.save(model.state_dict(), FILE) writes one" %
                      (type(error).__name__, str(error).split("\n")[0])) from error
    if isinstance(loaded, dict) and isinstance(loaded.get("model_state_dict"), dict):
        loaded = loaded["model_state_dict"]  # a checkpoint of PyKEEN
    if not isinstance(loaded, dict) or not all(hasattr(value, "numpy") for value in loaded.values()):
        raise Refused("it is no state dictionary, but a %s" % type(loaded).__name__)
    # numpy has no bfloat16.
    return {name: (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).detach().numpy()
            for name, tensor in loaded.items()}


class State:
    """The tensors of a state dictionary, of which each must be used or known to hold nothing."""

    IDLE = ("num_batches_tracked",)
    # Buffers of training.
    IDLE_PARTS = ("regularizer", "loss")

    def __init__(self, tensors):
        self.tensors = {OLDER.get(name, name): array for name, array in tensors.items()}
        self.used = set()

    def __contains__(self, name):
        return name in self.tensors

    def take(self, name, *shape):
        """The tensor of that name; a size of None may be any."""
        if name not in self.tensors:
            raise Refused("it has no tensor %s, as a model of this kind has; is --model right?" % name)
        tensor = numpy.asarray(self.tensors[name])
        self.used.add(name)
        if tensor.dtype not in (numpy.float32, numpy.float64):
            raise Refused("its tensor %s is of type %s, expected float32 or float64" % (name, tensor.dtype))
        if len(tensor.shape) != len(shape) or any(n not in (None, m) for n, m in zip(shape, tensor.shape)):
            raise Refused("its tensor %s has the shape %s, expected %s" %
                          (name, list(tensor.shape), "[%s]" % ", ".join("any" if n is None else str(n) for n in shape)))
        if tensor.size == 0 or not numpy.isfinite(tensor).all():
            raise Refused("its tensor %s is empty, or holds NaN or infinity" % name)
        return tensor

    def check_all_used(self):
        for name in self.tensors:
            parts = name.split(".")
            idle = name.endswith(self.IDLE) or any(part.startswith(self.IDLE_PARTS) for part in parts)
            if name not in self.used and not idle:
                raise Refused("rutile does not know what its tensor %s is for; is --model right?" % name)


# ---- the models


def halves(rows, name):
    """Real parts, then imaginary parts, of rows of which each complex number is two neighbors."""
    if rows.shape[1] % 2:
        raise Refused("its tensor %s has %d numbers in a row, expected pairs of real and imaginary parts" % (name, rows.shape[1]))
    return numpy.concatenate([rows[:, 0::2], rows[:, 1::2]], axis=1)


def distmult(state, options):
    entity = state.take(ENTITY % 0, None, None)
    relation = state.take(RELATION % 0, None, entity.shape[1])
    return {"entity.weight": entity, "relation.weight": relation}, lambda r: r


def complex_(state, options):
    entity = state.take(ENTITY % 0, None, None)
    relation = state.take(RELATION % 0, None, entity.shape[1])
    half = entity.shape[1] // 2
    tensors = {"entity.weight": halves(entity, ENTITY % 0), "relation.weight": halves(relation, RELATION % 0)}
    # Re<h, r, conj t> = Re<t, conj r, conj h>
    return tensors, lambda r: numpy.concatenate([r[:, :half], -r[:, half:]], axis=1)


def rescal(state, options):
    entity = state.take(ENTITY % 0, None, None)
    d = entity.shape[1]
    relation = state.take(RELATION % 0, None, d * d)
    return {"entity.weight": entity, "relation.weight": relation}, (
        lambda r: r.reshape(-1, d, d).transpose(0, 2, 1).reshape(-1, d * d))  # yapf: disable


def transe(state, options):
    entity = state.take(ENTITY % 0, None, None)
    relation = state.take(RELATION % 0, None, entity.shape[1])
    options["distance_norm"] = options.get("distance_norm", 1)  # PyKEEN's default
    return {"entity.weight": entity, "relation.weight": relation}, lambda r: -r


def rotate(state, options):
    if options.get("distance_norm", 2) != 2:
        raise Refused("--norm=%d: PyKEEN's RotatE has the norm 2 alone" % options["distance_norm"])
    options["distance_norm"] = 2
    entity = state.take(ENTITY % 0, None, None)
    pairs = state.take(RELATION % 0, None, entity.shape[1])
    relation = halves(pairs, RELATION % 0)
    half = entity.shape[1] // 2
    moduli = numpy.hypot(relation[:, :half], relation[:, half:])
    furthest = moduli.flat[numpy.argmax(numpy.abs(moduli - 1))]
    if abs(furthest - 1) > 1e-4:
        raise Refused("its tensor %s has a complex number of modulus %g, expected 1: rutile's relations turn, and do not scale" %
                      (RELATION % 0, furthest))
    angles = numpy.arctan2(relation[:, half:], relation[:, :half])
    return {"entity.weight": halves(entity, ENTITY % 0), "relation.weight": angles}, lambda r: -r


def cp(state, options):
    heads = state.take(ENTITY % 0, None, None)
    tails = state.take(ENTITY % 1, *heads.shape)
    relation = state.take(RELATION % 0, None, heads.shape[1])
    entity = numpy.concatenate([heads, tails], axis=1)
    if options["inverse_relations"]:
        return {"entity.weight": entity, "relation.weight": relation}, None
    # SimplE, 1/2 (<a_h, r, b_t> + <b_h, r', a_t>), has both directions.
    options["kge_model"] = "simple"
    none = numpy.zeros_like(relation)
    swapped = lambda r: numpy.concatenate([r[:, heads.shape[1]:], r[:, :heads.shape[1]]], axis=1)
    return {"entity.weight": entity, "relation.weight": numpy.concatenate([2 * relation, none], axis=1)}, swapped


def simple(state, options):
    """PyKEEN (1.10 and 1.11, at least) computes 1/2 (<a_h, r, a_t> + <b_h, r', b_t>), which is no SimplE: a and b never meet. It is
    a DistMult of both vectors."""
    first = state.take(ENTITY % 0, None, None)
    second = state.take(ENTITY % 1, *first.shape)
    relation = state.take(RELATION % 0, None, first.shape[1])
    other = state.take(RELATION % 1, *relation.shape)
    options["kge_model"] = "distmult"
    return {"entity.weight": numpy.concatenate([first, second], axis=1),
            "relation.weight": numpy.concatenate([relation, other], axis=1) / relation.dtype.type(2)}, lambda r: r  # yapf: disable


def batch_norm(state, prefix, d):
    """(factor, shift) of a batch norm in evaluation."""
    variance = state.take(prefix + ".running_var", d).astype(numpy.float64)
    if (variance < 0).any():
        raise Refused("its tensor %s.running_var holds a negative variance" % prefix)
    factor, shift = 1 / numpy.sqrt(variance + EPSILON), numpy.zeros(d)
    if prefix + ".weight" in state:
        factor *= state.take(prefix + ".weight", d)
        shift += state.take(prefix + ".bias", d)
    return factor, shift - factor * state.take(prefix + ".running_mean", d)


def tucker(state, options):
    entity = state.take(ENTITY % 0, None, None)
    d = entity.shape[1]
    relation = state.take(RELATION % 0, None, None)
    of_relation = relation.shape[1]
    core = state.take("interaction.core_tensor", d, of_relation, d).transpose(2, 1, 0)  # tails, relations, heads
    if "interaction.head_batch_norm.running_mean" in state:
        # Norms are linear functions in evaluation. Their shifts are products with a constant, 1, that rows of entities and
        # relations have as their last number; as a tail it is multiplied by 0.
        of_head, head_shift = batch_norm(state, "interaction.head_batch_norm", d)
        of_v, v_shift = batch_norm(state, "interaction.head_relation_batch_norm", d)
        normed = numpy.zeros((d + 1, of_relation + 1, d + 1))
        normed[:d, :of_relation, :d] = of_v[:, None, None] * core * of_head
        normed[:d, :of_relation, d] = of_v[:, None] * (core @ head_shift)
        normed[:d, of_relation, d] = v_shift
        core = normed.astype(entity.dtype)
        one = lambda rows: numpy.concatenate([rows, numpy.ones_like(rows[:, :1])], axis=1)
        entity, relation = one(entity), one(relation)
    inverse = None
    if not options["inverse_relations"]:
        # <t, W(r, h)> = <h, W'(r, t)> with head and tail exchanged in W'; a relation is [w, 0], its inverse [0, w].
        width = relation.shape[1]
        core = numpy.concatenate([core, core.transpose(2, 1, 0)], axis=1)
        relation = numpy.concatenate([relation, numpy.zeros_like(relation)], axis=1)
        inverse = lambda r: numpy.concatenate([r[:, width:], r[:, :width]], axis=1)
    options["relation_embedding_dim"] = relation.shape[1]
    return {"entity.weight": entity, "relation.weight": relation, "core.weight": core}, inverse


CONVERT = {"distmult": distmult, "complex": complex_, "rescal": rescal, "transe": transe, "rotate": rotate, "cp": cp,
           "simple": simple, "tucker": tucker}  # yapf: disable


def convert(tensors, model, num_relations, norm=None):
    """Returns (tensors, options) of the file for a state dictionary of so many relations. Refused if rutile has no such model."""
    state = State(tensors)
    options = {"kge_model": model}
    if norm is not None:
        if model not in ("transe", "rotate"):
            raise Refused("--norm has no effect with --model=%s, whose scores are no distances" % model)
        options["distance_norm"] = norm
    rows = state.take(RELATION % 0, None, None).shape[0]
    if rows not in (num_relations, 2 * num_relations):
        raise Refused("it has %d relations, and the file of relations names %d: expected as many, or half of them where the model "
                      "has inverse relations" % (rows, num_relations))
    options["inverse_relations"] = rows == 2 * num_relations
    result, inverse = CONVERT[model](state, options)
    state.check_all_used()
    relation = result["relation.weight"]
    if options["inverse_relations"]:  # PyKEEN numbers the inverse of r, 2 r, as 2 r + 1
        relation = numpy.concatenate([relation[0::2], relation[1::2]])
    else:
        relation = numpy.concatenate([relation, inverse(relation)])
    result["relation.weight"] = relation
    dtype = result["entity.weight"].dtype
    return {name: numpy.ascontiguousarray(array, dtype=dtype) for name, array in result.items()}, options


# ---- files


def read_names(path):
    """Names by id, of a file of two columns, id and label in either order; a first line with these words is skipped."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8", newline="\n") as file:
        lines = [line.rstrip("\r\n") for line in file]
    lines = [(number, line.split("\t")) for number, line in enumerate(lines, 1) if line]
    header = None
    if lines and sorted(lines[0][1]) == ["id", "label"]:
        header = lines[0][1]
        # pandas, by which PyKEEN writes a header, puts names with quotes in quotes.
        lines = [(number, next(csv.reader(["\t".join(fields)], delimiter="\t"))) for number, fields in lines[1:]]
    for number, fields in lines:
        if len(fields) != 2 or not fields[0] or not fields[1]:
            raise Refused("%s:%d: has %d columns, expected an id and a name with a tab between them" % (path, number, len(fields)))
    is_ids = [sorted(fields[c] for _, fields in lines) == sorted(str(i) for i in range(len(lines))) for c in (0, 1)]
    if not lines or not any(is_ids):
        raise Refused("%s: expected a column of ids, each of 0 .. n - 1 once, and a column of names" % path)
    # If both are, the header decides, and without one PyKEEN's order: id, then label.
    at = header.index("id") if header and all(is_ids) else 0 if is_ids[0] else 1
    names = [None] * len(lines)
    for _, fields in lines:
        names[int(fields[at])] = fields[1 - at]
    if len(set(names)) < len(names):
        raise Refused("%s: a name has several ids" % path)
    return names


def vocabulary_sha256(entities, relations):
    head = "vocabulary\n%d %d inverse\n" % (len(entities), len(relations))
    return hashlib.sha256((head + "".join(name + "\n" for name in entities + relations)).encode()).hexdigest()


def write_tensors(path, tensors, metadata):
    """Writes a safetensors file, which appears whole or not at all."""
    kinds = {"float32": "F32", "float64": "F64", "uint8": "U8"}
    header, at = {"__metadata__": metadata}, 0
    order = sorted(tensors, key=lambda name: -tensors[name].dtype.itemsize)  # so that data are aligned
    for name in order:
        end = at + tensors[name].nbytes
        header[name] = {"dtype": kinds[tensors[name].dtype.name], "shape": list(tensors[name].shape), "data_offsets": [at, end]}
        at = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + 8) % 64)
    temporary = "%s.%d.part" % (path, os.getpid())
    try:
        with open(temporary, "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            for name in order:
                file.write(tensors[name].astype(tensors[name].dtype.newbyteorder("<"), copy=False).tobytes())
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)


def digest_of(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def write_model(given, arguments):
    entities, relations = read_names(given.entities), read_names(given.relations)
    try:
        tensors, options = convert(load(given.state), given.model, len(relations), given.norm)
        if tensors["entity.weight"].shape[0] != len(entities):
            raise Refused("it has %d entities, and %s names %d" % (tensors["entity.weight"].shape[0], given.entities, len(entities)))
    except (Refused, ValueError) as error:
        raise Refused("%s: %s" % (given.state, error)) from error
    inputs = {path: digest_of(path) for path in (given.state, given.entities, given.relations)}
    metadata = {"kind": "kge/1", "tool": "rutile.import_pykeen", "imported_from": "PyKEEN",
                "command": shlex.join(["python3", "-m", "rutile.import_pykeen", *arguments]), "inputs": json.dumps(inputs),
                "inverse_relations": "true", "vocabulary_sha256": vocabulary_sha256(entities, relations),
                "embedding_dim": str(tensors["entity.weight"].shape[1]),
                "kge_loss": given.loss or "1-N", "label_smoothing": "0", "input_dropout": "0"}  # yapf: disable
    if given.loss:  # without it the loss above is a guess
        metadata["loss_given"] = "true"
    metadata.update({key: str(value) for key, value in options.items() if key != "inverse_relations"})
    for key, names in (("entity_names", entities), ("relation_names", relations)):
        tensors[key] = numpy.frombuffer("".join(name + "\n" for name in names).encode(), dtype=numpy.uint8)
    write_tensors(given.output, tensors, metadata)
    print("wrote %s: %s, %d entities, %d relations%s%s" %
          (given.output, metadata["kge_model"], len(entities), len(relations),
           "" if options["inverse_relations"] else ", whose inverses were made",
           "" if given.loss else "; its loss is not known (--loss), which --new_triples and --probabilities of evaluate and "
           "tracin --loss=trained need"))


def main(arguments):
    parser = argparse.ArgumentParser(prog="import_pykeen", description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # yapf: disable
    parser.add_argument("state", metavar="STATE", help="state dictionary: FILE.safetensors, or what torch.save wrote")
    parser.add_argument("output", metavar="MODEL", help="file to write")
    parser.add_argument("--model", required=True, choices=MODELS, help="which of PyKEEN's models it is")
    parser.add_argument("--entities", required=True, metavar="FILE", help="ids of entities, such as entity_to_id.tsv.gz")
    parser.add_argument("--relations", required=True, metavar="FILE", help="ids of relations, without inverses")
    parser.add_argument("--norm", type=int, choices=(1, 2), help="scoring_fct_norm of transe (by default 1, as in PyKEEN)")
    parser.add_argument("--loss", choices=LOSSES, help="loss that it was trained with: 1vsAll, cross-entropy of single tails; "
                        "KvsAll, cross-entropy of all tails of a head and relation; 1-N, binary cross-entropies of these")  # yapf: disable
    given = parser.parse_args(arguments)
    try:
        if numpy is None:
            raise Refused("this needs numpy (pip install numpy)")
        for path in (given.state, given.entities, given.relations):
            if os.path.exists(given.output) and os.path.exists(path) and os.path.samefile(path, given.output):
                raise Refused("%s: the file would take the place of its input; name another" % given.output)
        write_model(given, arguments)
    except (OSError, EOFError, UnicodeDecodeError, zlib.error, Refused) as error:
        print("import_pykeen: %s" % error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
