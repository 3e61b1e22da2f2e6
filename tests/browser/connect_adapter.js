// Makes the calls that clients/conformance/run asks for, one a line, by clients/web/test/calls.js in a page of a headless
// Chromium. Arguments: json, proto or get; the folder that clients/web/run_tests has prepared.
//
// The page is of the same origin as the server, as a page behind the same proxy is: its own files are answered here,
// everything else goes to the server.
"use strict";
const fs = require("node:fs");
const path = require("node:path");
const readline = require("node:readline");
const {launch} = require("./chromium");

const [form, folder] = process.argv.slice(2);
const PREFIX = "/conformance/";

// Where the modules that are imported by name are.
function importMap() {
  const imports = {};
  for (const name of ["@bufbuild/protobuf", "@connectrpc/connect", "@connectrpc/connect-web"]) {
    const home = path.join("node_modules", name);
    const {exports} = JSON.parse(fs.readFileSync(path.join(folder, home, "package.json"), "utf8"));
    for (const [entry, {import: file}] of Object.entries(exports)) {
      if (file) imports[path.posix.join(name, entry)] = PREFIX + path.posix.join(home, file.default ?? file);
    }
  }
  return {imports};
}

const PAGE = `<!doctype html><meta charset="utf-8"><script type="importmap">${JSON.stringify(importMap())}</script>
<script type="module">
import {Caller} from "${PREFIX}test/calls.js";
window.caller = new Caller(${JSON.stringify(form)});
</script>`;

async function answerFile(route) {
  const name = new URL(route.request().url()).pathname.slice(PREFIX.length);
  if (name === "") return route.fulfill({contentType: "text/html", body: PAGE});
  return route.fulfill({contentType: "text/javascript", path: path.join(folder, name)});
}

async function main() {
  const browser = await launch();
  const page = await browser.newPage();
  await page.route("**" + PREFIX + "**", answerFile);
  page.on("pageerror", (error) => console.error(error));
  for await (const line of readline.createInterface({input: process.stdin})) {
    const asked = JSON.parse(line);
    if (asked.call === "connect") {
      await page.goto(asked.target + PREFIX);
      await page.waitForFunction("window.caller");
    }
    process.stdout.write(JSON.stringify(await page.evaluate((call) => window.caller.answer(call), asked)) + "\n");
  }
  await browser.close();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
