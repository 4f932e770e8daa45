/**
 * The pages in a real browser, opened from disk as a user does. `cargo xtask web --check` makes them and sets
 * HEAPWISE_PAGES to their folder; HEAPWISE_SHOTS names a folder for pictures of them.
 */

import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import type { Browser, Page } from "playwright-core";
import { launch } from "../launch.ts";

const folder = process.env["HEAPWISE_PAGES"] ?? ".";
const shots = process.env["HEAPWISE_SHOTS"];
let browser: Browser;

before(async () => {
  browser = await launch();
});
after(() => browser?.close());

interface Look {
  width?: number;
  dark?: boolean;
  /** Whether the page has no program that says when it is ready. */
  still?: boolean;
}

/** Opens a page, lets `use` use it, and sees that nothing was fetched and nothing went wrong. */
async function on(name: string, look: Look, use: (page: Page) => Promise<void>): Promise<void> {
  const context = await browser.newContext({
    viewport: { width: look.width ?? 1280, height: 900 },
    colorScheme: look.dark ? "dark" : "light",
  });
  const page = await context.newPage();
  const address = pathToFileURL(join(folder, `${name}.html`)).href;
  const problems: string[] = [];
  page.on("console", (message) => problems.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    if (request.url() !== address) problems.push(`request: ${request.url()}`);
  });
  try {
    await page.goto(address);
    if (!look.still) await page.waitForSelector("html[data-ready]");
    await use(page);
    assert.deepEqual(problems, []);
  } finally {
    await context.close();
  }
}

async function text(page: Page, selector: string): Promise<string> {
  return page.locator(selector).first().innerText();
}

async function shot(page: Page, name: string): Promise<void> {
  if (shots) await page.screenshot({ path: join(shots, `${name}.png`), fullPage: true });
}

/** Pixels of the flame graph that are not empty, and a number that changes when they do. */
async function drawing(page: Page, selector = ".flame-scroller canvas"): Promise<{ painted: number; hash: number }> {
  return page.locator(selector).first().evaluate((element) => {
    const canvas = element as HTMLCanvasElement;
    // A copy: reading the page's own canvas more than once makes the browser complain.
    const copy = document.createElement("canvas");
    [copy.width, copy.height] = [canvas.width, canvas.height];
    const context = copy.getContext("2d", { willReadFrequently: true })!;
    context.drawImage(canvas, 0, 0);
    const { data } = context.getImageData(0, 0, copy.width, copy.height);
    let painted = 0;
    let hash = 0;
    for (let i = 0; i < data.length; i += 4) {
      if (data[i + 3]! > 0) painted++;
      hash = (hash * 31 + data[i]! + 7 * data[i + 1]! + 13 * data[i + 2]!) | 0;
    }
    return { painted, hash };
  });
}

/** Milliseconds from the start of loading until the page was built and painted. */
async function readiness(page: Page): Promise<string> {
  const built = await page.evaluate(() => Number(document.documentElement.dataset["ready"]));
  const painted = await page.evaluate(
    () =>
      new Promise<number>((done) => {
        const asked = performance.now();
        requestAnimationFrame(() => setTimeout(() => done(performance.now() - asked), 0));
      }),
  );
  return `usable after ${built} ms, a frame takes ${Math.round(painted)} ms`;
}

test("every part is there", async () => {
  await on("full", {}, async (page) => {
    for (const id of ["summary", "findings", "accounting", "timeline", "spans", "flame", "trees", "source", "sites", "sizes", "pages", "threads"]) {
      assert.equal(await page.locator(`#${id}`).count(), 1, id);
    }
    assert.match(await text(page, ".verdict"), /External fragmentation: .*What to do: /s);
    assert.equal(await page.locator("[data-finding]").count(), 3);
    const first = await text(page, "[data-finding]");
    assert.match(first, /open_session/);
    assert.match(first, /8\.50 MiB at the peak/);
    assert.match(first, /self\.sessions\.entry\(id\)/, "the source line");
    assert.match(first, /What to do/);
    assert.match(await text(page, "[data-finding] .line.here"), /9\s*self\.sessions/);
    assert.equal(await page.locator("[data-term]").count(), 9);
    assert.equal(await page.locator(".allocators tbody tr").count(), 2);
    assert.match(await text(page, ".allocators tbody tr"), /^jemalloc in lib\S+\.so\s*5,600\s*8\.00 MiB\s*0 B\s*11\.0 MiB\s*3\.00 MiB\s*1\.00 MiB\s*0 B$/);
    assert.match(await text(page, "[data-term=external_fragmentation]"), /10\.4 MiB\s*40 %/);
    await page.getByRole("button", { name: "At the end" }).click();
    assert.match(await text(page, "[data-term=external_fragmentation]"), /10\.1 MiB/);
    assert.equal(await page.locator("#timeline canvas").count(), 2, "the curves, and the spans below them");
    assert.match(await text(page, "#timeline .keys"), /Marks of the program\s*Its spans/);
    assert.ok((await drawing(page, "canvas.lanes")).painted > 3000, "spans are drawn");
    assert.match(await text(page, "#spans"), /serve\s+1\s+1\.13 s\s+1\.13 s/);
    assert.match(await text(page, "#spans"), /connection that stays 1 without an end/);
    assert.match(await text(page, ".matrix"), /52k.*9\.3k/s);
    assert.match(await text(page, "#pages"), /of the heap resident/);
    assert.ok((await drawing(page, ".page-maps canvas")).painted > 1000, "pages are drawn");
    await shot(page, "wide-light");
  });
});

test("what was not measured is said to be so", async () => {
  await on("contest", {}, async (page) => {
    const measured = await page.locator("[data-term]").count();
    if (measured === 0) {
      assert.match(await text(page, "#accounting"), /Not measured/);
      assert.equal(await page.locator("#pages").count(), 0);
    }
    else assert.equal(measured, 9);
    assert.match(await text(page, "#findings"), /solve_round|solve_contest|visit_map/);
    assert.match(await text(page, "#findings"), /clone\(\)/, "a source line of the contest program");
  });
});

test("the flame graph has measures, zoom and a tooltip", async () => {
  await on("full", {}, async (page) => {
    const before = await drawing(page);
    assert.ok(before.painted > 10_000);
    for (const label of ["Bytes", "Peak", "Live at exit", "Temporary", "Allocator time", "Pinned"]) {
      await page.locator("#flame").getByRole("button", { name: label, exact: true }).click();
      assert.notEqual((await drawing(page)).hash, before.hash, label);
    }
    assert.match(await text(page, ".flame-detail"), /of pinned/);
    await page.locator("#flame").getByRole("button", { name: "Allocations" }).click();
    assert.equal((await drawing(page)).hash, before.hash);
    const canvas = page.locator(".flame-scroller");
    await canvas.hover({ position: { x: 40, y: 3 * 18 + 9 } });
    assert.match(await text(page, ".tip"), /app::cache::Cache::lookup.*61 %/s);
    await canvas.click({ position: { x: 40, y: 3 * 18 + 9 } });
    assert.match(await text(page, ".flame-detail"), /lookup.*cache\.rs:5/s);
    const zoomed = await drawing(page);
    assert.notEqual(zoomed.hash, before.hash);
    await page.getByRole("button", { name: "Reset zoom" }).click();
    await page.mouse.move(0, 0);
    assert.equal((await drawing(page)).hash, before.hash);
    await page.locator("#flame").getByLabel("Distinguish lines").uncheck();
    assert.notEqual((await drawing(page)).hash, before.hash, "labels lose their lines");
  });
});

test("the flame graph is searched", async () => {
  await on("full", {}, async (page) => {
    await page.fill("#flame-search", "open_session");
    assert.match(await text(page, ".found"), /31 % matches/);
    await page.fill("#flame-search", "no such function");
    assert.match(await text(page, ".found"), /no match/);
    await page.fill("#flame-search", "session.rs:9");
    await page.press("#flame-search", "Enter");
    assert.match(await text(page, ".flame-detail"), /open_session/);
  });
});

test("a keyboard is enough", async () => {
  await on("full", {}, async (page) => {
    await page.locator(".flame-scroller").focus();
    for (const key of ["ArrowDown", "ArrowDown", "ArrowDown"]) await page.keyboard.press(key);
    assert.match(await text(page, ".flame-detail"), /lookup/);
    await page.keyboard.press("ArrowRight");
    assert.match(await text(page, ".flame-detail"), /open_session/);
    const before = (await drawing(page)).hash;
    await page.keyboard.press("Enter");
    assert.notEqual((await drawing(page)).hash, before);
    await page.keyboard.press("Escape");
    assert.match(await text(page, ".flame-detail"), /everything/);
    await page.keyboard.press("/");
    assert.equal(await page.evaluate(() => document.activeElement?.id), "flame-search");

    await page.locator(".chart").focus();
    await page.keyboard.press("End");
    assert.match(await text(page, "#timeline .readout"), /resident .* live /s);
    await page.keyboard.press("Home");
    for (let i = 0; i < 21; i++) await page.keyboard.press("PageDown");
    assert.match(await text(page, "#timeline .readout"), /in request, serve, connection that stays/);

    await page.locator(".page-maps canvas").first().focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    assert.match(await text(page, "#pages .readout"), /0x55812a3c5000, 4\.00 KiB: \d+ % in use/);

    await page.locator(".sites .open").first().focus();
    await page.keyboard.press("Enter");
    assert.equal(await page.locator(".site-detail .stack").count(), 1);
    // Whatever takes the focus shows it.
    const outline = await page.evaluate(() => getComputedStyle(document.activeElement!).outlineStyle);
    assert.equal(outline, "solid");
  });
});

/** The rows of the call trees: level, name, and amounts. */
async function calls(page: Page): Promise<string[]> {
  return page.locator("#trees tr.call").evaluateAll((rows) =>
    rows.map((row) => {
      const name = row.querySelector(".function")?.textContent ?? row.textContent ?? "";
      const amounts = [...row.querySelectorAll("td")].map((cell) => cell.firstChild?.textContent ?? "");
      return [row.getAttribute("aria-level"), name.split("::").pop(), ...amounts].join(" ");
    })
  );
}

test("call trees open from the outermost function inwards and from the innermost outwards", async () => {
  await on("full", {}, async (page) => {
    await page.locator("#trees").scrollIntoViewIfNeeded();
    await page.waitForSelector("#trees tr.call");
    assert.deepEqual(await calls(page), ["1 main 12 68,712", "2 serve – 63,000", "2 write_line 5,700 5,700"]);
    await page.locator("#trees button.open").nth(1).click();
    assert.deepEqual((await calls(page)).slice(2, 4), ["3 lookup 42,000 42,000", "3 open_session 21,000 21,000"]);
    await page.locator("#trees button.open").first().click();
    assert.equal((await calls(page)).length, 1, "what is below a row is closed with it");

    const trees = page.locator("#trees");
    await trees.getByRole("button", { name: "Bottom up" }).click();
    assert.deepEqual(await calls(page), ["1 lookup 42,000 42,000", "1 open_session 21,000 21,000", "1 write_line 5,700 5,700", "1 main 12 68,712"]);
    await page.locator("#trees button.open").first().click();
    assert.deepEqual((await calls(page)).slice(1, 3), ["2 serve 42,000 ", "3 main 42,000 "], "one caller after the other");
    await trees.getByLabel("End stacks at your code").uncheck();
    assert.deepEqual((await calls(page))[0], "1 clone 52,700 52,700");
    await trees.getByRole("button", { name: "Top down" }).click();
    await trees.getByRole("button", { name: "Peak", exact: true }).click();
    assert.match((await calls(page))[0]!, /^1 main – [\d.]+ MiB$/);
    await trees.getByLabel("Distinguish lines").check();
    assert.match(await text(page, "#trees tr.call"), /main\.rs:12/);
    await trees.getByRole("button", { name: "Source" }).first().click();
    assert.equal(await page.locator("#source .here").getAttribute("data-line"), "12");
  });
});

test("call trees need no mouse", async () => {
  await on("full", {}, async (page) => {
    await page.locator("#trees").scrollIntoViewIfNeeded();
    await page.waitForSelector("#trees tr.call");
    await page.locator("#trees button.open").first().focus();
    const focused = () => page.evaluate(() => document.activeElement?.querySelector(".function")?.textContent);
    for (const key of ["ArrowDown", "ArrowRight", "ArrowRight"]) await page.keyboard.press(key);
    assert.equal(await focused(), "app::cache::Cache::lookup");
    await page.keyboard.press("ArrowLeft");
    assert.equal(await focused(), "app::server::serve");
    await page.keyboard.press("ArrowLeft");
    assert.equal((await calls(page)).length, 3, "it is closed");
    await page.keyboard.press("Enter");
    assert.equal((await calls(page)).length, 5);
    await page.keyboard.press("Home");
    assert.equal(await focused(), "app::main");
    assert.equal(await page.locator("#trees [tabindex='0']").count(), 1, "the tab key goes through the rows once");
  });
});

test("the source view has the amounts of each line beside it", async () => {
  await on("full", {}, async (page) => {
    await page.locator("#source").scrollIntoViewIfNeeded();
    await page.waitForSelector("#source .source-line");
    const cells = (line: number) => page.locator(`#source [data-line="${line}"]`).locator("td, th").allInnerTexts();
    assert.equal(await page.locator("#source option").count(), 4);
    assert.match(await text(page, "#source option"), /src\/cache\.rs · 61 % of allocations/);
    assert.deepEqual((await cells(5)).slice(0, 1), ["42,000"]);
    assert.deepEqual((await cells(5)).slice(-2), ["5", "        let owned = key.name.clone();"]);
    assert.deepEqual((await cells(4)).slice(0, 5), ["", "", "", "", ""]);
    assert.equal(await page.locator("#source .source-line").count(), 12);
    const heat = (line: number) => page.locator(`#source [data-line="${line}"] .chosen`).evaluate((cell) => getComputedStyle(cell).backgroundColor);
    assert.notEqual(await heat(5), await heat(4));
    await page.locator("#source .line-finding button").click();
    assert.equal(await page.locator(`[data-place="1"]`).evaluate((card) => card.getBoundingClientRect().top < innerHeight), true);

    // A line that calls what allocates.
    await page.locator("#source select").selectOption({ label: (await page.locator("#source option", { hasText: "main.rs" }).innerText()).trim() });
    assert.equal((await cells(12))[0], "12");
    await page.locator("#source").getByRole("button", { name: "With callees" }).click();
    assert.equal((await cells(12))[0], "68,712");
    await page.locator("#source").getByRole("button", { name: "Temporary" }).click();
    assert.match(await text(page, "#source th.chosen"), /Temporary/);

    // The text is not the one that was compiled: it has no line 31.
    await page.locator("#source select").selectOption({ index: 2 });
    assert.match(await text(page, "#source .note[aria-live]"), /log\.rs · no text is shown: the file has fewer lines/);
    assert.equal((await cells(31)).at(-1), "app::log::write_line");

    // Findings and call sites lead to their lines.
    await page.locator("[data-finding]").first().getByRole("button", { name: "Source" }).click();
    assert.equal(await page.locator("#source .here").getAttribute("data-line"), "9");
    assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("data-line")), "9");
    await page.locator(".sites .open").first().click();
    await page.locator(".site-detail").getByRole("button", { name: "Source" }).click();
    assert.equal(await page.locator("#source .here").getAttribute("data-line"), "5");
  });
});

test("the page says first what a terminal says first", async () => {
  await on("full", {}, async (page) => {
    assert.match(await text(page, ".headline"), /^Change first: 602 small blocks of open_session keep/);
    await page.locator(".headline button").click();
    assert.equal(await page.locator("[data-place='0']").evaluate((card) => card.getBoundingClientRect().bottom > 0), true);
  });
  await on("large", {}, async (page) => assert.equal(await page.locator(".headline").count(), 0));
});

test("call sites are filtered, sorted and opened", async () => {
  await on("full", {}, async (page) => {
    const names = () => page.locator("tr.site .function").allInnerTexts();
    assert.deepEqual((await names())[0], "app::cache::Cache::lookup");
    // A busy machine may show what a click does a moment later.
    const click = async (order: string) => {
      // By a key: parts above are drawn as one comes near, and a button that moves between press and release hears of no click.
      await page.locator(".sites thead").getByRole("button", { name: "Live at exit" }).press("Enter");
      await page.locator(`th.sorted[aria-sort=${order}]`).waitFor();
    };
    await click("descending");
    await click("ascending");
    const focused = await page.evaluate(() => document.activeElement?.textContent ?? "");
    assert.match(focused, /^Live at exit/, "the focus stays where it was");
    await page.fill("#sites-filter", "serde_json");
    await page.waitForFunction(() => document.querySelectorAll("tr.site").length === 1);
    assert.deepEqual(await names(), ["app::session::open_session"]);
    await page.fill("#sites-filter", "");
    await page.waitForFunction(() => document.querySelectorAll("tr.site").length === 4);
    await page.locator("#sites").getByRole("button", { name: "Stacks" }).click();
    assert.equal((await names()).length, 7);
    await page.locator(".sites .open").first().click();
    assert.ok((await text(page, ".site-detail")).includes("src/"));
    await page.locator("[data-finding]").nth(1).getByRole("button", { name: "Call sites" }).click();
    assert.equal(await page.inputValue("#sites-filter"), "src/cache.rs:5");
    await page.locator("[data-finding]").nth(1).getByRole("button", { name: "Flame graph" }).click();
    assert.match(await text(page, ".flame-detail"), /lookup/);
  });
});

test("nothing is wider than a phone", async () => {
  for (const name of ["full", "hostile", "contest"]) {
    await on(name, { width: 380 }, async (page) => {
      for (const part of ["#trees", "#source"]) await page.locator(part).scrollIntoViewIfNeeded();
      await page.waitForSelector("#source .source-line");
      await page.locator("#trees button.open").first().click();
      await page.locator(".sites .open").first().click();
      const [content, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      assert.ok(content! <= screen!, `${name}: ${content} > ${screen}`);
      // What is cut off by a box is as bad as what makes the page scroll.
      const cut = await page.evaluate(() =>
        [...document.querySelectorAll(".part, .card, .verdict, .tile")].filter((e) => e.scrollWidth > e.clientWidth + 1)
          .map((e) => e.className)
      );
      assert.deepEqual(cut, [], name);
      await shot(page, `phone-${name}`);
    });
  }
});

test("colours follow the system and the switch", async () => {
  const background = (page: Page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  let light = "";
  await on("full", {}, async (page) => void (light = await background(page)));
  await on("full", { dark: true }, async (page) => {
    const dark = await background(page);
    assert.notEqual(dark, light);
    const before = await drawing(page);
    await shot(page, "wide-dark");
    await page.getByRole("button", { name: "Light" }).click();
    assert.equal(await background(page), light);
    assert.notEqual((await drawing(page)).hash, before.hash, "what is drawn follows");
    await page.getByRole("button", { name: "Auto" }).click();
    assert.equal(await background(page), dark);
  });
});

test("hostile names are shown and not obeyed", async () => {
  await on("hostile", {}, async (page) => {
    for (const button of await page.locator(".sites .open").all()) await button.click();
    await page.locator(".flame-scroller").hover({ position: { x: 40, y: 30 } });
    for (const element of await page.locator("main p, main li, main td").all()) await element.dispatchEvent("mouseover");
    const attacked = await page.evaluate(() => (window as unknown as Record<string, unknown>)["attacked"]);
    assert.equal(attacked, undefined);
    assert.equal(await page.locator("#app img, #app svg, #app script, #app style, #app i, #app b").count(), 0);
    const all = await page.evaluate(() => document.body.innerText);
    assert.ok(all.includes("<script>window.attacked=7</script>"), "the command is shown unchanged");
    assert.ok(all.includes("<script>window.attacked=6</script>"), "and so are source lines");
    assert.ok(all.includes("<b onclick=alert(1)>thread</b>"), "and threads");
    assert.ok(!/[\u202a-\u202e\u2066-\u2069\u2028\u2029]/.test(all), "and nothing changes the direction of text");
    assert.match(await page.title(), /^'<\/title><script>/);
  });
});

test("the policy keeps out what is not the page's own", async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  const refused: string[] = [];
  page.on("console", (message) => refused.push(message.text()));
  await page.goto(pathToFileURL(join(folder, "full.html")).href);
  await page.evaluate(() => {
    const script = document.createElement("script");
    script.textContent = "window.attacked = 1";
    const image = document.createElement("img");
    image.src = "https://example.invalid/x.png";
    document.body.append(script, image);
  });
  await page.waitForTimeout(100);
  assert.equal(await page.evaluate(() => (window as unknown as Record<string, unknown>)["attacked"]), undefined);
  assert.equal(refused.filter((line) => line.includes("Content Security Policy")).length, 2, refused.join("\n"));
  await context.close();
});

test("the contest program's page is small and quick", async (t) => {
  const size = statSync(join(folder, "contest.html")).size;
  assert.ok(size <= 3 * 2 ** 20, `${size} bytes`);
  await on("contest", {}, async (page) => {
    t.diagnostic(`contest program: ${(size / 1024).toFixed(0)} KiB, ${await readiness(page)} (the aim is 1000 ms)`);
    assert.ok((await drawing(page)).painted > 10_000);
    await shot(page, "contest");
  });
});

test("a hundred thousand stacks are opened, searched, filtered and zoomed", async (t) => {
  const size = statSync(join(folder, "large.html")).size;
  await on("large", {}, async (page) => {
    t.diagnostic(`100,000 stacks: ${(size / 2 ** 20).toFixed(1)} MiB, ${await readiness(page)} (the aim is about 1000 ms)`);
    assert.match(await text(page, "#sites .note[aria-live]"), /in 100,000 call stacks/);
    const began = Date.now();
    await page.fill("#flame-search", "handle_3");
    assert.match(await text(page, ".found"), /% matches/);
    t.diagnostic(`a search takes ${Date.now() - began} ms`);
    await page.fill("#sites-filter", "handle_3999");
    await page.waitForFunction(() => document.querySelector("#sites .note[aria-live]")?.textContent?.includes("that match"));
    await page.locator(".flame-scroller").focus();
    for (const key of ["ArrowDown", "ArrowDown", "Enter"]) await page.keyboard.press(key);
    assert.ok((await drawing(page)).painted > 10_000);
    let from = Date.now();
    await page.locator("#trees").scrollIntoViewIfNeeded();
    await page.waitForSelector("#trees tr.call");
    t.diagnostic(`call trees take ${Date.now() - from} ms`);
    from = Date.now();
    await page.locator("#trees").getByRole("button", { name: "Bottom up" }).click();
    await page.locator("#trees button.open").first().click();
    t.diagnostic(`bottom up and a row of it take ${Date.now() - from} ms`);
    assert.ok((await page.locator("#trees tr.call").count()) <= 2 * 31, "not all rows are there at once");
    from = Date.now();
    await page.locator("#source").scrollIntoViewIfNeeded();
    await page.waitForSelector("#source .source-line");
    t.diagnostic(`the source view takes ${Date.now() - from} ms`);
    assert.equal(await page.locator("#source option").count(), 20);
    assert.match(await text(page, "#source .note[aria-live]"), /more files are not in this page; heapwise annotate has them/);
  });
});

test("twelve thousand frames of recursion are no problem", async (t) => {
  await on("deep", {}, async (page) => {
    t.diagnostic(`recursion: ${await readiness(page)}`);
    const scroller = page.locator(".flame-scroller");
    await scroller.evaluate((element) => (element.scrollTop = 100_000));
    await page.waitForTimeout(100);
    assert.ok((await drawing(page)).painted > 10_000, "boxes far down are drawn");
    await page.locator("#sites").getByRole("button", { name: "Stacks" }).click();
    await page.locator("#sites").getByRole("button", { name: "Bytes" }).click();
    await page.locator(".sites .open").first().click();
    assert.ok((await page.locator(".stack li").count()) <= 40, "of a long stack the two ends");
    assert.match(await text(page, ".stack .omitted"), /more frames/);
    await page.locator("#trees").scrollIntoViewIfNeeded();
    await page.waitForSelector("#trees tr.call");
    const rows = await calls(page);
    assert.ok(rows.length > 20 && rows.length < 40, `a chain opens step by step: ${rows.length}`);
    assert.match(rows[1]!, /^2 ascend 1 11,999$/);
    await page.locator("#trees button.open").last().click();
    assert.ok((await calls(page)).length < 80);
  });
});

test("a comparison of allocators is a page without a script, and hostile names are text in it", async () => {
  for (const [name, look] of [["compare-light", {}], ["compare-dark", { dark: true }], ["compare-phone", { width: 380 }]] as const) {
    await on("compare", { ...look, still: true }, async (page) => {
      assert.equal(await page.locator("script, img").count(), 0);
      // Six measures, memory over time, and CPU time and memory together.
      assert.equal(await page.locator("svg").count(), 8);
      assert.equal(await page.locator("svg circle").count(), 6 * 4 * 5 + 4);
      assert.equal(await page.locator("svg polyline.line").count(), 4);
      assert.match(await text(page, ".finding"), /<script>alert\(2\)<\/script>/);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      assert.ok(wide <= 0, `${wide} pixels too wide`);
      const colour = await page.locator("svg .dot").first().evaluate((dot) => getComputedStyle(dot).fill);
      assert.notEqual(colour, "rgb(0, 0, 0)", "the style is in force");
      await page.getByText("All runs").click();
      assert.equal(await page.locator("details tr").count(), 1 + 4 * 6);
      await shot(page, name);
    });
  }
});
