// Starts Debian's chromium for the tests, with WebGL in software.
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";

const places = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export async function launch() {
  const executablePath = places.find((place) => place && existsSync(place));
  if (!executablePath) throw new Error("chromium not found; install the package chromium or set CHROMIUM to its path");
  return chromium.launch({
    executablePath,
    args: ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"],
  });
}

// A page that remembers what went wrong and what it asked of the network.
export async function openPage(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1100, height: 700 }, ...options });
  const page = await context.newPage();
  const problems = [];
  const requests = [];
  page.on("console", (message) => {
    const text = message.text();
    // Software rendering is slow to read back; chromium says so.
    if (["error", "warning"].includes(message.type()) && !text.includes("GPU stall")) problems.push(text);
  });
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("request", (request) => requests.push(request.url()));
  page.on("websocket", (socket) => requests.push(socket.url()));
  return { page, problems, requests, close: () => context.close() };
}

// The state that the page shows to tests.
export const stateOf = (page) => page.evaluate(() => window.__touchstone.state());

export async function ready(page) {
  await page.waitForFunction(() => window.__touchstone && window.__touchstone.renders > 0, null, { timeout: 30000 });
}

// A page of its own from a file in the folder, once it is drawn.
let files = 0;
export async function openFile(browser, folder, html, options = {}) {
  const { wishes = "play=0&theme=light&quality=low", ...rest } = options;
  const file = join(folder, `${++files}.html`);
  writeFileSync(file, html);
  const opened = await openPage(browser, rest);
  await opened.page.goto(`file://${file}#${wishes}`);
  await ready(opened.page);
  return opened;
}
