// Drives the page in Chromium like a user. PAGE_FLOWS selects flows, PAGE_ONLY selects tests by a
// pattern for their names, and PAGE_ALL=1 includes everything.
import { end } from "./driver.mjs";

const flows = process.env.PAGE_FLOWS?.split(",") ?? ["people", "sealed", "strangers", "everybody", "trouble"];
for (const f of flows) await import(`./${f}.mjs`);
await end();
