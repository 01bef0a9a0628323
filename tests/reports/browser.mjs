// Tests the HTML report in a real browser: it loads, filters, steps by mouse and keyboard, folds long
// parts, prints, searches, has no serious violation of accessibility, and writes nothing to the console.
// usage: node browser.mjs NODE_MODULES SMALL.html LARGE.html MANY.html [SCREENSHOTS]
import { createRequire } from "node:module";
import { strict as assert } from "node:assert";
import { pathToFileURL } from "node:url";
import { readFileSync } from "node:fs";

const [modules, small, large, many, pictures] = process.argv.slice(2);
const axe = readFileSync(`${modules}/axe-core/axe.min.js`, "utf8");
const { chromium } = createRequire(`${modules}/`)("playwright-core");
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox"] });
let checks = 0;

async function open(file, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1500, height: 950 }, ...options });
  const page = await context.newPage();
  const said = [];
  page.on("console", (message) => said.push(message.text()));
  page.on("pageerror", (error) => said.push(String(error)));
  page.on("request", (request) => { if (!request.url().startsWith("file:")) said.push(`asked for ${request.url()}`); });
  await page.goto(pathToFileURL(file).href);
  return { page, said, done: async () => { assert.deepEqual(said, [], "the console is silent"); await context.close(); } };
}

async function check(name, run) {
  await run();
  checks++;
  process.stderr.write(`  ok ${name}\n`);
}

async function shot(page, name) {
  if (pictures) await page.screenshot({ path: `${pictures}/${name}.png` });
}

// The boxes of the finding's own events in the witness, in the window.
const marks = (page) => page.locator(".panel:nth-child(1) .event.mark").evaluateAll((events) => events.map((event) => {
  const { top, bottom, left, right } = event.getBoundingClientRect();
  return top >= 0 && left >= 0 && bottom <= innerHeight && right <= innerWidth;
}));

const count = (page, selector) => page.locator(selector).count();
const step = (page) => page.locator(".player output").textContent();

try {
  const { page, done } = await open(small);

  await check("loads and shows the first finding at its end", async () => {
    assert.ok(await count(page, "#findings button") > 1);
    assert.equal(await count(page, "#findings [aria-current=true]"), 1);
    const [at, of] = (await step(page)).match(/[\d,]+/g);
    assert.equal(at, of);
    assert.ok(await count(page, ".panel:nth-child(1) .event.mark") > 0);
    assert.ok(await count(page, "svg.arrows path.conflict") > 0);
    assert.ok(await count(page, ".source pre .here") > 0);
  });
  await shot(page, "report-light");

  await check("steps by keyboard, with the state at each step", async () => {
    await page.keyboard.press("Home");
    assert.match(await step(page), /^step 0 of/);
    assert.equal(await count(page, ".row.now"), 0);
    const states = new Set();
    const total = Number((await step(page)).match(/of (\d+)/)[1]);
    for (let i = 1; i <= total; i++) {
      await page.keyboard.press("ArrowRight");
      assert.match(await step(page), new RegExp(`^step ${i} of`));
      assert.equal(await page.locator(".panel:nth-child(1) .row.now[data-step]").getAttribute("data-step"), String(i - 1));
      states.add(await page.locator(".beside").textContent());
    }
    assert.ok(states.size > 1, "the state changes");
    await page.keyboard.press("ArrowRight");
    assert.match(await step(page), new RegExp(`^step ${total} of`));
    await page.keyboard.press("ArrowLeft");
    assert.match(await step(page), new RegExp(`^step ${total - 1} of`));
    await page.keyboard.press("End");
  });

  await check("hovering shows values and places", async () => {
    await page.locator(".panel:nth-child(1) .event.mark").first().hover();
    await page.locator("#tip").waitFor({ state: "visible" });
    assert.match(await page.locator("#tip").textContent(), /\.c(pp)?:\d+/);
  });

  await check("clicking an event goes to its step", async () => {
    await page.locator(".panel:nth-child(1) .event").first().click();
    assert.match(await step(page), /^step 1 of/);
  });

  await check("j and k change the finding, and the address names it", async () => {
    const first = await page.locator("h2").textContent();
    await page.keyboard.press("j");
    assert.notEqual(await page.evaluate(() => location.hash), "");
    const second = await page.evaluate(() => location.hash);
    await page.keyboard.press("k");
    assert.equal(await page.locator("h2").textContent(), first);
    assert.notEqual(await page.evaluate(() => location.hash), second);
  });

  await check("filters by kind, file, replay and text", async () => {
    const all = await count(page, "#findings button");
    const kinds = page.locator("#filter-kinds input");
    await kinds.first().uncheck();
    assert.ok(await count(page, "#findings button") < all);
    await kinds.first().check();
    await page.selectOption("#filter-replay", "wrong");
    const wrong = await count(page, "#findings button");
    assert.ok(wrong > 0 && wrong < all);
    assert.equal(await count(page, "#findings .verdict.wrong"), wrong);
    await page.selectOption("#filter-replay", "");
    const file = await page.locator("#filter-file option").nth(1).getAttribute("value");
    await page.selectOption("#filter-file", file);
    assert.ok(await count(page, "#findings button") < all);
    await page.selectOption("#filter-file", "");
    await page.keyboard.press("Escape");
    await page.locator("main").focus();
    await page.keyboard.press("/");
    await page.keyboard.type("deadlock");
    assert.ok(await count(page, "#findings button") < all);
    await page.locator("#search").fill("no such thing");
    assert.equal(await count(page, "#findings button"), 0);
    assert.match(await page.locator("#count").textContent(), /^0 of /);
    await page.locator("#search").fill("");
    assert.equal(await count(page, "#findings button"), all);
  });

  await check("suppressed findings are there when asked for", async () => {
    const shown = await count(page, "#findings button");
    await page.locator("#filter-suppressed").check();
    assert.ok(await count(page, "#findings button") > shown);
    assert.ok(await count(page, "#findings .hidden-one") > 0);
    await page.locator("#filter-suppressed").uncheck();
  });

  await check("every finding draws", async () => {
    const buttons = page.locator("#findings button");
    for (let i = 0; i < await buttons.count(); i++) {
      await buttons.nth(i).click();
      assert.ok(await count(page, ".panel:nth-child(1) .row") > 0);
      await page.keyboard.press("Home");
      await page.keyboard.press("Shift+ArrowRight");
      await page.keyboard.press("End");
    }
  });

  await check("a deadlock shows who waits for whom", async () => {
    await page.locator("#findings button", { hasText: "deadlock-" }).first().click();
    assert.ok(await count(page, ".event.blocked") >= 2);
    assert.match(await page.locator(".beside").textContent(), /waits/);
    await shot(page, "report-deadlock");
  });

  await check("light and dark by key", async () => {
    const paper = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const before = await paper();
    await page.locator("main").focus();
    await page.keyboard.press("t");
    assert.notEqual(await paper(), before);
    await shot(page, "report-dark");
    await page.keyboard.press("t");
    assert.equal(await paper(), before);
  });

  await check("keys are explained", async () => {
    await page.keyboard.press("?");
    assert.ok(await page.locator("#keys").isVisible());
    await page.keyboard.press("?");
  });

  await check("everything can be reached with Tab, and has a name", async () => {
    const nameless = await page.evaluate(() => [...document.querySelectorAll("button, input, select")]
      .filter((e) => !(e.textContent.trim() || e.getAttribute("aria-label") || e.labels?.length)).map((e) => e.outerHTML));
    assert.deepEqual(nameless, []);
    const reached = new Set();
    for (let i = 0; i < 60; i++) {
      await page.keyboard.press("Tab");
      reached.add(await page.evaluate(() => document.activeElement?.id || document.activeElement?.className || document.activeElement?.tagName));
    }
    for (const id of ["theme", "search", "filter-file"]) assert.ok(reached.has(id), `Tab reaches ${id}`);
  });

  await check("prints without controls", async () => {
    await page.emulateMedia({ media: "print" });
    assert.ok(!(await page.locator("#filters").isVisible()));
    assert.ok(await page.locator("h2").isVisible());
    assert.ok((await page.pdf({ format: "A4" })).length > 10000);
    await page.emulateMedia({ media: "screen" });
  });
  await done();

  const narrow = await open(small, { viewport: { width: 480, height: 900 }, colorScheme: "dark" });
  await check("fits a narrow screen and follows the system's colours", async () => {
    const wide = await narrow.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wide <= 0, `${wide} pixels too wide`);
    const paper = await narrow.page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    assert.equal(paper, "rgb(21, 24, 28)");
  });
  await narrow.done();

  const big = await open(large);
  await check("a witness of 100,000 events is folded and can be stepped through", async () => {
    const { page } = big;
    await page.locator(".player").waitFor();
    const total = Number((await step(page)).match(/of ([\d,]+)/)[1].replaceAll(",", ""));
    assert.ok(total > 100000, `${total} steps`);
    assert.ok(await count(page, ".row") < 400, "folded");
    await page.keyboard.press("Home");
    for (let i = 0; i < 20; i++) await page.keyboard.press("ArrowRight");
    assert.match(await step(page), /^step 20 of/);
    await page.locator(".player input").evaluate((slider) => { slider.value = "50000"; slider.dispatchEvent(new Event("input")); });
    assert.match(await step(page), /^step 50,000 of/);
    assert.equal(await page.locator(".panel:nth-child(1) .row.now").getAttribute("data-step"), "49999");
    const rows = await count(page, ".row");
    await page.locator(".panel:nth-child(1) .row.fold button").first().click();
    assert.ok(await count(page, ".row") > rows, "a fold opens");
    assert.ok(await count(page, ".row") < 1000, "not all of it");
    await shot(page, "report-large");
  });
  await check("the overview of a long witness goes to a step, and zooms", async () => {
    const { page } = big;
    const strip = page.locator(".overview .strip");
    const box = await strip.boundingBox();
    await strip.click({ position: { x: box.width / 4, y: 4 } });
    const at = Number((await step(page)).match(/step ([\d,]+)/)[1].replaceAll(",", ""));
    assert.ok(at > 20000 && at < 30000, `step ${at}`);
    for (let i = 0; i < 8; i++) await page.locator(".overview button").first().click();
    await strip.click({ position: { x: box.width / 4, y: 4 } });
    const near = Number((await step(page)).match(/step ([\d,]+)/)[1].replaceAll(",", ""));
    assert.ok(near !== at && Math.abs(near - at) < 500, `step ${near} after zooming at ${at}`);
  });

  await check("the search finds steps, by object and place", async () => {
    const { page } = big;
    await page.locator("#search").fill("last writes");
    assert.match(await page.locator("#hits h3").textContent(), /: 2$/);
    await page.locator("#hits button").first().click();
    assert.match(await page.locator(".row.now .event").first().textContent(), /^w\(last/);
    await page.locator("#search").fill("long.c:11");
    assert.match(await page.locator("#hits h3").textContent(), /50 of 2\d,\d+/);
    await page.locator("#search").fill("");
    assert.ok(!(await page.locator("#hits").isVisible()));
  });
  await big.done();

  // Sizes, colours and numbers of threads.
  for (const [file, name] of [[small, "2 threads"], [many, "30 threads"], [large, "100,000 events"]]) {
    for (const [width, height, colorScheme] of [[1400, 900, "light"], [1400, 900, "dark"], [700, 900, "light"], [700, 900, "dark"]]) {
      await check(`${name} at ${width} x ${height}, ${colorScheme}: the deciding events are in view, nothing is clipped`, async () => {
        const { page, done } = await open(file, { viewport: { width, height }, colorScheme, bypassCSP: true });
        const seen = await marks(page);
        assert.ok(seen.length > 0 && seen.every(Boolean), `in view: ${seen}`);
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page does not scroll sideways");
        const clipped = await page.locator(".event").evaluateAll((events) => events.filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.textContent));
        assert.deepEqual(clipped, [], "no event is clipped");
        if (width === 1400) {
          const beside = await page.locator(".source").first().boundingBox();
          assert.ok(beside.y + beside.height < height, "the source is in view");
        }
        await page.evaluate(axe);
        const serious = await page.evaluate(async () => (await globalThis.axe.run()).violations
          .filter((v) => ["serious", "critical"].includes(v.impact)).map((v) => `${v.id}: ${v.nodes[0].html}`));
        assert.deepEqual(serious, [], "no serious violation of accessibility");
        await done();
      });
    }
  }

  const crowd = await open(many, { viewport: { width: 1400, height: 900 } });
  await check("threads that the finding needs come first, others share a lane until they are unfolded", async () => {
    const { page } = crowd;
    const heads = () => page.locator(".panel:nth-child(1) .head > *").allTextContents();
    await page.keyboard.press("u");
    const folded = await heads();
    assert.equal(folded.length, 4, `${folded}`);
    assert.match(folded[3], /^\d+ other threads$/);
    await page.locator(".panel:nth-child(1) .head button").click();
    const all = await heads();
    assert.ok(all.length > 30, `${all}`);
    assert.deepEqual(all.slice(1, 3), folded.slice(1, 3));
    const panel = page.locator(".panel:nth-child(1)");
    assert.ok(await panel.evaluate((e) => e.scrollWidth > e.clientWidth), "the lanes scroll");
    await page.locator(".panel:nth-child(1) .head button").click();
    assert.deepEqual(await heads(), folded);
  });

  await check("a value leads to the step that wrote it, a held lock to the step that took it", async () => {
    const { page } = crowd;
    await page.locator("section[aria-label=Variables] .to").first().click();
    assert.match(await page.locator(".panel:nth-child(1) .row.now .event").textContent(), /w\(/);
    await page.keyboard.press("Home");
    while (!(await page.locator("section[aria-label=Locks] .to").count())) await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    await page.locator("section[aria-label=Locks] .to").click();
    assert.match(await page.locator(".panel:nth-child(1) .row.now .event").textContent(), /acq\(m\)/);
  });
  await crowd.done();
  process.stdout.write(`${checks} checks of the HTML report in ${browser.version()}\n`);
} finally {
  await browser.close();
}
