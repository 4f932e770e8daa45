/** Light or dark: as the system says, or as the switch at the top of the page does. */

import { choice } from "./dom.ts";

type Theme = "auto" | "light" | "dark";
const KEY = "heapwise-theme";
const listeners: (() => void)[] = [];

/** Calls back when colours may have changed; what is drawn on a canvas has to be drawn again. */
export function onTheme(listener: () => void): void {
  listeners.push(listener);
}

/** A colour of the style sheet, as a canvas takes it. */
export function color(name: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}

export function themeSwitch(): HTMLElement {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", notify);
  const theme = stored();
  apply(theme);
  const options = [
    { id: "auto", label: "Auto", title: "Colours as the system has them" },
    { id: "light", label: "Light" },
    { id: "dark", label: "Dark" },
  ] as const;
  return choice<Theme>("Colours", options, theme, (chosen) => {
    try {
      localStorage.setItem(KEY, chosen);
    } catch {
      // Some browsers store nothing for files: then the choice lasts as long as the page.
    }
    apply(chosen);
    notify();
  });
}

function stored(): Theme {
  try {
    const value = localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : "auto";
  } catch {
    return "auto";
  }
}

function apply(theme: Theme): void {
  if (theme === "auto") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}

function notify(): void {
  for (const listener of listeners) listener();
}
