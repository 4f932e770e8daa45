/**
 * Elements. Text becomes text nodes and nothing else: no part of the page parses markup, since names come from programs
 * that may be hostile.
 */

export type Child = Node | string | null | undefined;

interface Properties {
  class?: string;
  title?: string;
  id?: string;
  on?: Partial<{ [K in keyof HTMLElementEventMap]: (event: HTMLElementEventMap[K]) => void }>;
  /** Further attributes. */
  attr?: Record<string, string>;
}

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Properties = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  if (properties.class) element.className = properties.class;
  if (properties.title) element.title = properties.title;
  if (properties.id) element.id = properties.id;
  for (const [name, value] of Object.entries(properties.attr ?? {})) element.setAttribute(name, value);
  for (const [name, handler] of Object.entries(properties.on ?? {})) {
    element.addEventListener(name, handler as EventListener);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** A part of the page with its heading. */
export function section(id: string, title: string, note: string, ...children: Child[]): HTMLElement {
  const heading = h("h2", { id: `${id}-title` }, title);
  return h(
    "section",
    { id, class: "part", attr: { "aria-labelledby": `${id}-title` } },
    h("header", { class: "part-head" }, heading, note ? h("p", { class: "note" }, note) : null),
    ...children,
  );
}

/** One of several, as buttons beside each other. */
export function choice<T extends string>(
  label: string,
  options: readonly { id: T; label: string; title?: string }[],
  chosen: T,
  onChoice: (id: T) => void,
): HTMLElement {
  const buttons = options.map((option) =>
    h("button", {
      class: "choice-button",
      ...(option.title ? { title: option.title } : {}),
      attr: { type: "button", "aria-pressed": String(option.id === chosen), "data-choice": option.id },
      on: { click: () => choose(option.id) },
    }, option.label)
  );
  function choose(id: T): void {
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset["choice"] === id));
    onChoice(id);
  }
  return h("div", { class: "choice", attr: { role: "group", "aria-label": label } }, ...buttons);
}

/** Fills a part of the page when it is about to be seen, or at the first call of what is returned: large ones take a while. */
export function whenSeen(element: HTMLElement, fill: () => void): () => void {
  let isFilled = false;
  const once = (): void => {
    if (isFilled) return;
    isFilled = true;
    observer.disconnect();
    fill();
  };
  const observer = new IntersectionObserver((entries) => {
    if (entries.some((entry) => entry.isIntersecting)) once();
  }, { rootMargin: "600px" });
  observer.observe(element);
  addEventListener("beforeprint", once);
  return once;
}

/** A sentence that begins with a capital letter. */
export function capital(sentence: string): string {
  return sentence.slice(0, 1).toUpperCase() + sentence.slice(1);
}

/** Text in which what stands in backquotes is code. */
export function prose(text: string): Node[] {
  return text.split("`").map((part, i) => (i % 2 === 1 ? h("code", {}, part) : document.createTextNode(part)));
}

/** A length as a share of what is around it. */
export function bar(className: string, share: number, from = 0): HTMLElement {
  const element = h("span", { class: className });
  element.style.left = `${(clamp(from) * 100).toFixed(3)}%`;
  element.style.width = `${(clamp(share) * 100).toFixed(3)}%`;
  return element;
}

function clamp(share: number): number {
  return Number.isFinite(share) ? Math.min(1, Math.max(0, share)) : 0;
}
