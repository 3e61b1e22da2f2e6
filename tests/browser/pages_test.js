// The live page and Swagger UI as people see them. tests/browser/run starts it.
"use strict";
const {spawn} = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const assert = require("node:assert/strict");
const {launch} = require("./chromium");

const scratch = process.env.SCRATCH;
const shots = process.env.SHOTS;

// A server on ports of its own; resolves to the address of HTTP_LISTEN.
async function startServer() {
  const ready = path.join(scratch, "ready");
  const server = spawn(process.env.COUNTERD, [], {
    stdio: ["ignore", "ignore", "inherit"],
    env: {GRPC_LISTEN: "127.0.0.1:0", HTTP_LISTEN: "127.0.0.1:0", METRICS_LISTEN: "", DATA_DIR: path.join(scratch, "data"),
          READY_FILE: ready, SWAGGER_UI_DIR: path.join(scratch, "swagger-ui"), LOG_LEVEL: "warning"},
  });
  for (const end = Date.now() + 60000; !fs.existsSync(ready);) {
    assert(Date.now() < end && server.exitCode === null, "counterd is not ready");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return {server, address: "http://" + /^http=(.*)$/m.exec(fs.readFileSync(ready, "utf8"))[1]};
}

async function post(address, route, body) {
  const answer = await fetch(address + route, {
    method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body)});
  assert.equal(answer.status, 200);
  return answer.json();
}

// A page on which every request to elsewhere, every error of a script and every word on the console is a fault.
async function openPage(browser, address, options, faults) {
  const page = await (await browser.newContext(options)).newPage();
  page.on("request", (request) => {
    if (!request.url().startsWith(address) && !request.url().startsWith("data:")) faults.push("asked " + request.url());
  });
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) faults.push(message.text());
  });
  return page;
}

async function seeLivePage(browser, address, faults) {
  for (const [name, options] of Object.entries({
    "live-light": {viewport: {width: 1200, height: 800}, colorScheme: "light"},
    "live-phone-dark": {viewport: {width: 390, height: 844}, colorScheme: "dark"},
    "live-small-phone": {viewport: {width: 360, height: 740}, colorScheme: "light"},
  })) {
    const page = await openPage(browser, address, options, faults);
    await page.goto(address + "/");
    const first = await page.waitForFunction(() => history.length &&
      {values: history.length, length: document.getElementById("curve").getTotalLength()});
    const {values, length} = await first.jsonValue();
    assert(length > 0, "the curve of " + values + " values shows nothing");
    // Likes go on until the page has shown them.
    let user = 1;
    for (const end = Date.now() + 60000; ;) {
      for (let i = 0; i < 20; ++i, ++user) {
        await post(address, "/v1/like", {user_id: user, item_id: "9223372036854775807"});
        await post(address, "/v1/like", {user_id: user, item_id: 456, item_type: "reel"});
        await fetch(address + "/v1/count?item_id=456&item_type=reel");
      }
      const top = await page.textContent("#top");
      if (/post:9223372036854775807/.test(top) && /\d\s*$/.test(top) && await page.textContent("#rate") !== "0") break;
      assert(Date.now() < end, "the page shows no likes: " + top);
      await page.waitForTimeout(200);
    }
    assert.match(await page.textContent("#methods"), /GetCount.*Like/s);
    assert.equal(await page.textContent("#store"), "up");
    assert.equal(await page.textContent("#redis"), "not used");
    const wide = await page.evaluate(() => [document.documentElement, ...document.querySelectorAll(".card")]
      .filter((element) => element.scrollWidth > element.clientWidth).map((element) => element.textContent));
    assert.deepEqual(wide, [], name + " must not scroll sideways, nor any part of it");
    if (shots) await page.screenshot({path: path.join(shots, name + ".png"), fullPage: true});
    await page.context().close();
  }
}

// At the width of a phone.
async function seeDocs(browser, address, faults) {
  const page = await openPage(browser, address, {viewport: {width: 390, height: 844}, isMobile: true}, faults);
  await page.goto(address + "/docs");
  await page.locator("#operations-likes-writeLikes .opblock-summary").first().click();
  assert.match(await page.locator("#operations-likes-writeLikes").textContent(), /high-throughput door/);
  if (shots) await page.screenshot({path: path.join(shots, "docs-phone.png")});
  await page.context().close();
}

async function tryItOut(browser, address, faults) {
  const page = await openPage(browser, address, {viewport: {width: 1200, height: 900}}, faults);
  await page.goto(address + "/docs");
  const block = page.locator("#operations-likes-like");
  await block.locator(".opblock-summary").first().click();
  await block.locator(".try-out__btn").click();
  await block.locator("textarea").fill('{"user_id": 9223372036854775807, "item_id": 77, "item_type": "post"}');
  await block.locator("button.execute").click();
  const answer = block.locator(".live-responses-table .response").first();
  await answer.waitFor();
  assert.match(await answer.textContent(), /200/);
  assert.match(await answer.textContent(), /"status": "liked"/);
  if (shots) await page.screenshot({path: path.join(shots, "docs.png")});
  const liked = await fetch(address + "/v1/has_liked?user_id=9223372036854775807&item_ids=77");
  assert.deepEqual(await liked.json(), {liked: {77: true}});
  await page.context().close();
}

async function main() {
  const {server, address} = await startServer();
  const browser = await launch();
  const faults = [];
  try {
    await seeLivePage(browser, address, faults);
    await tryItOut(browser, address, faults);
    await seeDocs(browser, address, faults);
    assert.deepEqual(faults, []);
  } finally {
    await browser.close();
    server.kill("SIGTERM");
  }
  console.log("the live page and Swagger UI work, and ask nobody else");
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
