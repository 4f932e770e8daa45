/** The browser of all tests: Debian's, or the one that HEAPWISE_CHROMIUM names. */

import { chromium, type Browser } from "playwright-core";

export function launch(): Promise<Browser> {
  const isRoot = process.getuid?.() === 0;
  return chromium.launch({
    executablePath: process.env["HEAPWISE_CHROMIUM"] ?? "/usr/bin/chromium",
    // As root there is no sandbox.
    args: isRoot ? ["--no-sandbox"] : [],
  });
}
