// Drives the page in Debian's Chromium, as a person does. PAGE_FLOWS names some of the flows,
// PAGE_ONLY tests by what their names match; PAGE_ALL=1 leaves nothing out.
import { end } from "./driver.mjs";

const flows = process.env.PAGE_FLOWS?.split(",") ?? ["people", "sealed", "strangers", "everybody", "trouble"];
for (const f of flows) await import(`./${f}.mjs`);
await end();
