import { useMemo } from "preact/hooks";
import { callersOf, type Flame, type Frame, frameKey, frameOfKey, type Order, searchFlame } from "../../model/flame";
import {
  chosenMeasure,
  chosenOrder,
  type FlamePart,
  flameOf,
  hasOthers,
  MEASURE_WORDS,
  type Measure,
  OF_MEASURE,
  PIPELINE,
  samplesOf,
  spansSelfUs,
  spanUsOf,
  treeOf,
} from "../../model/flame-parts";
import { formatDuration, plural } from "../../model/format";
import { shareWords } from "../../model/shares";
import { chosenSteps, flameMeasure, flameOrder, flameSearch, flameZoom } from "../../state/atoms";
import { Icicle, IcicleKeys } from "../../ui/icicle";
import { PictureMenu } from "../../ui/picture-menu";
import { AllSteps } from "../shared/selection";
import { FrameFacts, frameWords, paintFrame, textOfFrame } from "./frame-facts";
import { FrameList } from "./frame-list";

/** The flame graph of a part, with what it is zoomed to and searched for; what there is instead of one. */
export function FlamePanel({ part }: { part: FlamePart }) {
  const measure = chosenMeasure(part, flameMeasure.value);
  const order = chosenOrder(part, flameOrder.value);
  const flame = useMemo(() => flameOf(part, measure, order), [part.lines, part.label, measure, order]);
  if (flame === null)
    return (
      <>
        {part.lines.sentence !== "" && <p class="muted">{`${part.label}: ${part.lines.text}.`}</p>}
        {chosenSteps.value !== null && (
          <p>
            These steps have too few stack samples for a picture; all of them may have enough: <AllSteps />
          </p>
        )}
      </>
    );
  return <Graph part={part} flame={flame} measure={measure} order={order} />;
}

type GraphProps = { readonly part: FlamePart; readonly flame: Flame; readonly measure: Measure; readonly order: Order };

function Graph({ part, flame, measure, order }: GraphProps) {
  const zoomed = frameOfKey(flame, flameZoom.value);
  const search = flameSearch.value;
  const found = useMemo(() => searchFlame(flame, search), [flame, search]);
  const ofWhole = useFound(part, measure, search);
  const wholeUs = flame[0]?.value ?? 0;
  const zoom = (index: number): void => {
    const frame = flame[index];
    flameZoom.value = index === 0 || frame === undefined ? null : frameKey(frame);
  };
  const samples = (index: number): number => samplesOf(part, index, order);
  const spanUs = (frame: Frame): number | undefined => (measure === "all" ? spanUsOf(part, frame) : undefined);
  return (
    <figure class="flame" data-testid="flame" data-part={part.key}>
      <div class="flame-bar">
        <MeasureSwitch part={part} measure={measure} />
        <OrderSwitch part={part} order={order} />
        <label>
          <span class="muted">Search</span>{" "}
          <input
            type="search"
            data-testid="flame-search"
            placeholder="function, file or code"
            value={search}
            onInput={(event) => {
              flameSearch.value = event.currentTarget.value;
            }}
          />
        </label>
        <p class="muted" role="status" data-testid="flame-found" data-value-us={ofWhole.us}>
          {search.trim() !== "" &&
            `${plural(found.frames.size, "frame")}${order === "time" ? " drawn" : ""}, ${shareWords(ofWhole.us, ofWhole.wholeUs)} ${OF_MEASURE[measure]}`}
        </p>
        {wholeUs > 0 && <PictureMenu name={`Flame graph: ${part.label}`} />}
      </div>
      <Crumbs flame={flame} zoomed={zoomed} zoom={zoom} />
      {wholeUs > 0 ? (
        <Icicle
          flame={flame}
          zoomed={zoomed}
          found={search.trim() === "" ? null : found.frames}
          label={`Flame graph of ${part.label}: callers above what they call. The list below has the same frames.`}
          paint={paintFrame}
          textOf={textOfFrame}
          speak={(frame) => frameWords(flame, frame, samples(frame.index), spanUs(frame))}
          describe={(frame) => (
            <FrameFacts flame={flame} frame={frame} samples={samples(frame.index)} spanUs={spanUs(frame)} />
          )}
          onZoom={zoom}
        />
      ) : (
        <p class="muted">No sample in this part.</p>
      )}
      <Notes part={part} measure={measure} order={order} wholeUs={wholeUs} />
      <FrameList flame={flame} samples={samples} of={OF_MEASURE[measure]} />
    </figure>
  );
}

/** In time order a function has many short frames, of which most may be left out: its time is that of the other tree. */
function useFound(
  part: FlamePart,
  measure: Measure,
  search: string,
): { readonly us: number; readonly wholeUs: number } {
  const heavy = useMemo(() => flameOf(part, measure) ?? [], [part.lines, part.label, measure]);
  const us = useMemo(() => searchFlame(heavy, search).value, [heavy, search]);
  return { us, wholeUs: heavy[0]?.value ?? 0 };
}

function MeasureSwitch({ part, measure }: { part: FlamePart; measure: Measure }) {
  if (part.measures.length < 2) return null;
  return (
    <div class="toggle" role="group" aria-label="What the width of a frame means">
      {part.measures.map((name) => (
        <button
          key={name}
          type="button"
          aria-pressed={name === measure}
          data-testid={`flame-${name}`}
          onClick={() => {
            flameMeasure.value = name === "all" ? null : name;
          }}>
          {MEASURE_WORDS[name]}
        </button>
      ))}
    </div>
  );
}

const ORDERS: readonly (readonly [Order, string])[] = [
  ["heavy", "left-heavy"],
  ["time", "in time order"],
];

/** Another order is another tree, so what was zoomed to goes. */
function OrderSwitch({ part, order }: { part: FlamePart; order: Order }) {
  if (part.lines.in_order === undefined) return null;
  return (
    <div class="toggle" role="group" aria-label="How frames are ordered">
      {ORDERS.map(([name, words]) => (
        <button
          key={name}
          type="button"
          aria-pressed={name === order}
          data-testid={`flame-${name}`}
          onClick={() => {
            flameOrder.value = name === "time" ? name : null;
            flameZoom.value = null;
          }}>
          {words}
        </button>
      ))}
    </div>
  );
}

type CrumbProps = { readonly flame: Flame; readonly zoomed: number; readonly zoom: (index: number) => void };

/** The callers of the frame in view; only where there is one. */
function Crumbs({ flame, zoomed, zoom }: CrumbProps) {
  if (zoomed === 0) return null;
  return (
    <nav class="crumbs" aria-label="Callers of the frame in view" data-testid="flame-crumbs">
      {callersOf(flame, zoomed).map((frame) =>
        frame.index === zoomed ? (
          <span key={frame.index} aria-current="true">
            <strong>{frame.name}</strong>
            {frame.place !== "" && <span class="mono"> {frame.place}</span>}{" "}
            <span class="tabular">
              {formatDuration(frame.value)}, {shareWords(frame.value, flame[0]?.value)}
            </span>
            {frame.source !== "" && <code> {frame.source}</code>}
          </span>
        ) : (
          <button key={frame.index} type="button" class="link" onClick={() => zoom(frame.index)}>
            {frame.name}
          </button>
        ),
      )}
    </nav>
  );
}

/** The stages' time, of which stacks may have less: a process that the sampler did not see has none. */
function besideSpans(part: FlamePart): string {
  const wholeUs = spansSelfUs(part);
  const ofAll = wholeUs > 0 ? `, ${formatDuration(wholeUs)}` : "";
  const where = hasOthers(part.lines)
    ? "what is for another DataLoader is in these as well"
    : "the frame of a stage shows both";
  return `Stages has times by spans${ofAll}, and ${where}.`;
}

const WHOLE_WORDS: Readonly<Record<Measure, string>> = {
  all: "of stack samples in this graph",
  wait: "of data wait that these frames caused, by stack samples",
  idle: "in which a device was idle, by stack samples",
};

type NotesProps = {
  readonly part: FlamePart;
  readonly measure: Measure;
  readonly order: Order;
  /** Of the measure. */
  readonly wholeUs: number;
};

function Notes({ part, measure, order, wholeUs }: NotesProps) {
  const { time_us: timeUs, recorder_us: recorderUs } = part.lines;
  const tree = treeOf(part.lines, order);
  const leftOut = tree?.left_out ?? 0;
  return (
    <div class="muted">
      <IcicleKeys />
      {(part.key === PIPELINE || part.spans.has(part.key)) && (
        <p class="flame-note" data-testid="flame-spans">
          Shares are of the {formatDuration(wholeUs)} {WHOLE_WORDS[measure]}. {measure === "all" && besideSpans(part)}
          {recorderUs > 0 &&
            ` Left out: ${shareWords(recorderUs, timeUs + recorderUs)} of all thread time (${formatDuration(recorderUs)} of ${formatDuration(timeUs + recorderUs)} of stack samples), which met the recorder's own code, mostly while its thread had no CPU: it is of no line of yours.`}
        </p>
      )}
      {order === "time" && (
        <p class="flame-note" data-testid="flame-in-order">
          From left to right as time passes, one thread after the other. Time in which a thread was not in this part is
          left out.
        </p>
      )}
      {leftOut > 0 && (
        <p class="flame-note" data-testid="flame-left-out">
          {plural(leftOut, "frame")} with {shareWords(tree?.left_out_us ?? 0, timeUs)} {OF_MEASURE.all}{" "}
          {leftOut === 1 ? "is" : "are"} left out; each takes too little, and counts as its caller's self time.
        </p>
      )}
    </div>
  );
}
