// Printing: a sheet of paper has no tabs. All views of the capture are drawn before the browser looks, and light.

import { batch } from "@preact/signals";
import { options } from "preact";
import { printing, theme } from "../../state/atoms";
import { applyTheme, type ThemeName } from "../../theme/theme";

/** Preact draws later, browsers print at once: what changes meanwhile is drawn on the spot. */
function drawAtOnce(change: () => void): void {
  const later = options.debounceRendering;
  options.debounceRendering = (draw) => draw();
  try {
    change();
  } finally {
    if (later === undefined) delete options.debounceRendering;
    else options.debounceRendering = later;
  }
}

function show(isPrinting: boolean, name: ThemeName): void {
  drawAtOnce(() =>
    batch(() => {
      printing.value = isPrinting;
      theme.value = name;
    }),
  );
  applyTheme(document.documentElement, name);
}

let isAsked = false;

/** Of this page alone, once all of it is drawn: the page around it would print what is in sight. */
export function printPage(): void {
  if (isAsked) return; // a second click while views are still fetched
  const onScreen = theme.value;
  isAsked = true;
  show(true, "light");
  whenDrawn(() => {
    try {
      window.print();
    } finally {
      isAsked = false;
      show(false, onScreen);
    }
  });
}

const TURN_MS = 100;
const MOST_TURNS = 100;

/** A view that was not on screen may have to fetch its timeline first. */
function whenDrawn(then: () => void, turns = MOST_TURNS): void {
  if (turns === 0 || document.querySelector(".printed .progress") === null) then();
  else window.setTimeout(() => whenDrawn(then, turns - 1), TURN_MS);
}

/** Whether this page is a part of another one, which may be printed around it. */
export function isFramed(): boolean {
  return window.parent !== window;
}

/** Within another page the keys for printing are ours, as long as the focus is. */
function onKey(event: KeyboardEvent): void {
  const isPrint =
    event.key.toLowerCase() === "p" && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey;
  if (!isPrint || !isFramed()) return;
  event.preventDefault();
  printPage();
}

/** Returns how to stop. */
export function watchPrinting(): () => void {
  let before: ThemeName = "light";
  const begin = (): void => {
    before = theme.value;
    // Of a page around this one only the first sheet of ours is in sight: that stays the view on screen.
    show(isAsked || !isFramed(), "light");
  };
  const end = (): void => show(false, before);
  window.addEventListener("beforeprint", begin);
  window.addEventListener("afterprint", end);
  document.addEventListener("keydown", onKey);
  return () => {
    window.removeEventListener("beforeprint", begin);
    window.removeEventListener("afterprint", end);
    document.removeEventListener("keydown", onKey);
  };
}
