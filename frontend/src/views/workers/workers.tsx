import { useCallback, useEffect, useMemo } from "preact/hooks";
import type { Capture, SlowSample, WorkerSummary } from "../../contract/report";
import { batchLines, batchOfBox, findBatch, linkOf } from "../../model/batches";
import type { Place } from "../../model/chain";
import { plural } from "../../model/format";
import type { BoxInfo } from "../../model/hover";
import type { LaneRows } from "../../model/lanes";
import { reasonFor } from "../../model/reasons";
import {
  type LoaderPart,
  listedLoaders,
  loaderPart,
  loaderSamples,
  placeOfSample,
  sampleKey,
  samplesOfLoader,
} from "../../model/workers";
import { selectView } from "../../state/actions";
import { batchRows, FIRST_BATCHES, loaderNumber, selectedBatch, selectedSample, timeline } from "../../state/atoms";
import { Prose } from "../../ui/prose";
import { UnavailableState } from "../../ui/states";
import { TimelinePanel } from "../shared/timeline-panel";
import { BatchTable } from "./batch-table";
import { Costs } from "./costs";
import { HostLoad } from "./host-load";
import { WorkerNumbers } from "./numbers";
import { QueueChart } from "./queue-chart";
import { chooseBatch } from "./show-batch";
import { SlowSamples } from "./slow-samples";
import { WorkerTable } from "./worker-table";

const LABEL =
  "Timeline of steps, the training thread and every DataLoader worker with its batches. The table of batches below lists the same batches.";

export function Workers({ capture, id }: { capture: Capture; id: string }) {
  const part = loaderPart(capture, loaderNumber.value);
  if (part === null) {
    return (
      <>
        <NoWorkers capture={capture} />
        <OwnSamples capture={capture} id={id} />
        <HostLoad rows={capture.load_rows} />
      </>
    );
  }
  return (
    <>
      <p class="sentence" data-testid="workers-sentence">
        <Prose text={part.summary.sentence} />
      </p>
      <LoaderSelect listed={listedLoaders(capture)} chosen={part.summary.loader} />
      <WorkerNumbers capture={capture} part={part} />
      <Picture capture={capture} id={id} part={part} />
      <div class="beside">
        <BatchTable capture={capture} part={part} />
        <SlowSamples of={samplesOfLoader(capture, part.summary.loader)} batches={part.batches} />
        <div class="stack">
          <WorkerTable part={part} />
          {capture.quiet_workers_sentence !== "" && (
            <p class="muted" data-testid="quiet-workers">
              <Prose text={capture.quiet_workers_sentence} />
            </p>
          )}
          <Costs costs={capture.worker_costs} />
        </div>
        <HostLoad rows={capture.load_rows} />
      </div>
    </>
  );
}

/** The slowest samples of a loop that builds its batches itself. */
function OwnSamples({ capture, id }: { capture: Capture; id: string }) {
  const { slow_samples: slowSamples, batches } = capture;
  const marked = useMarked(slowSamples);
  if (slowSamples.length === 0) return null;
  return (
    <>
      {loaderSamples(capture).map((one) => (
        <SlowSamples key={one.name} of={one} batches={batches} />
      ))}
      <section>
        <TimelinePanel id={id} label="Timeline of the capture, with the sample that was chosen." marked={marked} />
      </section>
    </>
  );
}

function NoWorkers({ capture }: { capture: Capture }) {
  const { loader, mode } = capture;
  if (loader === undefined)
    return <UnavailableState title="No data from DataLoader workers." reason={reasonFor(capture, "loader").message} />;
  if (mode === "replay")
    return (
      <BuiltByTrainingThread
        hasStages={capture.stages.length > 0}
        why="A replay runs without DataLoader workers"
        note="It runs the loader alone, so its stage times are without contention by DataLoader workers and the training step."
      />
    );
  if (loader.num_workers === 0)
    return (
      <BuiltByTrainingThread
        hasStages={capture.stages.length > 0}
        why="This DataLoader has no workers"
        note="It was made with num_workers=0."
      />
    );
  const whose =
    loader.num_workers === undefined ? "DataLoader workers" : plural(loader.num_workers, "DataLoader worker");
  return (
    <UnavailableState
      title={`No data from ${whose}.`}
      reason={reasonFor(capture, "workers", "wait_by_stage").message}
    />
  );
}

type AloneProps = { readonly why: string; readonly note: string; readonly hasStages: boolean };

function BuiltByTrainingThread({ why, note, hasStages }: AloneProps) {
  return (
    <section class="state" data-testid="unavailable-state">
      <p class="sentence">
        {why}: the training thread builds the batches itself.
        {hasStages && (
          <>
            {" "}
            See{" "}
            <button type="button" class="link" onClick={() => selectView("stages")}>
              Stages
            </button>
            .
          </>
        )}
      </p>
      <p class="muted">{note}</p>
    </section>
  );
}

function LoaderSelect({ listed, chosen }: { listed: readonly WorkerSummary[]; chosen: number }) {
  if (listed.length < 2) return null;
  const choose = (loader: number): void => {
    loaderNumber.value = loader;
    chooseBatch(null);
    batchRows.value = FIRST_BATCHES;
  };
  return (
    <p>
      <label>
        DataLoader{" "}
        <select
          data-testid="loader-select"
          value={chosen}
          onChange={(event) => choose(Number(event.currentTarget.value))}>
          {listed.map(({ loader, name }) => (
            <option key={loader} value={loader}>
              {name === "" ? `DataLoader ${loader}` : name}
            </option>
          ))}
        </select>
      </label>
    </p>
  );
}

/** Timeline and queue, with the arrow of the selected batch. */
function Picture({ capture, id, part }: { capture: Capture; id: string; part: LoaderPart }) {
  const { batches, queue, summary, slowSamples } = part;
  const selected = findBatch(capture, selectedBatch.value);
  const marked = useMarked(slowSamples);
  useEscape(() => chooseBatch(null));
  const scope = useMemo(() => ({ loader: summary.loader }), [summary]);
  const arrow = useCallback(
    (lanes: readonly LaneRows[]) => (selected === null ? null : linkOf(selected, lanes)),
    [selected],
  );
  const pick = (box: BoxInfo | null): void => {
    chooseBatch(box === null ? null : batchOfBox(batches, box));
  };
  return (
    <TimelinePanel
      id={id}
      label={LABEL}
      scope={scope}
      linkOf={arrow}
      marked={marked}
      describe={(box) => linesOf(part, box)}
      onPick={pick}
      pickWords="click a batch to see where it was received, Esc clears"
      below={queue !== undefined && <QueueChart queue={queue} />}
    />
  );
}

/** The chosen sample, in its lane; the same value until another is chosen. */
function useMarked(samples: readonly SlowSample[]): Place | null {
  const { whole } = timeline.value;
  const key = selectedSample.value;
  return useMemo(() => {
    const sample = samples.find((one) => sampleKey(one) === key);
    return placeOfSample(sample, whole);
  }, [samples.length, key, whole]);
}

function linesOf({ batches }: LoaderPart, box: BoxInfo): string[] {
  const batch = batchOfBox(batches, box);
  if (batch === null) return [];
  const isBatch = box.token === "batch";
  const head = isBatch ? [] : [`batch ${batch.number}`];
  return [...head, ...(isBatch || box.token === "wait" ? batchLines(batch) : [])];
}

function useEscape(clear: () => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === "Escape") clear();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
}
