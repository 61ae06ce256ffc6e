// Runs the tests, shows them, and writes a JUnit summary to the file that TOUCHSTONE_JUNIT names.
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { run } from "node:test";
import { spec as Spec } from "node:test/reporters";

const names = ["replay.test.mjs", "drawing.test.mjs", "pictures.test.mjs", "live.test.mjs"];
const files = names.map((name) => fileURLToPath(new URL(name, import.meta.url)));
let passed = 0;
let failed = 0;
let skipped = 0;

const stream = run({ files, concurrency: 1, timeout: 300000 });
stream.on("test:pass", (event) => {
  if (event.skip) ++skipped;
  else if (event.details.type !== "suite") ++passed;
});
stream.on("test:fail", (event) => {
  if (event.details.type !== "suite") ++failed;
});
stream.on("end", () => {
  const junit = process.env.TOUCHSTONE_JUNIT;
  const total = passed + failed + skipped;
  if (junit) {
    writeFileSync(
      junit,
      `<testsuite name="web" tests="${total}" failures="${failed}" skipped="${skipped}"></testsuite>\n`,
    );
  }
  process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
});
stream.compose(new Spec()).pipe(process.stdout);
