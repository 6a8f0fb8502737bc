"""MACE models: what rutile.import_mace computes and refuses, and what the package has for a model that it wrote.

Where torch and mace-torch can be imported, models are made, converted, and compared with the files of testdata/mace.
run_test.sh runs this with numpy and without.
"""

import contextlib
import io
import itertools
import math
import os
import random
import sys
import unittest

from python_testing import TEMPORARY
from rutile import Potential, import_mace, read_tensors

SYMBOLS = ["O", "H", "H", "O", "H"]
POSITIONS = [[0, 0, 0], [.96, 0, .1], [-.24, .93, 0], [1.9, 1.2, .7], [2.2, .5, 1.5]]
GOLDEN = {"one": -13.3578907065252, "two": 4.268724478540927}  # by mace-torch; testdata/mace/README.md

try:
    # Not together with numpy hidden, nor where versions do not fit each other.
    os.environ["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] = "1"
    import numpy
    import torch
    from e3nn import o3
    from mace import modules
    MACE = True
except Exception as error:  # pylint: disable=broad-except
    print("no comparison with mace-torch here: %s" % error)
    MACE = False


def rotated(random_numbers, vector):
    """A vector after a rotation by a random quaternion."""
    norm = math.sqrt(sum(q * q for q in random_numbers))
    w, x, y, z = (q / norm for q in random_numbers)
    rows = [[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]]  # yapf: disable
    return [sum(a * b for a, b in zip(row, vector)) for row in rows]


def polynomial(tensor, a):
    return math.fsum(w * math.prod(a[i] for i in at) for at, w in tensor.items())


def run(*arguments):
    """What main prints, and its status."""
    text = io.StringIO()
    with contextlib.redirect_stderr(text), contextlib.redirect_stdout(text):
        status = import_mace.main(list(arguments))
    return status, text.getvalue()


class ProductsTest(unittest.TestCase):

    def test_harmonics_are_of_component_normalization(self):
        values = import_mace.harmonics(4, *[v / math.sqrt(0.98) for v in (0.3, -0.5, 0.8)])
        for l in range(5):
            self.assertAlmostEqual(sum(v * v for v in values[l * l:(l + 1)**2]), 2 * l + 1, delta=1e-12)
        # e3nn's numbers at that direction.
        for at, expected in [(1, 0.52489066), (2, -0.87481777), (4, 0.94848572), (8, 1.08680655), (9, 1.18364716), (15, 0.6381777)]:
            self.assertAlmostEqual(values[at], expected, delta=1e-8)

    def test_products_are_invariant_and_of_norm_1(self):
        draw = random.Random(1)
        points = [[draw.gauss(0, 1) for _ in range(3)] for _ in range(5)]
        turn = [draw.gauss(0, 1) for _ in range(4)]

        def moments(vectors):
            sums = [0.0] * 25
            for k, v in enumerate(vectors):
                norm = math.sqrt(sum(x * x for x in v))
                for at, y in enumerate(import_mace.harmonics(4, *[x / norm for x in v])):
                    sums[at] += (k + 1) * y / 5
            return sums

        before, after = moments(points), moments([rotated(turn, v) for v in points])
        tensors = import_mace.cubic_tensors(4)
        self.assertEqual(len(tensors), len(import_mace.cubic_products(4)))
        for product, tensor in zip(import_mace.cubic_products(4), tensors):
            value = polynomial(tensor, before)
            self.assertAlmostEqual(polynomial(tensor, after), value, delta=1e-12 * (1 + abs(value)), msg=str(product))

    def test_paths_are_written_as_products(self):
        tensors = import_mace.cubic_tensors(2)
        self.assertEqual(import_mace.cubic_products(2), [(0, 0, 0), (0, 1, 1), (0, 2, 2), (1, 1, 2), (2, 2, 2)])
        # A path that is not symmetric: l = 1, 1, 0 in this order, and 2, 1, 1 of the sign that is not ours.
        path = {(m, m, 0): 1 / math.sqrt(3) for m in (1, 2, 3)}
        whole = {at: w for at, w in tensors[3].items() if at[0] >= 4}
        for at, w in whole.items():
            path[at] = -3 * w
        found = import_mace.on_products(path, tensors, "U")
        for weight, expected in zip(found, [0, 1, 0, -1, 0]):
            self.assertAlmostEqual(weight, expected, delta=1e-12)
        with self.assertRaisesRegex(import_mace.Refused, "U is not a sum of rutile's invariant products"):
            import_mace.on_products({(1, 2, 0): 1.0}, tensors, "U")


class FilesTest(unittest.TestCase):

    def test_written_tensors_are_read(self):
        path = os.path.join(TEMPORARY, "written.safetensors")
        import_mace.write_tensors(path, {"a": ((), [0.5]), "b": ((2, 2), [1.0, 2.0, 3.0, 4.0])}, {"kind": "x/1"})
        tensors, metadata = read_tensors(path)
        self.assertEqual(metadata, {"kind": "x/1"})
        self.assertEqual(float(tensors["a"]), 0.5)
        self.assertEqual([float(tensors["b"][i][j]) for i, j in itertools.product(range(2), repeat=2)], [1, 2, 3, 4])
        self.assertEqual([name for name in os.listdir(TEMPORARY) if name.endswith(".part")], [])

    def test_errors_name_the_file_and_leave_none(self):
        target = os.path.join(TEMPORARY, "none.safetensors")
        status, text = run("no.model", target)
        self.assertEqual(status, 1)
        self.assertIn("no.model", text)
        self.assertEqual(run("one")[0], 1)
        self.assertEqual(run("--help")[0], 0)
        self.assertFalse(os.path.exists(target))

    def test_models_run(self):
        for name, energy in GOLDEN.items():
            layers = "s" if name == "two" else ""
            potential = Potential("testdata/mace/%s-layer%s.safetensors" % (name, layers))
            self.assertEqual(list(potential.species), ["H", "O"])
            result = potential.compute(SYMBOLS, POSITIONS)
            self.assertAlmostEqual(result["energy"], energy, delta=1e-11)
            self.assertAlmostEqual(sum(float(f[0]) for f in result["forces"]), 0, delta=1e-11)


@unittest.skipUnless(MACE, "needs torch and mace-torch")
class ModelsTest(unittest.TestCase):

    def make(self, layers=2, hidden="4x0e", first="RealAgnosticInteractionBlock", path=None, plain=False, **others):
        settings = dict(r_max=3.0, num_bessel=4, num_polynomial_cutoff=5, max_ell=2, num_interactions=layers, num_elements=2,
                        interaction_cls_first=modules.interaction_classes[first],
                        interaction_cls=modules.interaction_classes["RealAgnosticResidualInteractionBlock"],
                        hidden_irreps=o3.Irreps(hidden), MLP_irreps=o3.Irreps("3x0e"), gate=torch.nn.functional.silu,
                        atomic_energies=numpy.array([-1.0, -2.0]), avg_num_neighbors=3.0, atomic_numbers=[1, 8], correlation=3,
                        radial_MLP=[5, 5], use_reduced_cg=False)  # yapf: disable
        settings.update(others)
        if not plain:
            settings.update(atomic_inter_scale=0.7, atomic_inter_shift=0.1)
        torch.set_default_dtype(torch.float64)
        model = (modules.MACE if plain else modules.ScaleShiftMACE)(**settings)
        count = 0
        with torch.no_grad():
            for parameter in model.parameters():
                values = 3 * torch.sin(0.7 * torch.arange(count, count + parameter.numel()) + 0.3)
                parameter.copy_(values.reshape(parameter.shape))
                count += parameter.numel()
        return model

    def convert(self, model):
        path, target = (os.path.join(TEMPORARY, name) for name in ("made.model", "made.safetensors"))
        torch.save(model, path)
        status, text = run(path, target)
        self.assertEqual(status, 0, text)
        return target

    def test_files_are_those_of_testdata(self):
        for layers, name in [(1, "one-layer"), (2, "two-layers")]:
            found, metadata = read_tensors(self.convert(self.make(layers)))
            expected, golden = read_tensors("testdata/mace/%s.safetensors" % name)
            self.assertEqual(metadata["descriptor"], golden["descriptor"])
            self.assertEqual(list(found), list(expected))
            for tensor, values in expected.items():
                numpy.testing.assert_allclose(found[tensor], values, rtol=1e-12, atol=1e-13, err_msg=tensor)

    def test_energies_and_forces_are_those_of_mace(self):
        residual = "RealAgnosticResidualInteractionBlock"
        for others in [dict(first=residual), dict(max_ell=3, hidden="5x0e"), dict(correlation=2), dict(correlation=1, layers=1),
                       dict(use_agnostic_product=True), dict(use_last_readout_only=True), dict(plain=True),
                       dict(layers=1, first=residual, max_ell=4, correlation=2),
                       dict(radial_MLP=[7], num_polynomial_cutoff=6)]:  # yapf: disable
            model = self.make(**others)
            with torch.no_grad():
                for name, parameter in model.named_parameters():
                    parameter.mul_(0.4 if "weights" in name else 0.7)
            positions = torch.tensor(POSITIONS, dtype=torch.float64)
            pairs = [(i, j) for i in range(5) for j in range(5) if i != j and (positions[i] - positions[j]).norm() < 3]
            species = torch.tensor([0 if s == "H" else 1 for s in SYMBOLS])
            batch = {"positions": positions, "edge_index": torch.tensor(pairs).T, "batch": torch.zeros(5, dtype=torch.long),
                     "node_attrs": torch.nn.functional.one_hot(species, 2).double(), "ptr": torch.tensor([0, 5]),
                     "shifts": torch.zeros(len(pairs), 3), "unit_shifts": torch.zeros(len(pairs), 3), "cell": torch.zeros(3, 3),
                     "head": torch.zeros(1, dtype=torch.long)}  # yapf: disable
            expected = model(batch)
            result = Potential(self.convert(model)).compute(SYMBOLS, POSITIONS)
            size = max(1, abs(expected["energy"].item()))
            self.assertAlmostEqual(result["energy"], expected["energy"].item(), delta=1e-11 * size, msg=str(others))
            size = max(1, expected["forces"].abs().max().item())
            numpy.testing.assert_allclose(result["forces"], expected["forces"].numpy(), rtol=0, atol=1e-11 * size,
                                          err_msg=str(others))

    def test_what_rutile_does_not_compute_is_refused_by_name(self):
        for words, others in [("4x0e\\+4x1o", dict(hidden="4x0e+4x1o")), ("repulsion", dict(pair_repulsion=True)),
                              ("AgnesiTransform", dict(distance_transform="Agnesi")), ("3 layers", dict(layers=3)),
                              ("RealAgnosticDensityInteractionBlock", dict(first="RealAgnosticDensityInteractionBlock")),
                              ("4 factors", dict(correlation=4)), ("GaussianBasis", dict(radial_type="gaussian")),
                              ("silu", dict(gate=torch.tanh)), ("apply_cutoff", dict(apply_cutoff=False)),
                              ("degree 5", dict(max_ell=5, correlation=1))]:  # yapf: disable
            with self.assertRaisesRegex(import_mace.Refused, words):
                import_mace.convert(self.make(**others))
        model = self.make()
        model.heads = ["a", "b"]
        with self.assertRaisesRegex(import_mace.Refused, "heads: a, b"):
            import_mace.convert(model)
        model = self.make()
        model.extra = torch.nn.Linear(2, 2)
        with self.assertRaisesRegex(import_mace.Refused, "extra.weight"):
            import_mace.convert(model)
        with self.assertRaisesRegex(import_mace.Refused, "Linear"):
            import_mace.convert(model.extra)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
