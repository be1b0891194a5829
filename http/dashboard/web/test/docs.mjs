// Tests the documentation at /docs as readers see it: on a phone and on a desktop, in the light and
// the dark scheme.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { assert, base, browser, end, open, page, shots, smtp, test } from "./driver.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const rules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"];

for (const width of [390, 1280]) {
  await test(`at ${width} px nothing is too wide or broken, and axe finds nothing in either scheme`, async () => {
    await page.setViewportSize({ width, height: 844 });
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      await page.goto(base + "/docs");
      if (shots) for (const at of ["", "#codes", "#verify", "#getLatestMessage"]) {
        await page.goto(base + "/docs" + at);
        await page.screenshot({ path: `${shots}/docs${at.replace("#", "-")}-${width}-${colorScheme}.png` });
      }
      // All operations and objects come from one template, and axe would take minutes for all of
      // them.
      await page.evaluate(() => document.querySelectorAll("section, #objects ~ *").forEach((e, i) => i % 12 && e.remove()));
      await page.evaluate(axe); // inserted by the debugger, which the policy does not restrict
      const { violations } = await page.evaluate((runOnly) => axe.run(document, { runOnly, resultTypes: ["violations"] }), rules);
      assert(!violations.length, violations.map((v) => `${colorScheme}: ${v.id} ${v.nodes[0].html.slice(0, 160)} ${v.nodes[0].failureSummary}`).join("\n"));
    }
    await page.goto(base + "/docs");
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert(wide <= width, `the page is ${wide} wide`);
    const broken = await page.evaluate(() => {
      const found = [];
      for (const cell of document.querySelectorAll("td, th")) {
        const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
        for (let t; (t = texts.nextNode()); ) {
          for (const word of t.data.matchAll(/[\p{L}\p{N}_]{2,30}/gu)) {
            const range = document.createRange();
            range.setStart(t, word.index);
            range.setEnd(t, word.index + word[0].length);
            if (new Set([...range.getClientRects()].map((r) => r.top)).size > 1) found.push(word[0]);
          }
        }
      }
      return found;
    });
    assert(!broken.length, "words broken in tables: " + broken.slice(0, 20));
  });
}

await test("a phone shows the text first, and the way to the contents", async () => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(base + "/docs");
  const y = (selector) => page.locator(selector).first().evaluate((e) => e.getBoundingClientRect().top);
  assert((await y("h1")) < 100 && (await y("#start")) < 1500, "the text is not first");
  assert((await y("nav a")) > (await y("#objects")), "the links come before the text");
  await page.click("text=Contents");
  assert(Math.abs(await y("nav")) < 844, "Contents leads elsewhere");
});

await test("a block is copied as it stands, with this server's own addresses", async () => {
  await page.goto(base + "/docs");
  const copied = async (n) => {
    await page.locator(".box:visible button").nth(n).click();
    await page.locator(".box:visible button", { hasText: "Copied" }).first().waitFor();
    return page.evaluate(() => navigator.clipboard.readText());
  };
  assert((await copied(0)).startsWith(`BASE=${base}\nSESSION=$(for way in signup login; do curl -s $BASE/api/auth/$way`), "the quick start is another");
  assert((await copied(1)).includes(`smtp://${smtp} `), "SMTP is elsewhere");
});

const shown = (selector) => page.locator(`${selector}:visible`).count();

await test("the calls of one surface and the examples in one language are shown", async () => {
  await page.setViewportSize({ width: 1280, height: 844 });
  await page.goto(base + "/docs");
  const calls = await page.locator("section:has(.call)").count();
  const agent = await shown("section:has(.call)");
  assert((await shown("#getLatestMessage")) && !(await shown("#issueKey")) && (await shown("#getHealth")), "not the agent's surface");
  await page.getByRole("radio", { name: "sessions" }).check();
  assert(!(await shown("#getLatestMessage")) && (await shown("#issueKey")) && (await shown("#getHealth")), "not the session's surface");
  await page.getByRole("radio", { name: "both" }).check();
  assert((await shown("section:has(.call)")) === calls && agent < calls, "not both surfaces");
  for (const language of ["curl", "Python", "TypeScript"]) {
    await page.getByRole("radio", { name: language }).check();
    const examples = await shown(`pre.${language.toLowerCase()}`);
    assert(examples === calls + 2, `${examples} examples in ${language} for ${calls} calls`);
    assert((await shown("pre:is(.curl, .python, .typescript)")) === examples, "examples in other languages");
  }
});

await test("a link to a call of the other surface shows it", async () => {
  await page.goto(base + "/docs#issueKey");
  const y = await page.locator("#issueKey").evaluate((e) => e.getBoundingClientRect().top);
  assert((await shown("#issueKey")) && (await shown("#listKeys")) && y >= 0 && y < 844, `it is at ${y}`);
});

await test("the search finds words of both surfaces, and Enter opens the first entry", async () => {
  await page.goto(base + "/docs");
  await page.keyboard.press("/");
  await page.keyboard.type("rotate secret");
  const found = await page.locator("nav li:visible a").evaluateAll((all) => all.map((a) => a.hash));
  assert(found.includes("#rotateWebhookSecret") && found.length < 12, "found are " + found);
  await page.keyboard.press("Enter");
  assert((await page.evaluate(() => location.hash)) === found[0] && (await shown(found[0])), "Enter opens another entry");
  await page.getByRole("searchbox").fill("");
  assert((await shown("nav li")) > 50, "the contents stay short");
});

await test("the section in view is marked in the contents", async () => {
  await page.goto(base + "/docs");
  const marked = () => page.locator("nav [aria-current]").evaluateAll((all) => all.map((a) => a.hash).join());
  assert((await marked()) === "" || (await marked()) === "#start", "marked is " + (await marked()));
  for (const id of ["listMeetings", "codes", "object-Message"]) {
    await page.locator("#" + id).evaluate((e) => e.scrollIntoView());
    await page.locator(`nav [aria-current][href="#${id}"]`).waitFor();
    assert((await marked()) === "#" + id, "marked is " + (await marked()));
    const inside = await page.locator("nav [aria-current]").evaluate((e) => e.getBoundingClientRect().top > 0 && e.getBoundingClientRect().bottom < innerHeight);
    assert(inside, "the mark is outside of the window");
  }
});

await test("without scripts it is all there but the buttons and the search, and the switches work", async () => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const bare = await context.newPage();
  await bare.goto(base + "/docs");
  assert((await bare.locator("pre").count()) > 50 && (await bare.locator("button, nav input").count()) === 0, "blocks or buttons");
  await bare.getByRole("radio", { name: "Python" }).check();
  await bare.getByRole("radio", { name: "sessions" }).check();
  assert(await bare.locator("#issueKey ~ pre.python").isVisible(), "the switches do nothing");
  await context.close();
});

await end();
