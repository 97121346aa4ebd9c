// What the site's search finds, best first, by its own script: node site_search.js SITE WORD...
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const [site, ...words] = process.argv.slice(2);
const folder = path.join(site, "assets/javascripts/workers");
const script = fs.readdirSync(folder).find((name) => /^search.*\.js$/.test(name));
const { config, docs } = JSON.parse(
  fs.readFileSync(path.join(site, "search/search_index.json"), "utf8"),
);

// the script is a web worker: it hears messages and replies to them
let hear, reply;
const worker = {
  console, URL, setTimeout,
  location: new URL(`http://site/assets/javascripts/workers/${script}`),
  addEventListener: (_, listener) => { hear = listener; },
  postMessage: (message) => reply(message),
};
worker.self = worker.globalThis = worker;
vm.runInContext(fs.readFileSync(path.join(folder, script), "utf8"), vm.createContext(worker));

const send = (type, data) => new Promise((resolve) => { reply = resolve; hear({ data: { type, data } }); });

(async () => {
  await send(0, { config, docs, options: {} });
  const found = {};
  for (const word of words) {
    const { data } = await send(2, word);
    found[word] = data.items.map(([page]) => page.location);
  }
  console.log(JSON.stringify(found));
})();
