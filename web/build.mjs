// Builds the page's program, and with --tests what tests it. The same sources give the same bytes on every machine:
// versions are pinned by package-lock.json, and nothing of the surroundings goes into the output.

import { build } from "esbuild";
import { readFile, readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const option = (name) => {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
};

if (process.argv.includes("--tests")) {
  for (const folder of ["test", "browser", "fleet"]) {
    const out = join(here, "build", folder);
    await rm(out, { recursive: true, force: true });
    const entries = (await readdir(join(here, folder))).filter((f) => f.endsWith(".ts")).map((f) => join(here, folder, f));
    await build({
      entryPoints: entries,
      outdir: out,
      bundle: true,
      platform: "node",
      format: "esm",
      target: "node18",
      packages: "external",
      loader: { ".css": "empty" },
      logLevel: "warning",
    });
  }
} else {
  const out = option("--out") ?? join(here, "../crates/present/report/src/html/bundle");
  // The licence asks to go with what it is for.
  const licence = (await readFile(join(here, "node_modules/uplot/LICENSE"), "utf8")).trim();
  const banner = `/*! Contains uPlot.\n${licence}\n*/`;
  await build({
    entryPoints: { report: join(here, "src/main.ts") },
    outdir: out,
    absWorkingDir: here,
    bundle: true,
    minify: true,
    format: "iife",
    target: "es2022",
    charset: "ascii",
    legalComments: "none",
    banner: { js: banner, css: banner },
    logLevel: "warning",
  });
}
