// Python in a thread of its own, so that the page stays alive while a program runs, and can end it.
// Messages: {run: source} is answered by {output, names}, {draw: name} by {svg}; before, {ready} or {failed}.
importScripts("pyodide/pyodide.js");

async function unpack(python, file, format, folder) {
  const response = await fetch(file);
  if (!response.ok) throw new Error(`${file}: ${response.status} ${response.statusText}`);
  python.unpackArchive(await response.arrayBuffer(), format, { extractDir: folder });
}

async function start() {
  const python = await loadPyodide({ indexURL: new URL("pyodide/", self.location).href });
  const packages = "/lib/python3.11/site-packages";
  await unpack(python, "numpy.tar.gz", "gztar", "/numpy");
  await unpack(python, "penlight.whl", "zip", packages);
  const source = await (await fetch("session.py")).text();
  python.FS.writeFile(`${packages}/session.py`, source);
  python.runPython(`import sys; sys.path.insert(0, "/numpy${packages}")`);
  const session = python.pyimport("session");
  const version = python.runPython("import sys, numpy, penlight; f'Penlight on Python {sys.version.split()[0]} and NumPy {numpy.__version__}'");
  return { session, version };
}

const started = start();
started.then(
  ({ version }) => postMessage({ ready: version }),
  (error) => postMessage({ failed: error.message }),
);

onmessage = async ({ data }) => {
  const { session } = await started;
  try {
    if (data.run !== undefined) {
      const [output, names] = session.run(data.run).toJs();
      postMessage({ output, names });
    } else {
      postMessage({ svg: session.draw(data.draw) });
    }
  } catch (error) {
    postMessage({ failed: error.message });
  }
};
