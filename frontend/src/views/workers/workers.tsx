import { useEffect } from "preact/hooks";
import type { Capture } from "../../contract/report";
import { batchKey, batchLines, batchOfBox, findBatch, linkOf } from "../../model/batches";
import type { BoxInfo } from "../../model/hover";
import { ownerOf } from "../../model/lanes";
import { noWorkersReason, reasonFor } from "../../model/reasons";
import { type LoaderPart, loaderNumbers, loaderPart, workersSentence } from "../../model/workers";
import { selectView } from "../../state/actions";
import { batchRows, loaderNumber, selectedBatch } from "../../state/atoms";
import { UnavailableState } from "../../ui/states";
import { TimelinePanel } from "../../ui/timeline-panel";
import { BatchTable } from "./batch-table";
import { Costs } from "./costs";
import { HostLoad } from "./host-load";
import { WorkerNumbers } from "./numbers";
import { QueueChart } from "./queue-chart";
import { SlowSamples } from "./slow-samples";
import { WorkerTable } from "./worker-table";

const LABEL =
  "Timeline of steps, the training thread and every DataLoader worker with its batches. The table of batches below has the same batches as text.";

export function Workers({ capture, id }: { capture: Capture; id: string }) {
  if (capture.workers.length === 0) {
    return (
      <>
        <NoWorkers capture={capture} />
        <HostLoad load={capture.host_load} />
      </>
    );
  }
  const part = loaderPart(capture, loaderNumber.value);
  return (
    <>
      <p class="sentence" data-testid="workers-sentence">
        {workersSentence(capture, part)}
      </p>
      <LoaderSelect numbers={loaderNumbers(capture)} chosen={part.loader} />
      <WorkerNumbers capture={capture} part={part} />
      <Picture capture={capture} id={id} part={part} />
      <WorkerTable part={part} />
      <Costs costs={capture.worker_costs} />
      <HostLoad load={capture.host_load} />
      <SlowSamples part={part} />
      <BatchTable capture={capture} part={part} />
    </>
  );
}

function NoWorkers({ capture }: { capture: Capture }) {
  const { loader } = capture;
  if (loader === undefined) {
    return (
      <UnavailableState
        title="This capture tells nothing of DataLoader workers."
        reason={reasonFor(capture, "loader")}
      />
    );
  }
  if (capture.mode === "replay") {
    return (
      <MadeByTrainingThread
        why="A replay runs without DataLoader workers"
        note="It plays the loader alone, to tell what its stages cost when nothing else runs."
      />
    );
  }
  if (loader.num_workers === 0)
    return <MadeByTrainingThread why="This loader has no workers" note="It was made with num_workers=0." />;
  const count = loader.num_workers === undefined ? "" : `${loader.num_workers} `;
  return (
    <UnavailableState
      title={`What the ${count}DataLoader worker${loader.num_workers === 1 ? "" : "s"} did cannot be told: there are no records of ${loader.num_workers === 1 ? "it" : "them"}.`}
      reason={noWorkersReason(capture)}
    />
  );
}

function MadeByTrainingThread({ why, note }: { why: string; note: string }) {
  return (
    <section class="state" data-testid="unavailable-state">
      <p class="sentence">
        {why}: the training thread makes the batches itself, see{" "}
        <button type="button" class="link" onClick={() => selectView("stages")}>
          Stages
        </button>
        .
      </p>
      <p class="muted">{note}</p>
    </section>
  );
}

function LoaderSelect({ numbers, chosen }: { numbers: readonly number[]; chosen: number }) {
  if (numbers.length < 2) return null;
  const choose = (loader: number): void => {
    loaderNumber.value = loader;
    selectedBatch.value = null;
    batchRows.value = 50;
  };
  return (
    <p>
      <label>
        DataLoader{" "}
        <select
          data-testid="loader-select"
          value={chosen}
          onChange={(event) => choose(Number(event.currentTarget.value))}>
          {numbers.map((loader) => (
            <option key={loader} value={loader}>
              DataLoader {loader}
            </option>
          ))}
        </select>
      </label>
    </p>
  );
}

/** Timeline and queue, with the arrow of the selected batch. */
function Picture({ capture, id, part }: { capture: Capture; id: string; part: LoaderPart }) {
  const selected = findBatch(capture, selectedBatch.value);
  useEscape(() => (selectedBatch.value = null));
  const linesOf = (box: BoxInfo): string[] => {
    const batch = batchOfBox(part, box);
    if (batch === null) return [];
    const isBatch = box.token === "batch";
    return [
      ...(isBatch ? [] : [`batch ${batch.number}`]),
      ...(isBatch || box.token === "wait" ? batchLines(batch) : []),
    ];
  };
  const pick = (box: BoxInfo | null): void => {
    const batch = box === null ? null : batchOfBox(part, box);
    selectedBatch.value = batch === null ? null : batchKey(batch);
  };
  return (
    <TimelinePanel
      id={id}
      label={LABEL}
      keep={(lane) => (ownerOf(lane, capture.workers)?.loader ?? part.loader) === part.loader}
      keepKey={`loader ${part.loader}`}
      linkOf={(lanes) => (selected === null ? null : linkOf(selected, part.workers, lanes))}
      describe={linesOf}
      onPick={pick}
      pickWords="a click on a batch shows who received it, Esc clears"
      below={part.queue !== undefined && <QueueChart queue={part.queue} />}
    />
  );
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
