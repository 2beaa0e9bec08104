import { useEffect } from "preact/hooks";
import type { Capture } from "../../contract/report";
import { runOfRanks } from "../../data/runs";
import { source } from "../../data/source";
import { formatCount } from "../../model/format";
import { selectView } from "../../state/actions";
import { entry, ranksList, runs } from "../../state/atoms";
import { loadRanks } from "../../state/run-views";
import { captureWithId } from "../shared/open-capture";
import { RanksSentence } from "../shared/ranks-sentence";

/** Captures of all ranks of a run are read unasked up to this size in all, which takes a few seconds. */
const READ_UNASKED_BYTES = 64 << 20;

/** Of one of several ranks, as far as it is known to be among them: who holds up whom, and the way there. */
export function RanksLine({ capture }: { capture: Capture }) {
  const [known, item] = [runs.value, entry.value];
  const own = item === null ? undefined : runOfRanks(item);
  const trained = known?.captures.filter(({ mode }) => mode !== "replay") ?? [];
  const together = trained.filter((one) => one.rank !== null && runOfRanks(one) === own);
  const isOfSeveral = (item?.rank ?? null) !== null && new Set(together.map(({ rank }) => rank)).size > 1;
  const isSmall = together.reduce((sum, { bytes }) => sum + bytes, 0) <= READ_UNASKED_BYTES;
  const isWanted = isOfSeveral && (known?.rankRuns ?? 0) > 0 && (isSmall || !source().live);
  useEffect(() => {
    if (isWanted) void loadRanks();
  }, [known, isWanted]);
  const near = trained.filter(({ run }) => run === item?.run || parentOf(run) === parentOf(item?.run));
  const isSettled = known?.scanning === false && near.every(({ state }) => state === "ready" || state === "error");
  if (!isOfSeveral) return isSettled ? <Alone capture={capture} /> : null;
  const ofRun = ranksList.value?.ranks.find(({ run }) => run === own);
  const ranks = ofRun?.rows.some((row) => captureWithId(row.capture)?.id === item?.id) ? ofRun : undefined;
  if (ranksList.value !== null && ranks === undefined) return null; // it is left out: Ranks has nothing of it
  return (
    <p data-testid="ranks-line">
      {ranks !== undefined && (
        <>
          <RanksSentence ranks={ranks} />{" "}
        </>
      )}
      <button type="button" class="link" data-testid="to-ranks" onClick={() => selectView("ranks")}>
        {ranks === undefined ? "Which rank holds up the others" : "All ranks"}
      </button>
    </p>
  );
}

/** null for a capture of the log directory itself, which has no folder beside it. */
function parentOf(run = "."): string | null {
  return run === "." ? null : run.slice(0, Math.max(0, run.lastIndexOf("/")));
}

/** One of several ranks, as the capture says, whose others are not there. */
function Alone({ capture: { rank, world_size: ranks, mode } }: { capture: Capture }) {
  if (rank === undefined || ranks === undefined || ranks < 2 || mode === "replay") return null;
  return (
    <p class="muted" data-testid="rank-alone">
      Rank {rank} of {formatCount(ranks)}: captures of the other ranks are not in this folder, nor known to be in one
      beside it, so which rank holds up the others is unknown.
    </p>
  );
}
