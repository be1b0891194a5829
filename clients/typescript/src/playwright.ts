import { test as base } from "@playwright/test";
import { Inboxd } from "./client.js";
import type { Inbox } from "./inbox.js";

/**
 * Playwright's `test` with two more fixtures: `inboxd`, a client configured by `INBOX_BASE_URL` and `INBOX_API_KEY`, and `inbox`,
 * a new inbox for each test, which is deleted afterwards.
 */
export const test = base.extend<{ inbox: Inbox }, { inboxd: Inboxd }>({
  inboxd: [async ({}, use) => use(new Inboxd()), { scope: "worker" }],
  inbox: async ({ inboxd }, use) => {
    const inbox = await inboxd.inboxes.create();
    await use(inbox);
    await inbox.delete();
  },
});

export { expect } from "@playwright/test";
