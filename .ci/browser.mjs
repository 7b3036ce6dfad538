// The page of docs/browser in headless Chromium: its programs run, print what they should and are drawn; an endless one is stopped.
//
//   docs/browser/build SITE && npm install --prefix DIRECTORY puppeteer-core@23
//   node .ci/browser.mjs SITE DIRECTORY [FOLDER-FOR-SCREENSHOTS]
import { spawn } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [site, directory, screenshots] = process.argv.slice(2);
const { default: puppeteer } = await import(pathToFileURL(`${directory}/node_modules/puppeteer-core/lib/esm/puppeteer/puppeteer-core.js`));
const EXPECTED = {
  walk: [/SumBackward0\n {2}MulBackward0\n {4}torch::autograd::AccumulateGrad/, /x\.grad is y: True\ny\.grad is x: True/],
  gradients: [/w\.grad tensor\(\[5\.\]\)/, /b\.grad tensor\(\[3\.\]\)/],
  outputs: [/a\.grad tensor\(\[12\., {2}8\., {2}6\.\]\)/],
  training: [/step 300 {2}loss 0\.00\d+/],
};

const server = spawn("python3", ["-m", "http.server", "--bind", "127.0.0.1", "--directory", site, "0"], { env: { ...process.env, PYTHONUNBUFFERED: "1" } });
let browser;
try {
  const port = await new Promise((resolve, reject) => {
    let told = "";
    server.stdout.on("data", (text) => {
      told += text;
      const found = /port (\d+) /.exec(told);
      if (found) resolve(found[1]);
    });
    server.on("exit", () => reject(new Error("the server ended")));
  });
  browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
  const page = await browser.newPage();
  page.setDefaultTimeout(300_000);
  page.on("pageerror", (error) => console.error("page:", error.message));
  await page.setViewport({ width: 1280, height: 900 });
  await page.goto(`http://127.0.0.1:${port}/`);
  const state = (wanted) => page.waitForFunction((wanted) => [wanted, "failed"].includes(document.body.dataset.state), {}, wanted);
  const text = (selector) => page.$eval(selector, (element) => element.textContent);
  const check = (what, holds) => {
    if (!holds) throw new Error(what);
  };

  await state("ready");
  console.log(await text("#status"));
  for (const [name, patterns] of Object.entries(EXPECTED)) {
    await page.select("#choice", name);
    await page.waitForFunction((name) => fetch(`programs/${name}.py`).then((r) => r.text()).then((t) => t === document.getElementById("editor").value), {}, name);
    await page.click("#run");
    await state("ready");
    const output = await text("#output");
    for (const pattern of patterns) check(`${name} printed:\n${output}\n${await text("#status")}`, pattern.test(output));
    check(`the graph of ${name} is not drawn`, (await page.$$("#picture svg text")).length > 3);
    if (screenshots) {
      await page.screenshot({ path: join(screenshots, `${name}-wide.png`) });
      await page.setViewport({ width: 400, height: 800 });
      check(`${name} is wider than the page`, await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
      await page.screenshot({ path: join(screenshots, `${name}-narrow.png`), fullPage: true });
      await page.setViewport({ width: 1280, height: 900 });
    }
  }

  const replace = (source) => page.$eval("#editor", (editor, source) => (editor.value = source), source);
  await replace("import torch\nx = torch.ones(2, requires_grad=True)\ny = x.exp()\nz = (x * 2).sum()\ny.backward()\n");
  await page.focus("#editor");
  await page.keyboard.down("Control");
  await page.keyboard.press("Enter");
  await page.keyboard.up("Control");
  await state("ready");
  check(await text("#output"), /File "program", line 5[^]*grad can be implicitly created only for scalar outputs/.test(await text("#output")));
  await page.select("#tensor", "y");
  await page.waitForFunction(() => document.getElementById("picture").textContent.includes("ExpBackward0"));

  await state("ready");
  await replace("while True:\n    pass\n");
  await page.click("#run");
  await state("running");
  await page.click("#stop");
  await state("ready");
  await replace("print('again')\n");
  await page.click("#run");
  await page.waitForFunction(() => document.getElementById("output").textContent === "again\n");
  console.log(Object.keys(EXPECTED).length, "programs ran and were drawn; errors are shown; an endless program was stopped");
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  await browser?.close();
  server.kill();
}
