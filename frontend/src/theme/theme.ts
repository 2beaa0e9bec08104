import { inkFor } from "./contrast";
import { dark } from "./dark";
import { light } from "./light";
import { cssName, inkName, isHatched, type Palette, TOKENS } from "./tokens";

export type ThemeName = "light" | "dark";

export function paletteOf(theme: ThemeName): Palette {
  return theme === "dark" ? dark : light;
}

/** Puts every token on `element` as a CSS custom property. */
export function applyTheme(element: HTMLElement, theme: ThemeName): void {
  const palette = paletteOf(theme);
  for (const token of TOKENS) {
    element.style.setProperty(cssName(token), palette[token]);
    element.style.setProperty(inkName(token), isHatched(token) ? palette.ink : inkFor(palette, token));
  }
  element.style.setProperty("color-scheme", theme);
  element.dataset.theme = theme;
}

/** TensorBoard's own body when we are in its iframe; null when we stand alone or may not look. */
function hostBody(): HTMLElement | null {
  try {
    return window.parent === window ? null : window.parent.document.body;
  } catch {
    return null; // another origin embeds us
  }
}

/** Calls `onChange` now and at each change. TensorBoard themes only its own document, so we watch its class. */
export function watchTheme(onChange: (theme: ThemeName) => void): void {
  const body = hostBody();
  if (body !== null) {
    const read = (): void => onChange(body.classList.contains("dark-mode") ? "dark" : "light");
    new MutationObserver(read).observe(body, { attributes: true, attributeFilter: ["class"] });
    read();
    return;
  }
  const query = window.matchMedia("(prefers-color-scheme: dark)");
  const read = (): void => onChange(query.matches ? "dark" : "light");
  query.addEventListener("change", read);
  read();
}
