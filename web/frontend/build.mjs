// Makes web/static/vendor (and tests/web/vendor) from the packages that package-lock.json pins.
// Run at release time: `npm ci && npm run build`. The result is committed; nothing is built on a user's machine.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "..", "..");
const vendor = join(root, "web", "static", "vendor");
const testVendor = join(root, "tests", "web", "vendor");

const sha256 = (data) => createHash("sha256").update(data).digest("hex");
const packageOf = (name) => JSON.parse(readFileSync(join(here, "node_modules", name, "package.json"), "utf8"));

function licenceOf(name) {
  const folder = join(here, "node_modules", name);
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (!file) throw new Error(`${name} brings no licence file`);
  return readFileSync(join(folder, file), "utf8").trim() + "\n";
}

async function bundle(entry) {
  const result = await build({
    entryPoints: [join(here, "src", entry)],
    bundle: true,
    format: "esm",
    minify: true,
    target: "es2022",
    legalComments: "none",
    write: false,
    metafile: true,
    absWorkingDir: here,
  });
  const names = new Set();
  for (const input of Object.keys(result.metafile.inputs)) {
    const match = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (match) names.add(match[1]);
  }
  return { data: Buffer.from(result.outputFiles[0].contents), packages: [...names].sort() };
}

const copied = (name, path) => ({ data: readFileSync(join(here, "node_modules", name, path)), packages: [name] });

/** One symbol per icon of icons.json, and our own mark. */
function sprite() {
  const names = Object.keys(JSON.parse(readFileSync(join(here, "icons.json"), "utf8")));
  const drawn = (svg) => svg.replace(/<!--.*?-->/gs, "").replace(/<\/?svg[^>]*>/gs, "").replace(/\s+/g, " ").replace(/ ?(\/?>) ?/g, "$1").trim();
  const symbols = [
    ...names.map((name) => [name, join(here, "node_modules", "lucide-static", "icons", `${name}.svg`)]),
    ["homarus", join(here, "src", "homarus.svg")],
  ].map(([name, file]) => `<symbol id="${name}" viewBox="0 0 24 24">${drawn(readFileSync(file, "utf8"))}</symbol>`);
  return { data: Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg">${symbols.join("")}</svg>\n`), packages: ["lucide-static"] };
}

function publish(folder, lockPath, files, compressed) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, "licences"), { recursive: true });
  const lock = { files: {} };
  for (const [file, { data, packages }] of Object.entries(files)) {
    writeFileSync(join(folder, file), data);
    if (compressed && !file.endsWith(".woff2")) {
      writeFileSync(join(folder, `${file}.gz`), gzipSync(data, { level: 9 }));
      const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: data.length };
      writeFileSync(join(folder, `${file}.br`), brotliCompressSync(data, { params }));
    }
    lock.files[file] = {
      sha256: sha256(data),
      size_bytes: data.length,
      packages: packages.map((name) => {
        const { version, license } = packageOf(name);
        const licence = `licences/${name.replace("@", "").replace("/", "-")}.txt`;
        writeFileSync(join(folder, licence), licenceOf(name));
        return { name, version, licence: license, licence_file: licence };
      }),
    };
  }
  writeFileSync(lockPath, JSON.stringify(lock, null, 2) + "\n");
}

publish(
  vendor,
  join(root, "web", "static", "assets.lock.json"),
  {
    "htmx.js": copied("htmx.org", "dist/htmx.min.js"),
    "lit.js": await bundle("lit.js"),
    "codemirror.js": await bundle("codemirror.js"),
    "uplot.js": await bundle("uplot.js"),
    "uplot.css": copied("uplot", "dist/uPlot.min.css"),
    "sprite.svg": sprite(),
    "inter.woff2": copied("@fontsource-variable/inter", "files/inter-latin-wght-normal.woff2"),
  },
  true,
);
mkdirSync(testVendor, { recursive: true });
publish(
  testVendor,
  join(root, "tests", "web", "assets.lock.json"),
  { "axe.js": copied("axe-core", "axe.min.js") },
  false,
);
