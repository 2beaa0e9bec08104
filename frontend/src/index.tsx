// TensorBoard imports this module in an iframe and calls render(), without arguments and without looking at the result.
// A page that carries its data (export/as_html.py) has it inline, and is drawn at once.

import { render as draw } from "preact";
import { EMBEDDED_ID, embeddedSource } from "./data/embedded";
import { browserTimers, poll } from "./data/poll";
import { source, useSource } from "./data/source";
import { refreshRuns } from "./state/actions";
import { report, runs, runsError, theme } from "./state/atoms";
import { loadRows } from "./state/listing";
import { keepPlace } from "./state/location";
import { predictAhead } from "./state/predicting";
import { loadRanks, loadWholeRuns } from "./state/run-views";
import { loadAhead } from "./state/timeline-loader";
import { applyTheme, watchTheme } from "./theme/theme";
import { App } from "./views/app";
import { takeFocus } from "./views/shared/first-focus";
import { watchPrinting } from "./views/shared/printing";

const IDLE_POLL_MS = 5000;
const BUSY_POLL_MS = 1000;

/** Resolves also when the sheet fails: an unstyled page beats none. */
function loadStyles(): Promise<void> {
  return new Promise((resolve) => {
    const link = document.createElement("link");
    link.rel = "stylesheet";
    link.href = new URL("index.css", import.meta.url).href;
    link.onload = () => resolve();
    link.onerror = () => resolve();
    document.head.append(link);
  });
}

/** TensorBoard keeps the frame alive behind its other tabs; nobody looks, so nothing is asked. */
function isOnScreen(): boolean {
  return !document.hidden && document.documentElement.clientWidth > 0;
}

function pollDelay(): number {
  const known = runs.value;
  const waiting =
    runsError.value !== null ||
    known === null ||
    known.scanning ||
    report.value?.kind === "pending" ||
    known.captures.some((item) => item.state === "queued" || item.state === "loading");
  return waiting ? BUSY_POLL_MS : IDLE_POLL_MS;
}

/** Draws the page into the document's body. Never throws: an error is shown instead. */
export async function render(): Promise<void> {
  try {
    document.documentElement.lang = "en";
    if (document.title === "") document.title = "Data Pipeline";
    watchTheme((name) => {
      theme.value = name;
      applyTheme(document.documentElement, name);
    });
    const carried = embeddedSource(document);
    if (carried === null) await loadStyles();
    else useSource(carried);
    keepPlace();
    watchPrinting();
    const root = document.createElement("div");
    document.body.append(root);
    draw(<App />, root);
    takeFocus();
    if (source().live) poll(() => (isOnScreen() ? refreshRuns() : Promise.resolve()), pollDelay, browserTimers);
    else {
      // All of it is at hand, and printed too.
      await Promise.all([refreshRuns(), loadRows(), loadWholeRuns(), loadRanks()]);
      loadAhead();
      predictAhead();
    }
  } catch (error) {
    const line = document.createElement("p");
    line.dataset.testid = "error-state";
    line.textContent = `The Data Pipeline page failed to start: ${error instanceof Error ? error.message : String(error)}`;
    document.body.append(line);
  }
}

if (document.getElementById(EMBEDDED_ID) !== null) void render();
