import { useEffect } from "preact/hooks";
import { source } from "../../data/source";
import { selectView } from "../../state/actions";
import { entry, ranksList, runs } from "../../state/atoms";
import { loadRanks } from "../../state/run-views";
import { RanksSentence } from "../shared/ranks-sentence";

/** Captures of all ranks of a run are read unasked up to this size in all, which takes a few seconds. */
const READ_UNASKED_BYTES = 64 << 20;

/** Of one of several ranks: who holds up whom, which a capture by itself cannot know, and the way there. */
export function RanksLine() {
  const [known, item] = [runs.value, entry.value];
  const isOfSeveral = item !== null && item.rank !== null && (known?.rankRuns ?? 0) > 0;
  const together = known?.captures.filter(({ run, rank }) => run === item?.run && rank !== null) ?? [];
  const isSmall = together.reduce((sum, { bytes }) => sum + bytes, 0) <= READ_UNASKED_BYTES;
  const isWanted = isOfSeveral && (isSmall || !source().live);
  useEffect(() => {
    if (isWanted) void loadRanks();
  }, [known, isWanted]);
  if (!isOfSeveral) return null;
  const ranks = ranksList.value?.ranks.find(({ run }) => run === item.run);
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
