// The programs of the seed documents, `penlight doctor` and the demo in Pyodide (CPython for WebAssembly) under Node.
//
//   npm install --prefix DIRECTORY pyodide@0.25.1 @emscripten-forge/numpy@2.1.1-py311hc8e14bb-0
//   mkdir DIRECTORY/numpy && tar -xzf DIRECTORY/node_modules/@emscripten-forge/numpy/pkg/*.tar.gz -C DIRECTORY/numpy
//   node .ci/pyodide.mjs DIRECTORY
import { pathToFileURL } from "node:url";

const directory = process.argv[2];
const program = `
import sys
sys.path[:0] = ["/numpy/lib/python3.11/site-packages", "/main/src", "/main"]
import numpy
import penlight as torch
from tests.platforms import integers
from tests.seeds import blocks

print("Pyodide", sys.version.split()[0], "NumPy", numpy.__version__, "native integers", numpy.arange(1).dtype)
assert sys.platform == "emscripten" and numpy.arange(1).dtype == numpy.int32

documents = blocks.load()
for document in documents:
    found = [list(outcome) for outcome in blocks.run(torch, document["blocks"])]
    assert found == document["outcomes"], (document["name"], found, document["outcomes"])
print(len(documents), "seed documents print what PyTorch prints")

print(integers.check(), "results of integers are int64")

torch.set_num_threads(2)
x = torch.rand(300, 400, requires_grad=True)
(x @ x.T).softmax(-1).log().mean().backward()
assert torch.get_num_threads() == 2 and x.grad.isfinite().all()
print("set_num_threads(2) works in the only thread")

from penlight._cli import doctor
from penlight.__main__ import main
doctor.show_versions()  # its tests need sums of arrays above 256 kB, where this NumPy calls a function that Pyodide's C library lacks
assert main(["demo", "--epochs", "1", "--out", "/tmp/demo"]) == 0
`;

try {
  const { loadPyodide } = await import(pathToFileURL(`${directory}/node_modules/pyodide/pyodide.mjs`));
  const python = await loadPyodide();
  for (const [name, root] of [["/numpy", `${directory}/numpy`], ["/main", process.cwd()]]) {
    python.FS.mkdirTree(name);
    python.FS.mount(python.FS.filesystems.NODEFS, { root }, name);
  }
  python.runPython(program);
} catch (error) {
  console.error(error.message); // the error itself would print the line of Pyodide's source that it comes from, which is a megabyte
  process.exit(1);
}
