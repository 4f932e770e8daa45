/**
 * The pages of `heapwise fleet serve` in a real browser. `cargo xtask test --only fleet` makes a fleet and sets HEAPWISE_FLEET to the
 * address of the server; HEAPWISE_SHOTS names a folder for pictures of the pages.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { launch } from "../launch.ts";

const address = process.env["HEAPWISE_FLEET"] ?? "http://127.0.0.1:7070";
const shots = process.env["HEAPWISE_SHOTS"];
let browser: Browser;

before(async () => {
  browser = await launch();
});
after(() => browser?.close());

/** Opens the first page, lets `use` go on from there, and sees that nothing was fetched from elsewhere and nothing went wrong. */
async function visit(dark: boolean, use: (page: Page) => Promise<void>): Promise<void> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    colorScheme: dark ? "dark" : "light",
    // All pages are without a script.
    javaScriptEnabled: false,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const problems: string[] = [];
  page.on("console", (message) => problems.push(`console: ${message.text()}`));
  page.on("dialog", (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(`${address}/`)) problems.push(`request: ${request.url()}`);
  });
  try {
    await page.goto(`${address}/`);
    await use(page);
    assert.deepEqual(problems, []);
  } finally {
    await context.close();
  }
}

async function heading(page: Page): Promise<string> {
  return page.locator("h1").innerText();
}

async function shot(page: Page, name: string): Promise<void> {
  if (shots) await page.screenshot({ path: join(shots, `${name}.png`), fullPage: true });
}

test("from all services to a release, a call site and its functions", async () => {
  await visit(false, async (page) => {
    assert.equal(await heading(page), "heapwise fleet");
    await shot(page, "services");
    await page.getByRole("link", { name: "shop", exact: true }).click();
    assert.equal(await heading(page), "service shop");
    assert.match(await page.locator("figcaption").first().innerText(), /Memory by day/);
    assert.ok((await page.locator("svg rect").count()) >= 2, "a bar for each day");
    await shot(page, "service");
    await page.getByRole("link", { name: "2", exact: true }).click();
    assert.equal(await heading(page), "service shop, release 2");
    await page.locator("a[href*='/site/']").first().click();
    assert.match(await heading(page), /^call site [0-9a-f]{32}$/);
    assert.match(await page.locator("main").innerText(), /Releases[\s\S]*Hosts[\s\S]*Stack/);
    await shot(page, "site");
    await page.locator("a[href*='focus=']").last().click();
    assert.match(await heading(page), /^flame graph of service shop, release 2/);
    assert.ok((await page.locator("svg.flame rect").count()) >= 2, "functions are drawn");
    await shot(page, "focus");
  });
});

test("a flame graph is walked through by clicks", async () => {
  await visit(true, async (page) => {
    await page.getByRole("link", { name: "shop", exact: true }).click();
    await page.getByRole("link", { name: "flame graph: allocated" }).click();
    const drawn = page.locator("svg.flame rect");
    const all = await drawn.count();
    assert.ok(all > 10, `${all} functions`);
    const picture = (await page.locator("svg.flame").boundingBox())!;
    assert.ok(picture.width > 900, "it has the whole width");
    await shot(page, "flame-dark");
    const third = page.locator("svg.flame a").nth(3);
    const name = (await third.locator("title").innerHTML()).replace(/: [^:]*$/, "");
    await third.locator("rect").click();
    assert.match(page.url(), /focus=[0-9a-f]{32}/);
    const root = await drawn.first().locator("title").innerHTML();
    assert.ok(root.startsWith(name), `${root} is ${name}`);
    assert.match(root, /100\.0 %$/);
    await page.getByRole("link", { name: "the whole service" }).click();
    assert.equal(await drawn.count(), all);
  });
});

test("a recording has its memory over time, and a question its answer", async () => {
  await visit(false, async (page) => {
    await page.getByRole("link", { name: "shop", exact: true }).click();
    await page.locator("a[href^='/recording/']").first().click();
    assert.match(await heading(page), /^recording [0-9a-f]{32}$/);
    assert.match(await page.locator("main").innerText(), /command: .*[\s\S]*verdict: /);
    assert.equal(await page.locator("svg polyline").count(), 2);
    await shot(page, "recording");
    await page.getByRole("link", { name: "all services" }).click();
    await page.getByRole("link", { name: "growth", exact: true }).click();
    assert.match(await page.locator("main").innerText(), /Which service is meant\?/);
    await page.getByRole("link", { name: "shop", exact: true }).click();
    assert.match(await page.locator("main").innerText(), /service: shop · old: 1 · new: 2/);
    await shot(page, "question");
  });
});

test("names of others stay text", async () => {
  await visit(false, async (page) => {
    const hostile = "<img src=x onerror=alert(1)>";
    await page.getByRole("link", { name: hostile }).click();
    assert.equal(await heading(page), `service ${hostile}`);
    assert.equal(await page.locator("img").count(), 0);
  });
});
