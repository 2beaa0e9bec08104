import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { Capture } from "../contract/report";
import { routeUrl } from "../data/api";
import { type CaptureEntry, type Runs, runOfRanks } from "../data/runs";
import { source } from "../data/source";
import { fullName } from "../model/captures";
import { formatBytes, formatDuration, plural } from "../model/format";
import { capitalised } from "../model/sentence";
import { stageName } from "../model/stage-tree";
import { writtenInWords } from "../model/step-range";
import { refreshNow, selectCapture, selectView, showStage } from "../state/actions";
import {
  captureId,
  captureRows,
  capturesOpen,
  chosenSteps,
  entry,
  isReturn,
  listSearch,
  printing,
  ranksList,
  report,
  runs,
  runsError,
  shownStage,
  type View,
  view,
  viewsFor,
  wholeRuns,
} from "../state/atoms";
import { comparesShown, isCompared } from "../state/comparing";
import { emptyViews } from "../state/empty-views";
import { linkHere } from "../state/location";
import { sortStore } from "../state/sorts";
import { CaptureHead } from "../ui/capture-head";
import { CaptureList } from "../ui/capture-list";
import { CopyLink } from "../ui/copy-link";
import { Explanations } from "../ui/explained";
import { Help } from "../ui/help";
import { PictureOf, type Subject } from "../ui/picture-menu";
import { skipToTable, watchSectionKeys } from "../ui/sections";
import { type StageWay, StageWays, stageWay } from "../ui/stage-ref";
import { Boundary, EmptyState, ErrorState, LoadingState } from "../ui/states";
import { TableSorts } from "../ui/table-sorts";
import { Tabs } from "../ui/tabs";
import { useTabsHeight } from "../ui/use-tabs-height";
import { useTop } from "../ui/use-top";
import { Captures } from "./captures/captures";
import { Compare } from "./compare/compare";
import { useComparison } from "./compare/use-comparison";
import { Findings } from "./findings/findings";
import { FlameGraph } from "./flame/flame-graph";
import { Gaps } from "./gaps/gaps";
import { Notices, NotRead } from "./notices";
import { Overview } from "./overview/overview";
import { RanksView } from "./ranks/ranks";
import { WholeRunView } from "./run/run";
import { catchFocus } from "./shared/first-focus";
import { NotListed } from "./shared/not-listed";
import { isFramed, printPage } from "./shared/printing";
import { AllSteps, Selection } from "./shared/selection";
import { Stages } from "./stages/stages";
import { Trace } from "./trace/trace";
import { Workers } from "./workers/workers";

/** Views of more than the chosen capture. */
const OF_ALL: Partial<Readonly<Record<View, () => ComponentChildren>>> = {
  captures: Captures,
  run: WholeRunView,
  ranks: RanksView,
};

const LABELS: Readonly<Record<View, string>> = {
  overview: "Overview",
  findings: "Findings",
  stages: "Stages",
  flame: "Flame graph",
  workers: "DataLoader workers",
  gaps: "Idle gaps",
  run: "Run",
  ranks: "Ranks",
  compare: "Compare",
  captures: "All captures",
  trace: "Trace",
};

const viewElement = (): HTMLElement | null => document.getElementById("view");

/** Views in which a table is what people come for, behind many controls. */
const OF_TABLES: ReadonlySet<View> = new Set<View>(["stages", "flame", "workers", "gaps", "compare", "captures"]);

export function App() {
  useEffect(() => watchSectionKeys(viewElement), []);
  useEffect(() => catchFocus(viewElement), []);
  useTop(`${view.value} ${shownStage.value}`, () => isReturn.peek());
  useComparison(source().compared !== null);
  const head = useTabsHeight<HTMLElement>();
  const known = runs.value;
  const bare = known === null || (known.captures.length === 0 && known.wholeRuns === 0);
  return (
    <div class={bare ? "page bare" : known.captures.length === 0 ? "page alone" : "page"}>
      {!bare && <Skips toTable={OF_TABLES.has(view.value)} />}
      <CaptureList
        captures={known?.captures ?? []}
        order={source().live ? "newest first" : "worst first"}
        current={entry.value}
        search={listSearch}
        open={capturesOpen.value}
        turn={() => {
          capturesOpen.value = !capturesOpen.value;
        }}
        choose={selectCapture}
      />
      <main class={view.value === "trace" ? "filled" : ""}>
        <header class="top" ref={head}>
          {bare ? (
            <h1>Data Pipeline</h1>
          ) : (
            <>
              <h1 class="offscreen">Data Pipeline: {LABELS[view.value]}</h1>
              <Tabs
                names={viewsFor(source())}
                labels={LABELS}
                empty={emptyViews.value}
                current={view.value}
                choose={selectView}
              />
            </>
          )}
          <div class="top-actions">
            <Help print={printPage} urlOf={source().live ? routeUrl : null} />
            {!bare && <CopyLink linkOf={linkHere} />}
            {source().live && (
              <button type="button" class="link" data-testid="refresh" onClick={refreshNow}>
                Refresh
              </button>
            )}
          </div>
        </header>
        <Notices labels={LABELS} />
        {isFramed() && !printing.value && (
          <p class="print-note">Printed around this frame, the view is cut off: Help prints all of the page.</p>
        )}
        <Explanations />
        <Boundary resetKey={`${captureId.value} ${chosenSteps.value} ${view.value}`}>
          <div
            id="view"
            class="view"
            tabIndex={-1}
            {...(bare ? {} : { role: "tabpanel", "aria-labelledby": `tab-${view.value}` })}>
            <TableSorts.Provider value={sortStore}>
              <Content known={known} />
            </TableSorts.Provider>
          </div>
        </Boundary>
      </main>
    </div>
  );
}

function Skips({ toTable }: { toTable: boolean }) {
  return (
    <>
      <button type="button" class="skip" data-testid="skip" onClick={() => viewElement()?.focus()}>
        Skip to the view
      </button>
      {toTable && (
        <button type="button" class="skip" data-testid="skip-to-table" onClick={() => skipToTable(viewElement())}>
          Skip to the table
        </button>
      )}
    </>
  );
}

/** The one place that decides which drawn form a view has. */
function Content({ known }: { known: Runs | null }): ComponentChildren {
  if (known === null) {
    if (runsError.value !== null)
      return <ErrorState title="The log directory cannot be read." message={runsError.value} />;
    return <LoadingState title="Looking for captures" />;
  }
  if (known.captures.length === 0 && known.wholeRuns === 0) {
    if (known.scanning) return <LoadingState title="Looking for captures" detail={known.logdir} />;
    return <EmptyState logdir={known.logdir} problems={known.problems} />;
  }
  const item = entry.value;
  const OfAll = printing.value ? undefined : OF_ALL[view.value];
  if (OfAll !== undefined)
    return (
      <>
        {report.value?.kind === "ready" && (
          <Selection capture={report.value.capture} view={view.value} live={source().live} />
        )}
        <OfAll />
      </>
    );
  if (item === null) return <LoadingState title="Looking for captures" detail={known.logdir} />;
  return (
    <>
      <NotRead problems={known.problems} />
      <Selected item={item} perfetto={known.perfetto} />
    </>
  );
}

function Selected({ item, perfetto }: { item: CaptureEntry; perfetto: boolean }) {
  const state = report.value;
  const steps = chosenSteps.value;
  if (state?.kind === "failed")
    return (
      <ErrorState
        title={`${steps === null ? "" : `${capitalised(writtenInWords(steps))} of `}${fullName(item)} cannot be shown.`}
        message={state.message}>
        {steps !== null && <AllSteps />}
      </ErrorState>
    );
  if (state?.kind !== "ready" && runsError.value !== null)
    return <ErrorState title={`${fullName(item)} cannot be shown.`} message={runsError.value} />;
  if (state?.kind !== "ready" && steps !== null && item.state === "ready")
    return (
      <LoadingState title={`Reading ${writtenInWords(steps)} of ${fullName(item)}`}>
        <AllSteps />
      </LoadingState>
    );
  if (state?.kind !== "ready") return <Waiting item={item} queued={(state?.state ?? item.state) === "queued"} />;
  return (
    <PictureOf.Provider value={subjectOf(state.capture, fullName(item))}>
      {/* Compare is of other captures as well; on paper all views are there. */}
      {(view.value !== "compare" || printing.value) && <CaptureHead capture={state.capture} name={fullName(item)} />}
      <Selection capture={state.capture} view={view.value} live={source().live} />
      {!printing.value && <NotListed capture={state.capture} view={view.value} />}
      <StageWays.Provider value={waysIn(state.capture)}>
        {printing.value ? (
          <Printed capture={state.capture} item={item} />
        ) : (
          <Shown view={view.value} capture={state.capture} item={item} perfetto={perfetto} />
        )}
      </StageWays.Provider>
    </PictureOf.Provider>
  );
}

/** To the pages of its stages, but for the one on screen. The sides of a comparison may be other captures. */
function waysIn({ stages }: Capture): StageWay | null {
  if (view.value === "compare") return null;
  const own = view.value === "stages" ? shownStage.value : null;
  return stageWay(
    [...new Set(stages.map(stageName))].filter((name) => name !== own),
    showStage,
  );
}

/** "exp1 / vm_7 · 6 steps · 1.05 s". */
function subjectOf({ steps: all, window_us: us, selection }: Capture, name: string): Subject {
  const steps = selection === undefined || chosenSteps.value === null ? "" : writtenInWords(chosenSteps.value);
  const count = all === undefined ? "" : plural(all.count, "step");
  const words = [name, steps || count, us === undefined ? "" : formatDuration(us)].filter(Boolean).join(" · ");
  return { name, steps, words };
}

function Waiting({ item, queued }: { item: CaptureEntry; queued: boolean }) {
  const size = item.bytes > 0 ? ` (${formatBytes(item.bytes)})` : "";
  return queued ? (
    <LoadingState
      title={`${fullName(item)} is queued`}
      detail={`Other captures are read first; this one${size} is next in line.`}
    />
  ) : (
    <LoadingState
      title={`Reading ${fullName(item)}`}
      detail={`The trace${size} is being read and analysed; this page updates by itself.`}
    />
  );
}

/** Nothing can be asked for while a page is printed: what is not at hand is left out. */
function printedViews(): View[] {
  const item = entry.value;
  const isThere: Partial<Record<View, boolean>> = {
    captures: captureRows.value !== null,
    compare: source().compared !== null && isCompared.value && (comparesShown.value || view.value === "compare"),
    trace: false,
    run: wholeRuns.value?.runs.some(({ run }) => run === entry.value?.run) ?? false,
    ranks: ranksList.value?.ranks.some(({ run }) => item !== null && run === runOfRanks(item)) ?? false,
  };
  return viewsFor(source()).filter((name) => isThere[name] ?? true);
}

/** All views that are about this capture, one below the other; of those that have nothing to show, why. */
function Printed({ capture, item }: { capture: Capture; item: CaptureEntry }) {
  const empty = emptyViews.value;
  const all = printedViews();
  const missing = all.flatMap((name) => (empty.has(name) ? [`${LABELS[name]}: ${empty.get(name)}`] : []));
  return (
    <>
      {all
        .filter((name) => !empty.has(name))
        .map((name) => (
          <section key={name} class="printed" data-testid={`printed-${name}`}>
            <h1>{LABELS[name]}</h1>
            <Shown view={name} capture={capture} item={item} perfetto={false} />
          </section>
        ))}
      {missing.length > 0 && (
        <section class="printed" data-testid="printed-nothing">
          <h1>Nothing to show</h1>
          <ul>
            {missing.map((words) => (
              <li key={words}>{words}</li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

type ShownProps = {
  readonly view: View;
  readonly capture: Capture;
  readonly item: CaptureEntry;
  readonly perfetto: boolean;
};

function Shown({ view: name, capture, item, perfetto }: ShownProps) {
  switch (name) {
    case "overview":
      return <Overview capture={capture} />;
    case "findings":
      return <Findings capture={capture} />;
    case "stages":
      return <Stages capture={capture} id={item.id} />;
    case "flame":
      return <FlameGraph capture={capture} />;
    case "workers":
      return <Workers capture={capture} id={item.id} />;
    case "gaps":
      return <Gaps capture={capture} id={item.id} />;
    case "run":
      return <WholeRunView />;
    case "ranks":
      return <RanksView />;
    case "captures":
      return <Captures />;
    case "compare":
      return <Compare />;
    case "trace":
      return <Trace capture={capture} entry={item} offline={perfetto} />;
  }
}
