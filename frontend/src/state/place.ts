// What a link to the page carries, as named texts. Pure; `location.ts` brings it to the address.

import { asCause, type Cause } from "../model/causes";
import { CHAIN_KEYS, type ChainKey } from "../model/chain";
import { stepsOfFields, writtenSteps } from "../model/step-range";
import type { TimeRange } from "../model/time-scale";
import { VIEWS, type View } from "./atoms";

/** Values that nobody chose are null. */
export type Place = {
  readonly view: View;
  readonly capture: string | null;
  /** The only steps that all numbers are about: "3..7". */
  readonly steps: string | null;
  /** The only run whose captures are listed, or that Run and Ranks show; and the rank that Run shows. */
  readonly run: string | null;
  readonly rank: number | null;
  /** What the timeline shows. */
  readonly range: TimeRange | null;
  /** Start of the chosen gap, the link of its chain that is framed, and the only cause that is listed. */
  readonly gapUs: number | null;
  readonly link: ChainKey | null;
  readonly cause: Cause | null;
  /** Index of the device; number of the DataLoader. */
  readonly device: number | null;
  readonly loader: number | null;
  /** Key of the chosen batch, and of the sample; name of the stage that is pointed out. */
  readonly batch: string | null;
  readonly sample: string | null;
  readonly stage: string | null;
  /** Key of the call of that stage that the timeline frames. */
  readonly call: string | null;
  /** Keys of the compared sides. */
  readonly before: string | null;
  readonly after: string | null;
  /** Whether numbers of sides that are not comparable are shown all the same: "on". */
  readonly anyway: string | null;
  /** Of flame graphs: the part, the measure of width, the order, the frame in view, and "on" where frames are listed. */
  readonly flame: string | null;
  readonly measure: string | null;
  readonly order: string | null;
  readonly frame: string | null;
  readonly list: string | null;
  /** The words that stages or frames are searched for; "on" where the table of stages is flat. */
  readonly search: string | null;
  readonly flat: string | null;
  /** "step" where the trend of All captures is of the mean step. */
  readonly trend: string | null;
  /** The words that the list of captures is narrowed to, and those that spans of the timeline are searched for. */
  readonly captures: string | null;
  readonly spans: string | null;
  /** Ids of the lanes that were opened or folded by hand: "worker:0,worker:1". */
  readonly lanes: string | null;
  /** Tables of the view that somebody sorted. */
  readonly sort: string | null;
  /** The changes whose predictions are shown (model/what-if.ts). */
  readonly whatIf: string | null;
};

/** A place as it stands in an address: what is null is left out. */
export type Fields = Readonly<Record<string, string>>;

export const START: Place = {
  view: "overview",
  capture: null,
  steps: null,
  run: null,
  rank: null,
  range: null,
  gapUs: null,
  link: null,
  cause: null,
  device: null,
  loader: null,
  batch: null,
  sample: null,
  stage: null,
  call: null,
  before: null,
  after: null,
  anyway: null,
  flame: null,
  measure: null,
  order: null,
  frame: null,
  list: null,
  search: null,
  flat: null,
  trend: null,
  captures: null,
  spans: null,
  lanes: null,
  sort: null,
  whatIf: null,
};

const OF_CAPTURE = VIEWS.filter((name) => !["run", "ranks", "captures"].includes(name));
const DRAWN_TIMELINES: readonly View[] = ["stages", "gaps", "workers"];
const TIMELINES: readonly View[] = [...DRAWN_TIMELINES, "trace"];
const FLAMES: readonly View[] = ["flame", "stages"];

/** Where what was chosen is to be seen; what is not named here, everywhere. */
const SEEN_IN: Readonly<Partial<Record<keyof Place, readonly View[]>>> = {
  steps: OF_CAPTURE,
  run: ["captures", "run", "ranks"],
  rank: ["run"],
  range: TIMELINES,
  gapUs: ["gaps", "trace"],
  link: ["gaps"],
  cause: ["gaps"],
  device: ["gaps"],
  loader: ["workers"],
  batch: ["workers"],
  sample: ["workers"],
  stage: ["stages"],
  call: ["stages"],
  before: ["compare"],
  after: ["compare"],
  anyway: ["compare"],
  flame: ["flame", "compare"],
  measure: FLAMES,
  order: FLAMES,
  frame: [...FLAMES, "compare"],
  list: FLAMES,
  search: [...FLAMES, "captures"],
  flat: ["stages"],
  trend: ["captures"],
  spans: DRAWN_TIMELINES,
  lanes: DRAWN_TIMELINES,
  whatIf: ["overview"],
};

/** Without what was chosen in other views: a link need not carry it. */
export function placeOfView(place: Place): Place {
  const elsewhere = Object.entries(SEEN_IN).filter(([, views]) => !views.includes(place.view));
  // The table of all stages has no timeline.
  const range = place.view === "stages" && place.stage === null ? null : place.range;
  return { ...place, range, ...Object.fromEntries(elsewhere.map(([key]) => [key, null])) };
}

/** Nanoseconds are the finest that a trace knows. */
function inUs(us: number): string {
  return String(Math.round(us * 1000) / 1000);
}

export function fieldsOfPlace(place: Place): Fields {
  const { view, range, gapUs, device, loader, rank, whatIf, before, after, anyway, ...texts } = place;
  const all: Readonly<Record<string, string | null>> = {
    view,
    ...texts,
    // Elsewhere they would name captures that are not on screen.
    ...(view === "compare" ? { before, after, anyway } : {}),
    from_us: range === null ? null : inUs(range.startUs),
    to_us: range === null ? null : inUs(range.endUs),
    gap_us: gapUs === null ? null : String(gapUs),
    rank: rank === null ? null : String(rank),
    device: device === null ? null : String(device),
    loader: loader === null ? null : String(loader),
    what_if: whatIf,
  };
  return Object.fromEntries(Object.entries(all).filter((field): field is [string, string] => field[1] !== null));
}

/** null where nothing in an address is about this page. Whoever typed it: what is not understood counts as not there. */
export function placeOfFields(fields: Fields): Place | null {
  const view = VIEWS.find((name) => name === fields.view);
  if (view === undefined && fields.capture === undefined) return null;
  return {
    view: view ?? START.view,
    capture: fields.capture ?? null,
    steps: stepsIn(fields.steps),
    run: fields.run ?? null,
    rank: indexIn(fields.rank),
    range: rangeOf(fields),
    gapUs: numberIn(fields.gap_us),
    link: CHAIN_KEYS.find((key) => key === fields.link) ?? null,
    cause: fields.cause !== undefined && asCause(fields.cause) === fields.cause ? asCause(fields.cause) : null,
    device: indexIn(fields.device),
    loader: indexIn(fields.loader),
    batch: fields.batch ?? null,
    sample: fields.sample ?? null,
    stage: fields.stage ?? null,
    call: fields.call ?? null,
    before: fields.before ?? null,
    after: fields.after ?? null,
    anyway: onIn(fields.anyway),
    flame: fields.flame ?? null,
    measure: fields.measure ?? null,
    order: fields.order === "time" ? "time" : null,
    frame: fields.frame ?? null,
    list: onIn(fields.list),
    search: fields.search ?? null,
    flat: onIn(fields.flat),
    trend: fields.trend === "step" ? "step" : null,
    captures: fields.captures ?? null,
    spans: fields.spans ?? null,
    lanes: fields.lanes ?? null,
    sort: fields.sort ?? null,
    whatIf: fields.what_if ?? null,
  };
}

/** What an address asks for, and no version has. */
export function viewThatIsNone({ view }: Fields): string | null {
  return view === undefined || VIEWS.some((name) => name === view) ? null : view;
}

/** The same of steps: what is not written as a range. */
export function stepsThatAreNone({ steps }: Fields): string | null {
  return steps === undefined || steps === "" || stepsIn(steps) !== null ? null : steps;
}

function onIn(text: string | undefined): string | null {
  return text === "on" ? text : null;
}

function stepsIn(text: string | undefined): string | null {
  const [first = "", last = ""] = (text ?? "").split("..");
  const steps = stepsOfFields(first, last);
  return steps !== null && writtenSteps(steps) === text ? text : null;
}

function rangeOf({ from_us, to_us }: Fields): TimeRange | null {
  const [startUs, endUs] = [numberIn(from_us), numberIn(to_us)];
  return startUs === null || endUs === null || endUs <= startUs ? null : { startUs, endUs };
}

function numberIn(text: string | undefined): number | null {
  const number = Number(text ?? "");
  return text === undefined || text.trim() === "" || !Number.isFinite(number) ? null : number;
}

function indexIn(text: string | undefined): number | null {
  const number = numberIn(text);
  return number !== null && Number.isInteger(number) && number >= 0 ? number : null;
}
