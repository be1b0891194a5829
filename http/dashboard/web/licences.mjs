// Prints the licences of the packages in the page, with their texts and the addresses of their
// sources. Packages that only build or test the page are left out.
import { readFileSync, readdirSync } from "node:fs";

const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8"));
const rule = "\n" + "-".repeat(80) + "\n\n";
const texts = [];
for (const [path, p] of Object.entries(packages)) {
  if (!path || p.dev || p.devOptional) continue;
  const own = JSON.parse(readFileSync(path + "/package.json", "utf8")), file = readdirSync(path).find((f) => /^licen[sc]e/i.test(f));
  if (!file) throw new Error(`${path} has no licence text`);
  const source = (own.repository?.url ?? own.repository ?? p.resolved).replace(/^git\+/, "");
  texts.push(`${path.replace(/^.*node_modules\//, "")} ${p.version} (${p.license})\nSource: ${source}\n\n${readFileSync(`${path}/${file}`, "utf8").trim()}\n`);
}
process.stdout.write(`The page contains these packages, unchanged. What builds and tests it is not in it.\n${rule}${texts.join(rule)}`);
