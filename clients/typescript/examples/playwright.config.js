// CHROMIUM names an installed browser; without it Playwright's own is used.
export default {
  testDir: ".",
  reporter: "line",
  outputDir: "../dist/playwright",
  use: { launchOptions: process.env.CHROMIUM ? { executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] } : {} },
};
