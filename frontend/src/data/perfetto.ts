// Handing a trace to Perfetto's UI: https://perfetto.dev/docs/visualization/deep-linking-to-perfetto-ui

export const PERFETTO_SITE = "https://ui.perfetto.dev";
const PING_EVERY_MS = 50;
/** How much of Perfetto's width the range takes. */
const VIEW_SHARE = 0.5;

/** What to bring into view, in microseconds as the trace file writes them. */
export type PerfettoRange = { readonly startUs: number; readonly endUs: number };

export type PerfettoTrace = { readonly buffer: ArrayBuffer; readonly title: string; readonly fileName: string };

/** What the handshake needs of the browser, so that a test can stand in for it. */
export type Channel = {
  readonly ping: () => void;
  readonly send: (trace: PerfettoTrace) => void;
  readonly show: (range: PerfettoRange) => void;
  /** Calls back for each message of the other side; returns how to stop. */
  readonly listen: (onMessage: (data: unknown) => void) => () => void;
  readonly every: (ms: number, call: () => void) => () => void;
};

const SETTINGS_KEY = "perfettoSettings";

/** Perfetto that we serve keeps its settings in our storage: it opens in the page's colours. Its other settings stay. */
export function themePerfetto(storageOf: () => Pick<Storage, "getItem" | "setItem">, theme: "light" | "dark"): void {
  try {
    const storage = storageOf(); // in a sandboxed frame its very name throws
    const known: unknown = JSON.parse(storage.getItem(SETTINGS_KEY) ?? "{}");
    storage.setItem(SETTINGS_KEY, JSON.stringify({ ...(known as Record<string, unknown>), theme }));
  } catch {
    // storage may be forbidden, or hold what is no JSON: Perfetto then opens as it does
  }
}

/** Perfetto drops a range after 4 s in which it was still reading the trace, and does not say so. */
const SHOW_EVERY_MS = 4000;
const SHOW_TIMES = 5;

/** Asks for the range now, and again while the trace may still be read. Returns how to stop, as for a user who looks elsewhere. */
export function showRange(channel: Pick<Channel, "show" | "every">, range: PerfettoRange): () => void {
  let left = SHOW_TIMES;
  let stop: () => void = () => undefined;
  const ask = (): void => {
    channel.show(range);
    left -= 1;
    if (left <= 0) stop();
  };
  stop = channel.every(SHOW_EVERY_MS, ask);
  ask();
  return () => stop();
}

/** Pings until the other side answers PONG, then sends the trace once. Returns how to give up. */
export function handOver(channel: Channel, trace: PerfettoTrace, onDone: () => void): () => void {
  let finished = false;
  const stops: Array<() => void> = [];
  const stop = (): void => {
    finished = true;
    for (const end of stops.splice(0)) end();
  };
  stops.push(
    channel.listen((data) => {
      if (finished || data !== "PONG") return;
      stop();
      channel.send(trace);
      onDone();
    }),
  );
  stops.push(channel.every(PING_EVERY_MS, channel.ping));
  channel.ping();
  return stop;
}

/** A channel to another window. The ping says nothing, so it may go out before the window has reached its origin. */
export function windowChannel(target: Window, origin: string): Channel {
  return {
    ping: () => target.postMessage("PING", "*"),
    // Without keepApiOpen Perfetto listens to nothing after the trace.
    send: (trace) => target.postMessage({ perfetto: { ...trace, keepApiOpen: true } }, origin),
    show: ({ startUs, endUs }) => {
      const [timeStart, timeEnd] = [startUs / 1e6, endUs / 1e6];
      target.postMessage({ perfetto: { timeStart, timeEnd, viewPercentage: VIEW_SHARE } }, origin);
    },
    listen: (onMessage) => {
      const listener = (event: MessageEvent<unknown>): void => {
        if (event.source === target) onMessage(event.data);
      };
      window.addEventListener("message", listener);
      return () => window.removeEventListener("message", listener);
    },
    every: (ms, call) => {
      const timer = window.setInterval(call, ms);
      return () => window.clearInterval(timer);
    },
  };
}
