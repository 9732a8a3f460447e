// Bundles src/main.ts into one script and writes, beside it, its hash as a Content-Security-Policy takes it.
// Usage: node bundle.mjs OUTPUT
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const output = process.argv[2];
await build({
  entryPoints: ["src/main.ts"],
  outfile: output,
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2020",
  charset: "ascii",
  legalComments: "inline",
  logLevel: "warning",
});
const script = readFileSync(output);
if (/<\/script/i.test(script.toString())) throw new Error(`${output} would end its script element`);
writeFileSync(`${output}.sha256`, "sha256-" + createHash("sha256").update(script).digest("base64"));
