"""PyKEEN's models: what rutile.import_pykeen writes has PyKEEN's scores, and what it refuses.

Scores of state dictionaries are computed here by PyKEEN's formulas (pykeen.nn.modules of 1.8, 1.10 and 1.11), those of the
written files by docs/formats.md. run_test.sh runs this with numpy and without.
"""

import contextlib
import gzip
import io
import os
import subprocess
import sys
import unittest

from python_testing import EVALUATE, TEMPORARY
from rutile import import_pykeen, read_tensors

try:
    import numpy
except ImportError:
    numpy = None

N, R, D = 7, 3, 6
ENTITY, RELATION = import_pykeen.ENTITY, import_pykeen.RELATION


def file_of(name, text):
    path = os.path.join(TEMPORARY, name)
    with (gzip.open if name.endswith(".gz") else open)(path, "wt", encoding="utf-8") as file:
        file.write(text)
    return path


def run(*arguments):
    """What main prints, and its status."""
    text = io.StringIO()
    with contextlib.redirect_stderr(text), contextlib.redirect_stdout(text):
        try:
            status = import_pykeen.main(list(arguments))
        except SystemExit as error:  # argparse
            status = error.code
    return status, text.getvalue()


def ids():
    entities = file_of("entity_to_id.tsv.gz", "id\tlabel\n" + "".join("%d\te%d\n" % (i, i) for i in range(N)))
    relations = file_of("relation_to_id.tsv", "".join("r%d\t%d\n" % (r, r) for r in range(R)))
    return "--entities=" + entities, "--relations=" + relations


def state_of(model, rows, norms=False, dtype="float64"):
    """A state dictionary of random numbers with PyKEEN's names and shapes."""
    random = numpy.random.default_rng(5)
    sizes = {"distmult": ([D], [D]), "complex": ([2 * D], [2 * D]), "rescal": ([D], [D * D]), "transe": ([D], [D]),
             "rotate": ([2 * D], [2 * D]), "cp": ([D, D], [D]), "simple": ([D, D], [D, D]), "tucker": ([D], [4])}  # yapf: disable
    state = {}
    for name, count, widths in ((ENTITY, N, sizes[model][0]), (RELATION, rows, sizes[model][1])):
        for part, width in enumerate(widths):
            state[name % part] = random.normal(size=(count, width))
    if model == "rotate":
        pairs = state[RELATION % 0].reshape(rows, D, 2)
        state[RELATION % 0] = (pairs / numpy.linalg.norm(pairs, axis=2, keepdims=True)).reshape(rows, 2 * D)
    if model == "tucker":
        state["interaction.core_tensor"] = random.normal(size=(D, 4, D))
        for norm in ("head", "head_relation") if norms else ():
            for part in ("weight", "bias", "running_mean"):
                state["interaction.%s_batch_norm.%s" % (norm, part)] = random.normal(size=D)
            state["interaction.%s_batch_norm.running_var" % norm] = random.uniform(0.5, 2, size=D)
    return {name: array.astype(dtype) for name, array in state.items()}


def pykeen_scores(model, state, norm):
    """Scores [rows of relations, heads, tails] of a state dictionary."""
    e, r = state[ENTITY % 0], state[RELATION % 0]
    other, inverse = state.get(ENTITY % 1), state.get(RELATION % 1)
    if model in ("complex", "rotate"):
        e, r = (x[:, 0::2] + 1j * x[:, 1::2] for x in (e, r))
    if model == "complex":
        return numpy.einsum("hk,rk,tk->rht", e, r, e.conj()).real
    if model == "rotate":
        return -numpy.linalg.norm(e[None, :, None] * r[:, None, None] - e[None, None], axis=3)
    if model == "transe":
        return -numpy.linalg.norm(e[None, :, None] + r[:, None, None] - e[None, None], ord=norm, axis=3)
    if model == "rescal":
        return numpy.einsum("hi,rij,tj->rht", e, r.reshape(-1, D, D), e)
    if model == "cp":
        return numpy.einsum("hk,rk,tk->rht", e, r, other)
    if model == "simple":
        return (numpy.einsum("hk,rk,tk->rht", e, r, e) + numpy.einsum("hk,rk,tk->rht", other, inverse, other)) / 2
    if model == "distmult":
        return numpy.einsum("hk,rk,tk->rht", e, r, e)

    def norm_of(prefix, x):
        if prefix + ".running_mean" not in state:
            return x
        x = (x - state[prefix + ".running_mean"]) / numpy.sqrt(state[prefix + ".running_var"] + 1e-5)
        return x * state[prefix + ".weight"] + state[prefix + ".bias"]

    head = norm_of("interaction.head_batch_norm", e)
    v = numpy.einsum("hi,rj,ijk->rhk", head, r, state["interaction.core_tensor"])
    return norm_of("interaction.head_relation_batch_norm", v) @ e.T


def rutile_scores(path):
    """Scores [2 R, heads, tails] of a model file."""
    tensors, metadata = read_tensors(path)
    model, e, r = metadata["kge_model"], tensors["entity.weight"], tensors["relation.weight"]
    half = e.shape[1] // 2
    a, b = e[None, :, :half], e[None, :, half:]
    if model == "distmult":
        v = e[None] * r[:, None]
    elif model == "complex":
        re, im = r[:, None, :half], r[:, None, half:]
        v = numpy.concatenate([a * re - b * im, a * im + b * re], axis=2)
    elif model == "rescal":
        v = numpy.einsum("hi,rij->rhj", e, r.reshape(len(r), e.shape[1], e.shape[1]))
    elif model == "cp":
        v = numpy.concatenate([numpy.zeros_like(a * r[:, None]), a * r[:, None]], axis=2)
    elif model == "simple":
        v = numpy.concatenate([b * r[:, None, half:], a * r[:, None, :half]], axis=2) / 2
    elif model == "transe":
        v = e[None] + r[:, None]
    elif model == "rotate":
        cos, sin = numpy.cos(r)[:, None], numpy.sin(r)[:, None]
        v = numpy.concatenate([a * cos - b * sin, a * sin + b * cos], axis=2)
    else:
        v = numpy.einsum("jki,rk,hi->rhj", tensors["core.weight"], r, e)
    if model in ("transe", "rotate"):
        return -numpy.linalg.norm(v[:, :, None] - e, ord=int(metadata["distance_norm"]), axis=3)
    return v @ e.T


@unittest.skipIf(numpy is None, "needs numpy")
class ImportTest(unittest.TestCase):

    def convert(self, model, state, *more):
        source, target = os.path.join(TEMPORARY, "state.safetensors"), os.path.join(TEMPORARY, "model.safetensors")
        import_pykeen.write_tensors(source, state, {})
        if os.path.exists(target):
            os.remove(target)
        status, text = run("--model=" + model, *ids(), *more, source, target)
        return (target if status == 0 else None), text

    def expect_scores(self, model, rows, norms=False, norm=1, dtype="float64"):
        state = state_of(model, rows, norms, dtype)
        path, text = self.convert(model, state, *(["--norm=%d" % norm] if model == "transe" else []))
        self.assertIsNotNone(path, text)
        expected = pykeen_scores(model, state, norm)
        if rows == R:  # heads are asked for by exchanging both, with the same score
            expected = numpy.concatenate([expected, expected.transpose(0, 2, 1)])
        else:
            expected = numpy.concatenate([expected[0::2], expected[1::2]])
        actual = rutile_scores(path)
        tolerance = (1e-12 if dtype == "float64" else 2e-5) * numpy.abs(expected).max()
        self.assertLess(numpy.abs(actual - expected).max(), tolerance, (model, rows, norms, norm, dtype))
        self.assertEqual(read_tensors(path)[0]["entity.weight"].dtype.name, dtype)
        return path

    def test_scores_are_those_of_pykeen(self):
        for model in import_pykeen.MODELS:
            for rows in (R, 2 * R):
                for dtype in ("float64", "float32"):
                    self.expect_scores(model, rows, dtype=dtype)
        for rows in (R, 2 * R):
            self.expect_scores("transe", rows, norm=2)
            self.expect_scores("tucker", rows, norms=True)
            self.expect_scores("tucker", rows, norms=True, dtype="float32")

    def test_names_of_older_versions(self):
        older = {new: old for old, new in import_pykeen.OLDER.items()}
        state = {older.get(name, name): array for name, array in state_of("transe", R).items()}
        path, text = self.convert("transe", state)
        self.assertIsNotNone(path, text)
        self.assertLess(numpy.abs(rutile_scores(path)[:R] - pykeen_scores("transe", state_of("transe", R), 1)).max(), 1e-12)

    def test_the_file_says_where_it_is_from(self):
        path = self.expect_scores("tucker", R)
        tensors, metadata = read_tensors(path)
        self.assertEqual(metadata["imported_from"], "PyKEEN")
        self.assertNotIn("loss_given", metadata)
        self.assertEqual(metadata["relation_embedding_dim"], "8")
        self.assertEqual(bytes(tensors["entity_names"]).decode(), "".join("e%d\n" % i for i in range(N)))
        self.assertEqual(bytes(tensors["relation_names"]).decode(), "r0\nr1\nr2\n")

    def test_the_loss_is_that_of_training(self):
        path, text = self.convert("distmult", state_of("distmult", R))
        self.assertRegex(text, "loss is not known.*--loss")
        for loss in ("1vsAll", "KvsAll", "1-N"):
            path, text = self.convert("distmult", state_of("distmult", R), "--loss=" + loss)
            self.assertNotIn("not known", text)
            metadata = read_tensors(path)[1]
            self.assertEqual((metadata["kge_loss"], metadata["loss_given"]), (loss, "true"))

    @unittest.skipIf(not EVALUATE, "needs evaluate")
    def test_tools_read_the_files(self):
        for model in import_pykeen.MODELS:
            for rows in (R, 2 * R):
                path, text = self.convert(model, state_of(model, rows, norms=True))
                self.assertIsNotNone(path, text)
                exported = os.path.join(TEMPORARY, "embeddings.safetensors")
                command = [EVALUATE, "--export_embeddings=" + exported, path]
                done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertTrue((read_tensors(exported)[0]["relation"] == read_tensors(path)[0]["relation.weight"]).all())

    def test_what_it_cannot_be_is_refused(self):
        bad = {name: array.copy() for name, array in state_of("rotate", R).items()}
        bad[RELATION % 0][1, :2] *= 2
        text = self.convert("rotate", bad)[1]
        self.assertRegex(text, "state.safetensors: .*modulus 2, expected 1")
        state = state_of("distmult", R)
        self.assertRegex(self.convert("rescal", state)[1], r"relation_representations.*\[3, 6\], expected \[any, 36\]")
        self.assertRegex(self.convert("cp", state)[1], "no tensor entity_representations.1.*--model")
        self.assertRegex(self.convert("distmult", state_of("tucker", R, True))[1], r"\[3, 4\], expected \[any, 6\]")
        self.assertRegex(self.convert("distmult", dict(state, extra=state[ENTITY % 0]))[1], "tensor extra")
        self.assertRegex(self.convert("distmult", state_of("distmult", R + 1))[1], "4 relations.*names 3")
        self.assertRegex(self.convert("distmult", state, "--norm=1")[1], "--norm has no effect with --model=distmult")
        self.assertRegex(self.convert("rotate", state_of("rotate", R), "--norm=1")[1], "--norm=1")
        odd = dict(state, **{ENTITY % 0: numpy.full((N, D), numpy.nan)})
        self.assertRegex(self.convert("distmult", odd)[1], "NaN")
        self.assertRegex(self.convert("distmult", dict(state, **{ENTITY % 0: state[ENTITY % 0][:-1]}))[1], "6 entities.*names 7")
        # What training alone needs is no obstacle.
        idle = {"loss.x": state[ENTITY % 0], "regularizer.weight": state[ENTITY % 0]}
        self.assertIsNotNone(self.convert("distmult", dict(state, **idle))[0])

    def test_files_of_names_are_checked(self):
        path = self.convert("distmult", state_of("distmult", R))[0]
        entities, relations = ids()
        source = os.path.join(TEMPORARY, "state.safetensors")
        target = os.path.join(TEMPORARY, "other.safetensors")
        for text, said in (("a\t0\nb\t0\nc\t1\n", "each of 0 .. n - 1"), ("0 a\n", ":1: has 1 columns"), ("", "column of ids"),
                           ("0\ta\n1\ta\n2\tb\n", "several ids")):  # yapf: disable
            status, out = run("--model=distmult", entities, "--relations=" + file_of("bad.tsv", text), source, target)
            self.assertEqual(status, 1)
            self.assertRegex(out, "bad.tsv.*" + said)
            self.assertFalse(os.path.exists(target))
        status, out = run("--model=distmult", entities, relations, source, source)
        self.assertEqual((status, "take the place of its input" in out), (1, True))
        self.assertEqual(run("--model=distmult", entities, relations, "missing.safetensors", target)[0], 1)
        self.assertEqual(run("--model=conve", entities, relations, source, target)[0], 2)
        self.assertIsNotNone(path)


@unittest.skipIf(numpy is not None, "numpy is there")
class WithoutNumpyTest(unittest.TestCase):

    def test_says_what_it_needs(self):
        status, text = run("--model=distmult", *ids(), "state.safetensors", "model.safetensors")
        self.assertEqual((status, "needs numpy" in text), (1, True))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
